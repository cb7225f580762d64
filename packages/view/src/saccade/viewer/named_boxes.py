"""Boxes that thoughts name, each with what it is around, as reports and pages show them."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.geometry import Box, iou
from saccade.types import Attempt, BoxMention, Task
from saccade.viewer.pictures import Overlay
from saccade.viewer.words import visible


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedBox:
    """A box of the reasoning; ``number`` counts from 1 over the whole trajectory."""

    number: int
    turn: int
    box: Box | None
    """As written, in pixels of the first image; None where it could not be read."""
    fate: str
    """The target inside it, or why it is around nothing."""


def named_boxes(attempt: Attempt) -> tuple[NamedBox, ...]:
    """All boxes of a trajectory in their order."""
    mentions = [(turn.index, mention) for turn in attempt.trajectory.turns for mention in turn.boxes]
    return tuple(
        NamedBox(number=number, turn=turn, box=mention.box, fate=_fate(mention, attempt.task))
        for number, (turn, mention) in enumerate(mentions, start=1)
    )


def named_overlays(boxes: Sequence[NamedBox]) -> list[Overlay]:
    """Those that can be drawn, each with its number."""
    return [
        Overlay(kind="named", shape=one.box, label=box_words(one), mark=str(one.number))
        for one in boxes
        if one.box is not None
    ]


def box_words(named: NamedBox) -> str:
    """``box 2: IoU 0.43 with red plate``."""
    return f"box {named.number}: {named.fate}"


def _fate(mention: BoxMention, task: Task) -> str:
    box = mention.box
    if box is None:
        return f"could not be read: {visible(mention.text, 60)}"
    if not box.is_ordered:
        return "inverted or empty"
    first = task.images[0] if task.images else None
    if first is not None and not box.clipped(first.width, first.height).is_ordered:
        return "outside of the image"
    overlaps = [(iou(box, target.box), visible(target.label, 60)) for target in task.targets if target.image_index == 0]
    if not overlaps:
        return "the question has no target"
    best, label = max(overlaps, key=lambda one: one[0])
    return f"IoU {best:.2f} with {label}" if best > 0 else "meets no target"
