"""Rows that ask about videos: frames with their times, files, the layouts of released sets, and their errors."""

import io
import json
import subprocess
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from saccade.errors import UserError
from saccade.media import MediaStore
from saccade.tasks import read_tasks
from saccade.types import Task

ASKED = {"question": "When?", "answer": "2"}


def video_bytes(frames: int = 20, size: tuple[int, int] = (64, 48)) -> bytes:
    """Grey frames, ten a second, each brighter than the one before."""
    file = io.BytesIO()
    with av.open(file, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=10)
        stream.width, stream.height = size
        for index in range(frames):
            grey = np.full((size[1], size[0], 3), 10 * index % 250, np.uint8)
            frame = av.VideoFrame.from_ndarray(grey, format="rgb24")
            frame.pts, frame.time_base = index, Fraction(1, 10)
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return file.getvalue()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rows")
    (path / "clip.mp4").write_bytes(video_bytes())
    (path / "broken.mp4").write_bytes(video_bytes()[:-700])
    for index in range(6):
        Image.new("RGB", (40, 20), (40 * index, 0, 0)).save(path / f"{index}.png")
    return path


def only(folder: Path, row: Mapping[str, object], *, max_frames: int = 32) -> Task:
    (folder / "rows.json").write_text(json.dumps([row]))
    return read_tasks(folder / "rows.json", media=MediaStore(), max_frames=max_frames).tasks[0]


def reason(folder: Path, row: Mapping[str, object]) -> str:
    with pytest.raises(UserError) as caught:
        only(folder, row)
    return str(caught.value).split("row 1: ")[1].split("\n")[0]


@pytest.mark.parametrize(
    "video",
    [
        {"video": "clip.mp4"},
        {"videos": ["clip.mp4"]},
        {"videos": "clip.mp4"},
        {"video_path": "clip.mp4"},
        {"video_filename": "clip.mp4"},
        {"path": "./clip.mp4", "data_type": "video"},
        {"videos": [{"type": "video", "video": "clip.mp4"}]},
        {"video": {"bytes": None, "path": "clip.mp4"}},
    ],
)
def test_a_video_file_is_read_under_the_names_in_use(folder: Path, video: Mapping[str, object]) -> None:
    task = only(folder, ASKED | video | {"event_s": [0.5, 1.0]})
    assert task.frame_times_s == tuple(index / 10 for index in range(20))
    assert (len(task.images), task.event_s, task.images[0].width) == (20, (0.5, 1.0), 64)


def test_a_row_and_a_setting_say_how_many_frames_are_taken(folder: Path) -> None:
    clip = ASKED | {"video": "clip.mp4"}
    assert only(folder, clip | {"nframes": 3}).frame_times_s == (0.0, 0.9, 1.9)
    assert only(folder, clip | {"num_frames": "3"}).frame_times_s == (0.0, 0.9, 1.9)
    assert only(folder, clip | {"fps": 2}).frame_times_s == (0.0, 0.5, 1.0, 1.5)
    assert only(folder, clip | {"fps": 2}, max_frames=2).frame_times_s == (0.0, 1.9)
    assert only(folder, clip | {"max_frames": 3}).frame_times_s == (0.0, 0.9, 1.9)
    part = {"video": {"video": "clip.mp4", "video_start": 1, "video_end": 1.5, "nframes": 2}}
    assert only(folder, ASKED | part).frame_times_s == (1.0, 1.5)


def test_a_longer_video_gives_32_frames_or_as_many_as_are_set(folder: Path) -> None:
    (folder / "long.mp4").write_bytes(video_bytes(100, (32, 32)))
    long = ASKED | {"video": "long.mp4"}
    assert len(only(folder, long).images) == 32
    assert len(only(folder, long, max_frames=48).images) == 48
    with pytest.raises(UserError, match="max_frames=0 shows nothing of a video; use 1 or more"):
        only(folder, long, max_frames=0)


def test_frames_have_the_times_of_the_row_or_of_their_rate(folder: Path) -> None:
    frames = {"frames": [f"{index}.png" for index in range(4)]}
    assert only(folder, ASKED | frames | {"frame_times_s": [0, 1, 3, 4]}).frame_times_s == (0.0, 1.0, 3.0, 4.0)
    assert only(folder, ASKED | frames | {"fps": 2}).frame_times_s == (0.0, 0.5, 1.0, 1.5)
    nested = {"videos": [{"video": frames["frames"], "fps": 4}]}
    assert only(folder, ASKED | nested).frame_times_s == (0.0, 0.25, 0.5, 0.75)


def test_boxes_stay_on_their_frames_when_frames_are_left_out(folder: Path) -> None:
    row = ASKED | {"frames": [f"{index}.png" for index in range(5)], "fps": 1}
    boxes = [{"bbox": [0, 0, 5, 5], "label": str(index), "image_index": index} for index in range(5)]
    task = only(folder, row | {"boxes": boxes}, max_frames=3)
    assert task.frame_times_s == (0.0, 2.0, 4.0)
    assert [(target.label, target.image_index) for target in task.targets] == [("0", 0), ("2", 1), ("4", 2)]


def test_a_video_r1_row_of_a_video_or_an_image_is_read(folder: Path) -> None:
    video = {
        "problem_id": 2,
        "problem": "What appears on the screen?",
        "data_type": "video",
        "problem_type": "multiple choice",
        "options": ["A. A missile", "B. A cat", "C. A.I."],
        "process": "",
        "solution": "<answer>A</answer>",
        "path": "./clip.mp4",
        "data_source": "LLaVA-Video-178K",
    }
    task = only(folder, video)
    assert (task.id, task.answer, task.answer_kind, task.family) == ("2", "A", "choice", "LLaVA-Video-178K")
    assert (task.choices, len(task.images)) == (("A missile", "A cat", "A.I."), 20)
    image = video | {"data_type": "image", "path": "./0.png", "options": []}
    kinds = {
        ("numerical", "<answer>7</answer>"): ("integer", 0.0),
        ("regression", "<answer>2.4</answer>"): ("number", 0.05),
        ("OCR", "<answer> STOP </answer>"): ("text", 0.0),
        ("free-form", "<answer>a red bus on a street</answer>"): ("text", 0.0),
    }
    for (kind, solution), expected in kinds.items():
        task = only(folder, image | {"problem_type": kind, "solution": solution})
        assert (task.answer_kind, task.tolerance, task.frame_times_s, len(task.images)) == (*expected, (), 1)


def test_markers_of_a_video_are_left_out_of_the_question(folder: Path) -> None:
    clip = {"videos": ["clip.mp4"], "answer": "2", "images": []}
    assert only(folder, clip | {"problem": "<video>When does it stop?"}).question == "When does it stop?"
    assert only(folder, clip | {"problem": "<image>\nWhen does it stop?"}).question == "When does it stop?"
    asked = [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "When?"}]}]
    gold = {"reward_model": {"ground_truth": "2"}}
    assert only(folder, {"prompt": asked, "videos": ["clip.mp4"]} | gold).question == "When?"


def test_a_repeated_file_is_decoded_once(folder: Path) -> None:
    rows = [ASKED | {"video": "clip.mp4", "question": str(index)} for index in range(3)]
    (folder / "rows.json").write_text(json.dumps(rows))
    tasks = read_tasks(folder / "rows.json", media=MediaStore()).tasks
    assert len({task.images for task in tasks}) == 1


@pytest.mark.parametrize(
    ("row", "why"),
    [
        ({"video": "none.mp4"}, "video: {folder}/none.mp4: the video cannot be read (No such file or directory)"),
        ({"video": "0.png"}, "video: {folder}/0.png: the video cannot be decoded (Invalid "),
        ({"video": "broken.mp4"}, "video: {folder}/broken.mp4: the video is cut off, or of a codec"),
        ({"video": "../clip.mp4"}, "video: '../clip.mp4' leaves the folder"),
        ({"video": "https://a.b/c.mp4"}, "video: 'https://a.b/c.mp4' is on a network; download it"),
        ({"video": 3}, "video: must be the path of a video, bytes, or"),
        ({"videos": ["clip.mp4", "clip.mp4"]}, "videos: holds 2 videos; a question is about one"),
        ({"video": "clip.mp4", "image": "0.png"}, "video: a row has images, frames or a video file, and not several"),
        ({"video": "clip.mp4", "fps": 0}, "fps: must be over 0"),
        ({"video": "clip.mp4", "fps": -1}, "fps: must be a number from 0 to 1000, not -1"),
        ({"video": "clip.mp4", "nframes": 2.5}, "nframes: must be a whole number of frames, not 2.5"),
        ({"video": "clip.mp4", "nframes": 0}, "nframes: must be a number from 1"),
        ({"video": "clip.mp4", "video_start": 2, "video_end": 1}, "video_end: must be after video_start"),
        ({"video": "clip.mp4", "video_start": 9}, "video: {folder}/clip.mp4: no frame lies in the span from 9 to"),
        ({"frames": ["0.png", "1.png"]}, "frames: 2 frames need times; give frame_times_s, or fps for even ones"),
        ({"frames": ["0.png"], "frame_times_s": [0, 1]}, "frame_times_s: has 2 times for 1 images"),
        ({"frames": ["0.png", "9.png"], "fps": 1}, "frames: {folder}/9.png"),
        ({"frame_times_s": [0, 1]}, "frame_times_s: has times of frames, but the row has no frames"),
        ({"data_type": "video"}, "data_type: is video, but the row has none; give videos, video"),
        ({"question": "<video> When?"}, "videos: the text has a <video> marker, but the row has no video"),
        ({"question": "<video><video>?", "video": "clip.mp4"}, "question: has 2 markers of videos"),
        ({"problem": "?", "answer": None, "solution": "so " * 80}, "solution: holds no <answer>...</answer>"),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_read_says_why(folder: Path, row: Mapping[str, object], why: str) -> None:
    assert reason(folder, ASKED | row).startswith(why.format(folder=folder))


def test_without_the_decoder_the_extra_is_named(folder: Path) -> None:
    (folder / "rows.json").write_text(json.dumps([ASKED | {"video": "clip.mp4"}]))
    program = (
        "import sys; sys.modules['av'] = None\n"
        "from pathlib import Path; from saccade.media import MediaStore; from saccade.tasks import read_tasks\n"
        "read_tasks(Path(sys.argv[1]), media=MediaStore())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(folder / "rows.json")], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip().splitlines()[-1] == (
        "saccade.errors.UserError: reading a video file needs the package av; "
        'run pip install -e ".[video]" in a clone of Saccade'
    )
