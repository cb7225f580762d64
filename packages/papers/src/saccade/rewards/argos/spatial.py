"""Argos' spatial score: which points lie in the region of what they name (equations 1 to 3).

What the paper leaves open (points that repeat, are missing, vague or unreadable) is decided here, since it is what a
policy would use.
"""

from bisect import bisect_right
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from saccade.errors import MachineError
from saccade.geometry import Mask
from saccade.rewards.judges.addressing import in_one_form

PointForm = tuple[float | None, float | None, str]
"""x and y in pixels of the original, None where unreadable, and the label."""

SAME_SHARE = 0.7
"""Two masks whose intersection over union is at least this are one thing, whatever a response calls it."""

VAGUE_SHARE = 0.5
"""A label whose region covers more of the picture says nothing of where a thing is ("image", "scene")."""


def spatial_score(
    points: Sequence[PointForm],
    regions: Mapping[str, Sequence[Mask | NDArray[np.bool_]]],
    size: tuple[int, int],
    *,
    grounding_expected: bool = True,
    distinct: bool = True,
) -> float | None:
    """Share of points that lie in the region of what they name (equations 1 to 3): mean of 1[M_i(x_i, y_i) = 1].

    ``regions`` has the masks (height, width) of each label, one for each thing found; the region is their union. A
    ``Mask`` of run lengths is read without being unpacked.
    ``size`` is (width, height) in pixels. A label without masks, a point outside of the picture and an unreadable one
    are misses. A label whose region covers over half of the picture is left out. With ``distinct``, points of one
    thing count once, whatever they call it (masks are of one thing by ``SAME_SHARE``), as do points of one label at one
    pixel: an easy point repeated, moved by a little or not, or under other names, is worth no more than one. Without
    points, or with none but those left out, the score is 0 where the task wants some, else None.

    MachineError for a mask of another size or with values other than 0 and 1: it says nothing about the points.
    """
    hits = point_hits(points, regions, size, distinct=distinct)
    counted = [hit for hit in hits if hit is not None]
    if not counted:
        return 0.0 if grounding_expected else None
    return sum(counted) / len(counted)


def point_hits(
    points: Sequence[PointForm],
    regions: Mapping[str, Sequence[Mask | NDArray[np.bool_]]],
    size: tuple[int, int],
    *,
    distinct: bool = True,
) -> list[bool | None]:
    """For each point whether it hits; None where it does not count: it repeats an earlier one, or its label is vague.

    The rules and arguments are those of ``spatial_score``.
    """
    return known_regions(regions, size).hits(points, distinct=distinct)


@dataclass(frozen=True, slots=True)
class KnownMask:
    """A mask whose pixels are looked up many times."""

    mask: Mask
    ends: Sequence[int]
    """Of its runs, the first of zeros."""
    area: int

    def is_same_thing(self, other: "KnownMask") -> bool:
        """Whether the masks, of pictures of one size, overlap by ``SAME_SHARE``."""
        if min(self.area, other.area) < SAME_SHARE * max(self.area, other.area):
            # The smaller one's share of the larger one is the most that they can overlap by.
            return False
        if (self.mask.width, self.mask.height) != (other.mask.width, other.mask.height):
            return False
        return self is other or self.mask.iou(other.mask) >= SAME_SHARE


@dataclass(frozen=True, slots=True)
class KnownRegions:
    """The regions of a picture's labels, checked once for all points that are held against them."""

    size: tuple[int, int]
    masks: Mapping[str, Sequence[KnownMask]]
    """By plain label."""
    vague: frozenset[str]
    _compared: dict[frozenset[tuple[str, int]], bool] = field(default_factory=dict)

    def hits(
        self, points: Sequence[PointForm], *, distinct: bool = True, elsewhere: list[KnownMask] | None = None
    ) -> list[bool | None]:
        """As ``point_hits``; what is one thing with any of ``elsewhere`` repeats it, and what counts is added to it."""
        others = [] if elsewhere is None else list(elsewhere)
        width, height = self.size
        seen: set[Hashable] = set()
        things: list[tuple[str, int]] = []
        hits: list[bool | None] = []
        for x, y, label in points:
            name = plain_label(label)
            at = (int(x), int(y)) if x is not None and y is not None and 0 <= x < width and 0 <= y < height else None
            inside = None if at is None else self._inside(name, at[0] * height + at[1])
            if inside is None:
                key: Hashable = (name, at or (repr(x), repr(y)))
                repeats = key in seen
                seen.add(key)
            else:
                thing = (name, inside)
                repeats = distinct and any(self._are_one(thing, other) for other in things)
                mask = self.masks[name][inside]
                repeats = repeats or (distinct and any(mask.is_same_thing(other) for other in others))
                if not repeats and name not in self.vague:
                    things.append(thing)
            hits.append(None if name in self.vague or (distinct and repeats) else inside is not None)
        if elsewhere is not None:
            elsewhere += [self.masks[name][inside] for name, inside in things]
        return hits

    def _inside(self, name: str, place: int) -> int | None:
        """Which of the label's masks holds the pixel at this place of the columns."""
        masks = self.masks.get(name, ())
        return next((index for index, one in enumerate(masks) if bisect_right(one.ends, place) % 2), None)

    def _are_one(self, one: tuple[str, int], other: tuple[str, int]) -> bool:
        if one == other:
            return True
        pair = frozenset((one, other))
        if pair not in self._compared:
            masks = [self.masks[name][index] for name, index in (one, other)]
            self._compared[pair] = masks[0].is_same_thing(masks[1])
        return self._compared[pair]


def known_regions(regions: Mapping[str, Sequence[Mask | NDArray[np.bool_]]], size: tuple[int, int]) -> KnownRegions:
    """The masks of each label, for any number of points; MachineError as in ``spatial_score``."""
    masks = {
        plain_label(label): [checked_mask(mask, size, label) for mask in found] for label, found in regions.items()
    }
    return KnownRegions(
        size=size,
        masks={
            label: [KnownMask(mask, list(accumulate(mask.counts)), mask.area) for mask in found]
            for label, found in masks.items()
        },
        vague=frozenset(label for label, found in masks.items() if is_vague(found, size)),
    )


@lru_cache(8192)
def plain_label(label: str) -> str:
    """The label by which things are told apart: in one form of each letter, without articles, with single spaces."""
    # A policy may write half of a character, which nothing can encode.
    words = in_one_form(label.encode("utf-8", "replace").decode()).split()
    return " ".join(words[1:] if len(words) > 1 and words[0] in ("a", "an", "the") else words)


def checked_mask(mask: Mask | NDArray[np.bool_], size: tuple[int, int], label: str) -> Mask:
    """The mask of (width, height) ``size``; MachineError for one that a back end got wrong."""
    shape = (mask.height, mask.width) if isinstance(mask, Mask) else np.asarray(mask).shape
    if shape != (size[1], size[0]):
        raise MachineError(
            f"the region of {label!r} has the shape {shape} for a picture of {size[0]} x {size[1]} pixels; "
            "a mask must be (height, width) of the original"
        )
    if isinstance(mask, Mask):
        if sum(mask.counts) != size[0] * size[1] or min(mask.counts, default=0) < 0:
            raise MachineError(f"the run lengths of the region of {label!r} do not add up to the picture")
        return mask
    array = np.asarray(mask)
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise MachineError(f"the region of {label!r} has values other than 0 and 1; send a binary mask")
    return Mask.from_array(array.astype(np.bool_))


def is_vague(masks: Sequence[Mask], size: tuple[int, int]) -> bool:
    """Whether the union of the masks covers over half of the picture of (width, height) ``size``."""
    limit = VAGUE_SHARE * size[0] * size[1]
    if sum(mask.area for mask in masks) <= limit:
        return False
    return int(np.logical_or.reduce([mask.to_array() for mask in masks]).sum()) > limit
