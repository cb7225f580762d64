"""Turns that a teacher played, as demonstrations: faults, the example of them, and examples played again."""

from collections.abc import Sequence

from saccade.envs.environment import ExpertEnvironment
from saccade.errors import UserError
from saccade.types import Answer, Example, ExpertTurn, Malformed, Task, ToolCall, Turn


def replay(example: Example, env: ExpertEnvironment) -> tuple[Turn, ...]:
    """An example's turns as the environment takes them, up to the first that has a fault.

    UserError when the environment cannot write a turn.
    """
    env.reset(options={"task": example.task})
    for turn in example.turns:
        _, _, terminated, truncated, _ = env.step(env.write_turn(turn))
        if terminated or truncated or demonstration_fault(env.turns[-1]):
            break
    return env.turns


def demonstration_fault(turn: Turn) -> str:
    """Why a turn cannot be part of a demonstration: ``ill_formed`` or ``failed_run``; empty when it can."""
    if not turn.is_well_formed or isinstance(turn.action, Malformed):
        return "ill_formed"
    # The last turn's call is not run, and then the trajectory ends without an answer, which is another fault.
    is_refused = isinstance(turn.action, ToolCall) and turn.observation is not None and turn.result is None
    return "failed_run" if is_refused or (turn.result is not None and not turn.result.is_ok) else ""


def as_example(task: Task, turns: Sequence[Turn]) -> Example:
    """The turns that were played, as an expert's; UserError when a turn did nothing."""
    expert = []
    for turn in turns:
        if not isinstance(turn.action, ToolCall | Answer):
            raise UserError(f"turn {turn.index + 1} of {task.id} did nothing and cannot be demonstrated")
        expert.append(ExpertTurn(thought=turn.thought, action=turn.action))
    return Example(task=task, turns=tuple(expert))


def final_answer(turns: Sequence[Turn]) -> str | None:
    """The answer that the last turn gives, or None."""
    last = turns[-1].action if turns else None
    return last.text if isinstance(last, Answer) else None
