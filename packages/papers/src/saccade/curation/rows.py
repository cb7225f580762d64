"""Rows of curation: questions, chains of thought and pass rates by id, and the levels that pass rates sort into."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from saccade.curation.codedance.settings import Level, Thresholds
from saccade.errors import UserError
from saccade.plain_files import open_plain
from saccade.rewards.reward import counts_as_right
from saccade.runs.records import read_records
from saccade.runs.task_json import scope_to_json
from saccade.tasks.rows.fields import Row, RowError, listed, optional_number, required_text
from saccade.tasks.rows.text_files import json_lines
from saccade.types import Attempt, ImageRef, Json, Task

IMAGES = "images"


def export_path(image: ImageRef) -> str:
    """The path at which ``MediaStore.export`` puts an image, from the file of rows."""
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
    if task.metric:
        row["metric"] = task.metric
    if task.answer_kind == "boxes":
        row |= {"min_iou": task.min_iou, "box_frame": "pixels"}
    if task.tolerance:
        row["tolerance"] = task.tolerance
    if task.targets:
        row["boxes"] = boxes_of(task)
    if task.frame_times_s:
        row["frame_times_s"] = list(task.frame_times_s)
    if task.event_s is not None:
        row["event_s"] = list(task.event_s)
    return {**row, **scope_to_json(task)}


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
        raise RowError("images", "are no longer those of the example; their pixels have changed")


BAD_ROWS_SHOWN = 20

Value = TypeVar("Value")


def read_by_id(path: Path, value_of: Callable[[Row], Value]) -> dict[str, Value]:
    """Task id to what its row says. Raises UserError that names the file and its bad rows, those of an id again too."""
    values: dict[str, Value] = {}
    bad: list[str] = []
    try:
        for numbered in json_lines(path):
            try:
                if isinstance(numbered.row, RowError):
                    raise numbered.row
                task_id = required_text(numbered.row, "id")
                value = value_of(numbered.row)
                if task_id in values:
                    raise RowError("id", f"{task_id!r} appears twice")
                values[task_id] = value
            except RowError as error:
                bad.append(f"  {path}, row {numbered.number}: {f'{error.key}: ' if error.key else ''}{error.why}")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    if bad:
        more = [f"  and {len(bad) - BAD_ROWS_SHOWN} more"] if len(bad) > BAD_ROWS_SHOWN else []
        raise UserError("\n".join([f"{path}: {len(bad)} rows cannot be used", *bad[:BAD_ROWS_SHOWN], *more]))
    return values


def read_chains(path: Path) -> dict[str, str]:
    """Chains of thought in words, to be rewritten: ``{"id": …, "chain": "…"}``."""
    return read_by_id(path, lambda row: required_text(row, "chain"))


PassRates = Mapping[str, float]
"""Task id to the share of right answers."""

SHOWN = 5


def level_of(weak: float | None, strong: float | None, thresholds: Thresholds) -> Level:
    """A question's level by the pass rates of the weak and the strong model; None where that model was not asked.

    The strong model counts where the weak one fails: what it cannot answer either is unsolved. Without it nothing is.
    """
    if weak is None:
        return "unsorted" if strong is None or strong >= thresholds.solved_from else "unsolved"
    if weak >= thresholds.easy_from:
        return "easy"
    if weak >= thresholds.medium_from:
        return "medium"
    return "hard" if strong is None or strong >= thresholds.solved_from else "unsolved"


def pass_rates_of(attempts: Iterable[Attempt]) -> dict[str, float]:
    """Pass rates from trajectories that a run has left behind, by what the run's reward called right, where it did.

    What the machine failed counts neither way.
    """
    passed: dict[str, list[bool]] = {}
    for attempt in attempts:
        if attempt.trajectory.status != "failed":
            is_right = counts_as_right(attempt.task, attempt.trajectory)
            passed.setdefault(attempt.task.id, []).append(is_right)
    return {task_id: sum(rights) / len(rights) for task_id, rights in passed.items()}


def read_pass_rates(path: Path) -> dict[str, float]:
    """From JSON lines ``{"id": …, "pass_rate": 0.25}``. Raises UserError that names the file and all bad rows."""
    return read_by_id(path, _pass_rate)


def _pass_rate(row: Row) -> float:
    rate = optional_number(row, "pass_rate", low=0.0, high=1.0)
    if rate is None:
        raise RowError("pass_rate", "is missing")
    return rate


def check_covered(tasks: Iterable[Task], rates: PassRates, name: str) -> None:
    """UserError when questions have no pass rate in ``name``."""
    missing = [task.id for task in tasks if task.id not in rates]
    if missing:
        listed = ", ".join(missing[:SHOWN]) + (", …" if len(missing) > SHOWN else "")
        raise UserError(
            f"{name} has no pass rate for {len(missing)} of the questions ({listed}); measure them on the same file "
            "of questions, or leave those questions out"
        )


def recorded_pass_rates(path: Path) -> dict[str, float]:
    """From a file ``{"id", "pass_rate"}`` a line, a file of trajectories, or all those of a run or a folder."""
    if path.is_dir():
        trajectories = path / "trajectories"
        files = sorted((trajectories if trajectories.is_dir() else path).rglob("*.jsonl"))
        if not files:
            raise UserError(f"{path} holds no trajectories (*.jsonl); give a run, one of its files, or pass rates")
        return pass_rates_of(_attempts(files))
    if not path.is_file():
        raise UserError(f"{path}: there is no such file, run or checkpoint, and an address begins with http://")
    return pass_rates_of(read_records(path)) if _is_of_trajectories(path) else read_pass_rates(path)


def _attempts(files: list[Path]) -> Iterator[Attempt]:
    for file in files:
        yield from read_records(file)


def _is_of_trajectories(path: Path) -> bool:
    """Whether the file begins with the header of records."""
    with open_plain(path) as file:
        first = file.readline(1 << 16)
    try:
        header = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("kind") == "header"
