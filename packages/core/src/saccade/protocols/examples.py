"""Examples in the protocols' own words. A model obeys them to the letter, so the parser reads each as it stands."""

import json
from collections.abc import Mapping, Sequence

from saccade.protocols.markup import names_tags, read_call, written_call
from saccade.types import Json, ToolCall, ToolSpec

ANSWER_EXAMPLE = "<answer>your answer</answer>"
"""A copy of it is a wrong answer."""

PYTHON_EXAMPLE = "<code>\n```python\nprint(input_image.size)\n```\n</code>"

_BOX: Json = [100, 50, 200, 150]
_POINT: Json = [150, 100]
_SAMPLES: Mapping[str, Json] = {
    "box": _BOX,
    "boxes": [_BOX],
    "point": _POINT,
    "points": [_POINT],
    "integer": 1,
    "number": 2,
    "boolean": True,
}


def call_form(tools: Sequence[ToolSpec]) -> str:
    """How a call of these tools is written: by an example, or in words where no schema says enough for one."""
    call = example_call(tools)
    if call is None:
        return 'a JSON object with the keys "name" and "arguments", between <tool_call> and </tool_call>'
    return f"<tool_call>{written_call(call)}</tool_call>"


def example_call(tools: Sequence[ToolSpec]) -> ToolCall | None:
    """A call with all the arguments that its tool requires; if possible of a tool that requires no words."""
    calls = [ToolCall(name=tool.name, arguments=given) for tool in tools if (given := _arguments(tool)) is not None]
    # Names and options come from anywhere: an example with tags in it would be read otherwise than it is meant.
    usable = [call for call in calls if not names_tags(written_call(call)) and read_call(written_call(call)) == call]
    wordless = [call for call in usable if "your " not in json.dumps(call.arguments)]
    return next(iter([*wordless, *usable]), None)


def _arguments(tool: ToolSpec) -> dict[str, Json] | None:
    """Samples of the required arguments; None where one of them cannot be made up."""
    properties, required = tool.parameters.get("properties", {}), tool.parameters.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, Sequence):
        return None
    samples: dict[str, Json] = {}
    for name in map(str, required):
        schema = properties.get(name)
        sample = _sample(name, schema) if isinstance(schema, Mapping) else None
        if sample is None:
            return None
        samples[name] = sample
    return samples


def _sample(name: str, schema: Mapping[str, Json]) -> Json:
    options, kind = schema.get("enum"), schema.get("type")
    if isinstance(options, Sequence) and options:
        return options[0]
    if (default := schema.get("default")) is not None:
        return default
    form = schema.get("format")
    if isinstance(form, str) and form in _SAMPLES:
        return _SAMPLES[form]
    if kind == "string":
        return f"your {name}"
    return _SAMPLES.get(kind) if isinstance(kind, str) else None
