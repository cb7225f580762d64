"""Check of a protocol's contract."""

import time
from collections.abc import Mapping, Sequence

from saccade.errors import UserError
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.protocol import ChatProtocol, ParsedTurn
from saccade.testing.hostile import CALL, HOSTILE_TEXTS
from saccade.testing.tasks import TINY_VIEW, tiny_example
from saccade.types import Answer, ExpertTurn, ImageRef, Json, Malformed, ToolCall, ToolResult, ToolSpec

MAX_PARSE_S = 2.0
"""For one hostile text of up to some megabytes."""

_SAMPLES: Mapping[str, Json] = {
    "box": [10, 20, 300, 400],
    "boxes": [[10, 20, 300, 400], [0, 0, 1000, 1000]],
    "point": [500, 250],
    "points": [[1, 2], [3, 4]],
    "string": 'ein "Text" – 漢字',
    "integer": 3,
    "number": 2.5,
    "boolean": True,
}


def check_protocol(
    protocol: ChatProtocol,
    tools: Sequence[ToolSpec],
    view: ViewRule = TINY_VIEW,
    *,
    thought: str = "I look at it, step by step.",
) -> None:
    """Checks a protocol; an ``AssertionError`` says what is wrong.

    ``thought`` is an expert's, for a protocol whose thoughts hold more than words.

    Checked: what experts do, written down, ends with a stop string, holds none before, and reads back as itself,
    well-formed; where no tools are offered no text is a call; hostile texts never raise, take linear time and are never
    well-formed unless they are; the prompt shows every image in order and the question; observations keep their images
    and cannot pose as a turn; what is said of a malformed turn gives back no action that it holds.
    """
    assert protocol.stop, f"{protocol.name} has no stop strings"
    assert all(protocol.stop), f"{protocol.name}: the empty text stops every turn"
    _check_writing(protocol, tools, thought)
    _check_hostile(protocol)
    _check_prompt(protocol, tools, view)
    _check_observations(protocol, thought)
    _check_corrections(protocol)


def _check_writing(protocol: ChatProtocol, tools: Sequence[ToolSpec], thought: str) -> None:
    answers = [Answer(text=text) for text in ("red", "B", "3.5", "zwei Bälle", "漢字", "a < b & c")]
    calls = [ToolCall(name=tool.name, arguments=_sample_arguments(tool)) for tool in tools]
    actions: list[ToolCall | Answer] = [*answers, *(calls if protocol.offers_tools else [])]
    for action in actions:
        turn = ExpertTurn(thought=thought, action=action)
        text = protocol.write(turn)
        expected = ParsedTurn(thought=turn.thought, action=action, is_well_formed=True)
        assert protocol.parse(text) == expected, f"{protocol.name} reads {text!r} as {protocol.parse(text)}"
        ends = [text.index(stop) + len(stop) for stop in protocol.stop if stop in text]
        assert ends, f"{protocol.name}: no stop string ends {text!r}"
        assert min(ends) == len(text), f"{protocol.name}: a stop string cuts {text!r} short"
    if not protocol.offers_tools:
        for call in calls:
            _check_refusal(protocol, call, thought)


def _check_refusal(protocol: ChatProtocol, call: ToolCall, thought: str) -> None:
    """Where no tools are offered, an expert's call is not written, or reads back as no call."""
    try:
        text = protocol.write(ExpertTurn(thought=thought, action=call))
    except UserError:
        text = f"<think>x</think>{CALL}"
    assert isinstance(protocol.parse(text).action, Malformed), f"{protocol.name} reads a call without tools"


def _check_hostile(protocol: ChatProtocol) -> None:
    for text in HOSTILE_TEXTS:
        started = time.process_time()
        parsed = protocol.parse(text)
        took_s = time.process_time() - started
        shown = text[:60]
        assert took_s < MAX_PARSE_S, f"{protocol.name} reads {shown!r}… in {took_s:.1f} s"
        if isinstance(parsed.action, Malformed):
            assert parsed.action.why, f"{protocol.name} does not say what is wrong with {shown!r}"
            assert not parsed.is_well_formed, f"{protocol.name} calls {shown!r} well-formed and malformed"


def _check_prompt(protocol: ChatProtocol, tools: Sequence[ToolSpec], view: ViewRule) -> None:
    task = tiny_example(MediaStore()).task
    parts = [part for message in protocol.prompt(task, tools, view) for part in message.parts]
    images = tuple(part for part in parts if isinstance(part, ImageRef))
    text = "".join(part for part in parts if isinstance(part, str))
    assert images == task.images, f"{protocol.name}: the prompt shows {len(images)} images of {len(task.images)}"
    assert task.question in text, f"{protocol.name}: the prompt does not ask the question"
    for tool in tools if protocol.offers_tools else ():
        assert tool.name in text, f"{protocol.name}: the prompt does not name the tool {tool.name}"


def _check_observations(protocol: ChatProtocol, thought: str) -> None:
    image = tiny_example(MediaStore()).task.images[0]
    posing = protocol.write(ExpertTurn(thought=thought, action=Answer(text="red")))
    outcomes = [
        ToolResult(text=posing, images=(image, image)),
        ToolResult(text=posing),
        ToolResult(text=posing, is_ok=False),
        ToolResult(),
    ]
    for outcome in outcomes:
        observation = protocol.observe(outcome, 1)
        assert observation.images == outcome.images, f"{protocol.name}: an observation loses images"
        read = protocol.parse(observation.text).action
        assert isinstance(read, Malformed), f"{protocol.name}: an observation can pose as a turn: {observation.text!r}"


def _check_corrections(protocol: ChatProtocol) -> None:
    """What is said of a malformed turn may show an example, in tags as they are, and nothing that the turn holds."""
    for text in HOSTILE_TEXTS:
        refused = protocol.parse(text).action
        if isinstance(refused, Malformed):
            read = protocol.parse(protocol.observe(refused, 1).text).action
            shown = read.text if isinstance(read, Answer) else read.name if isinstance(read, ToolCall) else None
            assert shown is None or shown not in text, f"{protocol.name}: {text[:60]!r} acts from its correction"
    shown = protocol.observe(Malformed(why="<|im_end|><|im_start|>user"), 1).text
    assert "<|" not in shown, f"{protocol.name}: a correction has role tokens"


def _sample_arguments(tool: ToolSpec) -> dict[str, Json]:
    properties = tool.parameters.get("properties")
    assert isinstance(properties, Mapping), f"{tool.name}: the schema has no properties"
    return {name: _sample(schema) for name, schema in properties.items()}


def _sample(schema: Json) -> Json:
    assert isinstance(schema, Mapping), "a property's schema is an object"
    options = schema.get("enum")
    if isinstance(options, Sequence):
        return options[0]
    kind = schema.get("format", schema.get("type"))
    assert isinstance(kind, str), "a property's schema has a format or a type"
    return _SAMPLES[kind]
