"""The families where code pays: same seed same bytes, splits apart, and answers that no constant guess finds."""

import math
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from skimage.measure import label

from saccade.gym.code_experts import METHODS, PRELUDE, code_phrases, solution_of
from saccade.gym.drawn import (
    ALL_FAMILIES,
    CODE_FAMILIES,
    FAMILIES,
    LESSON_FAMILIES,
    NAMED_FAMILIES,
    PAGE_FAMILIES,
    POINTED_FAMILIES,
    READING_FAMILIES,
    SOLVER_FAMILIES,
    TOOL_FAMILIES,
)
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import generator_for
from saccade.tasks.drawing import COLOURS
from saccade.tasks.procedural import SPLITS, generate
from saccade.tasks.scene import Scene
from saccade.types import Answer, Example, ToolCall

DIFFICULTIES = (0.0, 0.3, 0.5, 0.8, 1.0)
HARD = ("colour_dots", "scale_bar", "colour_bars", "dot_table")

every_family = pytest.mark.parametrize("family", list(CODE_FAMILIES))


@pytest.fixture(scope="module")
def media() -> MediaStore:
    return MediaStore()


@pytest.fixture(scope="module")
def examples(media: MediaStore) -> dict[str, list[Example]]:
    """Some tasks of every family at every difficulty."""
    return {
        family: [
            generate(family, split="train", index=index, seed=11, media=media, difficulty=DIFFICULTIES[index % 5])
            for index in range(40)
        ]
        for family in CODE_FAMILIES
    }


def test_the_families_are_these() -> None:
    assert list(CODE_FAMILIES) == ["colour_dots", "scale_bar", "colour_bars", "dot_table", "big_shape"]
    named = [*NAMED_FAMILIES, *POINTED_FAMILIES, *PAGE_FAMILIES]
    others = [*named, *SOLVER_FAMILIES, *TOOL_FAMILIES, *LESSON_FAMILIES, *READING_FAMILIES]
    assert list(ALL_FAMILIES) == [*FAMILIES, *CODE_FAMILIES, *others]


@every_family
def test_the_same_seed_gives_the_same_example(family: str) -> None:
    for index in range(3):
        first = generate(family, split="train", index=index, seed=5, media=MediaStore(), difficulty=0.7)
        again = generate(family, split="train", index=index, seed=5, media=MediaStore(), difficulty=0.7)
        assert first == again


@every_family
def test_no_picture_is_shared_between_splits(family: str, media: MediaStore) -> None:
    shown: dict[str, set[str]] = {split: set() for split in SPLITS}
    for split in SPLITS:
        for index in range(12):
            task = generate(family, split=split, index=index, seed=0, media=media, difficulty=0.0).task
            shown[split].update(image.hash for image in task.images)
    assert not shown["train"] & shown["held_out"]
    assert not shown["train"] & shown["validation"]
    assert not shown["validation"] & shown["held_out"]


@every_family
def test_targets_lie_inside_the_picture(family: str, examples: dict[str, list[Example]]) -> None:
    for example in examples[family]:
        assert example.task.targets
        for target in example.task.targets:
            assert target.box.clipped(256, 256) == target.box
            assert target.mask is not None
            assert target.mask.width == target.mask.height == 256


@every_family
def test_the_expert_runs_code_once_and_gives_the_right_answer(family: str, examples: dict[str, list[Example]]) -> None:
    for example in examples[family]:
        run, last = example.turns
        assert isinstance(run.action, ToolCall)
        assert run.action.name == "execute_python_code"
        assert isinstance(last.action, Answer)
        assert answer_is_right(example.task, last.action.text)


@pytest.mark.parametrize("family", HARD)
@pytest.mark.parametrize("difficulty", [0.5, 1.0])
def test_no_answer_is_common_where_code_pays(family: str, difficulty: float) -> None:
    draw = CODE_FAMILIES[family]
    answers = Counter(draw(generator_for(3, family, index), difficulty).asked.answer for index in range(120))
    assert answers.most_common(1)[0][1] < 0.12 * 120


def test_every_colour_is_as_likely_to_be_the_big_shape_s() -> None:
    draw = CODE_FAMILIES["big_shape"]
    answers = Counter(draw(generator_for(3, "big", index), 0.5).asked.answer for index in range(400))
    assert len(answers) == 8
    assert answers.most_common(1)[0][1] < 0.2 * 400


def test_every_kind_of_question_is_asked_and_understood(examples: dict[str, list[Example]]) -> None:
    questions = [example.task.question for of_family in examples.values() for example in of_family]
    solutions = [solution_of(question) for question in questions]
    assert {solution.method.name for solution in solutions if solution} == {method.name for method in METHODS}
    for question, solution in zip(questions, solutions):
        assert solution is not None
        assert solution.method.asked(**solution.words) == question


def test_a_question_of_another_kind_has_no_solution() -> None:
    assert solution_of("Which texture is on the red plate?") is None
    assert solution_of("How many dots are red? And blue?") is None


def test_the_fixed_pieces_of_the_code_hold_no_words_of_a_question() -> None:
    phrases = code_phrases()
    assert any(phrase.startswith(PRELUDE) for phrase in phrases)
    assert not any("$" in phrase for phrase in phrases)
    assert list(phrases) == sorted(phrases, key=lambda phrase: (-len(phrase), phrase))


def coloured(scene: Scene) -> np.ndarray:
    """Which pixels have one of the colours exactly."""
    pixels = np.asarray(scene.images[0])
    found: np.ndarray = np.zeros(pixels.shape[:2], dtype=bool)
    for colour in COLOURS.values():
        found |= (pixels == colour).all(axis=-1)
    return found


def patches(scene: Scene) -> float:
    return float(label(coloured(scene)).max())


def colours(scene: Scene) -> float:
    pixels = np.asarray(scene.images[0])
    return float(sum((pixels == colour).all(axis=-1).any() for colour in COLOURS.values()))


def smallness(scene: Scene) -> float:
    return -float(coloured(scene).sum())


@pytest.mark.parametrize(
    ("family", "hardness"),
    [
        ("colour_dots", patches),
        ("scale_bar", colours),
        ("colour_bars", colours),
        ("dot_table", patches),
        ("big_shape", smallness),
    ],
)
def test_higher_difficulty_is_harder_by_what_the_module_says(family: str, hardness: Callable[[Scene], float]) -> None:
    means = []
    for difficulty in (0.0, 0.5, 1.0):
        scenes = [CODE_FAMILIES[family](generator_for(4, "difficulty", index), difficulty) for index in range(12)]
        means.append(math.fsum(hardness(scene) for scene in scenes) / len(scenes))
    assert means[0] < means[1] < means[2]
