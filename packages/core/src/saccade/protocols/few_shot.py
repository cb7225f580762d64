"""Few-shot prompts: episodes shown before each question, written as the protocol writes them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.protocols.box_text import answer_to_model
from saccade.protocols.code_words import PYTHON_TOOL
from saccade.protocols.coordinates import call_to_model
from saccade.protocols.protocol import ChatProtocol, ParsedTurn
from saccade.types import (
    Answer,
    ExpertTurn,
    ImageRef,
    Malformed,
    Message,
    Task,
    ToolCall,
    ToolResult,
    ToolSpec,
    Turn,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownTurn:
    """A turn as it is shown: a recorded one, or a text with what came back."""

    text: str
    """The policy's words; empty where ``call`` says what it does."""
    thought: str = ""
    call: ToolCall | None = None
    """A call that stands apart from its text, with coordinates in the model's frame."""
    result: ToolResult | None = None
    """What the tool gave; None after an answer."""
    recorded: Turn | None = None
    """The turn of a recorded trajectory, whose coordinates are in pixels of the original."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ShownEpisode:
    """A question, and the turns up to its answer."""

    task: Task
    turns: tuple[ShownTurn, ...]
    where: str
    """File and number, for messages."""


def with_few_shot(protocol: ChatProtocol, episodes: Sequence[ShownEpisode], count: int) -> ChatProtocol:
    """The protocol whose prompt shows the first ``count`` episodes before the question; never the question's own.

    Each is what an episode of this protocol would be: its question, turns that read back well-formed, observations.
    The prompt raises UserError for an episode that the protocol cannot show. A message of the role ``tool`` is an
    observation.
    """

    def prompt(task: Task, tools: Sequence[ToolSpec], view: ViewRule) -> tuple[Message, ...]:
        opening = protocol.prompt(task, tools, view)
        system = tuple(takewhile(lambda message: message.role == "system", opening))
        others = [one for one in episodes if (one.task.question, one.task.images) != (task.question, task.images)]
        shown = (message for one in others[:count] for message in _messages(one, protocol, tools, view))
        return (*system, *shown, *opening[len(system) :])

    return replace(protocol, prompt=prompt)


def _messages(
    episode: ShownEpisode, protocol: ChatProtocol, tools: Sequence[ToolSpec], view: ViewRule
) -> Iterator[Message]:
    yield from (one for one in protocol.prompt(episode.task, tools, view) if one.role != "system")
    images = episode.task.images
    for number, turn in enumerate(episode.turns, start=1):
        text, parsed = _written(turn, episode, number, protocol, _Frame(episode.task, tools, images, view))
        yield Message(role="assistant", parts=(text,))
        is_last = number == len(episode.turns)
        if is_last != isinstance(parsed.action, Answer):
            raise UserError(f"{episode.where}: {'ends without an answer' if is_last else 'goes on after its answer'}")
        if not is_last:
            result = turn.result or ToolResult()
            if isinstance(parsed.action, ToolCall) and parsed.action.name == PYTHON_TOOL and not result.data:
                result = replace(result, data={"error_kind": None})
            shown = protocol.observe(result, len(images))
            images = (*images, *shown.images)
            yield Message(role="tool", parts=(*shown.images, *([shown.text] if shown.text else [])))


@dataclass(frozen=True, slots=True)
class _Frame:
    """What the model that is asked sees, for coordinates in its frame."""

    task: Task
    tools: Sequence[ToolSpec]
    images: Sequence[ImageRef]
    view: ViewRule

    def action(self, action: ToolCall | Answer) -> ToolCall | Answer:
        if isinstance(action, Answer):
            return answer_to_model(action, self.task, self.view)
        spec = next((tool for tool in self.tools if tool.name == action.name), None)
        return action if spec is None else call_to_model(action, spec, self.images, self.view)


def _written(
    turn: ShownTurn, episode: ShownEpisode, number: int, protocol: ChatProtocol, frame: _Frame
) -> tuple[str, ParsedTurn]:
    """The turn's text and how it reads; UserError unless that is well-formed."""
    text = turn.text
    if turn.call is not None:
        text = protocol.write(ExpertTurn(thought=turn.thought, action=turn.call))
    elif turn.recorded is not None:
        text = _rewritten(turn.recorded, episode, protocol, frame)
    parsed = protocol.parse(text)
    if not parsed.is_well_formed:
        why = parsed.action.why if isinstance(parsed.action, Malformed) else "its form is not exact"
        raise UserError(
            f"{episode.where}: turn {number} does not follow the protocol {protocol.name}: {why}. Show episodes of "
            f"this protocol; the turn is {text[:200]!r}"
        )
    return text, parsed


def _rewritten(turn: Turn, episode: ShownEpisode, protocol: ChatProtocol, frame: _Frame) -> str:
    """A recorded turn in the frame of the model that is asked now; its thought stays as it is."""
    if isinstance(turn.action, Malformed):
        return turn.text
    action = frame.action(turn.action)
    if protocol.parse(turn.text).action == action:
        return turn.text
    if turn.boxes or turn.points:
        raise UserError(
            f"{episode.where}: was recorded by a model that sees places in another frame, and its thoughts name places"
        )
    return protocol.write(ExpertTurn(thought=turn.thought, action=action))
