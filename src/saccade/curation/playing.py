"""A teacher that plays in the environment: it answers turn by turn in text, and its calls are really run."""

from collections.abc import Callable, Sequence
from functools import partial

from saccade.chat.chat_model import ChatModel
from saccade.envs.environment import Environment, ExpertEnvironment
from saccade.errors import UserError
from saccade.media.resize import ResizeRule
from saccade.rollout.trajectory import RunBlocking
from saccade.seeding import seed_for
from saccade.types import Answer, Example, ExpertTurn, Malformed, Message, Observation, Task, ToolCall, Turn

ORIGINAL_VIEW = ResizeRule(factor=1, min_pixels=1, max_pixels=1 << 28, convention="absolute")
"""A server gets images as they are and resizes them by a rule that is not known here."""

Fault = Callable[[Turn], str]
"""Why a turn spoils its trajectory; empty when it does not."""


def no_fault(_: Turn) -> str:
    """Every turn may be part of a trajectory."""
    return ""


async def play(
    teacher: ChatModel,
    env: Environment,
    task: Task,
    *,
    temperature: float,
    seed: int,
    run_blocking: RunBlocking,
    advice: str = "",
    fault: Fault = no_fault,
) -> tuple[Turn, ...]:
    """The turns of one trajectory, up to its answer, the turn limit or the first turn with a fault.

    The teacher reads the environment's own prompt and observations, and before them ``advice``. It need not know of
    stop strings: a turn ends with the first of them. ``MachineError`` of the teacher or of a tool ends it all.
    """
    await run_blocking(lambda: env.reset(seed=seed, options={"task": task}))
    messages = list(_advised(env.prompt, advice))
    is_over = False
    while not is_over:
        turn_seed = seed_for(seed, "turn", len(env.turns))
        [reply] = await teacher(messages, temperature=temperature, samples=1, seed=turn_seed)
        text = up_to_stop(reply, env.stop)
        _, _, terminated, truncated, _ = await run_blocking(partial(env.step, text))
        turn = env.turns[-1]
        is_over = terminated or truncated or fault(turn) != ""
        messages.append(Message(role="assistant", parts=(text,)))
        if turn.observation is not None:
            messages.append(_shown(turn.observation))
    return env.turns


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


def up_to_stop(text: str, stops: Sequence[str]) -> str:
    """The text up to the end of its first stop string, as an engine that knows them would have ended it."""
    ends = [text.index(stop) + len(stop) for stop in stops if stop in text]
    return text[: min(ends)] if ends else text


def _advised(prompt: Sequence[Message], advice: str) -> Sequence[Message]:
    """The prompt with advice after the system's instructions, or before everything where there are none."""
    if not advice:
        return prompt
    if prompt and prompt[0].role == "system":
        return (Message(role="system", parts=(*prompt[0].parts, f"\n\n{advice}")), *prompt[1:])
    return (Message(role="system", parts=(advice,)), *prompt)


def _shown(observation: Observation) -> Message:
    # Some templates refuse a message without any text.
    return Message(role="user", parts=(*observation.images, observation.text or "Go on."))
