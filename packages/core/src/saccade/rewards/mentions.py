"""What a trajectory's reasoning mentions: boxes on the first image, and moments of a video by number or time."""

import math
from collections.abc import Sequence

from saccade.geometry import Box
from saccade.types import BoxMention, Task, Trajectory


def mentioned_boxes(trajectory: Trajectory) -> tuple[BoxMention, ...]:
    """The boxes of all its thoughts, in their order."""
    return tuple(mention for turn in trajectory.turns for mention in turn.boxes)


def readable_boxes(trajectory: Trajectory) -> tuple[Box, ...]:
    """Those of them that could be read, in pixels of the first image's original; not clipped, perhaps inverted."""
    return tuple(mention.box for mention in mentioned_boxes(trajectory) if mention.box is not None)


def first_image_boxes(task: Task) -> tuple[Box, ...]:
    """The boxes of the targets on the first image, which is the one that reasoning writes boxes on."""
    return tuple(target.box for target in task.targets if target.image_index == 0)


def frame_of(times_s: Sequence[float], *, frame: int | None = None, time_s: float | None = None) -> int | None:
    """Index, from 0, of the frame that is meant by a number from 1, a time in seconds, or both.

    A time means the nearest frame, the earlier one of two equally near, and nothing over half an interval beyond the
    video's ends. None for what means no frame: neither given, out of range, not finite, or a number and a time more
    than one frame apart.
    """
    by_number = None
    if frame is not None:
        if isinstance(frame, bool) or frame != int(frame) or not 1 <= frame <= len(times_s):
            return None
        by_number = int(frame) - 1
    if time_s is None:
        return by_number
    by_time = _nearest_frame(times_s, time_s)
    if by_time is None or by_number is None:
        return by_time if frame is None else None
    return by_number if abs(by_number - by_time) <= 1 else None


def _nearest_frame(times_s: Sequence[float], time_s: float) -> int | None:
    if not times_s or not math.isfinite(time_s):
        return None
    # A hundredth: times are written with two decimals, and a single frame has no interval.
    before = max(0.01, (times_s[1] - times_s[0]) / 2) if len(times_s) > 1 else 0.01
    after = max(0.01, (times_s[-1] - times_s[-2]) / 2) if len(times_s) > 1 else 0.01
    if not times_s[0] - before <= time_s <= times_s[-1] + after:
        return None
    # Rounded: 0.3 - 0.2 and 0.2 - 0.1 are a tie.
    return min(range(len(times_s)), key=lambda index: (round(abs(times_s[index] - time_s), 9), index))


def segment_of(
    times_s: Sequence[float],
    *,
    start_frame: int | None = None,
    end_frame: int | None = None,
    start_time: float | None = None,
    end_time: float | None = None,
) -> tuple[int, int] | None:
    """Indices, from 0, of the first and the last frame of a segment; both belong to it.

    A missing end is the last frame, a missing start with an end the first. None for what means no segment: nothing
    given, an end before its start, or an end of it that ``frame_of`` finds nowhere.
    """
    has_start = start_frame is not None or start_time is not None
    has_end = end_frame is not None or end_time is not None
    if not times_s or not (has_start or has_end):
        return None
    start = frame_of(times_s, frame=start_frame, time_s=start_time) if has_start else 0
    end = frame_of(times_s, frame=end_frame, time_s=end_time) if has_end else len(times_s) - 1
    return None if start is None or end is None or end < start else (start, end)
