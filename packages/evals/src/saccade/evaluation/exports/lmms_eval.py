"""lmms-eval's sample logs: written for its model ``from_log``, which scores them again, and read.

lmms-eval of today writes ``DATE_samples_TASK.jsonl``, a line for each question; ``from_log`` reads a JSON file of
another form, with all replies of a task. Both are written. lmms-eval has no mark for a failed request but a text that
its rules read as an answer, so failed ones are left out of the lines, and ``from_log``, which needs every document,
gets an empty reply; both are counted.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.errors import UserError
from saccade.evaluation.exports.predictions import Prediction
from saccade.plain_files import ANY_BYTES, plain_text
from saccade.strict_json import strict_json
from saccade.types import Json

_FAILED = "[LMMS_EVAL_REQUEST_FAILED"
_TASK = re.compile(r"samples_(.+)\.jsonl$")


def write_sample_log(predictions: Sequence[Prediction], folder: Path, task: str, model: str) -> int:
    """Writes ``samples_TASK.jsonl`` and ``TASK.json``; how many replies were left out since the machine failed.

    lmms-eval finds a document by its place in the set, so the predictions must be all of them, in their order.
    """
    if not re.fullmatch(r"[\w.-]{1,100}", task):
        raise UserError(f"the name {task[:60]!r} of lmms-eval's task must be letters, digits, '_', '-' and '.'")
    failed = sum(one.reply is None for one in predictions)
    lines = [
        {"doc_id": place, "target": one.gold, "input": one.question, "filtered_resps": [one.reply], "id": one.id}
        for place, one in enumerate(predictions)
        if one.reply is not None
    ]
    replies: list[Json] = [{"doc_id": place, "resps": [[one.reply or ""]]} for place, one in enumerate(predictions)]
    log: Json = {
        "args": {"model": model, "model_args": "", "limit": None},
        "model_configs": {"task": task},
        "time": datetime.now(UTC).strftime("%m%d_%H%M"),
        "logs": replies,
    }
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    write_bytes_atomic(folder / f"samples_{task}.jsonl", "".join(strict_json(line) + "\n" for line in lines).encode())
    write_bytes_atomic(folder / f"{task}.json", strict_json(log).encode())
    return failed


def task_name(path: Path) -> str:
    """The task of a log, by the name of its file."""
    named = _TASK.search(path.name)
    return named[1] if named else path.stem


def read_sample_log(path: Path) -> list[Prediction]:
    """The predictions of a log; UserError that names file and line of what is none."""
    if not path.is_file():
        raise UserError(f"there is no file {path}; lmms-eval writes *_samples_TASK.jsonl with --log_samples")
    found: list[Prediction] = []
    try:
        lines = plain_text(path, max_bytes=ANY_BYTES).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path} cannot be read: {error}") from None
    for number, line in enumerate(lines, start=1):
        try:
            value: Json = json.loads(line)
        except (ValueError, RecursionError):
            raise UserError(f"{path}:{number} is not JSON") from None
        if not isinstance(value, Mapping) or "doc_id" not in value:
            raise UserError(f"{path}:{number} is no sample of lmms-eval: it has no doc_id")
        found.append(_prediction(value))
    return sorted(found, key=lambda one: (len(one.index), one.index))


def _prediction(value: Mapping[str, Json]) -> Prediction:
    said = _first_text(value.get("filtered_resps", value.get("resps")))
    place, target = value["doc_id"], value.get("target")
    return Prediction(
        index=str(place),
        id=str(value.get("id") or place),
        question=str(value.get("input") or ""),
        gold=_first_text(target) or "",
        reply=None if said is None or said.startswith(_FAILED) else said,
    )


def _first_text(value: Json) -> str | None:
    """The text, or the first one of lists in lists."""
    while isinstance(value, Sequence) and not isinstance(value, str):
        value = value[0] if value else None
    return None if value is None else str(value)
