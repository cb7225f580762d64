"""What holds for every procedural family: same seed same bytes, splits apart, targets and experts that fit."""

import re
from itertools import islice

import numpy as np
import pytest

from saccade.errors import UserError
from saccade.geometry import Box, Mask
from saccade.gym.drawn import FAMILIES
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import generator_for
from saccade.tasks.procedural import SPLITS, generate, split_of, vocabulary_texts
from saccade.tasks.scene import CROP_GRID_PX, SIZE_PX, knob, look_box, whole_knob
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import find_tool
from saccade.types import Answer, Example, ToolCall

DIFFICULTIES = (0.0, 0.3, 0.5, 0.8, 1.0)

every_family = pytest.mark.parametrize("family", list(FAMILIES))


@pytest.fixture(scope="module")
def media() -> MediaStore:
    return MediaStore()


@pytest.fixture(scope="module")
def examples(media: MediaStore) -> dict[str, list[Example]]:
    """Some tasks of every family at every difficulty."""
    return {
        family: [
            generate(family, split="train", index=index, seed=11, media=media, difficulty=DIFFICULTIES[index % 5])
            for index in range(25)
        ]
        for family in FAMILIES
    }


def test_the_families_are_these() -> None:
    assert list(FAMILIES) == [
        "visual_search",
        "attributes",
        "counting",
        "spatial_relation",
        "chart_bars",
        "chart_lines",
        "chart_pie",
        "table_lookup",
        "document_text",
        "geometry_angle",
        "geometry_length",
        "map_regions",
        "video_event",
    ]


@every_family
def test_the_same_seed_gives_the_same_example(family: str) -> None:
    for index in range(3):
        first = generate(family, split="train", index=index, seed=5, media=MediaStore(), difficulty=0.7)
        again = generate(family, split="train", index=index, seed=5, media=MediaStore(), difficulty=0.7)
        assert first == again


@every_family
def test_another_seed_or_index_or_split_gives_another_picture(family: str) -> None:
    media = MediaStore()
    tasks = [
        generate(family, split=split, index=index, seed=seed, media=media).task
        for split in ("train", "held_out")
        for index in (0, 1)
        for seed in (0, 1)
    ]
    assert len({task.images for task in tasks}) == len({task.id for task in tasks}) == 8


@pytest.mark.parametrize(("family", "count"), [("visual_search", 300), ("geometry_length", 40), ("video_event", 12)])
def test_no_picture_is_shared_between_splits(family: str, count: int) -> None:
    media = MediaStore()
    shown: dict[str, set[str]] = {split: set() for split in SPLITS}
    for split in SPLITS:
        for index in range(count):
            # The easiest setting has the fewest different pictures: of visual search, only 256.
            task = generate(family, split=split, index=index, seed=0, media=media, difficulty=0.0).task
            shown[split].update(image.hash for image in task.images)
    assert not shown["train"] & shown["held_out"]
    assert not shown["train"] & shown["validation"]
    assert not shown["validation"] & shown["held_out"]


def test_a_picture_belongs_to_its_split_whatever_seed_and_index_drew_it() -> None:
    scenes = [FAMILIES["visual_search"](generator_for(0, "any", index), 0.0) for index in range(600)]
    split_of_picture: dict[bytes, str] = {}
    for scene in scenes:
        assert split_of_picture.setdefault(scene.images[0].tobytes(), split_of(scene)) == split_of(scene)
    assert len(split_of_picture) < 257
    assert set(split_of_picture.values()) == set(SPLITS)


def test_the_splits_divide_all_pictures_in_eighths() -> None:
    assert sorted(bucket for buckets in SPLITS.values() for bucket in buckets) == list(range(8))


def test_the_id_says_seed_and_difficulty_only_when_they_are_unusual() -> None:
    media = MediaStore()
    ids = [
        generate("visual_search", split="train", index=123, seed=seed, media=media, difficulty=difficulty).task.id
        for seed, difficulty in ((0, 0.5), (7, 0.5), (0, 0.25), (7, 1.0))
    ]
    assert ids == [
        "visual_search/train/000123",
        "visual_search/train/000123-seed7",
        "visual_search/train/000123-difficulty0.25",
        "visual_search/train/000123-seed7-difficulty1.0",
    ]


@every_family
def test_targets_lie_inside_their_picture_with_point_and_box_of_the_mask(
    family: str, examples: dict[str, list[Example]]
) -> None:
    for example in examples[family]:
        assert example.task.targets
        for target in example.task.targets:
            picture = example.task.images[target.image_index]
            assert target.box.clipped(picture.width, picture.height) == target.box
            assert target.mask is not None
            assert (target.mask.width, target.mask.height) == (picture.width, picture.height)
            assert target.box.contains(target.point)
            assert target.mask.contains(target.point)
            array = target.mask.to_array()
            columns, rows = array.any(axis=0).nonzero()[0], array.any(axis=1).nonzero()[0]
            assert target.box == Box(columns[0], rows[0], columns[-1] + 1, rows[-1] + 1)


@every_family
def test_the_tools_take_every_call_of_the_expert(
    family: str, examples: dict[str, list[Example]], media: MediaStore
) -> None:
    for example in examples[family]:
        assert len(example.turns) >= 2
        for turn in example.turns[:-1]:
            assert isinstance(turn.action, ToolCall)
            tool = find_tool(turn.action.name, IMAGE_TOOLS)
            assert tool.call(turn.action.arguments, example.task.images, media).is_ok


@every_family
def test_the_expert_thinks_two_words_a_thing_at_most_and_ends_with_the_right_answer(
    family: str, examples: dict[str, list[Example]]
) -> None:
    for example in examples[family]:
        final = example.turns[-1].action
        assert isinstance(final, Answer)
        assert final.text == example.task.answer
        assert answer_is_right(example.task, final.text)
        most_words = max(6, 2 * len(example.task.targets))
        assert all(len(turn.thought.split()) <= most_words for turn in example.turns)


@every_family
def test_an_answer_of_another_task_is_wrong(family: str, examples: dict[str, list[Example]]) -> None:
    for example in examples[family]:
        for other in examples[family]:
            # Steps between values depend on the difficulty, and so does what the tolerance must tell apart.
            if other.task.difficulty != example.task.difficulty or example.task.choices:
                continue
            if other.task.answer_kind == example.task.answer_kind:
                is_same = other.task.answer == example.task.answer
                assert answer_is_right(example.task, other.task.answer) == is_same


@every_family
def test_crops_lie_on_the_grid_and_are_square(family: str, examples: dict[str, list[Example]]) -> None:
    for example in examples[family]:
        for turn in example.turns:
            if isinstance(turn.action, ToolCall) and turn.action.name == "crop":
                x1, y1, x2, y2 = turn.action.arguments["bbox_2d"]  # type: ignore[misc]
                assert all(side % CROP_GRID_PX == 0 for side in (x1, y1, x2, y2))
                assert x2 - x1 == y2 - y1 >= 64


@every_family
def test_pictures_are_256_px_wide_and_high(family: str, examples: dict[str, list[Example]]) -> None:
    for example in examples[family]:
        assert {(image.width, image.height) for image in example.task.images} == {(SIZE_PX, SIZE_PX)}


def test_the_vocabulary_is_small_and_holds_the_words_of_all_tasks(examples: dict[str, list[Example]]) -> None:
    texts = list(vocabulary_texts())
    words = {word for text in texts for word in re.findall(r"[A-Za-z]+", text)}
    assert len(words) < 300
    for family in FAMILIES:
        for example in examples[family]:
            used = set(re.findall(r"[A-Za-z]{2,}", example.task.question))
            assert used <= words
    assert list(islice(vocabulary_texts(), 200)) == texts[:200]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"family": "chess"}, "no task family 'chess'; the families are visual_search"),
        ({"split": "test"}, "no split 'test'; the splits are train, validation, held_out"),
        ({"index": -1}, "index=-1"),
        ({"difficulty": 1.5}, "difficulty=1.5"),
        ({"difficulty": float("nan")}, "difficulty=nan"),
    ],
)
def test_a_wrong_argument_is_an_error_that_says_what_is_right(wrong: dict[str, object], message: str) -> None:
    arguments = {"family": "counting", "split": "train", "index": 0, "seed": 0, "media": MediaStore(), **wrong}
    with pytest.raises(UserError, match=re.escape(message)):
        generate(**arguments)  # type: ignore[arg-type]


def test_a_knob_is_linear_on_both_sides_of_the_middle() -> None:
    assert [knob(d, 1, 3, 9) for d in (0.0, 0.25, 0.5, 0.75, 1.0)] == [1, 2, 3, 6, 9]
    assert [whole_knob(d, 0, 1, 0) for d in (0.0, 0.3, 0.5, 0.9)] == [0, 1, 1, 0]


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        (Box(10, 10, 20, 20), Box(0, 0, 64, 64)),
        (Box(60, 60, 70, 70), Box(32, 32, 96, 96)),
        (Box(250, 0, 256, 4), Box(192, 0, 256, 64)),
        (Box(40, 100, 150, 110), Box(32, 32, 160, 160)),
        (Box(1, 1, 255, 255), Box(0, 0, 256, 256)),
    ],
)
def test_a_look_is_the_smallest_square_on_the_grid_around_a_box(box: Box, expected: Box) -> None:
    assert look_box(box) == expected


@pytest.mark.parametrize(
    "box",
    [
        *(Box(3, 4, 9, 10), Box(0, 0, 1, 1), Box(255, 255, 256, 256), Box(5, 0, 7, 256), Box(0, 0, 256, 256)),
        *(Box(2.5, 3.2, 9.1, 10.9), Box(-5, -5, 3, 300), Box(9, 9, 9, 12), Box(9, 9, 5, 12), Box(300, 0, 310, 9)),
    ],
)
def test_the_mask_of_a_box_is_what_drawing_it_would_give(box: Box) -> None:
    y, x = np.mgrid[0:256, 0:256]
    inside = (x >= box.x1) & (x < box.x2) & (y >= box.y1) & (y < box.y2)
    assert Mask.from_box(box, 256, 256) == Mask.from_array(inside)
