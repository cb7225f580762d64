"""Points that a model's reasoning names, as a report shows them on their pictures: as hits and misses."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.geometry import Point
from saccade.rewards.mentions import frame_of
from saccade.types import Attempt, PointMention, Task
from saccade.viewer.pictures import Overlay
from saccade.viewer.words import visible


@dataclass(frozen=True, kw_only=True, slots=True)
class NamedPoint:
    """A point of the reasoning; ``number`` counts from 1 over the whole trajectory."""

    number: int
    turn: int
    image_index: int | None
    """The picture or frame that it is on; None where it refers to none."""
    point: Point | None
    fate: str
    kind: str
    """``hit``, ``miss``, or ``named`` where it was not judged or does not count."""


def named_points(attempt: Attempt) -> tuple[NamedPoint, ...]:
    """All points of a trajectory in their order, with what its reward found of each."""
    mentions = [(turn.index, mention) for turn in attempt.trajectory.turns for mention in turn.points]
    score = attempt.trajectory.score
    hits = score.evidence.get("hits") if score is not None else None
    known = hits if isinstance(hits, Sequence) and len(hits) == len(mentions) else None
    return tuple(
        NamedPoint(
            number=number,
            turn=turn,
            image_index=_picture_of(mention, attempt.task),
            point=mention.point,
            fate=_fate(mention, known is not None, None if known is None else known[number - 1]),
            kind="named" if known is None or known[number - 1] is None else "hit" if known[number - 1] else "miss",
        )
        for number, (turn, mention) in enumerate(mentions, start=1)
    )


def point_overlays(points: Sequence[NamedPoint], image_index: int) -> list[Overlay]:
    """Those on this picture that can be drawn."""
    return [
        Overlay(kind=one.kind, shape=one.point, label=point_words(one))
        for one in points
        if one.point is not None and one.image_index == image_index
    ]


def point_words(named: NamedPoint) -> str:
    """``point 2: jeep, a hit``."""
    return f"point {named.number}: {named.fate}"


def _picture_of(mention: PointMention, task: Task) -> int | None:
    if task.frame_times_s:
        return frame_of(task.frame_times_s, frame=mention.frame, time_s=mention.time_s)
    return mention.image_index if 0 <= mention.image_index < len(task.images) else None


def _fate(mention: PointMention, is_judged: bool, hit: object) -> str:
    label = visible(mention.label, 60) or "no name"
    if mention.point is None:
        return f"{label}, could not be read: {visible(mention.text, 60)}"
    if not is_judged:
        return f"{label}, not judged"
    return f"{label}, {'does not count' if hit is None else 'a hit' if hit else 'a miss'}"
