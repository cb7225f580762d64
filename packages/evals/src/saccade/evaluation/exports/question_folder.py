"""Questions as a folder: rows in the plain layout, their pictures, a card and the licence."""

from collections.abc import Sequence
from pathlib import Path

from saccade.atomic import disk_errors, write_text_atomic
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.strict_json import strict_json
from saccade.types import Json, Task

LICENCE = "Apache License 2.0: https://www.apache.org/licenses/LICENSE-2.0\n"


def write_question_folder(tasks: Sequence[Task], folder: Path, media: MediaStore, *, card: str) -> Path:
    """``questions.jsonl``, which ``--data`` reads again, ``pictures/``, ``README.md`` and ``LICENSE``.

    UserError where the folder holds something already.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UserError(f"--out {folder} is not an empty folder; choose another one")
    with disk_errors(folder):
        (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for image in dict.fromkeys(image for task in tasks for image in task.images):
        media.export(image, folder / "pictures")
    lines = [strict_json(_row(task), ensure_ascii=False) + "\n" for task in tasks]
    write_text_atomic(folder / "README.md", card)
    write_text_atomic(folder / "LICENSE", LICENCE)
    # Last: a folder with questions is whole.
    path = folder / "questions.jsonl"
    write_text_atomic(path, "".join(lines))
    return path


def _row(task: Task) -> dict[str, Json]:
    row: dict[str, Json] = {
        "id": task.id,
        "question": task.question,
        "answer": task.answer,
        "answer_kind": task.answer_kind,
        "images": [f"pictures/{image.hash}.png" for image in task.images],
        "family": task.family,
        "difficulty": task.difficulty,
        "boxes": [
            {"bbox": list(one.box.as_tuple()), "label": one.label, "image_index": one.image_index}
            for one in task.targets
        ],
    }
    if task.choices:
        row["choices"] = list(task.choices)
    if task.tolerance:
        row["tolerance"] = task.tolerance
    if task.accepted:
        row["accepted"] = list(task.accepted)
    return row
