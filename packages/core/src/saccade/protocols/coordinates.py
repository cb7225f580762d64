"""Coordinates of a tool call, between the model's frame of the image it names and pixels of the original.

Which arguments are coordinates is read from the tool's schema: ``"format"`` is ``box``, ``boxes``, ``point``
or ``points``. Whatever does not have the shape and the finite numbers that its format asks for, passes
unchanged, so that the tool's own validation reports it in the model's words; the same holds for every
coordinate of a call whose ``image`` is not the number of an image.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from saccade.geometry import Box, Frame, Point
from saccade.media.resize import ViewRule
from saccade.types import BoxMention, ImageRef, Json, ToolCall, ToolSpec

MAX_COORDINATE = 1e9
"""Larger magnitudes are no coordinates; they pass unchanged and the tool reports them."""

Convert = tuple[Callable[[Box], Box], Callable[[Point], Point]]


def call_to_original(call: ToolCall, spec: ToolSpec, images: Sequence[ImageRef], view: ViewRule) -> ToolCall:
    """The call as the model meant it, in pixels of the original of the image that it names; not clipped."""
    frame = _frame(call, spec, images, view)
    return call if frame is None else _convert_call(call, spec, (frame.box_to_original, frame.point_to_original))


def call_to_model(call: ToolCall, spec: ToolSpec, images: Sequence[ImageRef], view: ViewRule) -> ToolCall:
    """The call as the model would write it, in whole numbers of its frame."""
    frame = _frame(call, spec, images, view)
    return call if frame is None else _convert_call(call, spec, (frame.box_to_model, frame.point_to_model))


def mentions_to_original(
    mentions: Sequence[BoxMention], images: Sequence[ImageRef], view: ViewRule
) -> tuple[BoxMention, ...]:
    """Boxes of a thought, which are on the first image, in pixels of its original; not clipped."""
    if not mentions or not images:
        return tuple(mentions)
    frame = view.frame_for(images[0])
    return tuple(one if one.box is None else replace(one, box=frame.box_to_original(one.box)) for one in mentions)


def coordinate_formats(spec: ToolSpec) -> dict[str, str]:
    """The format of each argument of the tool that is a coordinate, by the argument's name."""
    properties = spec.parameters.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    formats: dict[str, str] = {}
    for name, schema in properties.items():
        kind = schema.get("format") if isinstance(schema, Mapping) else None
        if isinstance(kind, str) and kind in ("box", "boxes", "point", "points"):
            formats[name] = kind
    return formats


def is_number(value: Json) -> bool:
    """A finite number of a sane size; a bool is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    # Compared before anything is converted: float() of an int of a thousand digits overflows.
    return -MAX_COORDINATE <= value <= MAX_COORDINATE and not (isinstance(value, float) and math.isnan(value))


def numbers(value: Json, count: int) -> tuple[float, ...] | None:
    """The value as ``count`` numbers, or None when it is anything else."""
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != count:
        return None
    if not all(is_number(item) for item in value):
        return None
    return tuple(item for item in value if isinstance(item, int | float))


def _frame(call: ToolCall, spec: ToolSpec, images: Sequence[ImageRef], view: ViewRule) -> Frame | None:
    number = call.arguments.get("image", _default_image(spec))
    if isinstance(number, bool) or not isinstance(number, int | float):
        return None
    if number not in range(1, len(images) + 1):
        return None
    return view.frame_for(images[int(number) - 1])


def _default_image(spec: ToolSpec) -> Json:
    properties = spec.parameters.get("properties")
    schema = properties.get("image") if isinstance(properties, Mapping) else None
    return schema.get("default", 1) if isinstance(schema, Mapping) else 1


def _convert_call(call: ToolCall, spec: ToolSpec, convert: Convert) -> ToolCall:
    formats = coordinate_formats(spec)
    arguments: dict[str, Json] = {
        name: _convert(value, formats[name], convert) if name in formats else value
        for name, value in call.arguments.items()
    }
    return ToolCall(name=call.name, arguments=arguments)


def _convert(value: Json, kind: str, convert: Convert) -> Json:
    if kind in ("box", "point"):
        converted = _convert_one(value, kind, convert)
        return value if converted is None else converted
    if isinstance(value, str) or not isinstance(value, Sequence):
        return value
    item_kind = {"boxes": "box", "points": "point"}[kind]
    items = [_convert_one(item, item_kind, convert) for item in value]
    # All or nothing: a list half in one frame and half in the other could not be reported to the model.
    return value if any(item is None for item in items) else items


def _convert_one(value: Json, kind: str, convert: Convert) -> list[Json] | None:
    to_box, to_point = convert
    if kind == "box":
        corners = numbers(value, 4)
        return None if corners is None else list(to_box(Box(*corners)).as_tuple())
    pair = numbers(value, 2)
    if pair is None:
        return None
    point = to_point(Point(*pair))
    return [point.x, point.y]
