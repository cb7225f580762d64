"""Questions as rows of a file that curation writes, their images beside it."""

from collections.abc import Mapping, Sequence

from saccade.tasks.readers.fields import listed
from saccade.tasks.readers.rows import Row, RowError
from saccade.types import ImageRef, Json, Task

IMAGES = "images"


def exported(image: ImageRef) -> str:
    """Where ``MediaStore.export`` puts an image, from the file of rows."""
    return f"{IMAGES}/{image.hash}.png"


def question_row(task: Task, images: Sequence[str]) -> dict[str, Json]:
    """A question in the plain layout; ``images`` are paths from the file of rows."""
    row: dict[str, Json] = {
        "id": task.id,
        "family": task.family,
        "question": task.question,
        "answer": task.answer,
        "answer_kind": task.answer_kind,
        "images": list(images),
        "image_hashes": [image.hash for image in task.images],
        "difficulty": task.difficulty,
    }
    if task.choices:
        row["choices"] = list(task.choices)
    if task.tolerance:
        row["tolerance"] = task.tolerance
    if task.targets:
        row["boxes"] = boxes_of(task)
    return row


def boxes_of(task: Task) -> list[Mapping[str, Json]]:
    """The targets, in pixels of the originals."""
    return [
        {"bbox": list(target.box.as_tuple()), "label": target.label, "image_index": target.image_index}
        for target in task.targets
    ]


def check_images(row: Row, task: Task) -> None:
    """``RowError`` when an image is another one than when the row was written."""
    hashes = listed(row.get("image_hashes"), "image_hashes")
    if hashes and hashes != [image.hash for image in task.images]:
        raise RowError("images", "are not those of the example any more; their pixels have changed")
