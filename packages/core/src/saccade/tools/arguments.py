"""A call's arguments, checked before the tool runs; every error teaches the model what is allowed.

Nothing is guessed: a number in quotes is an error, a bool is no number, and neither NaN nor infinity is a number.
Only a whole number with decimals (2.0) passes for an integer, as in JSON schema.
"""

import json
from collections.abc import Mapping, Sequence

from saccade.characters import whole_characters
from saccade.errors import SHOWN_CHARS, ToolError, nearest
from saccade.geometry import Box, Point
from saccade.protocols.coordinates import MAX_COORDINATE, is_number, numbers
from saccade.tools.schema import MAX_ITEMS, Parameter
from saccade.types import Json

Value = str | int | float | bool | Box | Point | list[Box] | list[Point]

"""Length of a wrong value shown in an error."""


def checked_arguments(
    arguments: Mapping[str, Json], parameters: Sequence[Parameter], image_count: int
) -> dict[str, Value]:
    """The arguments as the function takes them, an image by its number; ``ToolError`` at the first that is wrong."""
    by_name = {parameter.name: parameter for parameter in parameters if parameter.kind != "images"}
    for name in arguments:
        if name not in by_name:
            raise ToolError(
                f"there is no argument {json_excerpt(name)}; {_known_names('the arguments are', name, list(by_name))}"
            )
    values: dict[str, Value] = {}
    for parameter in by_name.values():
        if parameter.name in arguments:
            values[parameter.name] = _checked_value(arguments[parameter.name], parameter, image_count)
        elif parameter.is_required:
            raise ToolError(f"the argument {parameter.name} is missing; it is {_wanted_form(parameter)}")
        elif parameter.kind == "image":
            values[parameter.name] = _checked_value(parameter.default, parameter, image_count)
    return values


def json_excerpt(value: Json) -> str:
    """The value as JSON, cut, for an error message."""
    if isinstance(value, int) and abs(value) > MAX_COORDINATE:
        return "a number that is too large"
    if isinstance(value, str):
        value = value[: SHOWN_CHARS + 1]
    text = json.dumps(value) if isinstance(value, str | int | float | None) else _shown_structure(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}…"


def _shown_structure(value: Sequence[Json] | Mapping[str, Json]) -> str:
    if isinstance(value, Mapping):
        return "an object"
    inner = ", ".join("[…]" if _is_list(item) else json_excerpt(item) for item in value[:8])
    return f"[{inner}{', …' if len(value) > 8 else ''}]"


def _known_names(intro: str, name: str, names: Sequence[str]) -> str:
    suggestion = nearest(name, names)
    text = f"{intro} {', '.join(names)}" if names else "the tool takes no arguments"
    return f"{text}; did you mean {suggestion}?" if suggestion else text


def _checked_value(value: Json, parameter: Parameter, image_count: int) -> Value:
    checked = _value(value, parameter, image_count)
    if checked is None:
        if parameter.kind == "image" and not image_count:
            raise ToolError("there is no image that it could be called on")
        wanted = _wanted_form(parameter, image_count)
        raise ToolError(f"the argument {parameter.name} is {json_excerpt(value)}, but it must be {wanted}")
    return checked


def _value(value: Json, parameter: Parameter, image_count: int) -> Value | None:
    match parameter.kind:
        case "text":
            # Half of a surrogate pair passes JSON, but it is no character that a tool could write or send on.
            is_text = isinstance(value, str) and len(value) <= parameter.max_chars
            return whole_characters(str(value)) if is_text else None
        case "choice":
            return value if isinstance(value, str) and value in parameter.choices else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case "number":
            return _number(value)
        case "integer":
            return _integer(value)
        case "image":
            number = _integer(value)
            return number if number is not None and 1 <= number <= image_count else None
        case "images":
            return None
        case "box":
            return _box(value)
        case "point":
            return _point(value)
        case "boxes":
            boxes = [_box(item) for item in _items(value)]
            return [box for box in boxes if box is not None] if boxes and None not in boxes else None
        case "points":
            points = [_point(item) for item in _items(value)]
            return [point for point in points if point is not None] if points and None not in points else None


def _number(value: Json) -> float | None:
    return float(value) if is_number(value) and isinstance(value, int | float) else None


def _integer(value: Json) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _box(value: Json) -> Box | None:
    corners = numbers(value, 4)
    return None if corners is None else Box(*corners)


def _point(value: Json) -> Point | None:
    pair = numbers(value, 2)
    return None if pair is None else Point(*pair)


def _items(value: Json) -> Sequence[Json]:
    return value if _is_list(value) and isinstance(value, Sequence) and len(value) <= MAX_ITEMS else ()


def _is_list(value: Json) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _wanted_form(parameter: Parameter, image_count: int | None = None) -> str:
    match parameter.kind:
        case "images":
            return "no argument of a call"
        case "text":
            return f"a text of at most {parameter.max_chars} characters"
        case "choice":
            return "one of " + ", ".join(json.dumps(choice) for choice in parameter.choices)
        case "boolean":
            return "true or false"
        case "number":
            return "a number, without quotes"
        case "integer":
            return "a whole number, without quotes"
        case "image":
            return f"the number of an image, from 1 to {image_count}"
        case "box":
            return "a box [x1, y1, x2, y2] of four numbers"
        case "point":
            return "a point [x, y] of two numbers"
        case "boxes":
            return f"a list of 1 to {MAX_ITEMS} boxes [x1, y1, x2, y2]"
        case "points":
            return f"a list of 1 to {MAX_ITEMS} points [x, y]"
