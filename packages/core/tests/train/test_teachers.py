"""Who teaches a stage, and in which contexts it is asked."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import SimpleNamespace

import pytest

from saccade.algorithms.options import DistillOptions
from saccade.learner.sequences import TrainingSequence
from saccade.media.store import MediaStore
from saccade.models.loading import LoadSettings
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.episodes import EpisodeSpec, RolloutSettings
from saccade.tasks.curriculum import InOrder
from saccade.testing.tasks import tiny_example
from saccade.train.algorithm_settings import AlgorithmSettings
from saccade.train.stage_settings import RLSettings, TeacherSettings
from saccade.train.stages import RLStage, Stream
from saccade.train.teachers import StageTeacher, stage_teacher
from saccade.types import Group, Score, Task

TASK = tiny_example(MediaStore(), 0).task
SEQUENCE = TrainingSequence(
    ids=(1, 2, 3), is_action=(False, True, True), images=(), prompt_tokens=1, prompt_images=0,
    sampled_logprobs=(-1.0, -1.0), advantages=(0.0, 0.0), token_weight=1.0,
)  # fmt: skip
GROUP = Group(task=TASK, stream="main", trajectories=())


def with_more(task: Task, sequences: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """Behind the question's picture, say."""
    return [replace(one, teacher_view=replace(one, ids=(9, *one.ids))) for one in sequences]


def test_the_teacher_is_asked_in_its_own_contexts_and_only_what_it_says_is_kept() -> None:
    asked: list[TrainingSequence] = []

    def score(sequences: Sequence[TrainingSequence]) -> Sequence[tuple[float, ...]]:
        asked.extend(sequences)
        return [(-0.5, -2.0) for _ in sequences]

    views = {"main": with_more}
    teacher = StageTeacher(views=views, logprobs=score, watch=print)  # type: ignore[arg-type]
    found = teacher.taught([(GROUP, [SEQUENCE]), (replace(GROUP, stream="other"), [SEQUENCE])])
    assert [one.ids for one in asked] == [(9, 1, 2, 3), (1, 2, 3)]
    assert list(found) == [replace(SEQUENCE, teacher_logprobs=(-0.5, -2.0))] * 2


def test_views_go_to_a_learner_that_compares_whole_distributions() -> None:
    teacher = StageTeacher(views={"main": with_more}, logprobs=None, watch=print)  # type: ignore[dict-item]
    [found] = teacher.taught([(GROUP, [SEQUENCE])])
    assert found.teacher_view is not None
    assert (found.teacher_view.ids, found.teacher_logprobs) == ((9, 1, 2, 3), None)


def scored_by(name: str) -> Callable[..., Sequence[tuple[float, ...]]]:
    return lambda sequences, *, temperature: pytest.fail("it was asked") if name else [(temperature,)]


@pytest.mark.parametrize(
    ("settings", "scorer"),
    [
        (TeacherSettings(model="policy", view="answer"), "logprobs"),
        (TeacherSettings(model="start", view="same"), "reference_logprobs"),
    ],
)
def test_the_policy_of_now_and_that_of_the_beginning_are_told_apart(settings: TeacherSettings, scorer: str) -> None:
    episodes = EpisodeSpec(protocol=tagged_protocol(), rollout=RolloutSettings())
    algorithm = AlgorithmSettings(distill=DistillOptions(weight=1.0, reward_weight=0.0))
    stage = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=episodes),),
        questions=lambda: InOrder(lambda _: TASK, streams=("main",)),
        reward=lambda task, one: Score(),
        settings=RLSettings(steps=1, algorithm=algorithm),
        teacher=settings,
    )
    names = ("logprobs", "reference_logprobs", "teacher_logprobs")
    learner = SimpleNamespace(**{name: scored_by("" if name == scorer else name) for name in names})
    model = SimpleNamespace(adapter=None)
    teacher = stage_teacher(stage, model, learner, LoadSettings())  # type: ignore[arg-type]
    assert teacher is not None
    assert teacher.logprobs is not None
    assert teacher.logprobs([SEQUENCE]) == [(stage.settings.temperature,)]
    assert list(teacher.views) == (["main"] if settings.view == "answer" else [])
