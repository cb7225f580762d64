"""Times of a video's frames in a row, and of the event that it asks about; all in seconds."""

from itertools import pairwise

from saccade.tasks.readers.fields import as_number, kind_of, literal, short
from saccade.tasks.readers.rows import RowError, RowValue

FRAME_TIME_KEYS = ("frame_times_s", "frame_times", "timestamps")
EVENT_KEYS = ("event_s", "event")


def read_frame_times(value: RowValue, key: str, images: int) -> tuple[float, ...]:
    """One time for each image, ascending from 0 or later; a list, or text that holds one. Nothing is no video."""
    times = _seconds(value, key)
    if not times:
        return ()
    if len(times) != images:
        raise RowError(key, f"has {len(times)} times for {images} images; give one for each frame")
    if times[0] < 0 or any(later <= earlier for earlier, later in pairwise(times)):
        raise RowError(key, f"must rise from 0 s or later, frame by frame, and {short(value)} does not")
    return times


def read_event(value: RowValue, key: str, times: tuple[float, ...]) -> tuple[float, float] | None:
    """Start and end of an event of a video, start first; None where there is none."""
    ends = _seconds(value, key)
    if not ends:
        return None
    if len(ends) != 2 or not 0 <= ends[0] <= ends[1]:
        raise RowError(key, f"must be start and end in seconds, start first, not {short(value)}")
    if not times:
        raise RowError(key, f"an event needs the times of the frames; give {FRAME_TIME_KEYS[0]} too")
    return ends[0], ends[1]


def _seconds(value: RowValue, key: str) -> tuple[float, ...]:
    items = literal(value, key)
    if items is None:
        return ()
    if not isinstance(items, list | tuple):
        raise RowError(key, f"must be a list of seconds, not {kind_of(items)}")
    numbers = [as_number(item) for item in items]
    known = tuple(number for number in numbers if number is not None)
    if len(known) != len(numbers):
        raise RowError(key, f"must hold finite numbers of seconds alone, not {short(items)}")
    return known
