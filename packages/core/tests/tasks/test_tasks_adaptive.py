"""Difficulty held at a pass rate axis by axis, families by what they teach, both the same after a stop."""

import json
from collections import Counter
from collections.abc import Sequence

import pytest

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.adaptive import ByLearnability, CurriculumSettings, HeldDifficulty
from saccade.tasks.curriculum import InOrder, Question, TaskSampler
from saccade.tasks.question_sources import drawn_questions, named_axes
from saccade.types import Group, Score, Task, Term, Trajectory

SAMPLES = 4


def task(name: str, difficulty: float = 0.5) -> Task:
    return Task(id=name, family="f", question="q", answer="a", answer_kind="exact", images=(), difficulty=difficulty)


def group(asked: Task, right: int, *, failed: bool = False) -> Group:
    def trajectory(sample: int) -> Trajectory:
        score = Score(terms=(Term("accuracy", float(sample < right)),), is_right=sample < right)
        return Trajectory(
            task_id=asked.id,
            family="f",
            stream="main",
            sample=sample,
            seed=sample,
            policy_version=0,
            segments=(),
            turns=(),
            status="failed" if failed else "answered",
            score=None if failed else score,
        )

    return Group(task=asked, stream="main", trajectories=tuple(map(trajectory, range(SAMPLES))))


def held(**settings: float) -> HeldDifficulty:
    return HeldDifficulty(
        lambda index, axis, level: task(f"{axis}/{index}", level), axes=("size", "clutter"), **settings
    )


def skilled(asked: Task) -> int:
    """A policy that answers up to a level of its own on each axis, all four or none."""
    reach = {"size": 0.7, "clutter": 0.2}[asked.id.partition("/")[0]]
    return SAMPLES if asked.difficulty <= reach else 0


def test_each_axis_comes_to_rest_where_its_own_questions_meet_the_target() -> None:
    source = held(gain=0.1)
    seen = []
    for _ in range(60):
        source.update([group(question.task, skilled(question.task)) for question in source.sample(4)])
        seen.append(source.levels)
    for axis, level in {"size": 0.7, "clutter": 0.2}.items():
        assert sum(one[axis] for one in seen[-20:]) / 20 == pytest.approx(level, abs=0.06)


def test_a_level_moves_by_the_gain_and_stays_between_0_and_1() -> None:
    source = held(start=0.5, target=0.5, gain=0.2)
    first, second = source.sample(2)
    assert [first.task.difficulty, second.task.difficulty] == [0.5, 0.5]
    source.update([group(first.task, 4), group(second.task, 1)])
    assert source.levels == {"size": pytest.approx(0.6), "clutter": pytest.approx(0.45)}
    for _ in range(20):
        source.update([group(question.task, 4) for question in source.sample(2)])
    assert source.levels == {"size": 1.0, "clutter": 1.0}


def test_a_group_that_the_machine_failed_moves_nothing() -> None:
    source = held()
    source.update([group(question.task, 0, failed=True) for question in source.sample(2)])
    assert source.levels == {"size": 0.5, "clutter": 0.5}
    assert source.state_dict()["asked"] == {}


def parts() -> dict[str, TaskSampler]:
    return {name: InOrder(lambda index, name=name: task(f"{name}/{index}")) for name in ("easy", "even", "hard")}


RIGHT = {"easy": 4, "even": 2, "hard": 0}


def answered(questions: Sequence[Question]) -> list[Group]:
    return [group(question.task, RIGHT[question.task.id.partition("/")[0]]) for question in questions]


def test_families_that_still_teach_are_asked_more_and_none_is_forgotten() -> None:
    source = ByLearnability(parts(), floor=0.3, memory=0.5)
    assert source.shares == {name: pytest.approx(1 / 3) for name in RIGHT}
    for _ in range(30):
        source.update(answered(source.sample(12)))
    assert source.shares == {
        "easy": pytest.approx(0.1, abs=1e-6),
        "even": pytest.approx(0.8, abs=1e-6),
        "hard": pytest.approx(0.1, abs=1e-6),
    }
    asked = Counter(question.task.id.partition("/")[0] for _ in range(10) for question in source.sample(12))
    assert asked == {"easy": 12, "even": 96, "hard": 12}


@pytest.mark.parametrize("count", [1, 2, 5, 16])
def test_every_batch_has_its_size_however_shares_move(count: int) -> None:
    source = ByLearnability(parts(), floor=0.05, memory=0.0)
    for turn in range(40):
        questions = source.sample(count)
        assert len(questions) == count
        source.update([group(one.task, (turn + place) % 5) for place, one in enumerate(questions)])


def test_families_of_which_nothing_teaches_are_asked_evenly() -> None:
    source = ByLearnability({name: part for name, part in parts().items() if name != "even"}, memory=0.0)
    source.update(answered(source.sample(4)))
    assert source.shares == {"easy": pytest.approx(0.5), "hard": pytest.approx(0.5)}


def curriculum(media: MediaStore) -> TaskSampler:
    settings = CurriculumSettings(holds_difficulty=True, by_learnability=True)
    return drawn_questions(["counting", "shape_counts"], settings, seed=3, media=media)


def told(media: MediaStore, stops: str) -> list[str]:
    """What a curriculum asks and remembers in four batches, revived from its state where it was stopped."""
    source, said = curriculum(media), []
    for turn in range(4):
        if stops == "before a batch":
            source = revived(source, media)
        questions = source.sample(5)
        if stops == "while a batch is out":
            source = revived(source, media)
        source.update([group(one.task, (turn + place) % 5) for place, one in enumerate(questions)])
        said += [json.dumps(source.state_dict()), *(one.task.id for one in questions)]
    return said


def revived(source: TaskSampler, media: MediaStore) -> TaskSampler:
    fresh = curriculum(media)
    fresh.load_state_dict(json.loads(json.dumps(source.state_dict())))
    return fresh


@pytest.mark.parametrize("stops", ["before a batch", "while a batch is out"])
def test_a_curriculum_goes_on_after_a_stop_as_if_there_had_been_none(stops: str) -> None:
    media = MediaStore()
    assert told(media, stops) == told(media, "never")


def test_axes_of_the_gym_are_held_one_by_one_and_a_named_level_is_left_alone() -> None:
    assert named_axes("counting") == ("",)
    axes = named_axes("shape_counts")
    assert len(axes) > 1
    assert named_axes(f"shape_counts?{axes[0]}=0.9") == axes[1:]
    source = drawn_questions(
        ["shape_counts"], CurriculumSettings(holds_difficulty=True), seed=0, media=MediaStore(), difficulty=0.25
    )
    asked = [question.task for question in source.sample(len(axes))]
    assert [one.family for one in asked] == [f"shape_counts?{axis}=0.25" for axis in axes]


def test_a_curriculum_that_cannot_be_is_refused() -> None:
    with pytest.raises(UserError, match=r"target=1\.0.*use a target between 0 and 1"):
        CurriculumSettings(target=1.0)
    with pytest.raises(UserError, match="no parts"):
        ByLearnability({})
    with pytest.raises(UserError, match="other axes"):
        held().load_state_dict({"next": 0, "levels": {"size": 0.5}, "asked": {}})
    with pytest.raises(UserError, match="other parts"):
        ByLearnability(parts()).load_state_dict({"spread": {}, "owed": {}, "asked": {}, "parts": {}})
