"""Files of stored samples: ``samples/NAME.jsonl``, a header and a line for each sample.

The lines are in the order of the questions, hold no tokens and are the same bytes however often the run was killed and
resumed. The header has a digest of the whole file, by which one that was cut, or changed by hand, is told. Seconds,
which no two runs share, stand in ``samples/NAME.times.jsonl``.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.errors import UserError
from saccade.evaluation.samples import SampleHeader, SampleSet, SampleTimes, StoredSample
from saccade.types import Json

FOLDER = "samples"
_TIMES = ".times.jsonl"
_VERSION = 1
_DIGEST = "sha256"


def write_samples(path: Path, found: SampleSet) -> None:
    """Writes ``NAME.jsonl``, whole or not at all."""
    head: dict[str, Json] = {"kind": "header", "version": _VERSION, **asdict(found.header)}
    samples = _lines_of(map(_sample_json, found.samples))
    _write(path, _lines_of([{**head, _DIGEST: _digest(head, samples)}]) + samples)


def write_times(path: Path, times: Iterable[SampleTimes]) -> None:
    """Writes the seconds beside the samples in ``path``."""
    _write(times_path(path), _lines_of(map(asdict, times)))


def times_path(path: Path) -> Path:
    return path.with_name(path.stem + _TIMES)


def read_samples(path: Path) -> SampleSet:
    """The samples of a file; UserError that names file and line of what is none, and for a file that was changed.

    Files of other programs may lack the digest.
    """
    content = _content(path)
    lines = _lines(path, content)
    _, head = next(lines, (1, {}))
    if head.get("kind") != "header" or head.get("version") != _VERSION:
        raise UserError(f"{path}:1 is no header of samples of version {_VERSION}; give a file that saccade eval wrote")
    name, model, asked = head.get("name"), head.get("model"), head.get("asked")
    if not isinstance(name, str) or not isinstance(model, Mapping) or not isinstance(asked, Mapping):
        raise UserError(f"{path}:1: the header lacks name, model or asked")
    header = SampleHeader(name=name, model=model, asked=asked)
    found = SampleSet(header=header, samples=tuple(_sample_from(path, number, line) for number, line in lines))
    if _DIGEST in head and head[_DIGEST] != _digest(head, content.partition(b"\n")[2]):
        raise UserError(
            f"{path} was cut or changed after it was written: its lines do not match the digest in its header. Copy "
            "it from the run again, or measure into another --out with --reuse RUN_DIR, which replays no kept sample"
        )
    if len({(one.id, one.sample) for one in found.samples}) < len(found.samples):
        raise UserError(f"{path} holds a sample of a question twice; were files joined? Give each run's own file")
    return found


def read_times(path: Path) -> tuple[SampleTimes, ...]:
    """The seconds beside the samples in ``path``; none where they were not kept."""
    if not times_path(path).exists():
        return ()
    try:
        return tuple(SampleTimes(**line) for _, line in _lines(times_path(path), _content(times_path(path))))  # type: ignore[arg-type]
    except TypeError as error:
        raise UserError(f"{times_path(path)}: {error}") from None


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


def _sample_json(sample: StoredSample) -> dict[str, Json]:
    """Without fields that say nothing; not by ``asdict``, which copies all that is in them."""
    return {
        name: list(value) if isinstance(value, tuple) else value
        for name in _FIELDS
        if (value := getattr(sample, name)) != _DEFAULTS.get(name, _NO_DEFAULT)
    }


_NO_DEFAULT = object()
_FIELDS = tuple(one.name for one in fields(StoredSample))
_TUPLES = ("buckets", "errors")
_TEXTS = ("id", "q", "gold", "family", "cluster")
_DEFAULTS: Mapping[str, object] = {
    "buckets": (),
    "choices": 0,
    "option": -1,
    "picked": -1,
    "turns": 0,
    "calls": {},
    "calls_ok": 0,
    "errors": (),
    "tokens_in": 0,
    "tokens_out": 0,
    "images": 0,
    "pixels": 0,
    "failure": "",
    "graded": "",
}


def _sample_from(path: Path, number: int, line: dict[str, Json]) -> StoredSample:
    try:
        for name in _TUPLES:
            if name in line:
                line[name] = tuple(line[name])  # type: ignore[arg-type]
        sample = StoredSample(**line)  # type: ignore[arg-type]
    except TypeError as error:
        raise UserError(f"{path}:{number} is no sample: {error}") from None
    if not (sample.right is None or isinstance(sample.right, bool)):
        raise UserError(f"{path}:{number} is no sample: right must be true, false or null")
    if type(sample.sample) is not int or not all(isinstance(getattr(sample, name), str) for name in _TEXTS):
        raise UserError(f"{path}:{number} is no sample: {', '.join(_TEXTS)} must be texts, sample a whole number")
    return sample


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error


def _lines(path: Path, content: bytes) -> Iterator[tuple[int, dict[str, Json]]]:
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}:{number}: not JSON ({error}); was the file cut?") from None
        if not isinstance(value, dict):
            raise UserError(f"{path}:{number}: a line must be a JSON object")
        yield number, value


def _digest(head: Mapping[str, Json], samples: bytes) -> str:
    """Of a header, but for its own digest, and the lines below it."""
    said = json.dumps({name: value for name, value in head.items() if name != _DIGEST}, sort_keys=True)
    return hashlib.sha256(said.encode("ascii") + samples).hexdigest()


def _lines_of(values: Iterable[Mapping[str, object]]) -> bytes:
    return "".join(json.dumps(one) + "\n" for one in values).encode("ascii")


def _write(path: Path, content: bytes) -> None:
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomic(path, content)
