"""Answers that are boxes or a point to click: texts that hold nothing else, read, written and compared, in one frame.

===================================================  ==============================================================
an answer that says                                  what becomes of it
===================================================  ==============================================================
``[x1, y1, x2, y2]``, ``(…)``, four bare numbers     a box; also within ``<box>``, ``<bbox>`` or ``<|box_start|>``
``[[…], […]]``, ``[…], […]``, ``(x1, y1), (x2, y2)``  several boxes; the last form, Qwen2-VL's, is one
JSON or a Python literal with ``bbox_2d``, ``bbox``,  the same, also in a fence; labels and confidences are passed
``box`` or ``Position``; names in ``<ref>``             over
words, any other count of numbers, NaN, infinity,    no boxes, and never right
more than ``MAX_BOXES`` boxes or ``MAX_CHARACTERS``
===================================================  ==============================================================
"""

import ast
import json
import re
from collections.abc import Sequence

from saccade.geometry import Box, Point, iou

MAX_BOXES = 64
MAX_CHARACTERS = 8000
MAX_NUMBER = 1e9

POINT_KEYS = ("point_2d", "point", "coordinate", "click")
CORNER_KEYS = ("bbox_2d", "bbox", "box", "Position", "position")

_FENCE = re.compile(r"\A```[a-z]*|```\Z")
_TAG = re.compile(
    r"</?(?:bbox|box)>|<\|box_(?:start|end)\|>|<ref>[^<>]*</ref>|<\|object_ref_start\|>[^<>]*<\|object_ref_end\|>"
)
# Not \d, which takes the digits of every script. Bounded: each match is linear in its text.
_NUMBER = r"([+-]?[0-9]{1,12}(?:\.[0-9]{1,12})?)"
_COMMA = " ?, ?"
_BOX = re.compile(r"\[ ?" + _COMMA.join([_NUMBER] * 4) + r" ?\]")
_BARE = re.compile(_COMMA.join([_NUMBER] * 4))
_CORNERS = re.compile(rf"\[ ?{_NUMBER}{_COMMA}{_NUMBER} ?\]{_COMMA}\[ ?{_NUMBER}{_COMMA}{_NUMBER} ?\]")
_POINT = re.compile(rf"\[? ?{_NUMBER}{_COMMA}{_NUMBER} ?\]?")
_BETWEEN = re.compile(r"(?:[\[\],; ]|and)*")


def boxes_in(text: str) -> tuple[Box, ...] | None:
    """The boxes of an answer by the table above, inverted ones too; None where it is anything else. Never raises."""
    if len(text) > MAX_CHARACTERS:
        return None
    plain = " ".join(_TAG.sub(" ", _FENCE.sub(" ", text.strip())).split())
    boxes = boxes_of(_value_of(plain))
    if boxes is None:
        boxes = _boxes_between_marks(plain.translate({ord("("): "[", ord(")"): "]"}))
    return boxes if boxes and len(boxes) <= MAX_BOXES else None


def boxes_of(value: object) -> tuple[Box, ...] | None:
    """The boxes of a value: four numbers, an object with one of ``CORNER_KEYS``, or a list of these; else None."""
    one = _box_of(value)
    if one is not None:
        return (one,)
    if not isinstance(value, list | tuple) or not value:
        return None
    boxes = [_box_of(item) for item in value]
    known = tuple(box for box in boxes if box is not None)
    return known if len(known) == len(boxes) else None


def point_in(text: str) -> Point | None:
    """The point that an answer clicks on: two numbers, also in brackets or under one of ``POINT_KEYS``, or the middle
    of one box. None where it is anything else, several points too. Never raises."""
    boxes = boxes_in(text)
    if boxes is not None:
        return boxes[0].center if len(boxes) == 1 else None
    if len(text) > MAX_CHARACTERS:
        return None
    plain = " ".join(_TAG.sub(" ", _FENCE.sub(" ", text.strip())).split())
    value = _value_of(plain)
    while isinstance(value, list | tuple) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        value = next((value[key] for key in POINT_KEYS if value.get(key) is not None), None)
    if isinstance(value, list | tuple):
        numbers = [float(number) for number in value if _is_coordinate(number)]
        return Point(*numbers) if len(numbers) == len(value) == 2 else None
    found = _POINT.fullmatch(plain.translate({ord("("): "[", ord(")"): "]"}))
    return Point(float(found[1]), float(found[2])) if found else None


def written_point(point: Point) -> str:
    """``[x, y]``; two decimals at most."""
    return json.dumps([int(side) if side == round(side) else round(side, 2) for side in (point.x, point.y)])


def clicks_on(prediction: str, gold: str) -> bool:
    """Whether an answer's point lies in one of the gold's boxes, or is the gold's point."""
    point, boxes = point_in(prediction), boxes_in(gold)
    if point is None or boxes is None:
        return point is not None and point == point_in(gold)
    return any(box.x1 <= point.x <= box.x2 and box.y1 <= point.y <= box.y2 for box in boxes)


def written_boxes(boxes: Sequence[Box]) -> str:
    """``[x1, y1, x2, y2]``, or a list of such lists for several; two decimals at most."""
    lists = [[int(side) if side == round(side) else round(side, 2) for side in box.as_tuple()] for box in boxes]
    return json.dumps(lists[0] if len(lists) == 1 else lists)


def matched_ious(given: Sequence[Box], wanted: Sequence[Box]) -> list[float]:
    """IoUs of pairs, best first: each box is in one pair at most, and pairs that do not touch are left out."""
    pairs = sorted(
        ((iou(one, other), -i, -j) for i, one in enumerate(given) for j, other in enumerate(wanted)), reverse=True
    )
    found: list[float] = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for overlap, i, j in pairs:
        if overlap > 0 and i not in taken[0] and j not in taken[1]:
            found.append(overlap)
            taken[0].add(i)
            taken[1].add(j)
    return found


def _value_of(text: str) -> object:
    if not text.startswith(("[", "{", "(")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None


def _box_of(value: object) -> Box | None:
    if isinstance(value, dict):
        value = next((value[key] for key in CORNER_KEYS if value.get(key) is not None), None)
    if not isinstance(value, list | tuple) or len(value) != 4:
        return None
    numbers = [float(side) for side in value if _is_coordinate(side)]
    return Box(*numbers) if len(numbers) == 4 else None


def _is_coordinate(value: object) -> bool:
    # Compared before anything is converted: float() of an int of a thousand digits overflows; NaN fails.
    return isinstance(value, int | float) and not isinstance(value, bool) and -MAX_NUMBER <= value <= MAX_NUMBER


def _boxes_between_marks(text: str) -> tuple[Box, ...] | None:
    bare = _BARE.fullmatch(text)
    found = [bare] if bare else [*_BOX.finditer(text)] or [*_CORNERS.finditer(text)]
    if not found:
        return None
    beside = (
        ""
        if bare
        else "".join(
            text[start:end]
            for start, end in zip([0, *(one.end() for one in found)], [*(one.start() for one in found), len(text)])
        )
    )
    boxes = [_box_of([float(side) for side in one.groups()]) for one in found]
    known = tuple(box for box in boxes if box is not None)
    return known if _BETWEEN.fullmatch(beside) and len(known) == len(boxes) else None
