"""Pointing models: any vision-language model that answers in points, in the notations that such models write.

Molmo and PixMo write ``<point x="61.5" y="40.4" alt="cup">cup</point>`` in percent of the picture, Qwen2.5-VL JSON with
``point_2d`` in pixels of its view, Qwen3-VL in thousandths; others write pairs in brackets.
"""

import json
import re
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal

from saccade.errors import MachineError, RefusalError, ToolError
from saccade.geometry import Point
from saccade.protocols.coordinates import MAX_COORDINATE
from saccade.protocols.points import find_points, has_point_tag
from saccade.types import Json
from saccade.vision_models.kinds import PointingRequest, VisionModel

PointUnits = Literal["percent", "thousandths", "pixels"]
"""What coordinates of a pointing model count: hundredths or thousandths of the picture's sides, or its pixels."""

_WHOLE: dict[PointUnits, float] = {"percent": 100.0, "thousandths": 1000.0}

_ASKED = {
    "percent": "Point to every {label}.",
    "thousandths": "Where is each {label} in the image? Reply with a JSON list of its points alone: "
    '[{{"point_2d": [x, y]}}], in thousandths of the image\'s width and height; [] where there is none.',
    "pixels": "Where is each {label} in the image, which is {width} x {height} pixels? Reply with a JSON list of its "
    'points alone: [{{"point_2d": [x, y]}}], in pixels from the upper left corner; [] where there is none.',
}

_PAIR = re.compile(r"[\[(]\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*,\s*([0-9]{1,6}(?:\.[0-9]{1,6})?)\s*[\])]")
_JSON = re.compile(r"\[.{0,20000}\]|\{.{0,20000}\}", re.DOTALL)
_NOTHING = re.compile(r"\b(no|none|not|nothing|cannot|can't|isn't|aren't|there are no)\b|\[\s*\]", re.IGNORECASE)


class NoPointsError(RefusalError):
    """A pointing model was there and gave no points: it refused the request, or its reply cannot be read."""


@dataclass(frozen=True, kw_only=True)
class VisionPointer:
    """A ``Pointer`` that asks a vision-language model.

    Replies are read as tags of points, as JSON, or as pairs in brackets. A reply without any is "none" where it says
    so, else no answer: a machine's failure.
    """

    model: VisionModel
    name: str
    """Names the model, for ``identity``."""
    units: PointUnits = "percent"
    prompt: str = ""
    """With ``{label}``, ``{width}`` and ``{height}``; empty for the one of the units."""
    at_once: int = 8

    @property
    def identity(self) -> str:
        return f"{self.name} in {self.units} by {self._asked!r}"

    @property
    def _asked(self) -> str:
        return self.prompt or _ASKED[self.units]

    def point_batch(self, requests: Sequence[PointingRequest]) -> list[Sequence[Point] | MachineError]:
        """The points of each request, asked for ``at_once`` at a time."""
        with ThreadPoolExecutor(self.at_once) as pool:
            return list(pool.map(self._points_for, requests))

    def _points_for(self, request: PointingRequest) -> Sequence[Point] | MachineError:
        size = request.image.size
        # A label is a policy's words: braces in it are no fields of the prompt.
        values = {"{label}": request.label, "{width}": str(size[0]), "{height}": str(size[1])}
        prompt = re.sub(r"\{label\}|\{width\}|\{height\}", lambda found: values[found.group()], self._asked)
        prompt = prompt.replace("{{", "{").replace("}}", "}") if not self.prompt else prompt
        try:
            reply = self.model.answer(request.image, prompt)
        except MachineError as error:
            return error
        except ToolError as error:
            return NoPointsError(f"the pointing model did not take {request.label!r}: {error}")
        points = read_points(reply, size, self.units)
        if points is None:
            return NoPointsError(f"the pointing model's reply for {request.label!r} holds no points: {reply[:80]!r}")
        return points


def read_points(reply: str, size: tuple[int, int], units: PointUnits) -> list[Point] | None:
    """Points of a reply in pixels of a picture of (width, height) ``size``; empty for "none", None for anything else.

    Never raises. Points outside of the picture are left out.
    """
    if has_point_tag(reply):
        pairs = [(one.point.x, one.point.y) for one in find_points(reply) if one.point is not None]
    else:
        pairs = _from_json(reply)
        if not pairs:
            pairs = [(float(x), float(y)) for x, y in _PAIR.findall(reply)]
    if not pairs:
        return [] if _NOTHING.search(reply) else None
    whole = _WHOLE.get(units)
    across, down = (1.0, 1.0) if whole is None else (size[0] / whole, size[1] / whole)
    points = [Point(x * across, y * down) for x, y in pairs]
    return [one for one in points if 0 <= one.x < size[0] and 0 <= one.y < size[1]]


def _from_json(reply: str) -> list[tuple[float, float]]:
    found = _JSON.search(reply)
    if found is None:
        return []
    try:
        value: Json = json.loads(found.group())
    except (ValueError, RecursionError):
        return []
    return list(_pairs(value, depth=0))


def _pairs(value: Json, depth: int) -> Iterator[tuple[float, float]]:
    if isinstance(value, dict):
        for key in ("point_2d", "point", "points", "coordinates"):
            if key in value:
                yield from _pairs(value[key], depth + 1)
                return
        if "x" in value and "y" in value:
            yield from _pairs([value["x"], value["y"]], depth + 1)
    elif isinstance(value, list) and depth < 5:
        numbers = [
            float(one)
            for one in value
            if isinstance(one, int | float) and not isinstance(one, bool) and abs(one) < MAX_COORDINATE
        ]
        if len(value) == len(numbers) == 2:
            yield numbers[0], numbers[1]
        else:
            for one in value:
                yield from _pairs(one, depth + 1)
