"""Boxes of right answers: ms-swift's ``objects``, golds that are boxes, and the frames that they are written in."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from saccade.answer_boxes import boxes_in, boxes_of, written_boxes
from saccade.geometry import Box
from saccade.tasks.rows.fields import Row, RowError, RowValue, listed, literal, mapping, row_with, short
from saccade.tasks.rows.golds import unwrapped
from saccade.tasks.rows.images import inside
from saccade.tasks.rows.messages import RowMessage
from saccade.tasks.rows.parts import FRAMES
from saccade.types import ImageRef

_SCALES = {"0-1": 1.0, "0-999": 999.0, "0-1000": 1000.0}
_PLACEHOLDER = re.compile(r"<ref-object>|<bbox>")
_OWN_ANSWER = re.compile(r"""["']answer["']\s*:""")
"""An object that has an answer beside its boxes is none of boxes alone."""
_BESIDE = re.compile(r"(?:[\s,;.:\[\](){}\"']|bbox_2d|bbox|label)*+")
_LEAD = re.compile(r"(?:[^\W\d]+\s+){1,8}(?:is|are|at|:)?:?\s*(?=[\[(<])")
_PLACE = re.compile(
    r"\b(?:bounding|b-?box\w*|box(?:es)?|coordinates?|locat\w+|regions?|detect\w*|ground\w*|where|positions?)\b",
    re.IGNORECASE,
)
_THOUSAND = re.compile(r"\b(?:0|1)\s*(?:-|–|to|and)\s*(1000|999)\b|\bnormali[sz]ed\b[^.]*\b(1000|999)\b")
_SWIFT_FRAMES = {"real": "pixels", "norm1": "0-1", "norm1000": "0-1000"}


def with_objects(messages: Sequence[RowMessage], row: Row) -> tuple[Sequence[RowMessage], Row, RowValue]:
    """Messages with the names of ms-swift's ``objects`` for ``<ref-object>``, and the boxes of the answer.

    The answer's boxes are None where it has no ``<bbox>``; boxes of a question are written into it, in pixels.
    """
    if not row.get("objects") or not any(_PLACEHOLDER.search(one.text) for one in messages):
        return messages, row, None
    objects = _objects(literal(row["objects"], "objects"))
    names, boxes = iter(listed(objects.get("ref"), "objects")), iter(listed(objects.get("bbox"), "objects"))
    *before, last = messages
    filled = [replace(one, text=_filled(one.text, names, boxes)) for one in before]
    frame = _SWIFT_FRAMES.get(str(objects.get("bbox_type") or "real"))
    if frame is None:
        raise RowError("objects", f"bbox_type {short(objects.get('bbox_type'))} is none of {', '.join(_SWIFT_FRAMES)}")
    row = row_with(row, {"objects": None, "box_frame": row.get("box_frame") or frame})
    if last.role != "assistant" or "<bbox>" not in last.text:
        return [*filled, replace(last, text=_filled(last.text, names, boxes))], row, None
    if not _BESIDE.fullmatch(_PLACEHOLDER.sub("", last.text)):
        raise RowError("objects", "the answer mixes boxes with words; only one of boxes alone can be compared")
    found = [_next(boxes) for _ in range(last.text.count("<bbox>"))]
    return [*filled, last], row, found


def _objects(value: RowValue) -> Row:
    """``ref``, ``bbox``, ``bbox_type``; also from ms-swift's earlier list of ``caption``, ``bbox``, ``bbox_type``."""
    if not isinstance(value, list):
        return mapping(value, "objects")
    items = [mapping(item, "objects") for item in value]
    boxes = [listed(item.get("bbox"), "objects") for item in items]
    flat = [box for found in boxes for box in (found if found and isinstance(found[0], list) else [found])]
    return {"ref": [item.get("caption") for item in items], "bbox": flat, "bbox_type": items[0].get("bbox_type")}


def _filled(text: str, names: Iterator[RowValue], boxes: Iterator[RowValue]) -> str:
    return _PLACEHOLDER.sub(lambda mark: str(_next(names if mark[0] == "<ref-object>" else boxes)), text)


def _next(values: Iterator[RowValue]) -> RowValue:
    value = next(values, None)
    if value is None:
        raise RowError("objects", "has fewer names or boxes than the text has <ref-object> or <bbox>")
    return value


def gold_boxes(answer: RowValue, question: str, *, is_said: bool) -> tuple[Box, ...] | None:
    """The boxes of a right answer, as they are written; None where it is something else.

    ``is_said``: the row or the command says that answers are boxes. Else four numbers are a box where they are
    fractions, stand in objects with keys such as ``bbox_2d``, or the question asks for a place.
    """
    if isinstance(answer, str):
        text = unwrapped(answer)
        if not is_said and _OWN_ANSWER.search(text):
            return None
        lead = _LEAD.match(text)
        boxes, has_keys = boxes_in(text[lead.end() :] if lead else text), "{" in text
    else:
        boxes, has_keys = boxes_of(answer), _has(answer, dict) or _has(answer, float)
    if boxes is None or is_said:
        return boxes
    is_likely = all(box.is_ordered for box in boxes) and (has_keys or _PLACE.search(question) is not None)
    return boxes if is_likely else None


def _has(value: RowValue, kind: type) -> bool:
    return isinstance(value, kind) or (isinstance(value, list) and any(_has(item, kind) for item in value))


def guessed_frame(boxes: Sequence[Box], image: ImageRef, question: str) -> str:
    """The frame of boxes whose row names none.

    All numbers are at most 1: ``0-1``. The question says so, or a box lies outside the picture and none beyond 1000:
    ``0-1000``, or ``0-999`` by the question. Else pixels.
    """
    furthest = max(max(box.as_tuple()) for box in boxes)
    if furthest <= 1:
        return "0-1"
    said = _THOUSAND.search(question)
    if said is not None:
        return f"0-{said[1] or said[2]}"
    is_outside = any(box.x2 > image.width + 1 or box.y2 > image.height + 1 for box in boxes)
    return "0-1000" if is_outside and furthest <= 1000 else "pixels"


def written_gold(boxes: Sequence[Box], frame: str, image: ImageRef, key: str) -> str:
    """The answer in pixels of the original; ``RowError`` for a box that is none, or lies outside of the picture."""
    if frame not in FRAMES:
        raise RowError("box_frame", f"{short(frame)} is not one of {', '.join(FRAMES)}")
    wide, tall = (1.0, 1.0) if frame == "pixels" else (image.width / _SCALES[frame], image.height / _SCALES[frame])
    scaled = [Box(box.x1 * wide, box.y1 * tall, box.x2 * wide, box.y2 * tall) for box in boxes]
    try:
        return written_boxes([inside(box, image, key) for box in scaled])
    except RowError as error:
        raise RowError(key, f"{error.why} (read as {frame}; box_frame may be {', '.join(FRAMES)})") from error
