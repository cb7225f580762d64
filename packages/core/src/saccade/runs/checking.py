"""What is whole of runs and checkpoints on disk, by their checksums; nothing is loaded."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from saccade.atomic import write_bytes_atomic
from saccade.checksums import CHECKSUMS, Damage, FileSum, damages_of, files_below, read_sums, sum_of, sums_file
from saccade.errors import UserError
from saccade.plain_files import ANY_BYTES, plain_bytes
from saccade.runs import line_sums
from saccade.runs.directory import lock_folder, refuse_links
from saccade.runs.record_sums import RecordSums

_RUN = "run.json"
_JOURNALS = "journal"
_MODELS = ("config.json", "adapter_config.json")


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckedFolder:
    """A run without its checkpoints, or a checkpoint."""

    path: Path
    has_checksums: bool = True
    """Whether it has any: earlier versions wrote none."""
    whole: int = 0
    """Number of files."""
    bytes: int = 0
    """Of all files with a checksum."""
    damages: tuple[Damage, ...] = ()
    uncovered: tuple[str, ...] = ()
    """Files without a checksum, which are no harm: somebody added them, or the run has had no checkpoint since."""


def check(path: Path) -> Iterator[CheckedFolder]:
    """A run and its checkpoints, a checkpoint, or all of these in a folder. UserError where there are none."""
    found = False
    for folder in _folders(path):
        found = True
        yield _checked_run(folder) if (folder / _RUN).exists() else _check_folder(folder)
    if not found:
        raise UserError(f"{path} holds no run and no checkpoint; give the directory of one, or a folder of runs")


def accept(path: Path) -> None:
    """Takes the files of a run and its checkpoints, or of a checkpoint, as they are now for right.

    UserError where there is none, or for a run that is being written.
    """
    folders = list(_folders(path))
    if not folders or folders[0] != path:
        raise UserError(f"--accept takes one run or checkpoint, and {path} is none")
    if not (path / _RUN).exists():
        write_bytes_atomic(path / CHECKSUMS, sums_file(path))
        return
    refuse_links(path)
    with lock_folder(path):
        _accept_run(path)
        for checkpoint in folders[1:]:
            write_bytes_atomic(checkpoint / CHECKSUMS, sums_file(checkpoint))


def _folders(path: Path) -> Iterator[Path]:
    """The run or checkpoint at a path, or those below it; the checkpoints of a run after it."""
    if (path / _RUN).exists():
        yield path
        yield from _those_in(path / "checkpoints")
    elif (path / CHECKSUMS).exists() or any((path / name).exists() for name in _MODELS):
        yield path
    else:
        for below in _those_in(path):
            yield from _folders(below)


def _those_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    marks = (_RUN, CHECKSUMS, *_MODELS)
    return sorted(one for one in folder.iterdir() if one.is_dir() and any((one / mark).exists() for mark in marks))


def _check_folder(folder: Path) -> CheckedFolder:
    if not (folder / CHECKSUMS).exists():
        return CheckedFolder(path=folder, has_checksums=False)
    try:
        sums = read_sums(folder)
    except UserError as error:
        return CheckedFolder(path=folder, damages=(_of_checksums(str(error)),))
    known = {one.file for one in sums}
    return _report(folder, sums, damages_of(folder, sums), (name for name in files_below(folder) if name not in known))


def _checked_run(run: Path) -> CheckedFolder:
    records = RecordSums(run)
    if not records.exists:
        return CheckedFolder(path=run, has_checksums=False)
    damages = [] if records.problem is None else [_of_checksums(records.problem)]
    damages += [*records.damages(), *_damaged_samples(run)]
    return _report(run, records.sums, damages, records.uncovered_files())


def _report(folder: Path, sums: list[FileSum], damages: Iterable[Damage], uncovered: Iterable[str]) -> CheckedFolder:
    found, names = tuple(damages), {one.file for one in sums}
    last = {(one.file, one.start): one.bytes for one in sums}
    return CheckedFolder(
        path=folder,
        whole=len(names - {damage.file for damage in found}),
        bytes=sum(last.values()),
        damages=found,
        uncovered=tuple(uncovered),
    )


def _damaged_samples(run: Path) -> Iterator[Damage]:
    for journal in sorted((run / _JOURNALS).glob("*.jsonl")):
        if journal.is_file() and (numbers := line_sums.damaged_lines(journal)):
            why = f"line {', '.join(map(str, numbers[:5]))}{', ...' if len(numbers) > 5 else ''}"
            yield Damage(file=f"{_JOURNALS}/{journal.name}", kind="damaged", why=why)


def _of_checksums(problem: str) -> Damage:
    return Damage(file=CHECKSUMS, kind="damaged", why=problem.partition(": ")[2])


def _accept_run(run: Path) -> None:
    """Each file keeps its place in the run, so that a resumed run still knows what came after its checkpoint."""
    records = RecordSums(run)
    damaged = {damage.file: damage.kind for damage in records.damages()}
    kept = [one for one in records.sums if one.file not in damaged]
    last = {one.file: one for one in records.sums if damaged.get(one.file) == "damaged"}
    for name, one in last.items():
        anew = sum_of(run / name, name, start=None if one.start is None else 0)
        kept.append(replace(anew, stage=one.stage, step=one.step))
    records.keep(kept)
    records.cover()
    for journal in (run / _JOURNALS).glob("*.jsonl"):
        if line_sums.known_sums(journal) is not None:
            # As a file has its lines: ``splitlines`` would end one at a carriage return too.
            lines = BytesIO(plain_bytes(journal, ANY_BYTES))
            write_bytes_atomic(line_sums.line_sums_of(journal), line_sums.sums_of_lines(lines))
