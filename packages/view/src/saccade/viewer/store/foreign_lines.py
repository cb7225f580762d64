"""JSON lines of other trainers: verl's ``rollout_data_dir``, results of verifiers and prime-rl, any messages."""

import hashlib
import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from saccade.errors import UserError
from saccade.evaluation.index_rows import index_row
from saccade.plain_files import open_plain
from saccade.runs.position import Position
from saccade.runs.record_lines import TokenCounts
from saccade.runs.segments import MAX_LINE_BYTES, IndexRow, RecordPlace, Rows
from saccade.types import Attempt, Json
from saccade.viewer.store.field_map import FieldMap
from saccade.viewer.store.formats import Indexed, RecordFormat
from saccade.viewer.store.messages import Told, attempt_of, completion_from, messages_from
from saccade.viewer.store.shelf import Shelf

Fields = Mapping[str, Json]
ToAttempt = Callable[[Fields, Shelf, int], Attempt]
"""A line, where its pictures go, and its number as a sample."""
Reader = Callable[[bytes], Fields | str]
"""The object that a record's bytes are, or why they are none."""
Records = Callable[[Path], Iterator[tuple[int, int, Fields | str]]]
"""Offset, length and object of each record."""

_VERL_OWN = frozenset({"input", "output", "gts", "score", "step", "images"})
_NO_TOKENS = TokenCounts(total=0, actions=0, entropy=None)


def foreign_row(attempt: Attempt) -> IndexRow:
    """Right is only what the file says: there is no rule for foreign answers."""
    score = attempt.trajectory.score
    return replace(index_row(attempt, _NO_TOKENS), is_right=None if score is None else score.is_right)


def _numbered_lines(path: Path) -> Iterator[tuple[int, int, Fields | str]]:
    """Offset, length and object of each line, or why it is none."""
    with open_plain(path) as file:
        offset = 0
        while line := file.readline(MAX_LINE_BYTES):
            if not line.endswith(b"\n") and len(line) == MAX_LINE_BYTES:
                yield offset, len(line), f"a line of more than {MAX_LINE_BYTES >> 20} MiB, and nothing after it is read"
                return
            if line.strip():
                yield offset, len(line), _object(line)
            offset += len(line)


def _object(line: bytes) -> Fields | str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        return f"no JSON ({str(error)[:100]})"
    return value if isinstance(value, dict) else "no JSON object"


def index_records(
    to_attempt: ToAttempt, stage: str, path: Path, pictures: Path, *, records: Records = _numbered_lines
) -> Indexed:
    """The rows of a file whose records ``records`` finds."""
    shelf = Shelf(folder=pictures, root=path.parent)
    rows: Rows = []
    notes: list[str] = []
    samples: dict[str, int] = {}
    step = 0
    try:
        for number, (offset, length, value) in enumerate(records(path), start=1):
            if isinstance(value, str):
                notes.append(f"{path.name}:{number}: {value}; the line is left out")
                continue
            attempt = to_attempt(value, shelf, 0)
            sample = samples[attempt.task.id] = samples.get(attempt.task.id, -1) + 1
            step = int(told) if isinstance(told := value.get("step"), int) and 0 <= told < 1 << 27 else step
            place = RecordPlace(offset=offset, length=length, head=length, task_offset=offset, task_length=length)
            rows.append((place, replace(foreign_row(attempt), sample=sample)))
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    digits = "".join(filter(str.isdigit, path.stem))[:8]
    return Indexed(rows=rows, position=Position(stage=stage, step=step or int(digits or 0)), notes=tuple(notes))


def open_record(
    to_attempt: ToAttempt, path: Path, place: RecordPlace, pictures: Path, *, read: Reader = _object
) -> Attempt:
    """One record of such a file."""
    try:
        with open_plain(path) as file:
            size = os.fstat(file.fileno()).st_size
            if not (place.offset >= 0 and 0 < place.length <= MAX_LINE_BYTES and place.offset + place.length <= size):
                raise UserError(f"{path.name}: no record stands at byte {place.offset}")
            value = read(os.pread(file.fileno(), place.length, place.offset))
    except OSError as error:
        raise UserError(f"{path.name} cannot be read: {error.strerror}") from error
    if isinstance(value, str):
        raise UserError(f"{path.name}: the record at byte {place.offset} is damaged: {value}")
    return to_attempt(value, Shelf(folder=pictures, root=path.parent), 0)


def verl_attempt(value: Fields, shelf: Shelf, sample: int) -> Attempt:
    """A sample of a trainer that writes prompt and output as two texts."""
    prompt = _text(value.get("input"))
    extras = {name: as_number(one) for name, one in value.items() if name not in _VERL_OWN}
    right = value.get("acc")
    told = Told(
        task=digest(prompt),
        family=_text(value.get("data_source")) or "verl",
        question=_last_user(prompt),
        expected=_text(value.get("gts")),
        sample=sample,
        total=as_number(value.get("score")),
        rewards={name: one for name, one in extras.items() if name != "reward" and one is not None},
        is_right=bool(right) if isinstance(right, bool | int | float) else None,
    )
    messages = [*messages_from(prompt, shelf), *completion_from(value.get("output"), shelf)]
    return attempt_of(messages, told)


def _last_user(prompt: str) -> str:
    """The last words of the user in a prompt that is one text with the roles in it."""
    text = prompt.replace("<|im_end|>", "").replace("<|im_start|>", "")
    _, _, rest = text.rpartition("user\n")
    return rest.rpartition("assistant")[0].strip() or rest.strip()


def _verifiers(value: Fields, shelf: Shelf, sample: int) -> Attempt:
    metrics = value.get("metrics")
    named = (
        metrics if isinstance(metrics, Mapping) else {name: value[name] for name in value if name.endswith("_reward")}
    )
    prompt = messages_from(value.get("prompt"), shelf)
    error = value.get("error")
    told = Told(
        task=str(value.get("example_id", digest(json.dumps(value.get("prompt"), default=str)))),
        family=_text(value.get("task")) or "verifiers",
        expected=_text(value.get("answer")),
        sample=sample,
        total=as_number(value.get("reward")),
        rewards={str(name): number for name, one in named.items() if (number := as_number(one)) is not None},
        advantage=as_number(value.get("advantage")),
        status="failed" if error else "token_limit" if value.get("is_truncated") is True else "answered",
        failure=_text(error) or (json.dumps(error, default=str)[:1000] if error else ""),
    )
    return attempt_of([*prompt, *completion_from(value.get("completion"), shelf)], told)


def _messages(fields: FieldMap, value: Fields, shelf: Shelf, sample: int) -> Attempt:
    prompt, completion = value.get(fields.prompt), value.get(fields.completion)
    messages = messages_from(value.get(fields.messages, value.get("conversations")), shelf)
    if not messages:
        messages = [*messages_from(prompt, shelf), *completion_from(completion, shelf)]
    listed = value.get(fields.images)
    images = [shelf.keep(one) for one in (listed if isinstance(listed, list) else [listed])]
    right = value.get(fields.right)
    asked = "\n".join(one.text for one in messages if one.role == "user")
    told = Told(
        task=str(value.get(fields.id, digest(asked)))[:400],
        family=_text(value.get("family")) or "messages",
        expected=_text(value.get(fields.answer)),
        sample=sample,
        total=as_number(value.get(fields.reward)),
        is_right=right if isinstance(right, bool) else None,
        images=tuple(image for image in images if image is not None),
    )
    return attempt_of(messages, told)


def as_number(value: Json) -> float | None:
    if isinstance(value, bool):
        return float(value)
    try:
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None
    except OverflowError:
        return None


def digest(text: str) -> str:
    """Identity of a question that has no id: its words."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _text(value: Json) -> str:
    if isinstance(value, list) and value and isinstance(value[0], str):
        return str(value[0])
    return value if isinstance(value, str) else "" if value is None or isinstance(value, Mapping) else str(value)


VERL = RecordFormat(
    name="verl",
    index=partial(index_records, verl_attempt, "rollout"),
    open=partial(open_record, verl_attempt),
    words="verl writes text only; these files contain no pictures.",
)
VERIFIERS = RecordFormat(
    name="verifiers",
    index=partial(index_records, _verifiers, "results"),
    open=partial(open_record, _verifiers),
    words="verifiers replaces each picture by a word unless it is configured to keep pictures.",
)


def messages_format(fields: FieldMap) -> RecordFormat:
    """Any file of messages, by the names of its fields."""
    to_attempt = partial(_messages, fields)
    return RecordFormat(
        name="messages", index=partial(index_records, to_attempt, "messages"), open=partial(open_record, to_attempt)
    )


def first_object(path: Path) -> Fields | None:
    """The first line of a file, where it is a JSON object."""
    try:
        with open_plain(path) as file:
            value = _object(file.readline(8 << 20))
    except OSError:
        return None
    return None if isinstance(value, str) else value


def is_verl(path: Path) -> bool:
    value = first_object(path) if path.suffix == ".jsonl" else None
    return value is not None and {"input", "output", "score"} <= set(value)


def is_verifiers(path: Path) -> bool:
    value = first_object(path) if path.suffix == ".jsonl" else None
    return value is not None and {"prompt", "completion", "reward"} <= set(value) and "messages" not in value


def is_messages(fields: FieldMap, path: Path) -> bool:
    value = first_object(path) if path.suffix == ".jsonl" else None
    if value is None:
        return False
    return any(isinstance(value.get(name), list) for name in (fields.messages, "conversations")) or (
        fields.prompt in value and fields.completion in value
    )
