"""An engine of tokens as a teacher of texts."""

import asyncio

import pytest

from saccade.chat.local_chat import EngineChat
from saccade.errors import SaccadeError
from saccade.testing.scripted import ScriptedEngine, letter_chat
from saccade.testing.tasks import TINY_VIEW
from saccade.types import Message


def hello(name: str) -> tuple[Message, ...]:
    return (Message(role="user", parts=(f"Hello {name}",)),)


def test_questions_that_come_together_are_one_batch() -> None:
    chat = letter_chat(TINY_VIEW)
    engine = ScriptedEngine(script=lambda label, turn: f"answer to {label}", chat=chat)
    teacher = EngineChat(engine=engine, chat=chat, max_tokens=50)

    async def main() -> list:
        return await asyncio.gather(
            teacher(hello("Ann"), temperature=0.7, samples=2, seed=1),
            teacher(hello("Bob"), temperature=0.0, samples=1, seed=2),
        )

    assert asyncio.run(main()) == [["answer to teacher/1/0", "answer to teacher/1/1"], ["answer to teacher/2/0"]]
    first, second, third = engine.asked
    assert (first.ids, third.ids) == (chat.prompt(hello("Ann")).ids, chat.prompt(hello("Bob")).ids)
    assert (first.sampling.max_tokens, first.sampling.temperature) == (50, 0.7)
    assert first.sampling.seed != second.sampling.seed


def test_one_question_after_another_is_answered() -> None:
    chat = letter_chat(TINY_VIEW)
    teacher = EngineChat(engine=ScriptedEngine(script=lambda label, turn: "yes", chat=chat), chat=chat)

    async def main() -> list:
        return [await teacher(hello("Ann"), temperature=0.0, samples=1, seed=seed) for seed in range(3)]

    assert asyncio.run(main()) == [["yes"]] * 3


def test_what_the_engine_raises_reaches_those_who_asked() -> None:
    chat = letter_chat(TINY_VIEW)
    teacher = EngineChat(engine=ScriptedEngine(script=[], chat=chat), chat=chat)
    with pytest.raises(SaccadeError, match="the script has no turn 1"):
        asyncio.run(teacher(hello("Ann"), temperature=0.0, samples=1, seed=0))
