"""Files of stored samples: ``samples/NAME.jsonl``, a header and a line for each sample.

The lines are in the order of the questions, hold no tokens and are the same bytes however often the run was killed and
resumed. The header has a digest of the whole file, by which one that was cut, or changed by hand, is told. Seconds,
which no two runs share, stand in ``samples/NAME.times.jsonl``.
"""

import gc
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.codec.codecs import Codec
from saccade.codec.fields import is_number
from saccade.codec.forms import Form
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.evaluation.samples import Belonging, SampleHeader, SampleSet, SampleTimes, StoredSample, question_of
from saccade.plain_files import ANY_BYTES, plain_bytes
from saccade.types import Json, Task

FOLDER = "samples"
_TIMES = ".times.jsonl"
_VERSION = 1
_DIGEST = "sha256"

_MOST_OPTIONS = 10_000
_MOST_COUNTED = 1 << 100
"""Of tokens, pixels and calls: their sums and means are numbers too."""


@contextmanager
def collection_paused() -> Iterator[None]:
    """Without Python's search for cycles of garbage, which goes over all objects again and again, though all are kept.

    Memory is still freed by reference counts. It holds for the whole process, so only for work of a second or so.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _check(sample: StoredSample) -> None:
    if not (-1 <= sample.option < _MOST_OPTIONS and -1 <= sample.picked < _MOST_OPTIONS):
        raise ValueError(f"'option' and 'picked' must be from -1 to {_MOST_OPTIONS - 1}")
    if sample.choices < 0 or sample.turns < 0 or sample.pixels < 0:
        raise ValueError("'choices', 'turns' and 'pixels' must not be negative")
    counted = (sample.turns, sample.tokens_in, sample.tokens_out, sample.images, sample.pixels, sample.calls_ok)
    if max(counted) > _MOST_COUNTED or any(calls > _MOST_COUNTED for calls in sample.calls.values()):
        raise ValueError(f"nothing is counted to more than {_MOST_COUNTED}")
    if sample.score is not None and not is_number(sample.score):
        raise ValueError("'score' is a number of which no float can be made")


def _check_times(times: SampleTimes) -> None:
    if not is_number(times.wall_s) or not is_number(times.tool_s):
        raise ValueError("'wall_s' and 'tool_s' must be seconds")


STORED = Codec(
    {
        StoredSample: Form(
            is_closed=True,
            sparse=(
                *("buckets", "choices", "option", "picked", "turns", "calls", "calls_ok", "errors"),
                *("tokens_in", "tokens_out", "images", "pixels", "failure", "graded"),
            ),
            check=_check,
        ),
        SampleTimes: Form(is_closed=True, check=_check_times),
    }
)
"""Lines of these files. A sample without its verdict is none: it is not taken for one that the machine failed."""

Line = TypeVar("Line", StoredSample, SampleTimes)


def write_samples(path: Path, found: SampleSet) -> None:
    """Writes ``NAME.jsonl``, whole or not at all."""
    head: dict[str, Json] = {"kind": "header", "version": _VERSION, **asdict(found.header)}
    samples = _text(found.samples)
    signed = {**head, _DIGEST: _digest(head, memoryview(samples))}
    _write(path, json.dumps(signed).encode("ascii") + b"\n" + samples)


def write_times(path: Path, times: Iterable[SampleTimes]) -> None:
    """Writes the seconds beside the samples in ``path``."""
    _write(times_path(path), _text(times))


def times_path(path: Path) -> Path:
    return path.with_name(path.stem + _TIMES)


def read_samples(path: Path) -> SampleSet:
    """The samples of a file; UserError that names file and line of what is none, and for a file that was changed.

    Files of other programs may lack the digest.
    """
    content = _content(path)
    first, *lines = content.splitlines() or [b"{}"]
    head = _head(path, first)
    with collection_paused():
        found = SampleSet(header=_header(path, head), samples=tuple(_objects(path, lines, 2, StoredSample)))
    if _DIGEST in head and head[_DIGEST] != _digest(
        head, memoryview(content)[content.find(b"\n") + 1 or len(content) :]
    ):
        raise UserError(
            f"{path} was cut or changed after it was written: its lines do not match the digest in its header. Copy "
            "it from the run again, or measure into another --out with --reuse RUN_DIR, which replays no kept sample"
        )
    if len({(one.id, one.sample) for one in found.samples}) < len(found.samples):
        raise UserError(f"{path} holds a sample of a question twice; were files joined? Give each run's own file")
    return found


def belonging_in(path: Path) -> dict[str, Belonging]:
    """What the answers to each task belong to, by a file of samples. UserError likewise."""
    found = read_samples(path)
    return {one.id: (question_of(one.id, found.header.asked), one.cluster) for one in found.samples}


def kept_belonging(run: Path, name: str) -> Callable[[Task], Belonging] | None:
    """What the answers of an evaluation belong to, by its samples; None where none were kept. UserError likewise."""
    path = run / FOLDER / f"{name}.jsonl"
    if not path.exists():
        return None
    kept = belonging_in(path)
    return lambda task: kept.get(task.id, (task.id, task.id))


def read_times(path: Path) -> tuple[SampleTimes, ...]:
    """The seconds beside the samples in ``path``; none where they were not kept."""
    beside = times_path(path)
    return tuple(_objects(beside, _content(beside).splitlines(), 1, SampleTimes)) if beside.exists() else ()


def sample_files(run: Path) -> dict[str, Path]:
    """The files of samples of a run by the names of its evaluations, or the one file that ``run`` is.

    UserError where there are none.
    """
    if run.is_file():
        return {run.stem: run}
    found = {path.stem: path for path in sorted((run / FOLDER).glob("*.jsonl")) if not path.name.endswith(_TIMES)}
    if not found:
        raise UserError(f"{run} holds no samples of an evaluation (samples/NAME.jsonl); give the --out of saccade eval")
    return found


def _content(path: Path) -> bytes:
    try:
        return plain_bytes(path, ANY_BYTES)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def _head(path: Path, line: bytes) -> Mapping[str, Json]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _no_json(path, 1, error) from None
    if not isinstance(value, dict):
        raise UserError(f"{path}:1: a line must be a JSON object")
    return value


def _header(path: Path, head: Mapping[str, Json]) -> SampleHeader:
    if head.get("kind") != "header" or head.get("version") != _VERSION:
        raise UserError(f"{path}:1 is no header of samples of version {_VERSION}; give a file that saccade eval wrote")
    name, model, asked = head.get("name"), head.get("model"), head.get("asked")
    if not isinstance(name, str) or not isinstance(model, Mapping) or not isinstance(asked, Mapping):
        raise UserError(f"{path}:1: the header lacks name, model or asked")
    return SampleHeader(name=name, model=model, asked=asked)


def _objects(path: Path, lines: Iterable[bytes], first: int, kind: type[Line]) -> Iterator[Line]:
    """The objects of lines, of which the first has this number in the file."""
    read = STORED.reader(kind).from_text
    for number, line in enumerate(lines, start=first):
        try:
            yield read(line, "the line")
        except BrokenRecordError as error:
            raise UserError(f"{path}:{number} is no sample: {error}") from None
        except (ValueError, RecursionError) as error:
            raise _no_json(path, number, error) from None


def _no_json(path: Path, number: int, error: Exception) -> UserError:
    return UserError(f"{path}:{number}: not JSON ({error}); was the file cut?")


def _digest(head: Mapping[str, Json], samples: memoryview) -> str:
    """Of a header, but for its own digest, and the lines below it."""
    said = json.dumps({name: value for name, value in head.items() if name != _DIGEST}, sort_keys=True)
    whole = hashlib.sha256(said.encode("ascii"))
    whole.update(samples)
    return whole.hexdigest()


def _text(objects: Iterable[StoredSample | SampleTimes]) -> bytes:
    return "".join([f"{STORED.text(one)}\n" for one in objects]).encode("ascii")


def _write(path: Path, content: bytes) -> None:
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomic(path, content)
