"""Frames of a video file: chosen evenly in time, upright, as RGB, each with its time.

Decoding is PyAV's (FFmpeg), the extra ``video``. Files are opened by their content alone, among the formats below: what
only names other files or addresses (playlists, lists of pictures) is refused before anything is opened through it.
"""

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, cast

import numpy as np
from PIL import Image

from saccade.errors import missing_extra
from saccade.media.budget import DECODING
from saccade.media.decode import DEFAULT_LIMITS, ImageLimits, MediaError, to_rgb
from saccade.plain_files import open_plain

if TYPE_CHECKING:
    from av.container import InputContainer
    from av.video.frame import VideoFrame
    from av.video.stream import VideoStream

MAX_FRAMES = 32
"""Frames of a video that a model is shown, where nothing else is said: as many as Argos takes."""
MOST_FRAMES_READ = 250_000
"""All frames of a file are decoded on the way to those that are taken: over two hours at 30 a second."""
_FORMATS = "mov,mp4,m4a,3gp,3g2,mj2,matroska,webm,avi,mpegts,mpeg,flv,ogg,asf,gif"
_TIME_SLACK_S = 1e-6
_QUARTER_TURNS = {90: Image.Transpose.ROTATE_90, 180: Image.Transpose.ROTATE_180, 270: Image.Transpose.ROTATE_270}
"""Counterclockwise, as FFmpeg says how a frame is to be shown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FrameSampling:
    """Which frames of a video are taken, all between ``start_s`` and ``end_s``, both included.

    ``frames`` of them evenly spaced from the first to the last; else one each ``1 / fps`` seconds, and evenly spaced
    where these would be more than ``max_frames``; else ``max_frames`` evenly spaced. Never more than ``max_frames``;
    all of them where there are no more. With ``leaves_ends`` frame ``i N / (n + 1)`` of all N for i from 1 to n, each
    once.
    """

    max_frames: int = MAX_FRAMES
    frames: int | None = None
    fps: float | None = None
    start_s: float = 0.0
    end_s: float | None = None
    leaves_ends: bool = False

    def choose(self, times_s: Sequence[float]) -> tuple[int, ...]:
        """Indices, rising, of the frames nearest to the wanted times; none where no frame lies in the span."""
        end_s = times_s[-1] if self.end_s is None and times_s else self.end_s
        inside = [
            index
            for index, time_s in enumerate(times_s)
            if end_s is not None and self.start_s - _TIME_SLACK_S <= time_s <= end_s + _TIME_SLACK_S
        ]
        if not inside:
            return ()
        if self.leaves_ends:
            count = min(self.frames or self.max_frames, self.max_frames)
            step = len(inside) / (count + 1)
            return tuple(dict.fromkeys(inside[int(place * step)] for place in range(1, count + 1)))
        first, last = times_s[inside[0]], times_s[inside[-1]]
        steps = 0 if self.fps is None else int((last - first) * self.fps + _TIME_SLACK_S)
        if self.frames is not None or self.fps is None or steps >= self.max_frames:
            count = min(self.frames or self.max_frames, self.max_frames)
            if len(inside) <= count:
                return tuple(inside)
            wanted = np.linspace(first, last, count).tolist()
        else:
            wanted = [first + step / self.fps for step in range(steps + 1)]
        held = np.array([times_s[index] for index in inside])
        # Rounded, so that of two equally near frames the earlier one is taken whatever the last digits are.
        nearest = {inside[int(np.argmin(np.abs(held - time_s).round(9)))] for time_s in wanted}
        return tuple(sorted(nearest))


@dataclass(frozen=True, slots=True)
class TimedFrame:
    """A frame, and its time in seconds from the video's first frame on."""

    time_s: float
    image: Image.Image


def video_frames(
    source: Path | bytes, where: str, sampling: FrameSampling, limits: ImageLimits = DEFAULT_LIMITS
) -> Iterator[TimedFrame]:
    """The chosen frames of a video in their order, one at a time; the audio is passed over.

    Pixels are as they are stored, turned as the file says. ``MediaError``, which begins with ``where``, for what is no
    video, shows nothing in the span, is too large, damaged, or cut off where that can be seen; ``UserError`` without
    PyAV.
    """
    origin_s, times_s = _frame_times(source, where, limits)
    wanted = [times_s[index] for index in sampling.choose(times_s)]
    if not wanted:
        span = f"{sampling.start_s:g} to {'the end' if sampling.end_s is None else f'{sampling.end_s:g} s'}"
        raise MediaError(f"{where}: no frame lies in the span from {span}; the last one is at {times_s[-1]:.2f} s")
    reached = 0.0
    with _decoding(source, where) as (container, stream):
        for frame in _frames_of(container, stream, where):
            reached = _time_of(frame, where) - origin_s
            if reached < wanted[0] - _TIME_SLACK_S:
                continue
            wanted = [time_s for time_s in wanted if time_s > reached + _TIME_SLACK_S]
            yield TimedFrame(round(reached, 6), _upright(frame, where, limits))
            if not wanted:
                return
    raise MediaError(f"{where}: the video is damaged or cut off: nothing can be decoded after {reached:.2f} s")


def _frame_times(source: Path | bytes, where: str, limits: ImageLimits) -> tuple[float, list[float]]:
    """The file's own time of its first frame, and times of all frames from there; decodes only where it says none."""
    with _decoding(source, where) as (container, stream):
        _check_size(stream.codec_context.width, stream.codec_context.height, where, limits)
        # What a cut without decoding left over is needed to decode the rest, and is not shown.
        packets = [packet for packet in container.demux(stream) if packet.size]
        stamps = [packet.pts for packet in packets if not packet.is_discard]
        stated = stream.frames if "mp4" in container.format.name else 0
        base = stream.time_base
    if not stamps:
        raise MediaError(f"{where}: the video holds no frame")
    if len(packets) > MOST_FRAMES_READ:
        raise MediaError(f"{where}: the video has {len(packets)} frames, more than {MOST_FRAMES_READ}; cut it first")
    if len(packets) < stated:
        raise MediaError(f"{where}: the video is cut off: it holds {len(packets)} of its {stated} frames")
    known = sorted({stamp for stamp in stamps if stamp is not None})
    if base is not None and len(known) == len(stamps):
        return float(known[0] * base), [float((stamp - known[0]) * base) for stamp in known]
    with _decoding(source, where) as (container, stream):
        times = sorted({_time_of(frame, where) for frame in _frames_of(container, stream, where)})
    if not times:
        raise MediaError(f"{where}: the video holds no frame that can be decoded")
    return times[0], [time_s - times[0] for time_s in times]


@contextmanager
def _decoding(source: Path | bytes, where: str) -> "Iterator[tuple[InputContainer, VideoStream]]":
    """The opened file with its stream of moving pictures; what FFmpeg fails on becomes a ``MediaError``."""
    try:
        import av
    except ImportError as error:
        raise missing_extra("video", "av", needed_for="reading a video file") from error
    try:
        # As a stream of bytes and never by its name, which FFmpeg might take for an address.
        file = io.BytesIO(source) if isinstance(source, bytes) else open_plain(source)
    except OSError as error:
        raise MediaError(f"{where}: the video cannot be read ({error.strerror})") from error
    with file:
        try:
            options = {"format_whitelist": _FORMATS, "protocol_whitelist": ""}
            with av.open(file, "r", container_options=options, io_open=_refuse) as container:
                moving = [one for one in container.streams.video if not one.disposition & _COVER]
                if not moving:
                    raise MediaError(f"{where}: the file has no video stream, only sound or a cover picture")
                # PyAV's types do not say that it may be missing.
                if cast("object", moving[0].codec_context) is None:
                    raise MediaError(f"{where}: the video is cut off, or of a codec that FFmpeg does not know")
                moving[0].thread_type = "AUTO"
                yield container, moving[0]
        except (av.FFmpegError, ValueError, EOFError, MemoryError) as error:
            if isinstance(error, MediaError):
                raise
            why = getattr(error, "strerror", None) or error
            raise MediaError(
                f"{where}: the video cannot be decoded ({why}); save it again as MP4, WebM, MKV or AVI"
            ) from error


_COVER = 0x0400
"""FFmpeg's disposition of a picture that is attached to a piece of music."""


def _refuse(url: str, flags: int, options: object) -> NoReturn:
    raise ValueError(f"it wants to open {url[:80]!r}")


def _frames_of(container: "InputContainer", stream: "VideoStream", where: str) -> "Iterator[VideoFrame]":
    for frame in container.decode(stream):
        if frame.is_corrupt:
            raise MediaError(f"{where}: the video is damaged: a frame at {_time_of(frame, where):.2f} s is broken")
        yield frame


def _time_of(frame: "VideoFrame", where: str) -> float:
    if frame.pts is None or frame.time_base is None:
        raise MediaError(f"{where}: the video has no timestamps for its frames; save it as MP4, WebM or MKV")
    return float(frame.pts * frame.time_base)


def _upright(frame: "VideoFrame", where: str, limits: ImageLimits) -> Image.Image:
    _check_size(frame.width, frame.height, where, limits)
    has_alpha = any(component.is_alpha for component in frame.format.components)
    # The frame, its pixels and two copies of them.
    with DECODING.share(16 * frame.width * frame.height):
        pixels = np.asarray(frame.to_ndarray(format="rgba" if has_alpha else "rgb24"))
        image = to_rgb(Image.fromarray(pixels.astype(np.uint8, copy=False)), where, is_own=True)
        turn = frame.rotation % 360
        return image.transpose(_QUARTER_TURNS[turn]) if turn in _QUARTER_TURNS else image


def _check_size(width: int, height: int, where: str, limits: ImageLimits) -> None:
    if width < 1 or height < 1:
        raise MediaError(f"{where}: the video does not state the size of its frames; it is damaged or cut off")
    if width * height > limits.max_pixels:
        raise MediaError(
            f"{where}: frames of {width} x {height} px have over {limits.max_pixels} pixels; make the video smaller"
        )
    if max(width, height) > limits.max_aspect_ratio * min(width, height):
        raise MediaError(f"{where}: frames of {width} x {height} px are too long and thin")
