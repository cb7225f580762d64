"""Trajectories and curators of the tests of linguistic tools."""

from collections.abc import Callable, Sequence

from saccade.curation.linguistic_tools import ReasonedTrajectory, ToolSet, written_reply
from saccade.errors import MachineError
from saccade.protocols import ChainCall, LinguisticTool, LinguisticToolbox
from saccade.testing import ScriptedTeacher
from saccade.testing.scripted import text_of
from saccade.types import Message

EMPTY = LinguisticToolbox(())

STEPS = ("find the page", "read the mark", "compare both")


def trajectory(number: int, *steps: str) -> ReasonedTrajectory:
    said = ". ".join(steps or [STEPS[number % 3], STEPS[0]])
    return ReasonedTrajectory(id=f"q{number}", question=f"Question {number}?", reasoning=said, answer="7")


def tool_of(step: str) -> LinguisticTool:
    return LinguisticTool(step.replace(" ", "_"), f"To {step}.")


def rule(one: ReasonedTrajectory, pool: LinguisticToolbox) -> str:
    """Names each step by its words; defines what the pool has not."""
    tools = [tool_of(step) for step in one.reasoning.split(". ")]
    calls = [ChainCall(name=tool.name, args="Image 1", finding="7") for tool in tools]
    return written_reply(calls, [tool for tool in dict.fromkeys(tools) if tool.name not in pool])


def teacher(reply: Callable[[str, str], str]) -> ScriptedTeacher:
    """A chat model that says ``reply(list of tools, reasoning)``."""

    def of(messages: Sequence[Message]) -> str:
        tools, _, reasoning = text_of(messages[1:]).partition("The reasoning:\n")
        return reply(tools, reasoning.removeprefix("| "))

    return ScriptedTeacher(reply=of)


def down_on(numbers: set[int], reply: str) -> ScriptedTeacher:
    """A chat model whose machine fails on the requests of these numbers, from 0."""
    counted = iter(range(1_000_000))

    def of(messages: Sequence[Message]) -> str:
        if next(counted) in numbers:
            raise MachineError("the server is down")
        return reply

    return ScriptedTeacher(reply=of)


def found(number: int, *names: str) -> ToolSet:
    """A set of tools, each used once."""
    tools = [LinguisticTool(name, f"As q{number} says.") for name in names]
    return ToolSet(
        trajectory=f"q{number}",
        tools=tuple(tools),
        calls=tuple(ChainCall(name=name, args="", finding="x") for name in names),
    )
