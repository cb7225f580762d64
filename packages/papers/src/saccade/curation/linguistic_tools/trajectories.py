"""Right trajectories of any run, as texts whose steps a curator names."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.codec.codecs import PLAIN_CODEC
from saccade.errors import UserError
from saccade.protocols.described import described_parts
from saccade.rewards.reward import counts_as_right
from saccade.runs.metrics import read_metrics
from saccade.runs.position import Position
from saccade.runs.records import position_of, read_records
from saccade.runs.runinfo import RunPaths, read_info
from saccade.types import Attempt, Json, ToolCall, Trajectory, Turn

MAX_REASONING_CHARS = 6000
"""Limit of a trajectory's text; what is longer is cut."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReasonedTrajectory:
    """A right trajectory's reasoning in words."""

    id: str
    """Key of its outcome: two trajectories of one curation have two."""
    question: str
    reasoning: str
    """Its description where it has one, else all its thoughts, with what it called."""
    answer: str


def trajectory_from_json(value: Json) -> ReasonedTrajectory:
    """A trajectory of the values of its JSON; BrokenRecordError for anything else."""
    return PLAIN_CODEC.reader(ReasonedTrajectory).from_json(value, "the trajectory")


def right_trajectories(attempts: Iterable[Attempt], *, count: int | None = None) -> list[ReasonedTrajectory]:
    """The right ones among the attempts that reason in words: of each question the last, at most the last ``count``.

    A run's policy grows: the paper samples one trajectory of each question from the policy as it ends (equation 3).
    """
    trajectories = [
        ReasonedTrajectory(
            id=one.task.id,
            question=one.task.question,
            reasoning=reasoning_of(one.trajectory),
            answer=one.trajectory.answer or "",
        )
        for one in newest_right(attempts).values()
    ]
    return trajectories if count is None else trajectories[-count:]


def newest_right(attempts: Iterable[Attempt]) -> dict[str, Attempt]:
    """Of each question, by its id, the last right attempt that reasons in words; the newest at the end."""
    found: dict[str, Attempt] = {}
    for one in attempts:
        is_right = one.trajectory.status == "answered" and counts_as_right(one.task, one.trajectory)
        if is_right and reasoning_of(one.trajectory):
            found.pop(one.task.id, None)
            found[one.task.id] = one
    return found


def reasoning_of(trajectory: Trajectory) -> str:
    """The words in which it reasons; empty where there are none."""
    said = [part for turn in trajectory.turns for part in _turn_parts(turn) if part]
    return "\n".join(said)[:MAX_REASONING_CHARS]


def recorded_attempts(run: Path, stage: str | None = None) -> Iterator[Attempt]:
    """All attempts that a run recorded in training, or in the stage or evaluation of this name, in the order of time.

    UserError where there are none.
    """
    paths = RunPaths(root=run)
    read_info(paths)
    order = list(dict.fromkeys(position.stage for position, _ in read_metrics(paths.metrics)))

    def rank(one: tuple[Position, Path]) -> tuple[int, str, int]:
        position = one[0]
        return order.index(position.stage) if position.stage in order else len(order), position.stage, position.step

    steps = [(position_of(path), path) for path in (run / "trajectories").glob("*/step-*.jsonl")]
    evaluations = [(position_of(path), path) for path in paths.evaluations.glob("*.jsonl")]
    steps.sort(key=rank)
    evaluations.sort(key=rank)
    chosen = [one for one in steps if stage in (None, one[0].stage)]
    if stage is not None and not chosen:
        chosen = [one for one in evaluations if one[0].stage == stage]
    if not chosen:
        names = ", ".join(dict.fromkeys(position.stage for position, _ in [*steps, *evaluations])) or "none at all"
        raise UserError(
            f"{run} has no trajectories{'' if stage is None else f' of {stage!r}'} from training; it has {names}; name "
            "a stage or an evaluation with --stage"
        )
    return (attempt for _, path in chosen for attempt in read_records(path))


def _turn_parts(turn: Turn) -> Sequence[str]:
    think, description = described_parts(turn.thought)
    called = [f"(calls the tool {turn.action.name})"] if isinstance(turn.action, ToolCall) else []
    return [description or think, *called]
