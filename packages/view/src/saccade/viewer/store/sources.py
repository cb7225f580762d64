"""What there is to see below the paths that were named: runs, single files, files of other trainers."""

import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.characters import visible
from saccade.checksums import CHECKSUMS
from saccade.errors import UserError
from saccade.plain_files import open_plain
from saccade.viewer.store.field_map import FieldMap
from saccade.viewer.store.formats import RECORDS, RecordFormat

if TYPE_CHECKING:
    from saccade.viewer.store.foreign import ForeignKind

MAX_DEPTH = 3
"""Folders below the one named in which runs are looked for."""
MAX_ENTRIES = 20_000
"""Entries of folders that are looked at."""
_SKIPPED = frozenset(
    {"checkpoints", "media", "tensorboard", "index", "signals", "clocks", "recipe", "node_modules", CHECKSUMS}
)

_OTHERS = (
    "TRL (completions/*.parquet), Trackio (*.db), verl (rollout_data_dir/*.jsonl), EasyR1 (generations.log), "
    "LLaMA-Factory (generated_predictions.jsonl), verifiers and prime-rl (results.jsonl, traces.jsonl), inspect "
    "(*.eval), lmms-eval (*_samples_*.jsonl), ms-swift (completions.jsonl, infer results), VLMEvalKit (*.xlsx, *.tsv, "
    "*.json) or of messages (*.jsonl, *.json)"
)

Foreign = Callable[[], "Sequence[ForeignKind]"]
"""Kinds of other trainers' files, read in when a folder is no run of Saccade."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """One run, or what is shown like one."""

    root: Path
    """A folder; of a single file the folder that it is in."""
    name: str
    kind: str
    """``saccade`` for a run of Saccade, else the format's name."""
    files: Callable[[], Iterator[tuple[Path, RecordFormat]]]
    """The files of records that are there now, with their format; none outside of the root."""

    @property
    def id(self) -> str:
        """Twelve hex digits that stay while the folder stays where it is."""
        told = f"{self.root.absolute()}\0{self.kind}\0{self.name}"
        return hashlib.blake2b(told.encode("utf-8", "surrogateescape"), digest_size=6).hexdigest()


def find_sources(paths: tuple[Path, ...], fields: FieldMap = FieldMap()) -> tuple[list[Source], list[str]]:
    """Everything below the paths, and notes on what was not found. UserError for a path that is not there."""
    found: dict[str, Source] = {}
    foreign = _foreign_of(fields)
    notes: list[str] = []
    for path in paths:
        if not path.exists():
            raise UserError(f"{path} is not there; name a run, a folder of runs, or a file of trajectories")
        others: list[Path] = []
        sources = list(_below(path.absolute(), foreign, notes, others))
        if not sources:
            holds = f", which holds {_file_names(others)}" if others else ""
            notes.append(
                f"nothing was found in {path}{holds}: looked for runs of Saccade (run.json), for *.jsonl with "
                f"trajectories, and for files of {_OTHERS}, {MAX_DEPTH} folders deep"
            )
        elif others := [other for other in others if other.suffix in (".jsonl", ".parquet", ".eval", ".pkl")]:
            notes.append(f"not shown of {path}, as of no kind that is known: {_file_names(others)}")
        found |= {source.id: source for source in sources}
    return list(found.values()), notes


def _file_names(files: Sequence[Path]) -> str:
    """The first few by their names."""
    more = f" and {len(files) - 5} more" if len(files) > 5 else ""
    return ", ".join(visible(str(file), 80) for file in files[:5]) + more


def _foreign_of(fields: FieldMap) -> Foreign:
    @cache
    def foreign() -> "Sequence[ForeignKind]":
        from saccade.viewer.store.foreign import kinds

        return kinds(fields)

    return foreign


def _below(path: Path, foreign: Foreign, notes: list[str], others: list[Path]) -> Iterator[Source]:
    """``others`` gets the files, from the path on, in folders that are no source."""
    if path.is_file():
        kind = _format_of(path, foreign)
        if kind is None:
            if path.suffix in (".pkl", ".pickle", ".pt"):
                raise UserError(f"{path} is a pickle, which can run code: it is never opened; name the table beside it")
            raise UserError(
                f"{path} is no file of trajectories that is known: *.jsonl of Saccade, and files of {_OTHERS}, known "
                "by what they hold"
            )
        yield Source(root=path.parent, name=path.name, kind=kind.name, files=lambda: iter([(path, kind)]))
        return
    seen = 0
    level = [path]
    for _ in range(MAX_DEPTH + 1):
        below: list[Path] = []
        for folder in level:
            source = _source_of(folder, foreign)
            if source is not None:
                yield source
                continue
            try:
                entries = sorted(entry for entry in folder.iterdir() if entry.name not in _SKIPPED)
            except OSError as error:
                notes.append(f"{folder} cannot be read: {error.strerror}")
                continue
            seen += len(entries)
            if seen > MAX_ENTRIES:
                notes.append(f"{path} holds more than {MAX_ENTRIES} entries; name the folders that you want to see")
                return
            others += [entry.relative_to(path) for entry in entries if entry.is_file()]
            below += [entry for entry in entries if entry.is_dir() and not entry.is_symlink() and entry.name[0] != "."]
        level = below


def _source_of(folder: Path, foreign: Foreign) -> Source | None:
    if (folder / "run.json").is_file():
        return Source(root=folder, name=folder.name, kind="saccade", files=lambda: _run_files(folder))
    other = next((kind for kind in foreign() if kind.is_folder(folder)), None)
    if other is not None:
        return Source(
            root=folder,
            name=folder.name,
            kind=other.format.name,
            files=lambda: _with(other.format, other.files(folder)),
        )
    try:
        loose = [entry for entry in folder.iterdir() if entry.is_file() and entry.suffix == ".jsonl"]
    except OSError:
        return None
    if any(_is_records(entry) for entry in loose[:20]):
        return Source(root=folder, name=folder.name, kind="records", files=lambda: _record_files(folder))
    return None


def _run_files(root: Path) -> Iterator[tuple[Path, RecordFormat]]:
    trajectories, evaluations = root / "trajectories", root / "evaluations"
    yield from _with(RECORDS, _inside(evaluations, root))
    for stage in _entries(trajectories):
        if stage.is_dir(follow_symlinks=False):
            yield from _with(RECORDS, _inside(Path(stage.path), root))


def _record_files(root: Path) -> Iterator[tuple[Path, RecordFormat]]:
    yield from _with(RECORDS, (path for path in _inside(root, root) if _is_records(path)))


def _with(kind: RecordFormat, paths: Iterator[Path]) -> Iterator[tuple[Path, RecordFormat]]:
    return ((path, kind) for path in paths)


def _inside(folder: Path, root: Path) -> Iterator[Path]:
    """Files of records in a folder; links out of the root are left out, and so is what is being written.

    What is no file in spite of its name is among them: where it is read, its note says what it is.
    """
    inside = root.resolve()
    if not folder.resolve().is_relative_to(inside):
        return
    for entry in _entries(folder):
        if entry.name.endswith(".jsonl") and not entry.name.startswith("."):
            path = Path(entry.path)
            is_ours = not entry.is_symlink() or path.resolve().is_relative_to(inside)
            if is_ours:
                yield path


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return []


def _format_of(path: Path, foreign: Foreign) -> RecordFormat | None:
    if _is_records(path):
        return RECORDS
    return next((kind.format for kind in foreign() if kind.is_file(path)), None)


def _is_records(path: Path) -> bool:
    """A file of Saccade's records, by its first line."""
    try:
        with open_plain(path) as file:
            return b'"kind": "header"' in file.read(200)
    except OSError:
        return False
