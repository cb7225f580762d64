"""Replies of a checker, read strictly: what is not clearly a verdict is none."""

import json
import re

from saccade.geometry import Box
from saccade.tasks.readers.fields import as_number
from saccade.types import ImageRef, Json, Target

MAX_BOXES = 64
MAX_LABEL_CHARS = 200
EDGE_SLACK_PX = 1.0

_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
_FENCED = re.compile(r"\A```(?:json)?\s*\n(.*)\n```\Z", re.DOTALL)
_MARKS = " \t\r\n*_`\"'“”.!"


def spoken(reply: str) -> str:
    """What a model says after thinking aloud in ``<think>`` tags, which some servers leave in the text."""
    return _THOUGHTS.sub("", reply, count=1).strip()


def read_verdict(reply: str, *, good: str, bad: str) -> bool | None:
    """True for the word ``good`` alone, False for ``bad`` alone, in any case and marks; None for anything else."""
    word = spoken(reply).strip(_MARKS).casefold()
    return {good.casefold(): True, bad.casefold(): False}.get(word)


def read_boxes(reply: str, image: ImageRef) -> tuple[Target, ...] | None:
    """The objects of a JSON list of ``{"label": …, "bbox_2d": [x1, y1, x2, y2]}`` in pixels; None when it is no such.

    The list may stand in a fence. One box that is empty, inverted or outside of the image spoils the list, for then the
    model counts in another frame.
    """
    text = spoken(reply)
    fenced = _FENCED.match(text)
    try:
        value: Json = json.loads(fenced.group(1) if fenced else text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, list) or not 0 < len(value) <= MAX_BOXES:
        return None
    targets = [_target(item, image) for item in value]
    known = tuple(target for target in targets if target is not None)
    return known if len(known) == len(targets) else None


def _target(item: Json, image: ImageRef) -> Target | None:
    if not isinstance(item, dict) or set(item) != {"label", "bbox_2d"}:
        return None
    label, corners = item["label"], item["bbox_2d"]
    if not isinstance(label, str) or not 0 < len(label) <= MAX_LABEL_CHARS or not isinstance(corners, list):
        return None
    numbers = [
        number for corner in corners if isinstance(corner, int | float) and (number := as_number(corner)) is not None
    ]
    if len(corners) != 4 or len(numbers) != 4:
        return None
    box = Box(*numbers)
    clipped = box.clipped(image.width, image.height)
    reach = max(abs(a - b) for a, b in zip(box.as_tuple(), clipped.as_tuple()))
    if not (box.is_ordered and clipped.is_ordered) or reach > EDGE_SLACK_PX:
        return None
    return Target(label=label, box=clipped, point=clipped.center)
