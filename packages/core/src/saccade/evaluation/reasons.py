"""Why an answer is wrong, as far as the record proves it."""

from collections.abc import Iterator

from saccade.types import Attempt, ToolCall, Trajectory


def wrong_reason(attempt: Attempt) -> str:
    """A key of ``REASONS`` for an attempt whose answer is known to be wrong."""
    return next(_reasons(attempt))


def _reasons(attempt: Attempt) -> Iterator[str]:
    # Not at the top: the index of trajectories is imported at every start.
    from saccade.rewards.evidence import WHOLE, look_of

    task, trajectory = attempt.task, attempt.trajectory
    if trajectory.answer is None:
        yield {"turn_limit": "out_of_turns", "token_limit": "out_of_tokens"}.get(trajectory.status, "no_answer")
        return
    if task.choices and trajectory.answer.strip().casefold() not in {one.strip().casefold() for one in task.choices}:
        yield "no_choice"
    has_called, has_run = _calls(trajectory)
    if not has_called:
        yield "no_call"
    elif not has_run:
        yield "calls_failed"
    if (look := look_of(task, trajectory)) is not None:
        yield "looked_elsewhere" if look.coverage <= 0 else "saw_part" if look.coverage < WHOLE else "saw_target"
    yield "after_calls"


def _calls(trajectory: Trajectory) -> tuple[bool, bool]:
    """Whether there is a call, and whether one ran without an error."""
    called = [turn for turn in trajectory.turns if isinstance(turn.action, ToolCall)]
    return bool(called), any(turn.result is not None and turn.result.is_ok for turn in called)
