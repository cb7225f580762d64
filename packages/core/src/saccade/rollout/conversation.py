"""A chat model that plays in an environment: it answers turn by turn in text, and its calls are really run."""

from collections.abc import Callable, Sequence
from functools import partial

from saccade.chat.chat_model import ChatModel, reply_of
from saccade.chat.wire import ChatReply
from saccade.envs.environment import Environment
from saccade.envs.wrapped import fenced_actions, new_context
from saccade.media.resize import ResizeRule
from saccade.protocols.markup import with_opened_thought
from saccade.rollout.trajectory import RunBlocking
from saccade.seeding import seed_for
from saccade.turn_ends import FencedActions, first_action, up_to_stop
from saccade.types import Message, Observation, Task, Turn

ORIGINAL_VIEW = ResizeRule(factor=1, min_pixels=1, max_pixels=1 << 28, convention="absolute")
"""A server gets images as they are and resizes them by a rule that is not known here."""

Fault = Callable[[Turn], str]
"""Why a turn spoils its trajectory; empty when it does not."""


def no_fault(_: Turn) -> str:
    """Every turn may be part of a trajectory."""
    return ""


def ignore_reply(_: ChatReply) -> None:
    """For callers that need not know what a reply cost."""


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
    on_reply: Callable[[ChatReply], None] = ignore_reply,
) -> tuple[Turn, ...]:
    """The turns of one trajectory, up to its answer, the turn limit or the first turn with a fault.

    The teacher reads the environment's own prompt and observations, and before them ``advice``. It need not know of
    stop strings: a turn ends with the first of them, or with its first fenced action. A thought that its chat template
    opened gets its tag back. ``on_reply`` is told of each
    reply before the environment is.
    ``MachineError`` of the teacher or of a tool ends it all.
    """
    await run_blocking(lambda: env.reset(seed=seed, options={"task": task}))
    messages = list(_with_advice(env.prompt, advice))
    is_over = False
    while not is_over:
        turn_seed = seed_for(seed, "turn", len(env.turns))
        reply = await reply_of(teacher, messages, temperature=temperature, seed=turn_seed)
        on_reply(reply)
        text = up_to_action(up_to_stop(with_opened_thought(reply.texts[0]), env.stop), fenced_actions(env))
        _, _, terminated, truncated, _ = await run_blocking(partial(env.step, text))
        turn = env.turns[-1]
        is_over = terminated or truncated or fault(turn) != ""
        opening = None if is_over else new_context(env)
        if opening is not None:
            messages = list(_with_advice(opening, advice))
            continue
        messages.append(Message(role="assistant", parts=(text,)))
        if turn.observation is not None:
            messages.append(_observation_message(turn.observation))
    return env.turns


def up_to_action(text: str, blocks: FencedActions | None) -> str:
    """The text up to the end of its first action where fenced blocks are actions, as an engine would have ended it."""
    first = None if blocks is None else first_action(text, blocks)
    return text if first is None else text[: first.end]


def _with_advice(prompt: Sequence[Message], advice: str) -> Sequence[Message]:
    """The prompt with advice after the system's instructions, or before everything where there are none."""
    if not advice:
        return prompt
    if prompt and prompt[0].role == "system":
        return (Message(role="system", parts=(*prompt[0].parts, f"\n\n{advice}")), *prompt[1:])
    return (Message(role="system", parts=(advice,)), *prompt)


def _observation_message(observation: Observation) -> Message:
    # Some templates refuse a message without any text.
    return Message(role="user", parts=(*observation.images, observation.text or "Go on."))
