"""Frames of video files: which are taken, that they are upright and timed, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from foreign_videos import EVEN, cut_without_decoding, opencv_video, sound_bytes, turned_right, video_bytes

from saccade.media.decode import ImageLimits, MediaError
from saccade.media.video import FrameSampling, TimedFrame, video_frames

UNEVEN = (0.0, 0.1, 0.2, 0.3, 1.0, 1.05, 3.0, 4.0)


def read(source: Path | bytes, sampling: FrameSampling = FrameSampling()) -> list[TimedFrame]:
    return list(video_frames(source, "clip", sampling))


def times(source: Path | bytes, sampling: FrameSampling = FrameSampling()) -> list[float]:
    return [frame.time_s for frame in read(source, sampling)]


def red_width(frame: TimedFrame) -> int:
    row = np.asarray(frame.image)[30]
    return int(((row[:, 0] > 128) & (row[:, 2] < 128)).sum())


def test_frames_are_evenly_spaced_from_the_first_to_the_last() -> None:
    assert FrameSampling(frames=5).choose(EVEN) == (0, 5, 9, 14, 19)
    assert FrameSampling(frames=1).choose(EVEN) == (0,)
    assert FrameSampling(max_frames=3).choose(EVEN) == (0, 9, 19)
    assert FrameSampling(frames=40, max_frames=3).choose(EVEN) == (0, 9, 19)
    assert FrameSampling().choose(UNEVEN) == (0, 1, 2, 3, 4, 5, 6, 7)
    assert FrameSampling(frames=5).choose(UNEVEN) == (0, 4, 5, 6, 7)


def test_a_rate_takes_a_frame_each_so_many_seconds_while_they_are_not_too_many() -> None:
    assert FrameSampling(fps=2).choose(EVEN) == (0, 5, 10, 15)
    assert FrameSampling(fps=2, max_frames=3).choose(EVEN) == (0, 9, 19)
    assert FrameSampling(fps=1000).choose(EVEN) == tuple(range(20))


def test_a_span_holds_both_of_its_ends() -> None:
    assert FrameSampling(start_s=0.5, end_s=1.0).choose(EVEN) == (5, 6, 7, 8, 9, 10)
    assert FrameSampling(start_s=0.5, end_s=1.5, frames=3).choose(EVEN) == (5, 10, 15)
    assert FrameSampling(start_s=5).choose(EVEN) == ()
    assert FrameSampling().choose(()) == ()


@pytest.mark.parametrize(
    ("kind", "codec", "pixels"),
    [
        ("mp4", "libx264", "yuv420p"),
        ("matroska", "libx264", "yuv420p"),
        ("webm", "libvpx-vp9", "yuv420p"),
        ("mpegts", "libx264", "yuv420p"),
        ("avi", "mpeg4", "yuv420p"),
        ("gif", "gif", "rgb8"),
    ],
)
def test_every_format_gives_its_frames_with_their_times(kind: str, codec: str, pixels: str) -> None:
    frames = read(video_bytes(kind=kind, codec=codec, pixels=pixels), FrameSampling(frames=5))
    assert [frame.time_s for frame in frames] == [0.0, 0.5, 0.9, 1.4, 1.9]
    assert [round(red_width(frame) / 64, 1) for frame in frames] == [0.0, 0.3, 0.5, 0.8, 1.0]


@pytest.mark.parametrize("kind", ["mp4", "matroska"])
def test_a_variable_rate_keeps_its_own_times(kind: str) -> None:
    assert times(video_bytes(UNEVEN, kind=kind)) == list(UNEVEN)
    assert times(video_bytes(UNEVEN, kind=kind), FrameSampling(frames=5)) == [0.0, 1.0, 1.05, 3.0, 4.0]


def test_times_begin_at_the_first_frame() -> None:
    assert times(video_bytes(kind="mpegts", first_s=7.0), FrameSampling(frames=3)) == [0.0, 0.9, 1.9]


def test_what_a_cut_left_over_is_not_shown() -> None:
    frames = read(cut_without_decoding(video_bytes(), 0.5))
    assert [frame.time_s for frame in frames] == [index / 10 for index in range(15)]
    assert [round(red_width(frame) / 64, 1) for frame in frames[:3]] == [0.3, 0.3, 0.4]


def test_a_file_that_says_no_duration_is_read_to_its_end() -> None:
    assert times(video_bytes(kind="matroska", options={"live": "1"})) == list(EVEN)


def test_one_frame_is_a_video() -> None:
    assert times(video_bytes([0.0])) == [0.0]


def test_a_phone_held_upright_gives_upright_frames() -> None:
    frame = read(turned_right(video_bytes()), FrameSampling(frames=1))[0]
    pixels = np.asarray(frame.image).astype(int)
    # The strip on top is now on the right.
    assert frame.image.size == (48, 64)
    assert pixels[30, 44, 2] > 150
    assert pixels[30, 4, 2] < 80


@pytest.mark.parametrize(("name", "codec"), [("clip.mp4", "mp4v"), ("clip.avi", "MJPG")])
def test_files_of_opencv_are_read(tmp_path: Path, name: str, codec: str) -> None:
    assert times(opencv_video(tmp_path / name, codec), FrameSampling(fps=2)) == [0.0, 0.5, 1.0, 1.5]


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (sound_bytes(), "the file has no video stream, only sound or a cover picture"),
        (b"", "the video cannot be decoded (Invalid data found when processing input)"),
        (b"no video at all", "the video cannot be decoded"),
        (b"#EXTM3U\n#EXTINF:5,\n/etc/hostname\n#EXT-X-ENDLIST\n", "the video cannot be decoded"),
        (b"ffconcat version 1.0\nfile '/etc/hostname'\n", "the video cannot be decoded"),
        (Path("/nowhere/clip.mp4"), "the video cannot be read (No such file or directory)"),
        (Path("/tmp"), "the video cannot be read (Is a directory)"),
    ],
)
def test_what_is_no_video_is_refused(source: Path | bytes, why: str) -> None:
    with pytest.raises(MediaError) as caught:
        read(source)
    assert str(caught.value).startswith(f"clip: {why}")


def test_a_video_that_is_cut_off_is_refused_where_that_can_be_seen() -> None:
    whole = video_bytes(options={"movflags": "faststart"})
    with pytest.raises(MediaError, match="clip: the video is cut off: it holds 1 of its 20 frames"):
        read(whole[: len(whole) * 6 // 10])
    # Without its index, or a part of it, which stands at the end.
    for cut in range(100, len(video_bytes()), 97):
        with pytest.raises(MediaError, match="clip: "):
            read(video_bytes()[:-cut])
    # A transport stream ends anywhere, as one that was recorded does.
    stream = video_bytes(kind="mpegts")
    assert times(stream[: len(stream) * 6 // 10]) == [index / 10 for index in range(11)]


@pytest.mark.parametrize(
    ("kind", "codec"), [("mp4", "libx264"), ("matroska", "libx264"), ("avi", "mpeg4"), ("webm", "libvpx-vp9")]
)
def test_any_damage_is_a_refusal_or_leaves_frames(kind: str, codec: str) -> None:
    whole = video_bytes(kind=kind, codec=codec)
    for seed in range(40):
        damaged = bytearray(whole)
        rng = np.random.default_rng(seed)
        for at in rng.integers(len(whole), size=20).tolist():
            damaged[at] = int(rng.integers(256))
        try:
            frames = read(bytes(damaged), FrameSampling(frames=4))
        except MediaError:
            continue
        assert 1 <= len(frames) <= 4


def test_damaged_frames_are_refused() -> None:
    whole = bytearray(video_bytes(options={"movflags": "faststart"}))
    for at in range(len(whole) // 2, len(whole) - 10, 7):
        whole[at] = (at * 37) % 256
    with pytest.raises(MediaError, match=r"clip: the video cannot be decoded|clip: the video is damaged"):
        read(bytes(whole))


def test_a_span_without_frames_and_pictures_too_large_are_refused() -> None:
    with pytest.raises(MediaError, match=r"clip: no frame lies in the span from 5 to the end; the last one is at 1.90"):
        read(video_bytes(), FrameSampling(start_s=5))
    with pytest.raises(MediaError, match="clip: frames of 64 x 48 px have over 1000 pixels; make the video smaller"):
        list(video_frames(video_bytes(), "clip", FrameSampling(), ImageLimits(max_pixels=1000)))
