"""Evidence: whether what the calls of a trajectory returned holds what the answer depends on.

With R the union of what was returned, T the union of the targets' masks (else boxes) and |.| an area in pixels of the
question's pictures, ``recall = |R & T| / |T|`` and ``precision = |R & T| / |R|``. Where the question is about pages
that it does not show, R and T are sets of pages. Areas of unions of boxes are exact: the picture is cut along all their
edges. A target with a mask counts its whole pixels, and then so do all targets of its picture.

A call is **faithful** if

1. what it returned holds at least half of some target, or of pages a gold one;
2. it was aimed: it returned at most a quarter of the target's picture, or the share of a target that it holds where
   that is larger, and never over nine tenths; of pages at least one in five is gold;
3. no call before it returned the same.

A **trajectory** is faithful if some call is, and all of them together returned at most half of the picture, or the
share of the target as above; of pages at least one in ten is gold. So neither one crop of everything, nor a huge one,
nor tiles all over the picture are faithful, and a crop that repeats counts once. Chance is left: a blind crop of a
share s of the picture holds half of a small target with a probability of about s.

CodeV (arXiv 2511.19661) asks a judge whether a call's picture holds what is asked for; here the question's own regions
say so.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from saccade.geometry import Box, iou
from saccade.rewards.areas import Cells, PictureAreas
from saccade.rewards.places import Patch, SeenParts
from saccade.rewards.seen import CUTTING, seen_by_turn
from saccade.types import Page, Task, ToolCall, Trajectory

SHOWN = 0.5
"""A target is returned where at least this share of its area is."""
WHOLE = 0.95
"""A crop that holds this share of a target shows all of it."""
MOST_OF_PICTURE = 0.25
"""Share of a target's picture that an aimed call returns at most; all calls together, twice as much."""
NEARLY_ALL = 0.9
"""Share of a picture that is never aimed, however large the target."""
LEAST_OF_PAGES = 0.2
"""Share of gold pages among those that an aimed search returns; among those of all searches, half of it."""
SAME = 0.9
"""Intersection over union of what two calls returned from which on the later one repeats the earlier."""
_SLACK = 1e-9


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceFit:
    """How well something that was returned fits the evidence."""

    recall: float
    precision: float | None
    """None where nothing was returned."""
    best: float
    """Largest share of one target, or 1.0 for a gold page."""
    is_aimed: bool
    """Whether it is no more than an aimed call, or an aimed trajectory, returns."""
    beside: float = field(default=0.0, compare=False)
    """Share of a picture that was returned beside its targets, the largest of any picture; 0.0 for pages."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CallEvidence:
    """Evidence of one call."""

    turn: int
    """Its index, from 0."""
    fit: EvidenceFit | None
    """None where the record does not say what it returned."""
    is_repeat: bool
    """It returned the same as a call before it: it counts neither for nor against the policy."""

    @property
    def is_faithful(self) -> bool:
        return self.fit is not None and not self.is_repeat and self.fit.is_aimed and self.fit.best >= SHOWN - _SLACK


@dataclass(frozen=True, kw_only=True, slots=True)
class TrajectoryEvidence:
    """Evidence of a trajectory's calls; a refused or failed call is one that returned nothing."""

    calls: tuple[CallEvidence, ...]
    fit: EvidenceFit | None
    """Of all that was returned; None where the record does not say it of every call."""

    @property
    def is_faithful(self) -> bool:
        return self.fit is not None and self.fit.is_aimed and any(call.is_faithful for call in self.calls)


def evidence_of(task: Task, trajectory: Trajectory) -> TrajectoryEvidence | None:
    """The evidence; None for a task that names neither regions of its pictures nor pages that it does not show."""
    scale: _Regions | _Pages | None = None
    found = [(index, seen) for index, seen in enumerate(seen_by_turn(task, trajectory)) if seen is not None]
    if any(target.image_index < len(task.images) for target in task.targets):
        scale = _Regions(task, [patch for _, seen in found for patch in seen.patches])
    elif task.missing_pages:
        scale = _Pages(task.missing_pages)
    if scale is None:
        return None
    calls, before = list[CallEvidence](), list[SeenParts]()
    for index, seen in found:
        fit = scale.fit(seen, 1) if seen.is_known else None
        is_repeat = any(scale.overlap(seen, one) >= SAME for one in before)
        calls.append(CallEvidence(turn=index, fit=fit, is_repeat=is_repeat))
        before.append(seen)
    union = SeenParts.union([seen for _, seen in found])
    return TrajectoryEvidence(calls=tuple(calls), fit=scale.fit(union, 2) if union.is_known else None)


def is_aimed(task: Task, seen: SeenParts, times: int = 1) -> bool:
    """Whether of no picture more than ``times`` a quarter was returned, where no targets say how much is needed.

    What is not known counts as aimed.
    """
    for index, image in enumerate(task.images):
        boxes = [patch.box for patch in seen.patches if patch.image_index == index]
        areas = PictureAreas(image, (), boxes)
        if areas.area(areas.inside(boxes)) > (times * MOST_OF_PICTURE + _SLACK) * areas.whole_px:
            return False
    return True


class _Regions:
    """The targets of a task's pictures, and all patches that will be held against them."""

    def __init__(self, task: Task, patches: Sequence[Patch]) -> None:
        self._pictures = {
            index: PictureAreas(
                image,
                [target for target in task.targets if target.image_index == index],
                [patch.box for patch in patches if patch.image_index == index],
            )
            for index, image in enumerate(task.images)
        }
        self._targets = sum(one.targets_px for one in self._pictures.values())
        self._known: dict[tuple[Patch, ...], list[tuple[PictureAreas, Cells]]] = {}

    def fit(self, seen: SeenParts, times: int) -> EvidenceFit:
        """Of a quarter of a picture, ``times`` as much is aimed."""
        returned = hits = best = beside = 0.0
        is_aimed = True
        for picture, inside in self._cells(seen):
            area, hit = picture.area(inside), picture.hits(inside)
            returned, hits, beside = returned + area, hits + hit, max(beside, (area - hit) / picture.whole_px)
            if shares := picture.target_shares(inside):
                best = max(best, *(share for share, _ in shares))
                held = [size for share, size in shares if share >= SHOWN - _SLACK]
                most = min(max(times * MOST_OF_PICTURE, *held, 0.0), NEARLY_ALL)
                is_aimed = is_aimed and area <= (most + _SLACK) * picture.whole_px
        recall = hits / self._targets if self._targets else 0.0
        precision = hits / returned if returned else None
        return EvidenceFit(recall=recall, precision=precision, best=best, beside=beside, is_aimed=is_aimed)

    def overlap(self, one: SeenParts, other: SeenParts) -> float:
        """Intersection over union; 0.0 where nothing was returned."""
        both = either = 0.0
        for (picture, first), (_, second) in zip(self._cells(one), self._cells(other)):
            both += picture.area(first & second)
            either += picture.area(first | second)
        return both / either if either else 0.0

    def _cells(self, seen: SeenParts) -> list[tuple[PictureAreas, Cells]]:
        """Of each picture the cells that were returned."""
        if seen.patches not in self._known:
            self._known[seen.patches] = [
                (picture, picture.inside([patch.box for patch in seen.patches if patch.image_index == index]))
                for index, picture in self._pictures.items()
            ]
        return self._known[seen.patches]


class _Pages:
    """The gold pages that a task does not show."""

    def __init__(self, gold: Sequence[Page]) -> None:
        self._gold = frozenset(gold)

    def fit(self, seen: SeenParts, times: int) -> EvidenceFit:
        pages = frozenset(seen.pages)
        hits = len(pages & self._gold)
        precision = hits / len(pages) if pages else None
        is_aimed = precision is None or precision >= LEAST_OF_PAGES / times - _SLACK
        recall, best = hits / len(self._gold), float(hits > 0)
        return EvidenceFit(recall=recall, precision=precision, best=best, is_aimed=is_aimed)

    def overlap(self, one: SeenParts, other: SeenParts) -> float:
        either = {*one.pages, *other.pages}
        return len({*one.pages} & {*other.pages}) / len(either) if either else 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """Fit of a trajectory's best crop to a target of the task, by their boxes."""

    iou: float
    """Largest intersection over union of a crop with a target."""
    coverage: float
    """Largest share of a target's area inside one crop."""


def look_of(task: Task, trajectory: Trajectory) -> Look | None:
    """The best fit of a crop; None without targets, or when no crop of a picture with one ran without an error.

    A crop of a crop counts where it lies on the question's picture.
    """
    pairs = [
        (patch.box, target.box)
        for turn, seen in zip(trajectory.turns, seen_by_turn(task, trajectory))
        if seen is not None and isinstance(turn.action, ToolCall) and turn.action.name in CUTTING
        for patch in seen.patches
        for target in task.targets
        if target.image_index == patch.image_index
    ]
    if not pairs:
        return None
    return Look(
        iou=max(iou(box, target) for box, target in pairs),
        coverage=max(covered_share(target, box) for box, target in pairs),
    )


def covered_share(target: Box, crop: Box) -> float:
    """Share of the target that lies inside the crop."""
    shared = Box(max(target.x1, crop.x1), max(target.y1, crop.y1), min(target.x2, crop.x2), min(target.y2, crop.y2))
    return shared.area / target.area if shared.is_ordered and target.area > 0 else 0.0
