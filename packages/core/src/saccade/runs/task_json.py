"""Tasks as JSON and back, equal."""

from typing import Any

from saccade.codec.codecs import Codec
from saccade.codec.forms import Form
from saccade.geometry import Box, Point
from saccade.types import PAGE_PATTERN, ImageRef, Json, Page, SceneObject, Task


def _check_image(image: ImageRef) -> None:
    """Its picture lies under this name, and a record may come from anywhere."""
    if "/" in image.hash or "\0" in image.hash:
        raise ValueError(f"{image.hash[:80]!r} is the hash of no picture")
    if image.frames < 1 or image.height % image.frames:
        raise ValueError(f"a picture of {image.height} px height cannot hold {image.frames} frames")
    if not 0 <= image.patch_seconds < 1e9:
        raise ValueError(f"{image.patch_seconds} s between the patches of a video")


TASK_FORMS: dict[type, Form] = {
    ImageRef: Form(check=_check_image, sparse=("frames", "patch_seconds")),
    Box: Form(is_list=True),
    Point: Form(is_list=True),
    Page: Form(read_text=Page.read, pattern=(PAGE_PATTERN, "a page, DOCUMENT#NUMBER")),
    SceneObject: Form(sparse=("mask",)),
    # Most tasks have none of these.
    Task: Form(
        keys={"is_interleaved": "interleaved"},
        sparse=(
            *("metric", "min_iou", "objects", "wordings", "accepted", "buckets", "is_interleaved"),
            *("corpus", "document", "gold_pages", "shown_pages"),
        ),
    ),
}
"""The forms of tasks and of what is in them."""

_CODEC = Codec(TASK_FORMS)


def task_to_json(task: Task) -> dict[str, Any]:
    return _CODEC.to_json(task)


def task_from_json(value: Json) -> Task:
    """Raises BrokenRecordError."""
    return _CODEC.reader(Task).from_json(value, "the task")


def scope_to_json(task: Task) -> dict[str, Any]:
    """Where a question is asked: its corpus, document and pages, as far as it names any."""
    scope = ("corpus", "document", "gold_pages", "shown_pages")
    return {key: value for key, value in task_to_json(task).items() if key in scope}


def image_to_json(image: ImageRef) -> dict[str, Any]:
    return _CODEC.to_json(image)
