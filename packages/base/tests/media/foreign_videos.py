"""Video files as other programs write them: a red bar that grows over a black picture with a blue strip on top."""

import io
import struct
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
from numpy.typing import NDArray

WIDTH, HEIGHT = 64, 48
EVEN = tuple(index / 10 for index in range(20))
"""Times of two seconds at ten frames each."""


def picture(index: int, count: int) -> NDArray[np.uint8]:
    """Frame ``index`` of ``count``: the red bar is as wide as its share of the frames."""
    pixels = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    pixels[:, : (index + 1) * WIDTH // count] = (250, 20, 20)
    pixels[:8] = (0, 0, 250)
    return pixels


def video_bytes(
    times_s: Sequence[float] = EVEN,
    *,
    codec: str = "libx264",
    kind: str = "mp4",
    pixels: str = "yuv420p",
    options: dict[str, str] | None = None,
    first_s: float = 0.0,
) -> bytes:
    """A file with a frame at each of the times, which need not be even."""
    base = Fraction(1, 10) if kind == "avi" else Fraction(1, 1000)
    # A file, which FFmpeg opens again to put an MP4's index first.
    with (
        tempfile.NamedTemporaryFile() as file,
        av.open(file.name, "w", format=kind, options=options or {}) as container,
    ):
        stream = container.add_stream(codec, rate=10)
        stream.width, stream.height, stream.pix_fmt = WIDTH, HEIGHT, pixels
        stream.codec_context.time_base = stream.time_base = base
        for index, time_s in enumerate(times_s):
            frame = av.VideoFrame.from_ndarray(picture(index, len(times_s)), format="rgb24")
            frame.pts, frame.time_base = round((time_s + first_s) / base), base
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
        container.close()
        return Path(file.name).read_bytes()


def turned_right(video: bytes) -> bytes:
    """The MP4 with the mark of a phone held upright: to be shown turned a quarter to the right."""
    at = video.index(b"tkhd") + 44
    assert struct.unpack(">9i", video[at : at + 36]) == (65536, 0, 0, 0, 65536, 0, 0, 0, 1 << 30)
    return video[:at] + struct.pack(">9i", 0, 65536, 0, -65536, 0, 0, HEIGHT << 16, 0, 1 << 30) + video[at + 36 :]


def cut_without_decoding(video: bytes, start_s: float) -> bytes:
    """The rest of an MP4 from a time on, as copying tools cut: what precedes it is there to be decoded, not shown."""
    file = io.BytesIO()
    options = {"avoid_negative_ts": "disabled"}
    with av.open(io.BytesIO(video)) as source, av.open(file, "w", format="mp4", options=options) as container:
        stream = source.streams.video[0]
        copied = container.add_stream_from_template(stream)
        for packet in source.demux(stream):
            if packet.dts is not None and packet.pts is not None and packet.time_base is not None:
                shift = int(start_s / packet.time_base)
                packet.pts, packet.dts, packet.stream = packet.pts - shift, packet.dts - shift, copied
                container.mux(packet)
    return file.getvalue()


def sound_bytes() -> bytes:
    """A file of sound alone."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("aac", rate=8000)
        sound = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        sound.sample_rate, sound.pts = 8000, 0
        container.mux(stream.encode(sound))
        container.mux(stream.encode(None))
    return file.getvalue()


def opencv_video(path: Path, codec: str, frames: int = 16) -> Path:
    """A file that OpenCV writes, eight frames a second."""
    import cv2

    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*codec), 8, (WIDTH, HEIGHT))
    for index in range(frames):
        writer.write(np.ascontiguousarray(picture(index, frames)[:, :, ::-1]))
    writer.release()
    return path
