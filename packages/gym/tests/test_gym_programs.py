"""What holds for every program of every family of the gym."""

import math
import os
import re
import subprocess
import sys

import pytest

from saccade.geometry import Box
from saccade.gym.extras import missing_modules
from saccade.gym.family import IF_NOT, GymFamily
from saccade.gym.golden import golden_complaint, golden_samples, sample_digest
from saccade.gym.levels import Levels
from saccade.gym.program import UNANSWERABLE
from saccade.gym.registry import gym_families
from saccade.gym.sample import GymSample
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.seeding import generator_for
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import find_tool
from saccade.types import Answer, Task, ToolCall

MEDIA = MediaStore()


def _drawn_here(family: GymFamily) -> bool:
    return not any(missing_modules(renderer) for renderer in family.renderers)


HERE = [family for family in gym_families().values() if _drawn_here(family)]
every_family = pytest.mark.parametrize("family", HERE, ids=lambda family: family.name)


def _programs(share: float) -> pytest.MarkDecorator:
    """Every program of every family; such a share of each family, chosen by a seed, and at least one, in each run."""
    found = []
    for family in HERE:
        names = [one.name for one in family.programs]
        kept = generator_for(19, family.name).permutation(names)[: math.ceil(share * len(names))]
        for name in names:
            marks = () if name in kept else (pytest.mark.full,)
            found.append(pytest.param(family, name, id=f"{family.name}/{name}", marks=marks))
    return pytest.mark.parametrize(("family", "name"), found)


def _sample(family: GymFamily, name: str, unanswerable: float | None = None) -> GymSample:
    rng = generator_for(3, "test", family.name, name, "0.5")
    return family.sample(rng, Levels(), program=family.program(name), unanswerable=unanswerable)


@_programs(1 / 4)
def test_a_variant_without_an_answer_shows_or_asks_something_else(family: GymFamily, name: str) -> None:
    untold = _sample(family, name, unanswerable=1.0)
    asked = untold.scene.asked
    assert asked.answer == UNANSWERABLE
    assert asked.question.endswith(IF_NOT)
    assert not asked.choices or UNANSWERABLE in asked.choices
    assert UNANSWERABLE not in untold.asked.near
    if family.is_split_by_state:
        assert family.program(name).falsify is not None or untold.asked.evidence
        return
    told = _sample(family, name)
    before, after = ([image.tobytes() for image in one.scene.images] for one in (told, untold))
    assert (before, told.scene.asked.question) != (after, asked.question.removesuffix(IF_NOT))


def check_answer(sample: GymSample) -> None:
    asked = sample.scene.asked
    assert asked.answer
    assert asked.answer != UNANSWERABLE
    assert not asked.choices or asked.answer in asked.choices
    assert (asked.answer_kind == "choice") == bool(asked.choices)
    assert len(set(asked.choices)) == len(asked.choices)
    assert not {*sample.asked.near} & {asked.answer, *sample.asked.accepted}
    if sample.program.solve is not None:
        assert sample.program.solve(sample.state, sample.asked.words) == asked.answer
    task = _task(sample)
    assert all(answer_is_right(task, text) for text in (asked.answer, *sample.asked.accepted))
    assert not any(answer_is_right(task, text) for text in sample.asked.near)


def _task(sample: GymSample) -> Task:
    asked = sample.scene.asked
    return Task(
        id="one",
        family=sample.family,
        question=asked.question,
        answer=asked.answer,
        answer_kind=asked.answer_kind,
        images=(),
        choices=asked.choices,
        tolerance=asked.tolerance,
        accepted=asked.accepted,
    )


def check_regions(sample: GymSample) -> None:
    scene = sample.scene
    for target in scene.asked.targets:
        width, height = scene.images[target.image_index].size
        assert _inside(target.box, width, height)
        assert target.box.x1 <= target.point.x <= target.box.x2
        assert target.mask is not None
        assert (target.mask.width, target.mask.height) == (width, height)
        assert target.mask.to_array()[int(target.point.y), int(target.point.x)]
    for one in scene.objects:
        assert _inside(one.box, *scene.images[one.image_index].size)
    named = [(one.image_index, one.name) for one in scene.objects]
    assert len(set(named)) == len(named)
    identities = [element.id for element in sample.state.elements]
    assert len(set(identities)) == len(identities)


def _inside(box: Box, width: int, height: int) -> bool:
    return 0 <= box.x1 < box.x2 <= width and 0 <= box.y1 < box.y2 <= height


def check_experts(sample: GymSample) -> None:
    """Each call of the image tools runs on the picture that it names; the last turn gives the answer."""
    assert sample.scene.asked.turns[-1].action == Answer(text=sample.scene.asked.answer)
    images = [MEDIA.add(image) for image in sample.scene.images]
    for kind, turns in sample.experts.items():
        for turn in turns if kind != "code" else ():
            assert isinstance(turn.action, ToolCall)
            assert find_tool(turn.action.name, IMAGE_TOOLS).call(turn.action.arguments, images, MEDIA).is_ok


def check_wordings(sample: GymSample) -> None:
    asked = sample.scene.asked
    assert len(set(sample.paraphrases)) == len(sample.paraphrases) >= 2
    assert asked.question in sample.paraphrases
    if not asked.choices and not asked.answer.isdigit():
        pattern = rf"(?<!\w){re.escape(asked.answer.lower())}(?!\w)"
        # A field may be called Name, and a question may begin with that word.
        assert not any(re.search(pattern, text.lower().removeprefix("name ")) for text in sample.paraphrases)


def test_a_sequence_whose_two_attributes_repeat_beyond_its_end_is_not_asked_for_its_period() -> None:
    family = gym_families()["sequences"]
    for seed in range(48):
        asked = family.sample(generator_for(seed), Levels(base=1.0), program=family.program("period"))
        assert 1 <= int(asked.asked.answer) < len(asked.state.elements)


@every_family
def test_each_program_gives_all_that_is_asked_of_it_and_the_bytes_on_record(family: GymFamily) -> None:
    samples = list(golden_samples(family))
    for sample in samples:
        try:
            for check in (check_answer, check_regions, check_wordings, check_experts):
                check(sample)
        except AssertionError as error:
            error.add_note(f"{family.name}/{sample.program.name}")
            raise
    assert golden_complaint(family, samples) == ""


DIGESTS = """
import sys
from saccade.gym.golden import sample_digest
from saccade.gym.levels import Levels
from saccade.gym.registry import gym_families
from saccade.gym.sample import GymSample
from saccade.seeding import generator_for
for name in sys.argv[1:]:
    print(name, sample_digest(gym_families()[name].sample(generator_for(5, name), Levels())))
"""


def test_another_process_with_other_threads_draws_the_same_bytes() -> None:
    """One family of each way of drawing: golden hashes, of other processes too, hold the others."""
    chosen = {family.renderers: family for family in HERE}.values()
    environment = {**os.environ, "PYTHONHASHSEED": "7", "OMP_NUM_THREADS": "3"}
    command = [sys.executable, "-c", DIGESTS, *(family.name for family in chosen)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    here = [f"{one.name} {sample_digest(one.sample(generator_for(5, one.name), Levels()))}" for one in chosen]
    assert run.stdout.splitlines() == here, run.stderr
