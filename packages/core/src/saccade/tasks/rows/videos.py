"""The video of a row: a file that is decoded, or frames as images with their times; and the event it is asked about.

====================================================  ===============================================================
what a row gives                                      what becomes of it
====================================================  ===============================================================
``frames`` (or ``images``), ``frame_times_s``         pictures with a time in seconds each
``frames``, ``fps``                                   the same: the first at 0 s, each next one ``1 / fps`` s later
``video``, ``videos`` (of one), ``video_path``,       a file, decoded; ``nframes`` frames evenly spaced, else ``fps``
``video_filename``: a path, bytes, an object          of them a second, else as many as are allowed, evenly spaced
``path`` beside ``data_type: video``                  the same
``{"video": path or frames, "fps": 2, …}``            the same, with the keys that qwen-vl-utils gives a video
``max_frames``, ``video_start``, ``video_end``        fewer frames than are allowed; those of a part, in seconds
``event_s`` (start, end)                              the event, in seconds from the video's first frame on
====================================================  ===============================================================
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

from saccade.media.decode import MediaError
from saccade.media.store import MediaStore
from saccade.media.video import FrameSampling, video_frames
from saccade.tasks.rows.fields import (
    Row,
    RowError,
    RowValue,
    as_number,
    kind_of,
    listed,
    literal,
    optional_number,
    row_with,
    short,
)
from saccade.tasks.rows.images import ImageReader
from saccade.types import ImageRef

VIDEO_KEYS = ("videos", "video", "video_path", "video_filename")
FRAME_TIME_KEYS = ("frame_times_s", "frame_times", "timestamps")
EVENT_KEYS = ("event_s", "event")
COUNT_KEYS = ("nframes", "num_frames")
MOST_FPS = 1000.0
LONGEST_S = 1e6
NO_BOUND = 1 << 30
"""As many frames as there are: those of a curated file were chosen when it was written."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RowVideo:
    """A row's video before anything is opened: either ``file`` or ``frames``."""

    key: str
    sampling: FrameSampling
    file: RowValue = None
    frames: tuple[RowValue, ...] = ()
    times: RowValue = None
    times_key: str = FRAME_TIME_KEYS[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadVideo:
    """The frames of a video that are shown."""

    images: tuple[ImageRef, ...]
    times_s: tuple[float, ...]
    by_row: tuple[ImageRef | None, ...]
    """The same as the row counts its frames, None for those that are not shown."""


def find_video(row: Row, images_key: str) -> RowVideo | None:
    """The row's video, None where it has none; ``images_key`` is that of its images, which may be frames."""
    key = next((key for key in VIDEO_KEYS if row.get(key)), "")
    if not key and row.get("data_type") == "video" and row.get("path"):
        key = "path"
    times_key = next((key for key in FRAME_TIME_KEYS if row.get(key)), FRAME_TIME_KEYS[0])
    images = listed(row.get(images_key), images_key)
    if not key and not row.get("frames") and not row.get(times_key):
        if row.get("data_type") == "video":
            raise RowError("data_type", f"is video, but the row has none; give {', '.join(VIDEO_KEYS)} or frames")
        return None
    if sum(bool(given) for given in (key, row.get("frames"), images)) > 1:
        raise RowError(key or "frames", "a row has images, frames or a video file, and not several of them")
    if not key:
        key = "frames" if row.get("frames") else images_key
        frames = listed(row.get(key), key)
        if not frames:
            raise RowError(times_key, "has times of frames, but the row has no frames")
        return RowVideo(
            key=key, sampling=_sampling(row), frames=tuple(frames), times=row.get(times_key), times_key=times_key
        )
    value, settings = _one_video(row.get(key), key, row)
    sampling = _sampling(settings)
    if isinstance(value, list | tuple):
        if not value:
            raise RowError(key, "has no frames")
        return RowVideo(key=key, sampling=sampling, frames=tuple(value), times=row.get(times_key), times_key=times_key)
    return RowVideo(key=key, sampling=sampling, file=value)


def _one_video(value: RowValue, key: str, row: Row) -> tuple[RowValue, Row]:
    """The one video of a value, its frames as a list; and the keys that say which frames to take."""
    if key == "videos":
        videos = listed(value, key)
        if len(videos) != 1:
            raise RowError(key, f"holds {len(videos)} videos; a question is about one")
        value = videos[0]
    if isinstance(value, dict) and "video" in value:
        return value["video"], row_with(row, value)
    if isinstance(value, list | tuple) and len(value) == 1:
        return value[0], row
    return value, row


def _sampling(settings: Row) -> FrameSampling:
    """What a row says of the frames to take; ``max_frames`` where it says so, else without a bound of its own."""
    counts = {key: _count(settings, key) for key in (*COUNT_KEYS, "max_frames")}
    fps = optional_number(settings, "fps", low=0.0, high=MOST_FPS)
    if fps == 0:
        raise RowError("fps", "must be over 0")
    start_s = optional_number(settings, "video_start", low=0.0, high=LONGEST_S) or 0.0
    end_s = optional_number(settings, "video_end", low=0.0, high=LONGEST_S)
    if end_s is not None and end_s <= start_s:
        raise RowError("video_end", f"must be after video_start, and {end_s:g} s is not after {start_s:g} s")
    return FrameSampling(
        max_frames=counts["max_frames"] or NO_BOUND,
        frames=next((counts[key] for key in COUNT_KEYS if counts[key] is not None), None),
        fps=fps,
        start_s=start_s,
        end_s=end_s,
    )


def _count(settings: Row, key: str) -> int | None:
    number = optional_number(settings, key, low=1.0, high=LONGEST_S)
    if number is not None and not number.is_integer():
        raise RowError(key, f"must be a whole number of frames, not {number:g}")
    return None if number is None else int(number)


class VideoReader:
    """Opens the videos of one file's rows, each frame once; at most ``max_frames`` of a video are shown."""

    def __init__(self, images: ImageReader, media: MediaStore, max_frames: int) -> None:
        self._images = images
        self._media = media
        self._max_frames = max_frames
        self._known: dict[tuple[Path, FrameSampling], ReadVideo] = {}

    def read(self, video: RowVideo, where: str) -> ReadVideo:
        """``where`` begins the message of a video without a path; ``RowError`` names the key."""
        sampling = replace(video.sampling, max_frames=min(self._max_frames, video.sampling.max_frames))
        return self._frames(video, sampling, where) if video.frames else self._file(video, sampling, where)

    def _frames(self, video: RowVideo, sampling: FrameSampling, where: str) -> ReadVideo:
        times = read_frame_times(video.times, video.times_key, len(video.frames))
        if not times and sampling.fps is None:
            raise RowError(
                video.key, f"{len(video.frames)} frames need times; give {video.times_key}, or fps for even ones"
            )
        # The rate of given frames is known by their times, and does not choose among them.
        rate, sampling = sampling.fps, replace(sampling, fps=None)
        times = times or tuple(index / (rate or 1.0) for index in range(len(video.frames)))
        chosen = sampling.choose(times)
        if not chosen:
            raise RowError(video.key, f"no frame lies from video_start to video_end; they end at {times[-1]:g} s")
        refs = {
            index: self._images.read(video.frames[index], video.key, f"{where}, frame {index + 1}") for index in chosen
        }
        return ReadVideo(
            images=tuple(refs.values()),
            times_s=tuple(times[index] for index in chosen),
            by_row=tuple(refs.get(index) for index in range(len(times))),
        )

    def _file(self, video: RowVideo, sampling: FrameSampling, where: str) -> ReadVideo:
        file = self._source(video.file, video.key)
        if isinstance(file, bytes):
            return self._decode(file, video.key, where, sampling)
        if (file, sampling) not in self._known:
            self._known[file, sampling] = self._decode(file, video.key, str(file), sampling)
        return self._known[file, sampling]

    def _source(self, value: RowValue, key: str) -> Path | bytes:
        match value:
            case bytes():
                return value
            case {"bytes": bytes() as raw}:
                return raw
            case str() as text:
                return self._images.path_of(text, key)
            case {"path": str() as text}:
                return self._images.path_of(text, key)
        held = f"an object with the keys {', '.join(sorted(value))}" if isinstance(value, dict) else kind_of(value)
        raise RowError(key, f'must be the path of a video, bytes, or {{"video": ..., "fps": ...}}, not {held}')

    def _decode(self, source: Path | bytes, key: str, where: str, sampling: FrameSampling) -> ReadVideo:
        try:
            frames = [(self._media.add(one.image), one.time_s) for one in video_frames(source, where, sampling)]
        except MediaError as error:
            raise RowError(key, str(error)) from error
        images = tuple(image for image, _ in frames)
        return ReadVideo(images=images, times_s=tuple(time_s for _, time_s in frames), by_row=images)


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
