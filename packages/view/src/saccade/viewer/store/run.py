"""A run as the viewer holds it: its files, the columns of its trajectories, and records by their id."""

import hashlib
import re
import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.errors import UserError
from saccade.runs import clocks, signals
from saccade.runs.clocks import read_clock, read_seconds
from saccade.runs.runinfo import RunPaths, read_json_object
from saccade.runs.segments import DIRECTORY as INDEX
from saccade.runs.segments import SUFFIX, fingerprint
from saccade.runs.signals import read_signals
from saccade.types import Attempt, Clock, Json, Signals
from saccade.viewer.store.annotations import FILE, AnnotationFile
from saccade.viewer.store.curves import Curves
from saccade.viewer.store.formats import RecordFormat
from saccade.viewer.store.segment_files import BadSegmentError, LoadedSegment, RowTexts, SegmentTexts, load_segment
from saccade.viewer.store.sources import Source
from saccade.viewer.store.table import RowTable

if TYPE_CHECKING:
    from saccade.viewer.store.accuracies import EvaluationAccuracy
    from saccade.viewer.store.policy_files import PolicyFiles

_ID = re.compile(r"([0-9a-f]{8})\.(0|[1-9][0-9]{0,8})")
_OPEN_SEGMENTS = 256
"""A page of a list that is sorted by reward has rows of a hundred files."""


class GoneError(LookupError):
    """What was asked for is not there, or no longer."""


def file_identity(path: Path, root: Path) -> str:
    """A file of records in the ids of its trajectories, ``IDENTITY.ROW``: by its path below the run."""
    relative = str(path.relative_to(root)).encode("utf-8", "surrogateescape")
    return hashlib.blake2b(relative, digest_size=4).hexdigest()


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordFile:
    """A file of records of a run."""

    number: int
    id: str
    path: Path
    format: RecordFormat
    stamp: tuple[int, int]
    """Size in bytes and time of change."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """One trajectory, read from its file."""

    id: str
    attempt: Attempt
    signals: Signals | None
    clock: Clock | None
    texts: RowTexts
    notes: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Run:
    """May be asked from many threads; ``refresh`` and ``take`` are called from one."""

    source: Source
    cache: Path
    """Folder of its own for indexes that it had to make."""
    checkpoint: Path | None = None
    """Says how the policy of a run without checkpoints reads, an evaluation say."""
    table: RowTable = field(init=False)
    annotations: AnnotationFile = field(init=False)
    curves: Curves = field(init=False)
    stages: Mapping[str, Json] = field(init=False)
    """Stages of the plan in its order, as the settings describe them."""
    notes: dict[str, str] = field(default_factory=dict)
    """By what they are about."""
    pending: list[RecordFile] = field(default_factory=list)
    """Files that are not in the table yet, the newest first."""
    belonging: dict[str, tuple[tuple[int, int], Mapping[int, tuple[str, str]]]] = field(default_factory=dict)
    """By evaluation the stamp of its samples, and of each task's key the question and the cluster of its answers."""
    evaluated: "tuple[object, Sequence[EvaluationAccuracy]] | None" = None
    """Its evaluations, and the rows and samples that they are of."""
    is_looked_at: bool = False
    """Its files have been looked for once."""
    _files: list[RecordFile] = field(default_factory=list)
    _by_path: dict[Path, RecordFile] = field(default_factory=dict)
    _by_id: dict[str, RecordFile] = field(default_factory=dict)
    _rows: dict[int, tuple[int, Path]] = field(default_factory=dict)
    """By file: its rows, and its segment."""
    _texts: OrderedDict[Path, SegmentTexts] = field(default_factory=OrderedDict)
    _policy: "PolicyFiles | None" = None
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self.stages = _stages(self.source)
        self.table = RowTable(tuple(self.stages))
        self.curves = Curves(path=self.source.root / "metrics.jsonl")
        self.annotations = AnnotationFile(path=self.source.root / FILE)

    @property
    def id(self) -> str:
        return self.source.id

    @property
    def paths(self) -> RunPaths:
        return RunPaths(root=self.source.root)

    @property
    def pictures(self) -> Path:
        """Folder for pictures that stand inside of files."""
        return self.cache / "media"

    @property
    def is_own(self) -> bool:
        """A run of Saccade, with settings, metrics and checkpoints."""
        return self.source.kind == "saccade"

    @property
    def policy(self) -> "PolicyFiles | None":
        """How its policy reads, by the newest checkpoint or the one that was given; None without any."""
        if self._policy is None and self.is_own:
            # Rules of sizes bring Pillow, which lists do not need.
            from saccade.viewer.store.policy_files import policy_files_below, policy_files_in

            self._policy = policy_files_below(self.paths.checkpoints)
            if self._policy is None and self.checkpoint is not None:
                self._policy = policy_files_in(self.checkpoint)
        return self._policy

    @property
    def evaluations(self) -> frozenset[str]:
        """Stages of the plan that only measure: they have one record each, which a table shows."""
        stages = self.stages.items()
        return frozenset(
            name for name, stage in stages if isinstance(stage, Mapping) and stage.get("kind") == "evaluation"
        )

    @property
    def indexed(self) -> tuple[int, int]:
        """Files that are in the table, and all."""
        return len(self._rows), len(self._by_path)

    def refresh(self) -> bool:
        """Look for files that came, changed or went; whether there are any."""
        there = dict(self._there())
        gone = [file for path, file in self._by_path.items() if there.get(path, (None, None))[1] != file.stamp]
        for file in gone:
            del self._by_path[file.path], self._by_id[file.id]
            self.notes.pop(file.path.name, None)
        self.pending = [file for file in self.pending if file not in gone]
        if dropped := [file.number for file in gone if self._rows.pop(file.number, None)]:
            self.table.drop(dropped)
        came = [(path, kind, stamp) for path, (kind, stamp) in there.items() if path not in self._by_path]
        for path, kind, stamp in came:
            self._add(path, kind, stamp)
        self.pending.sort(key=lambda file: (file.stamp[1], file.path), reverse=True)
        self.is_looked_at = True
        return bool(gone or came)

    def _there(self) -> Iterable[tuple[Path, tuple[RecordFormat, tuple[int, int]]]]:
        for path, kind in self.source.files():
            try:
                told = path.stat()
            except OSError:
                continue
            yield path, (kind, (told.st_size, told.st_mtime_ns))

    def _add(self, path: Path, kind: RecordFormat, stamp: tuple[int, int]) -> None:
        identity = file_identity(path, self.source.root)
        file = RecordFile(number=len(self._files), id=identity, path=path, format=kind, stamp=stamp)
        self._files.append(file)
        self._by_path[path] = self._by_id[identity] = file
        self.pending.append(file)

    def beside(self, file: RecordFile, folder: Path, suffix: str = SUFFIX) -> Path:
        """Where something about a file of records lies below a folder that mirrors the run."""
        return (folder / file.path.relative_to(self.source.root)).with_suffix(suffix)

    def segment_of(self, file: RecordFile) -> tuple[Path, LoadedSegment] | None:
        """The segment that the trainer, or an earlier viewer, has written of a file as it is now."""
        try:
            wanted = fingerprint(file.path)
        except OSError:
            return None
        for path in (self.beside(file, self.source.root / INDEX), self.beside(file, self.cache)):
            try:
                segment = load_segment(path)
            except (OSError, BadSegmentError):
                continue
            if segment.info.fingerprint == wanted:
                return path, segment
        return None

    def take(self, file: RecordFile, path: Path, segment: LoadedSegment) -> None:
        """Put the rows of a file into the table."""
        if self._by_path.get(file.path) is not file:
            return
        self._forget(file)
        seconds = read_seconds(self.beside(file, self.source.root / clocks.DIRECTORY), segment.count)
        numbers = {**segment.numbers, **({} if seconds is None else {"seconds": seconds})}
        self.table.add(
            file.number,
            LoadedSegment(
                count=segment.count, info=segment.info, numbers=numbers, terms=segment.terms, coded=segment.coded
            ),
        )
        if segment.info.notes:
            self.notes[file.path.name] = _notes_text(segment.info.notes)
        self._rows[file.number] = (segment.count, path)

    def give_up(self, file: RecordFile, why: str) -> None:
        """A file that cannot be indexed: a note says why, and nothing tries again until it changes."""
        self._forget(file)
        self.notes[file.path.name] = why
        self._rows[file.number] = (0, Path())

    def _forget(self, file: RecordFile) -> None:
        """That it is pending, and what is shown of its beginning."""
        self.pending = [other for other in self.pending if other is not file]
        self.notes.pop(file.path.name, None)
        if self._rows.pop(file.number, None):
            self.table.drop([file.number])

    def id_of(self, file_number: int, ordinal: int) -> str:
        return f"{self._files[file_number].id}.{ordinal}"

    def locate(self, identity: str) -> tuple[RecordFile, int]:
        """The file and row of an id. GoneError where there is none."""
        found = _ID.fullmatch(identity)
        file = self._by_id.get(found[1]) if found else None
        if found is None or file is None or int(found[2]) >= self._rows.get(file.number, (0, None))[0]:
            raise GoneError(f"there is no trajectory {identity[:40]!r} in {self.source.name}, or not any more")
        return file, int(found[2])

    def file(self, number: int) -> RecordFile:
        return self._files[number]

    def segment_texts(self, file: RecordFile) -> SegmentTexts:
        """GoneError where the index is no longer there."""
        path = self._rows[file.number][1]
        with self._lock:
            if path not in self._texts:
                try:
                    self._texts[path] = SegmentTexts(path)
                except (OSError, BadSegmentError) as error:
                    raise GoneError(f"the index of {file.path.name} is gone or damaged; load the page again") from error
                while len(self._texts) > _OPEN_SEGMENTS:
                    self._texts.popitem(last=False)
            self._texts.move_to_end(path)
            return self._texts[path]

    def open(self, identity: str) -> Opened:
        """Read one trajectory. GoneError where it is not there, UserError where its record is damaged."""
        file, row = self.locate(identity)
        texts = self.segment_texts(file)
        attempt = file.format.open(file.path, texts.place(row), self.pictures)
        root = self.source.root
        return Opened(
            id=identity,
            attempt=attempt,
            signals=read_signals(self.beside(file, root / signals.DIRECTORY), row),
            clock=read_clock(self.beside(file, root / clocks.DIRECTORY), row),
            texts=texts.texts(row),
            notes=(file.format.words,) if file.format.words and not _has_pictures(attempt) else (),
        )


def _has_pictures(attempt: Attempt) -> bool:
    shown = [turn.observation for turn in attempt.trajectory.turns if turn.observation]
    return bool(attempt.task.images) or any(one.images for one in shown)


def _stages(source: Source) -> Mapping[str, Json]:
    try:
        stages = read_json_object(source.root / "settings.json").get("stages")
    except UserError:
        return {}
    return stages if isinstance(stages, Mapping) else {}


def _notes_text(notes: Sequence[str]) -> str:
    more = f" (and {len(notes) - 3} more)" if len(notes) > 3 else ""
    return "; ".join(notes[:3]) + more
