"""Every reader of what others wrote refuses hostile bodies by its own error, and by no other."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from saccade.codec.wrong import BrokenRecordError
from saccade.curation.codedance.outcomes import QuestionOutcome
from saccade.curation.ivgr.rephrasing import Rephrased
from saccade.curation.ivgr.selection import Measured
from saccade.curation.journal import kept_as
from saccade.curation.linguistic_tools.sets import ToolSet
from saccade.errors import MachineError, ToolError, UserError
from saccade.frames import BrokenFrameError, WireFrame
from saccade.media.store import MediaStore
from saccade.playground.asking import read_ask
from saccade.protocols.linguistic_tools import LinguisticToolbox
from saccade.retrieval.layout import IndexPaths, read_entries, read_header
from saccade.rewards.judges.consistency import reference_from_json
from saccade.runs.runinfo import RunPaths, read_info
from saccade.services.client.connection_pool import HttpAnswer
from saccade.services.client.exchange import content_of
from saccade.services.client.remote_tools import result_of, tools_of
from saccade.services.messages import MESSAGES, CallBody, WorkerJob, WorkerStarted
from saccade.services.settings import serving_of
from saccade.services.workers.worker import outcomes_of
from saccade.tasks.rows.fields import RowError
from saccade.tools.catalogue.settings import ToolsFile
from saccade.viewer.store.annotations import annotation_from

DEEP = "[" * 5000 + "]" * 5000
LONG = "9" * 400
ODD = (
    "null",
    "true",
    "-1",
    "NaN",
    "Infinity",
    LONG,
    '"\\ud800"',
    '""',
    "[]",
    "[null]",
    "{}",
    '{"": null}',
    DEEP,
    '"x"',
)
"""What stands where something else belongs."""


class _Knowing:
    def has_image(self, key: str) -> None:
        raise AssertionError(f"a picture of a hostile answer was taken: {key}")


def file_with(read: Callable[[Path], object], name: str) -> Callable[[bytes, Path], object]:
    def written(body: bytes, folder: Path) -> object:
        (folder / name).write_bytes(body)
        return read(folder)

    return written


def of_values(read: Callable[[Mapping[str, object]], object]) -> Callable[[bytes, Path], object]:
    """A reader of what a body says, for bodies that are objects."""

    def parsed(body: bytes, folder: Path) -> object:
        del folder
        try:
            values = json.loads(body)
        except (ValueError, RecursionError):
            return None
        return read(values) if isinstance(values, dict) else None

    return parsed


RESULT = {
    "is_ok": True,
    "refused": None,
    "text": "",
    "data": {},
    "images": [{"hash": "0", "width": 1, "height": 1, "png": ""}],
}
TOOL = {"name": "a", "description": "", "parameters": {}, "arguments": [], "deadline_s": 1.0, "batches": False}
OUTCOME = {"id": "a", "level": "easy", "weak": 0.5, "tries": [], "verdicts": [], "row": {}}
READERS: dict[str, tuple[Callable[[bytes, Path], object], dict[str, object], tuple[type[Exception], ...]]] = {
    "call": (
        lambda body, _: MESSAGES.read(CallBody, body, "the body"),
        {"arguments": {}, "images": ["0" * 64], "deadline_s": 1, "call_id": "a"},
        (BrokenRecordError,),
    ),
    "result": (lambda body, _: result_of(body, MediaStore(), _Knowing()), RESULT, (MachineError, ToolError)),
    "tools": (lambda body, _: tools_of(body), {"tools": [TOOL]}, (MachineError,)),
    "error": (
        lambda body, _: content_of(HttpAnswer(status=500, headers={}, content=body), "http://a"),
        {"error": {"kind": "a", "message": "b", "missing": [], "retry_after_s": 1.0}},
        (MachineError,),
    ),
    "start": (
        of_values(lambda said: MESSAGES.reader(WorkerStarted).from_json(said, "it")),
        {"tools": [TOOL]},
        (BrokenRecordError,),
    ),
    "job": (
        of_values(lambda said: MESSAGES.reader(WorkerJob).from_json(said, "it")),
        {"tool": "a", "calls": [{"arguments": {}, "images": []}]},
        (BrokenRecordError,),
    ),
    "replies": (
        of_values(lambda said: outcomes_of(WireFrame(said, [b""]))),  # type: ignore[arg-type]
        {"outcomes": [{"status": 200, "pictures": [], "missing": []}]},
        (BrokenFrameError,),
    ),
    "[server]": (
        of_values(lambda said: serving_of(ToolsFile(tools=(), server=said))),  # type: ignore[arg-type]
        {"port": 1, "host": "a", "drain_s": 1.0, "log": "calls"},
        (UserError,),
    ),
    "question": (
        lambda body, _: read_ask(body, {}, "tagged"),
        {"question": "a", "samples": 1, "temperature": 1, "seed": 1, "from": {"id": "a", "turn": 1, "text": ""}},
        (UserError,),
    ),
    "toolbox": (
        of_values(lambda said: LinguisticToolbox.from_json(said)),  # type: ignore[arg-type]
        {"version": 1, "tools": [{"name": "a", "description": "b", "args": ""}]},
        (UserError,),
    ),
    "outcome": (of_values(kept_as(QuestionOutcome)), OUTCOME, (RowError,)),  # type: ignore[arg-type]
    "rephrased": (of_values(kept_as(Rephrased)), {"id": "a", "thought": "b", "tries": []}, (RowError,)),  # type: ignore[arg-type]
    "measured": (of_values(kept_as(Measured)), {"id": "a", "pass_rate": 0.5}, (RowError,)),  # type: ignore[arg-type]
    "set": (of_values(kept_as(ToolSet)), {"id": "a", "status": "read", "tools": [], "calls": []}, (RowError,)),  # type: ignore[arg-type]
    "reference": (
        of_values(lambda said: reference_from_json(said, "t")),  # type: ignore[arg-type]
        {"text": "a", "boxes": [[1, 2, 3, 4]], "box_reward": 0.5},
        (UserError,),
    ),
    "annotation": (
        of_values(lambda said: annotation_from(said, trajectory="a", task="b")),  # type: ignore[arg-type]
        {"subject": "verdict", "verdict": "right", "name": "ann", "text": "", "value": "a"},
        (UserError,),
    ),
    "run.json": (
        file_with(lambda folder: read_info(RunPaths(root=folder)), "run.json"),
        {"status": "running", "command": [], "started": "", "versions": {}, "ended": None},
        (UserError,),
    ),
    "index.json": (
        file_with(lambda folder: read_header(IndexPaths(folder)), "index.json"),
        {"format": 1, "encoder": "a", "where": "", "dimension": 4, "precision": "int8", "dots_per_inch": 144},
        (UserError,),
    ),
    "journal.jsonl": (
        file_with(lambda folder: list(read_entries(IndexPaths(folder))), "journal.jsonl"),
        {"file": "a", "sha256": "b"},
        (UserError,),
    ),
}


def bodies(good: Mapping[str, object]) -> list[bytes]:
    """Bodies that are nothing, and the good one with something odd in the place of each of its values."""
    texts = ["", "\x00", "{", "\ufeff{}", '{"a": 1} {}', "[" * 100_000, '{"a": ' + "9" * 5000 + "}", *ODD]
    for name in good:
        rest = json.dumps({key: value for key, value in good.items() if key != name})
        texts += [f'{{"{name}": {odd}, {rest[1:]}' if len(good) > 1 else f'{{"{name}": {odd}}}' for odd in ODD]
        texts.append(rest)
    return [b"\xff\xfe", *(text.encode("utf-8", "surrogatepass") for text in texts)]


@pytest.mark.parametrize("name", READERS)
def test_a_hostile_body_has_the_readers_own_error(name: str, tmp_path: Path) -> None:
    read, good, allowed = READERS[name]
    said: list[str] = []
    for body in bodies(good):
        try:
            read(body + b"\n", tmp_path)
        except allowed as error:
            said.append(str(error))
    assert len(said) >= 5
    assert max(map(len, said)) < 1000
