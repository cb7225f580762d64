"""Questions of an exported package, played in several turns with tools.

Packages for Gymnasium, OpenEnv and TRL bring copies of this module and of all that it imports; ``data`` is their folder
of rows (``SPLIT.jsonl``) and pictures.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.interop.exports.verifier import task_of
from saccade.media.store import MediaStore
from saccade.plain_files import ANY_BYTES, plain_bytes
from saccade.types import ImageRef, Json, Task


def packed_rows(data: Path, split: str) -> list[Mapping[str, Json]]:
    """The rows of a split; ``UserError`` where there is none of that name."""
    path = data / f"{split}.jsonl"
    if not path.is_file():
        raise UserError(f"split={split!r} is none of {', '.join(sorted(one.stem for one in data.glob('*.jsonl')))}")
    return [json.loads(line) for line in plain_bytes(path, ANY_BYTES).decode().splitlines()]


def packed_task(name: str, ground_truth: str, images: Sequence[ImageRef]) -> Task:
    """The question as a task, with all that its verdict needs."""
    return replace(task_of(ground_truth), id=name, family=name.partition("/")[0], images=tuple(images))


def packed_tasks(data: Path, split: str) -> tuple[list[Task], MediaStore]:
    """All questions of a split, and the store that holds their pictures."""
    media = MediaStore()
    return [_task(row, data, media) for row in packed_rows(data, split)], media


def packed_env(data: Path, split: str = "train", **options: Any) -> VisualReasoningEnv:
    """Gymnasium's environment of a split; ``options`` are those of ``VisualReasoningEnv``."""
    media, rows = MediaStore(), packed_rows(data, split)
    return VisualReasoningEnv(tasks=lambda index: _task(rows[index % len(rows)], data, media), media=media, **options)


def _task(row: Mapping[str, Any], data: Path, media: MediaStore) -> Task:
    return packed_task(row["id"], row["answer"], [media.add_file(data / name) for name in row["images"]])
