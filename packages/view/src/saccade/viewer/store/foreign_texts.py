"""Samples as two texts: EasyR1's ``generations.log``, and LLaMA-Factory's ``generated_predictions.jsonl``."""

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from saccade.plain_files import open_plain
from saccade.runs.segments import MAX_LINE_BYTES
from saccade.types import Attempt, Json
from saccade.viewer.store.foreign_lines import Fields, LineKind
from saccade.viewer.store.foreign_verl import is_verl, verl_attempt
from saccade.viewer.store.shelf import Shelf

_START = re.compile(rb"(?:\[[\w/ -]{1,60}\]\r?\n)?(?:\[step\] \d+\r?\n)?\[prompt\] ")
_ENTRY = re.compile(
    r"\A(?:\[[\w/ -]{1,60}\]\n)?(?:\[step\] (?P<step>\d{1,8})\n)?\[prompt\] (?P<input>.*?)\n\[output\] (?P<output>.*)\n"
    r"\[ground_truth\] (?P<gts>.*)\n\[score\] (?P<score>[^\n]*)\s*\Z",
    re.DOTALL,
)


def _entry(content: bytes) -> Fields | str:
    """By the names of verl's lines; a trainer that writes the step has it too."""
    found = _ENTRY.match(content.decode("utf-8", "replace").replace("\r\n", "\n").lstrip("\n"))
    if found is None:
        return "no entry of [prompt], [output], [ground_truth] and [score]"
    value: dict[str, Json] = {name: found[name] for name in ("input", "output", "gts")}
    with suppress(ValueError):
        value["score"] = float(found["score"])
    return {**value, "data_source": "easyr1", **({"step": int(found["step"])} if found["step"] else {})}


def _entries(path: Path) -> Iterator[tuple[int, int, Fields | str]]:
    """An entry ends where an empty line follows its score."""
    with open_plain(path) as file:
        offset, length, lines = 0, 0, list[bytes]()
        while line := file.readline(MAX_LINE_BYTES):
            lines.append(line)
            length += len(line)
            if length >= MAX_LINE_BYTES:
                yield offset, length, f"an entry of more than {MAX_LINE_BYTES >> 20} MiB; nothing after it is read"
                return
            if not line.strip() and len(lines) > 1 and lines[-2].startswith(b"[score] "):
                yield offset, length, _entry(b"".join(lines))
                offset, length, lines = offset + length, 0, []
        if b"".join(lines).strip():
            yield offset, length, _entry(b"".join(lines))


def _prediction(value: Fields, shelf: Shelf, sample: int) -> Attempt:
    same = {"input": value.get("prompt", ""), "output": value.get("predict"), "gts": value.get("label")}
    return verl_attempt({**same, "data_source": "llama-factory"}, shelf, sample)


def _is_llama_factory(value: Fields) -> bool:
    return {"predict", "label"} <= set(value)


EASYR1 = LineKind(
    name="easyr1",
    stage="validation",
    is_one=is_verl,
    to_attempt=verl_attempt,
    records=_entries,
    read=_entry,
    words="EasyR1 writes text only; these files contain no pictures.",
)
LLAMA_FACTORY = LineKind(
    name="llama-factory",
    stage="predictions",
    is_one=_is_llama_factory,
    to_attempt=_prediction,
    words="LLaMA-Factory writes text only; these files contain no pictures.",
)


def is_easyr1(path: Path) -> bool:
    try:
        with open_plain(path) as file:
            return path.suffix == ".log" and _START.match(file.read(200)) is not None
    except OSError:
        return False
