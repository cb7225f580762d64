"""Marks: points on things of a question's pictures, by regions (exact, or a detector's) or by a pointing model."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from saccade.errors import MachineError, SaccadeError
from saccade.geometry import Mask, Point
from saccade.media.store import MediaStore
from saccade.rewards.argos.model_regions import attempt_all
from saccade.rewards.argos.pointers import NoPointsError
from saccade.rewards.argos.regions import RegionRequest, Regions
from saccade.rewards.argos.selection import Selection
from saccade.rewards.argos.spatial import checked_mask, is_vague, plain_label
from saccade.types import Task
from saccade.vision_models.kinds import Pointer, PointingRequest


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """A point on a thing, in whole pixels of the original of its picture."""

    label: str
    point: Point
    image_index: int = 0


class MarkFinder(Protocol):
    """Finds points on named things."""

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[Sequence[Point] | MachineError]:
        """Points of each request in pixels of the original; safe to call from many threads."""
        ...


@dataclass(frozen=True)
class RegionMarks:
    """A point inside of each region: near its middle, and where that lies outside, in the nearest part of it.

    A thing that covers over half of its picture gets none: nothing that points at it says where it is.
    """

    regions: Regions

    def find(self, requests: Sequence[RegionRequest], /) -> list[Sequence[Point] | MachineError]:
        found = self.regions.find(requests)
        return [
            masks if isinstance(masks, MachineError) else _middles(masks, request)
            for request, masks in zip(requests, found)
        ]


@dataclass(frozen=True, kw_only=True)
class PointerMarks:
    """Points by a pointing model; a thing that it says nothing readable about gets no mark."""

    pointer: Pointer
    media: MediaStore

    def find(self, requests: Sequence[RegionRequest], /) -> list[Sequence[Point] | MachineError]:
        asked = [PointingRequest(image=self.media.get(one.image).convert("RGB"), label=one.label) for one in requests]
        found = attempt_all(self.pointer.point_batch, asked, "pointing model")
        return [[] if isinstance(one, NoPointsError) else one for one in found]


def requests_for(task: Task, things: Sequence[str], selection: Selection) -> list[RegionRequest]:
    """Each thing in each picture, found by the kind of model that will verify points on it."""
    finder: Literal["detector", "pointer"] = "pointer" if selection.grounding == ("pointer",) else "detector"
    return [
        RegionRequest(task=task, image_index=index, label=plain_label(thing), finder=finder)
        for index in range(len(task.images))
        for thing in things
    ]


def marks_of(
    requests: Sequence[RegionRequest], found: Sequence[Sequence[Point] | MachineError], names: Sequence[str], limit: int
) -> tuple[Mark, ...]:
    """Marks of a question, at most ``limit`` of a thing in a picture, no pixel twice; MachineError where one failed."""
    spelt: Mapping[str, str] = {plain_label(name): name for name in names}
    marks: dict[tuple[int, int, int], Mark] = {}
    for request, points in zip(requests, found):
        if isinstance(points, MachineError):
            raise points
        image, taken = request.image, 0
        for point in points:
            # Anything may come from a model; what is no pixel of the picture marks nothing.
            if taken == limit or not (0 <= point.x < image.width and 0 <= point.y < image.height):
                continue
            x, y = int(point.x), int(point.y)
            if (key := (request.image_index, x, y)) in marks:
                continue
            taken += 1
            marks[key] = Mark(
                label=spelt.get(request.label, request.label), point=Point(x, y), image_index=request.image_index
            )
    return tuple(marks.values())


def _middles(masks: Sequence[Mask], request: RegionRequest) -> Sequence[Point] | MachineError:
    size = (request.image.width, request.image.height)
    try:
        checked = [checked_mask(mask, size, request.label) for mask in masks]
    except SaccadeError as error:
        return MachineError(str(error))
    return [] if is_vague(checked, size) else [middle(mask) for mask in checked if mask.area]


def middle(mask: Mask) -> Point:
    """The pixel of a mask that is nearest to the mean of its pixels."""
    rows, columns = np.nonzero(mask.to_array())
    nearest = int(np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2))
    return Point(int(columns[nearest]), int(rows[nearest]))
