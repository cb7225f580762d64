"""Hits of a response: each of its points held against what was found in the picture that it is on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.errors import MachineError
from saccade.rewards.argos.regions import Masks
from saccade.rewards.argos.spatial import KnownMask, KnownRegions, PointForm, checked_mask, known_regions, plain_label
from saccade.rewards.mentions import frame_of
from saccade.types import ImageRef, PointMention, Task

Hit = bool | None
"""None for a point that does not count; its ``Silence`` says why."""

Silence = Literal["failed", "vague", "repeated"]
"""Why a point does not count: a machine failed on its label, the label covers over half of the picture, or it repeats
an earlier point."""


@dataclass(frozen=True, slots=True)
class KnownPicture:
    """What is known of a picture's labels, and which of them a machine failed on."""

    regions: KnownRegions
    broken: frozenset[str]


def known_picture(image: ImageRef, found: Mapping[str, Masks | MachineError]) -> KnownPicture:
    """What was found of a picture, checked once for all points on it."""
    size = (image.width, image.height)
    regions = {label: masks for label, masks in found.items() if not isinstance(masks, MachineError)}
    broken = frozenset(found.keys() - regions.keys() | _lying(regions, size))
    fine = {label: masks for label, masks in regions.items() if label not in broken}
    return KnownPicture(known_regions(fine, size), broken)


def picture_of(mention: PointMention, task: Task, *, is_video: bool) -> int | None:
    """Index of the picture that a point is on; None where it refers to none."""
    if is_video:
        return frame_of(task.frame_times_s, frame=mention.frame, time_s=mention.time_s)
    return mention.image_index if 0 <= mention.image_index < len(task.images) else None


def hits_of(
    mentions: Sequence[PointMention],
    places: Sequence[int | None],
    pictures: Mapping[int, KnownPicture],
    *,
    distinct: bool,
    is_video: bool = False,
) -> tuple[list[Hit], dict[int, Silence]]:
    """For each point whether it hits, and why by their places those do not count that have None.

    In a video a thing that stays where it is counts once, in however many frames it is pointed at.
    """
    hits: list[Hit] = [False] * len(mentions)
    silent: dict[int, Silence] = {}
    counted: list[KnownMask] | None = [] if is_video else None
    for place in sorted({place for place in places if place is not None}):
        picture = pictures[place]
        indices = [index for index, at in enumerate(places) if at == place]
        forms = [_form(mentions[index]) for index in indices]
        of_place = picture.regions.hits(forms, distinct=distinct, elsewhere=counted)
        for index, hit in zip(indices, of_place):
            label = plain_label(mentions[index].label)
            if label in picture.broken:
                silent[index] = "failed"
            elif hit is None:
                silent[index] = "vague" if label in picture.regions.vague else "repeated"
            hits[index] = None if index in silent else hit
    return hits, silent


def share_of_targets(
    task: Task, mentions: Sequence[PointMention], places: Sequence[int | None], hits: Sequence[Hit]
) -> float | None:
    """Share of the task's targets with a point on them that hits what it names; None where the task has none."""
    points = [(at, one.point) for one, at, hit in zip(mentions, places, hits) if hit and one.point]
    found = [
        any(at == target.image_index and target.box.contains(point) for at, point in points) for target in task.targets
    ]
    return sum(found) / len(found) if found else None


def _lying(regions: Mapping[str, Masks], size: tuple[int, int]) -> set[str]:
    """Labels whose masks are none of a picture of this size."""
    lying = set()
    for label, masks in regions.items():
        try:
            for mask in masks:
                checked_mask(mask, size, label)
        except MachineError:
            lying.add(label)
    return lying


def _form(mention: PointMention) -> PointForm:
    point = mention.point
    return (None, None, mention.label) if point is None else (point.x, point.y, mention.label)
