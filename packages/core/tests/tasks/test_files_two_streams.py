"""The published columns of TreeVGR-RL-37K and iVGR-RL-51K, as tasks."""

import io
import json
import math
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.media.resize import ResizeRule, smart_resize
from saccade.media.store import MediaStore
from saccade.protocols.coordinates import mentions_to_original
from saccade.protocols.two_streams import grounded_protocol
from saccade.rewards.grounding import dual_iou
from saccade.tasks.files import BadRow, read_tasks
from saccade.types import ImageRef, Target, Task

WIDTH, HEIGHT = 100, 60
QUESTION = "What colour is the dog?\nA. red\nB. brown"
DOG = {"bbox": [10, 10, 30, 40], "label": "dog", "name": "dog 1"}


def jpeg(colour: str = "red") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (WIDTH, HEIGHT), colour).save(buffer, format="JPEG")
    return buffer.getvalue()


def row(**changes: object) -> dict[str, object]:
    usual: dict[str, object] = {
        "problem": f"<image>\n{QUESTION}",
        "query": f"<image>\n{QUESTION}",
        "question": "What colour is the dog?",
        "answer": "B",
        "images": ["a.jpg"],
        "target_instances": [DOG],
        "datasource": "treevgr",
        "question_type": "multiple-choice",
    }
    return {key: value for key, value in (usual | changes).items() if value is not ...}


def read(tmp_path: Path, *rows: Mapping[str, object], **options: bool) -> tuple[tuple[Task, ...], tuple[BadRow, ...]]:
    (tmp_path / "a.jpg").write_bytes(jpeg())
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    found = read_tasks(path, media=MediaStore(), **options)
    return found.tasks, found.skipped


def task_of(tmp_path: Path, **changes: object) -> Task:
    ((task,), _) = read(tmp_path, row(**changes))
    return task


def why(tmp_path: Path, **changes: object) -> str:
    """Why this row is refused, beside a good one."""
    (_, (bad,)) = read(tmp_path, row(), row(**changes), skip_bad_rows=True)
    assert bad.row == 2
    return f"{bad.key}: {bad.why}"


# Which text is asked where


def test_a_row_of_both_streams(tmp_path: Path) -> None:
    task = task_of(tmp_path, query="<image>\nName the dog's colour: A. red B. brown")
    assert (task.question, task.answer, task.answer_kind, task.family) == (QUESTION, "B", "choice", "treevgr")
    assert task.wordings == {"textual": "Name the dog's colour: A. red B. brown"}
    assert task.targets == (Target(label="dog", box=Box(10, 10, 30, 40), point=Point(20, 25)),)


@pytest.mark.parametrize(
    "query", [f"<image>\n{QUESTION}", f"{QUESTION}<image>", QUESTION, f" {QUESTION}\n", "", None, ...]
)
def test_a_query_that_says_the_same_or_nothing_is_no_wording(tmp_path: Path, query: object) -> None:
    task = task_of(tmp_path, query=query)
    assert (task.question, task.wordings) == (QUESTION, {})


def test_a_wording_does_not_change_the_id(tmp_path: Path) -> None:
    assert task_of(tmp_path, query="Other words? A. B.").id == task_of(tmp_path, query=...).id


@pytest.mark.parametrize("problem", ["", None])
def test_where_the_problem_is_empty_the_query_is_the_question(tmp_path: Path, problem: object) -> None:
    task = task_of(tmp_path, problem=problem, query="<image>Q? A. B.")
    assert (task.question, task.wordings) == ("Q? A. B.", {})


@pytest.mark.parametrize(
    ("question_type", "answer", "kind"),
    [
        ("multiple-choice", "B", "choice"),
        ("Multiple Choice", "(b)", "choice"),
        ("MCQ", "C.", "choice"),
        # The type is a hint: what is no letter is compared as what it is.
        ("multiple-choice", "brown", "exact"),
        ("multiple-choice", "7", "integer"),
        ("free-form", "B", "exact"),
        ("", "B", "exact"),
        (7, "B", "exact"),
        (..., "2.5", "number"),
    ],
)
def test_the_type_of_a_question_may_say_that_a_letter_is_an_option(
    tmp_path: Path, question_type: object, answer: str, kind: str
) -> None:
    task = task_of(tmp_path, problem="Which?", query=..., answer=answer, question_type=question_type)
    assert task.answer_kind == kind


@pytest.mark.parametrize("targets", [[], None, "[]", "", ...])
def test_a_row_without_boxes_is_a_task_of_the_textual_stream_alone(tmp_path: Path, targets: object) -> None:
    task = task_of(tmp_path, target_instances=targets, datasource="ours_mmk12")
    assert (task.targets, task.family) == ((), "ours_mmk12")


def test_targets_as_text_and_labels_that_are_numbers(tmp_path: Path) -> None:
    (target,) = task_of(tmp_path, target_instances=str([DOG | {"label": 3}])).targets
    assert (target.label, target.box) == ("dog 1", Box(10, 10, 30, 40))


# Rows that cannot be used


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"problem": ..., "query": ...}, "problem: is missing or empty"),
        ({"problem": 1.5}, "problem: must be text, not float"),
        ({"problem": "<image><image>?"}, "images: 2 <image> markers in the text but 1 images"),
        ({"problem": "<image>"}, "problem: is empty but for image markers"),
        ({"problem": "half \ud800 a pair"}, "problem: holds half a surrogate pair"),
        ({"problem": "x" * 200_000}, "problem: has 200000 characters, more than 100000"),
        ({"query": ["?"]}, "query: must be text, not list"),
        ({"query": "<image>"}, "query: is empty but for image markers"),
        ({"query": "<image><image>?"}, "images: 2 <image> markers"),
        ({"query": "half \udc00 a pair"}, "query: holds half a surrogate pair"),
        ({"query": "x" * 200_000}, "query: has 200000 characters"),
        ({"answer": ...}, "answer: there is no answer"),
        ({"answer": {"a": 1}}, "answer: must be text or a number, not dict"),
        ({"answer": "x" * 5000}, "answer: the answer has 5000 characters"),
        ({"images": []}, "images: 1 <image> markers in the text but 0 images"),
        ({"images": ["b.jpg"]}, "images: "),
        ({"images": ["b" * 5000]}, "images: "),
        ({"images": [5]}, "images: must be a path"),
        ({"images": ["../a.jpg"]}, "images: '../a.jpg' leaves the folder"),
        ({"datasource": ["x"]}, "datasource: must be text, not list"),
        ({"target_instances": "[[1, 2"}, "target_instances: is neither JSON nor a Python literal"),
        ({"target_instances": [{"label": "dog"}]}, "target_instances: a box must be four finite numbers"),
        ({"target_instances": [DOG | {"bbox": [1, 2, 3]}]}, "target_instances: a box must be four finite numbers"),
        ({"target_instances": "[{'bbox': [1, 2, 3, 1e999]}]"}, "target_instances: a box must be four finite numbers"),
        ({"target_instances": [DOG | {"bbox": ["1", 2, 3, 4]}]}, "target_instances: a box must be four finite numbers"),
        (
            {"target_instances": [DOG | {"bbox": [30, 10, 10, 40]}]},
            "target_instances: the box [30.0, 10.0, 10.0, 40.0] is",
        ),
        ({"target_instances": [DOG | {"bbox": [10, 10, 130, 40]}]}, "lies outside the image of 100 x 60 px"),
        ({"target_instances": [DOG | {"label": "\ud800"}]}, "target_instances: a label holds half a surrogate pair"),
        ({"target_instances": 5}, "target_instances: must be a list of boxes, not int"),
    ],
)
def test_a_row_that_cannot_be_used_says_why(tmp_path: Path, changes: Mapping[str, object], message: str) -> None:
    assert message in why(tmp_path, **changes)


def test_bad_rows_end_the_reading_unless_they_are_to_be_skipped(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        read(tmp_path, row(), row(problem=5.5))
    assert f"{tmp_path / 'rows.json'}, row 2: problem: must be text, not float" in str(caught.value)


# Kinds of files and places of images


def table(rows: list[dict[str, object]], *, images: pa.DataType) -> pa.Table:
    box = pa.struct([("bbox", pa.list_(pa.float64())), ("label", pa.string()), ("name", pa.string())])
    kinds = {"images": pa.list_(images), "target_instances": pa.list_(box)}
    return pa.table({name: pa.array([one.get(name) for one in rows], kinds.get(name)) for name in row()})


def test_a_parquet_file_of_both_parts_with_images_as_bytes(tmp_path: Path) -> None:
    rows = [
        row(images=[{"bytes": jpeg(), "path": None}], query="In short: A. red B. brown?"),
        row(images=[{"bytes": jpeg("blue"), "path": None}], target_instances=[], datasource="ours_tqa"),
        row(images=[{"bytes": jpeg(), "path": None}], target_instances=[DOG | {"bbox": [1.0, math.nan, 3.0, 4.0]}]),
    ]
    path = tmp_path / "gvqa_and_mathdata.parquet"
    pq.write_table(table(rows, images=pa.struct([("bytes", pa.binary()), ("path", pa.string())])), path)
    found = read_tasks(path, media=MediaStore(), skip_bad_rows=True)
    assert [(task.family, len(task.targets), dict(task.wordings)) for task in found.tasks] == [
        ("treevgr", 1, {"textual": "In short: A. red B. brown?"}),
        ("ours_tqa", 0, {}),
    ]
    [bad] = found.skipped
    assert (bad.row, bad.key) == (3, "target_instances")


@pytest.mark.parametrize("name", ["rows.parquet", "rows.json", "rows.jsonl"])
@pytest.mark.parametrize("place", ["images/a.jpg", "images/images/a.jpg", "unpacked/images/a.jpg"])
def test_images_lie_beside_the_file_or_in_a_folder_there(tmp_path: Path, name: str, place: str) -> None:
    (tmp_path / place).parent.mkdir(parents=True)
    (tmp_path / place).write_bytes(jpeg())
    path = tmp_path / name
    rows = [row(images=["images/a.jpg"], target_instances=[DOG])]
    if name == "rows.parquet":
        pq.write_table(table(rows, images=pa.string()), path)
    else:
        path.write_text(json.dumps(rows) if name == "rows.json" else json.dumps(rows[0]))
    [task] = read_tasks(path, media=MediaStore()).tasks
    assert (task.images[0].width, len(task.targets)) == (WIDTH, 1)


def test_an_image_in_two_folders_is_in_none(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "b.jpg").write_bytes(jpeg())
    assert "lies in several folders (one, two)" in why(tmp_path, images=["b.jpg"])


# Pixels of the original against the public code's way


def seen(view: ResizeRule, image: ImageRef) -> tuple[float, float]:
    """What the image's sides are in the model's frame."""
    if view.convention == "relative_1000":
        return 1000.0, 1000.0
    return smart_resize(
        image.width, image.height, factor=view.factor, min_pixels=view.min_pixels, max_pixels=view.max_pixels
    )


def rescaled(box: Box, view: ResizeRule, image: ImageRef) -> Box:
    """The public code's way: targets go into the frame of the model, rounded."""
    width, height = seen(view, image)
    sx, sy = width / image.width, height / image.height
    return Box(round(box.x1 * sx), round(box.y1 * sy), round(box.x2 * sx), round(box.y2 * sy))


def both_ways(image: ImageRef, view: ResizeRule, written: list[Box], targets: list[Box]) -> tuple[float, float]:
    """Dual IoU in pixels of the original, from the model's text; and in the model's frame."""
    boxes = "".join(f"<box>[{','.join(f'{side:.0f}' for side in box.as_tuple())}]</box>" for box in written)
    parsed = grounded_protocol().parse(f"<think>Here: {boxes}</think><answer>A</answer>")
    mentions = mentions_to_original(parsed.boxes, [image], view)
    ours = dual_iou([mention.box for mention in mentions if mention.box is not None], targets)
    return ours, dual_iou(written, [rescaled(box, view, image) for box in targets])


ABSOLUTE = ResizeRule(factor=28, min_pixels=3136, max_pixels=3_211_264, convention="absolute")
SMALL = ResizeRule(factor=28, min_pixels=3136, max_pixels=250_000, convention="absolute")
RELATIVE = ResizeRule(factor=32, min_pixels=1 << 16, max_pixels=1 << 20, convention="relative_1000")


def test_whole_targets_score_the_same_in_both_frames() -> None:
    image = ImageRef(hash="0" * 64, width=1120, height=560)
    half = ResizeRule(factor=28, min_pixels=3136, max_pixels=560 * 280, convention="absolute")
    assert half.view_size(1120, 560) == (560, 280)
    # In the view the target is 100 x 100 at (50, 50); half of the prediction lies on half of it: 1/3.
    ours, theirs = both_ways(image, half, [Box(100, 50, 200, 150)], [Box(100, 100, 300, 300)])
    assert ours == pytest.approx(theirs) == pytest.approx(1 / 3)
    ours, theirs = both_ways(image, RELATIVE, [Box(250, 250, 500, 500)], [Box(280, 140, 560, 420)])
    assert ours == pytest.approx(theirs) == pytest.approx(2 / 4)


@given(
    width=st.integers(300, 4000),
    height=st.integers(300, 4000),
    view=st.sampled_from([ABSOLUTE, SMALL, RELATIVE]),
    corners=st.lists(st.tuples(*[st.floats(0.0, 0.6)] * 2, *[st.floats(0.2, 0.4)] * 2), min_size=2, max_size=4),
)
def test_original_pixels_and_the_resized_frame_differ_by_the_targets_rounding_alone(
    width: int, height: int, view: ResizeRule, corners: list[tuple[float, float, float, float]]
) -> None:
    image = ImageRef(hash="0" * 64, width=width, height=height)
    across, down = seen(view, image)
    shares = [Box(x, y, x + wide, y + high) for x, y, wide, high in corners]
    written = [Box(*(round(s * n) for s, n in zip(one.as_tuple(), (across, down) * 2))) for one in shares[1:]]
    targets = [Box(*(s * n for s, n in zip(one.as_tuple(), (width, height) * 2))) for one in shares[:-1]]
    ours, theirs = both_ways(image, view, written, targets)
    # Rounding moves each edge by half a pixel of the frame, so the overlap and the union by half the outline at most.
    side = min(0.2 * across, 0.2 * down) - 1
    assert abs(ours - theirs) <= 2 * (2 * side + 1) / side**2
