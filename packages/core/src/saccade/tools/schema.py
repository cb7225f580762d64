"""The JSON schema of a tool, derived from a typed Python function.

What a function must look like::

    def crop(
        image: Image.Image,
        bbox_2d: Annotated[Box, "the region to look at"],
    ) -> ToolOutput:
        '''Cut out a region of an image at full resolution.'''

The first line of the docstring describes the tool; ``Annotated`` describes an argument. An argument may be ``str``,
``int``, ``float``, ``bool``, a ``Literal`` of texts, ``Box``, ``Point``, ``list[Box]`` or ``list[Point]``; coordinates
that may be left out are ``Box | None = None``. A parameter ``image: PIL.Image.Image`` is named by the model through the
image's number, 1 when it says nothing. A parameter ``images: list[PIL.Image.Image]`` is all images; the model does not
name it.
"""

import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, Union, get_args, get_origin, get_type_hints

from PIL import Image

from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.types import Json, ToolSpec

ParameterKind = Literal[
    "image", "images", "text", "integer", "number", "boolean", "choice", "box", "boxes", "point", "points"
]

MAX_ITEMS = 64
"""Boxes or points in one argument."""

MAX_TEXT_CHARS = 4096
"""Characters in one text argument."""

_KINDS: Mapping[object, ParameterKind] = {
    str: "text",
    int: "integer",
    float: "number",
    bool: "boolean",
    Box: "box",
    Point: "point",
    list[Box]: "boxes",
    list[Point]: "points",
    Image.Image: "image",
    list[Image.Image]: "images",
}

_BOX: Mapping[str, Json] = {"type": "array", "items": {"type": "number"}, "minItems": 4, "maxItems": 4, "format": "box"}
_POINT: Mapping[str, Json] = {
    "type": "array",
    "items": {"type": "number"},
    "minItems": 2,
    "maxItems": 2,
    "format": "point",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    kind: ParameterKind
    choices: tuple[str, ...] = ()
    description: str = ""
    is_required: bool = True
    default: Json = None
    max_chars: int = MAX_TEXT_CHARS
    """Limit of a text."""


def parameters_of(function: Callable[..., object]) -> tuple[Parameter, ...]:
    """The arguments of a tool function; ``UserError`` names the parameter that a model could not fill in."""
    name = function.__name__
    hints = get_type_hints(function, include_extras=True)
    parameters = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
            raise UserError(f"tool {name}: {parameter} cannot be named in a call; use plain or keyword parameters")
        if parameter.name not in hints:
            raise UserError(f"tool {name}: the parameter {parameter.name} has no type; annotate it")
        parameters.append(_parameter(name, parameter, hints[parameter.name]))
    return tuple(parameters)


def spec_of(function: Callable[..., object], parameters: tuple[Parameter, ...]) -> ToolSpec:
    """Specification of the function for a model."""
    description = (inspect.getdoc(function) or "").partition("\n")[0].strip()
    if not description:
        raise UserError(f"tool {function.__name__} has no docstring; its first line tells the model what the tool does")
    properties: dict[str, Json] = {
        parameter.name: _property(parameter) for parameter in parameters if parameter.kind != "images"
    }
    schema: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": [parameter.name for parameter in parameters if parameter.is_required],
        "additionalProperties": False,
    }
    return ToolSpec(name=function.__name__, description=description, parameters=schema)


def _parameter(tool: str, parameter: inspect.Parameter, hint: object) -> Parameter:
    description = ""
    if get_origin(hint) is Annotated:
        hint, *notes = get_args(hint)
        description = next((note for note in notes if isinstance(note, str)), "")
    if parameter.default is None:
        hint = _without_none(hint)
    kind, choices = _kind(tool, parameter.name, hint)
    if {"image": "image", "images": "images"}.get(parameter.name) != (kind if kind in ("image", "images") else None):
        raise UserError(
            f"tool {tool}: the parameter {parameter.name} breaks the rule that a parameter is called image exactly "
            "when it is a PIL.Image.Image, and images when it is a list of them; rename it or change its type"
        )
    has_default = parameter.default is not inspect.Parameter.empty
    if has_default and (kind == "image" or not isinstance(parameter.default, bool | int | float | str | None)):
        raise UserError(
            f"tool {tool}: the default {parameter.default!r} of {parameter.name} is not a text, number or boolean; "
            "leave it out"
        )
    return Parameter(
        name=parameter.name,
        kind=kind,
        choices=choices,
        description=description,
        is_required=not has_default and kind not in ("image", "images"),
        default=1 if kind == "image" else parameter.default if has_default else None,
    )


def _without_none(hint: object) -> object:
    """``Box`` for ``Box | None``, and so for all coordinates, which have no value that could stand for none."""
    for coordinates in (Box, Point, list[Box], list[Point]):
        if hint == coordinates | None:
            return coordinates
    return hint


def _kind(tool: str, name: str, hint: object) -> tuple[ParameterKind, tuple[str, ...]]:
    if get_origin(hint) is Literal:
        choices = get_args(hint)
        if all(isinstance(choice, str) for choice in choices):
            return "choice", tuple(str(choice) for choice in choices)
    # A union or an unhashable thing cannot be looked up; both are refused below.
    elif get_origin(hint) not in (Union, types.UnionType) and hint in _KINDS:
        return _KINDS[hint], ()
    raise UserError(
        f"tool {tool}: the parameter {name} has the type {hint}, which a model cannot write; use str, int, float, "
        "bool, a Literal of texts, Box, Point, list[Box], list[Point] or, for image, PIL.Image.Image"
    )


def _property(parameter: Parameter) -> Json:
    schema = dict(_type_schema(parameter))
    if parameter.description:
        schema["description"] = parameter.description
    if not parameter.is_required and parameter.default is not None:
        schema["default"] = parameter.default
    return schema


def _type_schema(parameter: Parameter) -> Mapping[str, Json]:
    match parameter.kind:
        case "image":
            about = "number of the image, counted from 1 in order of appearance"
            return {"type": "integer", "minimum": 1, "description": about}
        case "images":
            return {}
        case "text":
            return {"type": "string", "maxLength": parameter.max_chars}
        case "choice":
            return {"type": "string", "enum": list(parameter.choices)}
        case "integer" | "number" | "boolean":
            return {"type": parameter.kind}
        case "box":
            return _BOX
        case "point":
            return _POINT
        case "boxes" | "points":
            item = _BOX if parameter.kind == "boxes" else _POINT
            plain = {key: value for key, value in item.items() if key != "format"}
            return {"type": "array", "items": plain, "minItems": 1, "maxItems": MAX_ITEMS, "format": parameter.kind}
