"""Stored samples of an evaluation: ``samples/NAME.jsonl``, a compact line for each, for statistics and exports.

The first line is the header, which says of whom what was asked. The lines are in the order of the questions, hold no
tokens and are the same bytes however often the run was killed and resumed. Seconds, which no two runs share, stand in
``samples/NAME.times.jsonl``.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from saccade.atomic import disk_errors, write_bytes_atomic
from saccade.errors import UserError
from saccade.evaluation.errors import rule_errors
from saccade.rewards.answers.rules import options_named
from saccade.rewards.reward import counts_as_right
from saccade.rewards.tool_use import call_outcome
from saccade.types import Attempt, Json, Task, ToolCall, ToolSpec

FOLDER = "samples"
_TIMES = ".times.jsonl"
_VERSION = 1
MAX_REPLY_CHARS = 20_000


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleHeader:
    """What the samples of an evaluation have in common."""

    name: str
    model: Mapping[str, Json]
    """Identity of the policy: a hash of its weights, or a server and the name of its model."""
    asked: Mapping[str, Json]
    """All that shapes the question and the answer beside the model; two evaluations can be compared where it is equal.
    """


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredSample:
    """One sample of one question."""

    id: str
    q: str
    """A hash of question, options and pictures, by which questions of two runs are paired."""
    key: str
    """The key of its journal: a hash of all that shapes it."""
    sample: int
    status: str
    right: bool | None
    """None where the machine failed it or a judge gave no verdict; such a sample is in no figure."""
    score: float | None
    answer: str | None
    gold: str
    reply: str
    """The last turn, as the model wrote it, up to ``MAX_REPLY_CHARS``."""
    family: str
    cluster: str
    buckets: tuple[str, ...] = ()
    choices: int = 0
    """Options of the question; 0 where it has none."""
    option: int = -1
    """Place of the right option, from 0; -1 where there is none."""
    picked: int = -1
    """Place of the option that the answer names; -1 where it names none, or several."""
    turns: int = 0
    calls: Mapping[str, int] = field(default_factory=dict)
    """Tool calls that ran, by tool."""
    calls_ok: int = 0
    errors: tuple[str, ...] = ()
    """Kinds of errors with tools that rules find: E1, E2, E3, E5."""
    tokens_in: int = 0
    tokens_out: int = 0
    images: int = 0
    """Pictures that it saw, those of tools among them."""
    pixels: int = 0
    """Of the largest picture of the question."""
    failure: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleTimes:
    """Seconds of one sample."""

    id: str
    sample: int
    wall_s: float
    tool_s: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleSet:
    """The samples of one evaluation."""

    header: SampleHeader
    samples: tuple[StoredSample, ...]


def question_hash(task: Task) -> str:
    """A hash of what is asked: the question, its options, its pictures, and the documents that it is asked of."""
    asked: Json = [
        task.question,
        list(task.choices),
        [image.hash for image in task.images],
        [task.corpus, task.document],
        list(task.frame_times_s),
        *(["interleaved"] if task.is_interleaved else []),
    ]
    return hashlib.sha256(json.dumps(asked).encode("ascii")).hexdigest()[:32]


def default_cluster(task: Task) -> str:
    """Questions about one document, or one picture, are not independent of each other."""
    return task.document or (task.images[0].hash[:32] if task.images else task.id)


def stored_sample(
    attempt: Attempt, *, key: str, tools: Sequence[ToolSpec], cluster: str, tokens_in: int, tokens_out: int
) -> StoredSample:
    """The sample of a trajectory that was played with these tools and scored, where the machine did not fail it."""
    task, trajectory = attempt.task, attempt.trajectory
    is_failed = trajectory.status == "failed"
    ran = [turn for turn in trajectory.turns if isinstance(turn.action, ToolCall) and turn.result is not None]
    calls = Counter(turn.action.name for turn in ran if isinstance(turn.action, ToolCall))
    shown = [image for turn in trajectory.turns if turn.observation is not None for image in turn.observation.images]
    return StoredSample(
        id=task.id,
        q=question_hash(task),
        key=key,
        sample=trajectory.sample,
        status=trajectory.status,
        right=None if is_failed else counts_as_right(task, trajectory),
        score=None if is_failed or trajectory.score is None else trajectory.score.total,
        answer=trajectory.answer,
        gold=task.answer,
        reply=trajectory.turns[-1].text[:MAX_REPLY_CHARS] if trajectory.turns else "",
        family=task.family,
        cluster=cluster,
        buckets=task.buckets,
        choices=len(task.choices),
        option=_only(options_named(task.answer, task.choices)) if task.choices else -1,
        picked=_only(options_named(trajectory.answer or "", task.choices)) if task.choices else -1,
        turns=len(trajectory.turns),
        calls=dict(sorted(calls.items())),
        calls_ok=sum(call_outcome(turn) == "succeeded" for turn in ran),
        errors=() if is_failed else tuple(sorted(rule_errors(task, trajectory, tools))),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        images=len(task.images) + len(shown),
        pixels=max((image.width * image.height for image in task.images), default=0),
        failure=trajectory.failure,
    )


def _only(places: Collection[int]) -> int:
    return next(iter(places)) if len(places) == 1 else -1


def write_samples(path: Path, found: SampleSet) -> None:
    """Writes ``NAME.jsonl``, whole or not at all."""
    head: dict[str, Json] = {"kind": "header", "version": _VERSION, **asdict(found.header)}
    _write_lines(path, [head, *map(_sample_json, found.samples)])


def write_times(path: Path, times: Iterable[SampleTimes]) -> None:
    """Writes the seconds beside the samples in ``path``."""
    _write_lines(times_path(path), map(asdict, times))


def times_path(path: Path) -> Path:
    return path.with_name(path.stem + _TIMES)


def read_samples(path: Path) -> SampleSet:
    """The samples of a file; UserError that names file and line of what is none."""
    lines = _lines(path)
    _, head = next(lines, (1, {}))
    if head.get("kind") != "header" or head.get("version") != _VERSION:
        raise UserError(f"{path}:1 is no header of samples of version {_VERSION}; give a file that saccade eval wrote")
    name, model, asked = head.get("name"), head.get("model"), head.get("asked")
    if not isinstance(name, str) or not isinstance(model, Mapping) or not isinstance(asked, Mapping):
        raise UserError(f"{path}:1: the header lacks name, model or asked")
    header = SampleHeader(name=name, model=model, asked=asked)
    return SampleSet(header=header, samples=tuple(_sample_from(path, number, line) for number, line in lines))


def read_times(path: Path) -> tuple[SampleTimes, ...]:
    """The seconds beside the samples in ``path``; none where they were not kept."""
    if not times_path(path).exists():
        return ()
    try:
        return tuple(SampleTimes(**line) for _, line in _lines(times_path(path)))  # type: ignore[arg-type]
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
}


def _sample_from(path: Path, number: int, line: dict[str, Json]) -> StoredSample:
    try:
        for name in _TUPLES:
            if name in line:
                line[name] = tuple(line[name])  # type: ignore[arg-type]
        sample = StoredSample(**line)  # type: ignore[arg-type]
    except TypeError as error:
        raise UserError(f"{path}:{number} is no sample: {error}") from None
    if not isinstance(sample.id, str) or not (sample.right is None or isinstance(sample.right, bool)):
        raise UserError(f"{path}:{number} is no sample: id must be a text, right true, false or null")
    return sample


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Json]]]:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from error
    for number, line in enumerate(content.splitlines(), start=1):
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path}:{number}: not JSON ({error}); was the file cut?") from None
        if not isinstance(value, dict):
            raise UserError(f"{path}:{number}: a line must be a JSON object")
        yield number, value


def _write_lines(path: Path, lines: Iterable[Mapping[str, object]]) -> None:
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes_atomic(path, "".join(json.dumps(line) + "\n" for line in lines).encode("ascii"))
