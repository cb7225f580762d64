"""Statements about a video's frames and segments: which of them say something, and which say the same.

The paper is silent on both. True words that can be said of any video ("in frames 1 to 6 there is no purple star") would
make up for false ones, as points on one easy thing would.
"""

import re
from collections.abc import Sequence
from typing import Protocol

from saccade.protocols.moments import ORDINALS, FoundMoments, find_moments
from saccade.protocols.points import without_tags
from saccade.quantities import NUMBER_WORDS
from saccade.rewards.mentions import frame_of, segment_of
from saccade.types import Task, Trajectory

Statement = tuple[int | None, int | None, str]
"""First and last frame, from 0, None where there is no such frame; and what is said of them."""

_DENIES = re.compile(
    r"\b(?:no|not|never|without|nothing|none|nobody|neither|nor|lacks?|absent|missing)\b|n['’]t\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]+")
_COUNTS = frozenset({*NUMBER_WORDS, *ORDINALS})


class MomentReader(Protocol):
    """Reads which moments a thought speaks of."""

    async def __call__(self, task: Task, thought: str, /) -> FoundMoments:
        """MachineError when it cannot say now."""
        ...


async def statements_of(
    task: Task, trajectory: Trajectory, reader: MomentReader | None
) -> tuple[list[Statement], list[Statement]]:
    """What a response says of frames, and of segments; MachineError as ``reader`` raises."""
    frames: list[Statement] = []
    segments: list[Statement] = []
    times = task.frame_times_s
    for turn in trajectory.turns:
        found = find_moments(without_tags(turn.thought))
        if reader is not None and not (found.frames or found.segments) and turn.thought.strip():
            found = await reader(task, turn.thought)
        for frame in found.frames:
            index = frame_of(times, frame=frame.frame, time_s=frame.time_s)
            frames.append((index, index, frame.description))
        for one in found.segments:
            ends = segment_of(
                times,
                start_frame=one.start_frame,
                end_frame=one.end_frame,
                start_time=one.start_time,
                end_time=one.end_time,
            )
            segments.append((*(ends or (None, None)), one.description))
    return frames, segments


def says_where(statement: Statement, frames: int) -> bool:
    """Whether a statement says where something is: none that denies, and none about all of several frames."""
    first, last, description = statement
    is_everywhere = frames > 1 and first == 0 and last == frames - 1
    return not is_everywhere and _DENIES.search(description) is None


def by_words(statements: Sequence[Statement], values: Sequence[float | None]) -> list[float | None]:
    """The value of each different wording: the mean over its places; None where any of them has none."""
    places: dict[tuple[str, ...], list[float | None]] = {}
    for (_, _, description), value in zip(statements, values):
        words = (word for word in _WORD.findall(description.casefold()) if word not in _COUNTS)
        places.setdefault(tuple(words), []).append(value)
    return [_mean(of) for of in places.values()]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return sum(known) / len(known) if len(known) == len(values) else None
