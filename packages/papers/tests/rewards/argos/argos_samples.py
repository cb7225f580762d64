"""A picture with three things, responses that point at them, and back ends that are counted, fail or are told."""

from collections.abc import Sequence
from dataclasses import replace

from saccade.errors import MachineError
from saccade.geometry import Box, Mask, Point
from saccade.rewards import score_questions
from saccade.rewards.argos import (
    AnswerRequest,
    ArgosReward,
    ExactRegions,
    RegionRequest,
    Regions,
    Verifier,
    VerifierForms,
)
from saccade.types import (
    Answer,
    Group,
    ImageRef,
    Malformed,
    PointMention,
    SceneObject,
    Score,
    Task,
    Trajectory,
    TrajectoryStatus,
    Turn,
)

IMAGE = ImageRef(hash="picture", width=100, height=50)
TASK = Task(
    id="t",
    family="plates",
    question="Which mark is on the red plate?",
    answer="white",
    answer_kind="exact",
    images=(IMAGE,),
    objects=(
        SceneObject(name="red plate", box=Box(10, 10, 20, 20)),
        SceneObject(name="blue plate", box=Box(60, 10, 70, 20)),
        SceneObject(name="table", box=Box(0, 0, 100, 50)),
    ),
)
ON_RED, ON_BLUE, BESIDE = (15, 15), (65, 15), (90, 40)


def point(label: str, at: tuple[float, float] | None, **where: int) -> PointMention:
    return PointMention(text="", label=label, point=None if at is None else Point(*at), **where)


def said(answer: str | None, *points: PointMention, thought: str = "", sample: int = 0) -> Trajectory:
    action = Malformed(why="") if answer is None else Answer(text=answer)
    turn = Turn(index=0, text="", thought=thought, action=action, is_well_formed=True, points=points)
    status: TrajectoryStatus = "turn_limit" if answer is None else "answered"
    return Trajectory(
        task_id=TASK.id,
        family=TASK.family,
        stream="main",
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status=status,
    )


class Counted:
    """Regions that are counted, and of which those of some labels fail."""

    def __init__(self, inner: Regions, *, fails: Sequence[str] = ()) -> None:
        self.inner, self.fails, self.calls = inner, fails, list[list[str]]()
        self.identity = "counted"

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[tuple[Mask, ...] | MachineError]:
        self.calls.append([one.label for one in requests])
        return [
            MachineError("down") if request.label in self.fails else found
            for request, found in zip(requests, self.inner.find(requests))
        ]


def reward(verifier: Verifier | None = None, **changes: object) -> ArgosReward:
    exact = Verifier(regions=ExactRegions())
    whole = ArgosReward(verifier=verifier or exact, reasoning_weight=0.0, measured_share=0.0)
    return replace(whole, **changes)  # type: ignore[arg-type]


def scored(of: ArgosReward, *trajectories: Trajectory, task: Task = TASK) -> list[Score | None]:
    members = tuple(replace(one, sample=index) for index, one in enumerate(trajectories))
    ([group],), _ = score_questions([[Group(task=task, stream="main", trajectories=members)]], of, {})
    return [one.score for one in group.trajectories]


def totals(of: ArgosReward, *trajectories: Trajectory, task: Task = TASK) -> list[float | None]:
    return [None if one is None else one.total for one in scored(of, *trajectories, task=task)]


class SaysSo:
    """A teacher that finds an answer probable as soon as the reasoning says it."""

    def __init__(self) -> None:
        self.asked: list[AnswerRequest] = []

    def logprobs(self, requests: Sequence[AnswerRequest], /) -> Sequence[tuple[float, ...] | MachineError]:
        self.asked += requests
        return [
            MachineError("down")
            if "crash" in one.reasoning
            else ((0.0,) if one.answer in one.reasoning else (-1.0, -3.0))
            for one in requests
        ]


def with_teacher(**forms: object) -> ArgosReward:
    verifier = Verifier(regions=ExactRegions(), teacher=SaysSo(), forms=VerifierForms(**forms))  # type: ignore[arg-type]
    return reward(verifier, grounding_weight=0.0, reasoning_weight=1.0)
