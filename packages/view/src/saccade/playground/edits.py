"""Samples that come to no end of their own, and turns from which another one goes on."""

from saccade.errors import UserError
from saccade.playground.asking import EditedTurn
from saccade.playground.samples import LiveSample
from saccade.serving.live import GivenTurn
from saccade.types import Trajectory, Turn


def cut_short(sample: LiveSample, why: str) -> Trajectory:
    """The turns that there are of a sample that has come to no end of its own."""
    request = sample.request
    return Trajectory(
        task_id=request.task.id,
        family=request.task.family,
        stream=request.stream,
        sample=request.sample,
        seed=request.seed,
        policy_version=0,
        segments=(),
        turns=tuple(sample.turns),
        status="failed",
        failure=why,
    )


def given_turns(earlier: LiveSample, edited: EditedTurn) -> tuple[GivenTurn, ...]:
    """The turns before the edited one as they were sampled, and the new one."""
    if (trajectory := earlier.trajectory) is None:
        raise UserError("the sample is still being played; stop it before a turn is edited")
    if edited.turn > len(trajectory.turns):
        raise UserError(f"there is no turn {edited.turn}; the sample has {len(trajectory.turns)}")
    turns = [_sampled_turn(trajectory, turn) for turn in trajectory.turns[: edited.turn]]
    is_new = edited.text != turns[-1].text
    return (*turns[:-1], GivenTurn(text=edited.text) if is_new else turns[-1])


def _sampled_turn(trajectory: Trajectory, turn: Turn) -> GivenTurn:
    segments = [one for one in trajectory.segments if one.role == "action" and one.turn == turn.index]
    return GivenTurn(
        text=turn.text,
        ids=tuple(token for one in segments for token in one.ids),
        logprobs=tuple(value for one in segments for value in one.logprobs),
    )
