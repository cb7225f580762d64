"""Boxes that a reply names against a benchmark's targets."""

import ast
import math
import re

from saccade.geometry import Box, iou

_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)
_TAG = re.compile(r"<box>(.*?)</box>", re.DOTALL)
_FOUR = re.compile(r"\[(\d{1,9}),(\d{1,9}),(\d{1,9}),(\d{1,9})\]")


def named_boxes(reply: str) -> list[Box]:
    """Boxes ``<box>[x1,y1,x2,y2]</box>``, whole numbers without spaces, of the first thought or else the reply."""
    thought = _THOUGHT.search(reply)
    found = (_FOUR.match(tag.strip()) for tag in _TAG.findall(thought[1].strip() if thought else reply))
    boxes = [Box(*(float(side) for side in match.groups())) for match in found if match]
    return [box for box in boxes if box.is_ordered]


def best_iou(reply: str, targets: str) -> float:
    """Mean over the targets of their best IoU with a named box; 0 without boxes, and 1 where boxes meet no target.

    Boxes are in pixels of the picture as published: the harness does not scale them back from a resized one.
    """
    try:
        wanted = [Box(*(float(side) for side in target)) for target in ast.literal_eval(targets)]
    except (ValueError, SyntaxError, TypeError):
        return 0.0
    named = named_boxes(reply)
    if not named or not wanted:
        return float(bool(named))
    return math.fsum(max(iou(target, box) for box in named) for target in wanted) / len(wanted)
