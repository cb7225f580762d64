"""Regions of named things in pictures: what points are held against, by ground truth or by models.

A back end is asked for many (picture, label) pairs at once, so that a batch of trajectories becomes few forward
passes. Layers over one another: ``CachedRegions`` over ``NoisyRegions`` over ``ExactRegions``, say.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np

from saccade.errors import MachineError
from saccade.geometry import Mask
from saccade.rewards.argos.spatial import plain_label
from saccade.seeding import seed_for
from saccade.types import ImageRef, Task

Masks = tuple[Mask, ...]
"""One of the picture's size for each thing that was found; empty where nothing was."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RegionRequest:
    """The things of one name in one picture of a task."""

    task: Task
    image_index: int
    label: str
    """As ``scores.plain_label`` gives it."""
    finder: Literal["detector", "pointer"] = "detector"
    """Which kind of model finds it: a pointing model where a detector does not work well, on charts and maps."""

    @property
    def image(self) -> ImageRef:
        return self.task.images[self.image_index]

    @property
    def key(self) -> tuple[str, str, str]:
        """Requests of one key have one answer: the picture's hash, the label and the finder."""
        return (self.image.hash, self.label, self.finder)


class Regions(Protocol):
    """Finds the regions of named things."""

    @property
    def identity(self) -> str:
        """What answers depend on beside the request: models, thresholds, seed; part of a cache's key."""
        ...

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[Masks | MachineError]:
        """The masks for each request, or why its machine gave none; safe to call from many threads."""
        ...


@dataclass(frozen=True)
class ExactRegions:
    """Regions of a drawn task, from its own objects and targets: a label means the thing of exactly this name.

    Of a task with neither nothing is known, which is a failure and not an empty picture.
    """

    identity: str = "exact"

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[Masks | MachineError]:
        return [_exact_masks(request) for request in requests]


def _exact_masks(request: RegionRequest) -> Masks | MachineError:
    task, index = request.task, request.image_index
    if not task.objects and not task.targets:
        return MachineError(f"task {task.id} has no boxes, which exact regions need; give it boxes")
    objects = [one for one in task.objects if one.image_index == index and plain_label(one.name) == request.label]
    if objects:
        return tuple(one.mask or Mask.from_box(one.box, request.image.width, request.image.height) for one in objects)
    targets = [one for one in task.targets if one.image_index == index and plain_label(one.label) == request.label]
    return tuple(one.mask or Mask.from_box(one.box, request.image.width, request.image.height) for one in targets)


@dataclass(frozen=True, kw_only=True)
class NoisyRegions:
    """Regions of which a share is wrong: those of another thing of the picture, or none where there is no other.

    Which are wrong depends on picture, label and seed alone.
    """

    inner: Regions
    share: float
    seed: int = 0

    @property
    def identity(self) -> str:
        return f"{self.inner.identity}, {self.share} wrong by seed {self.seed}"

    def find(self, requests: Sequence[RegionRequest], /) -> Sequence[Masks | MachineError]:
        asked = [self._swapped_request(request) for request in requests]
        found = iter(self.inner.find([one for one in asked if one is not None]))
        return [() if one is None else next(found) for one in asked]

    def _swapped_request(self, request: RegionRequest) -> RegionRequest | None:
        chance = np.random.default_rng(seed_for(self.seed, "regions", *request.key))
        if chance.random() >= self.share:
            return request
        names = (plain_label(one.name) for one in request.task.objects if one.image_index == request.image_index)
        others = sorted(set(names) - {request.label})
        if not others:
            return None
        label = others[int(chance.integers(len(others)))]
        return replace(request, label=label)
