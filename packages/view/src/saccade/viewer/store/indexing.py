"""Making the index of files that have none: newest first, in processes of its own where there is much to read."""

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, wait
from pathlib import Path
from typing import TYPE_CHECKING

from saccade.errors import UserError
from saccade.runs.segments import SUFFIX, Kind, SegmentInfo, fingerprint, write_segment
from saccade.viewer.store.formats import RecordFormat
from saccade.viewer.store.run import RecordFile, Run
from saccade.viewer.store.segment_files import BadSegmentError, load_segment

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

PROCESSES = 2
_WORTH_PROCESSES_BYTES = 128 << 20
"""Less is read in this process: others take a second to start."""
_WORTH_FIRST_BYTES, _FIRST_S = 16 << 20, 0.3
"""Of a larger file, as much is shown at once as so many seconds bring."""
_PIECE_FILES = 8
"""Files that one process is given at a time."""


def index_file(kind: RecordFormat, path: Path, segment: Path, pictures: Path, *, is_evaluation: bool) -> None:
    """Write the segment of a file. Raises UserError for a file that is none of its kind, OSError."""
    indexed = kind.index(path, pictures)
    info = SegmentInfo(
        position=indexed.position,
        kind="eval" if is_evaluation else "train",
        fingerprint=fingerprint(path),
        notes=indexed.notes,
    )
    write_segment(segment, indexed.rows, info=info)


def is_evaluation(run: Run, file: RecordFile) -> bool:
    """Files of evaluations stand in a folder of theirs; what is not from training at all is evaluated too."""
    return "trajectories" not in file.path.relative_to(run.source.root).parts[:1] and file.format.name in (
        "records",
        "inspect",
        "verifiers",
        "lmms-eval",
        "vlmevalkit",
    )


def load_pending(run: Run, *, is_ended: Callable[[], bool]) -> Iterator[RecordFile]:
    """Take in every file that has a segment, the newest first; the others stay pending. Yields each that is in."""
    for file in list(run.pending):
        if is_ended():
            return
        if (found := run.segment_of(file)) is not None:
            run.take(file, *found)
            yield file


def index_pending(run: Run, *, is_ended: Callable[[], bool]) -> Iterator[RecordFile]:
    """Make what is missing. Yields each file that is in the table."""
    files = list(run.pending)
    if not files:
        return
    first = files[0]
    if _shows_first(run, first):
        yield first
    _here(run, first)
    yield first
    rest = files[1:]
    if sum(file.stamp[0] for file in rest) < _WORTH_PROCESSES_BYTES:
        for file in rest:
            if is_ended():
                return
            _here(run, file)
            yield file
        return
    # Read in here: a run that has its index starts no processes.
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    # Fresh ones: a fork of a process with threads may hang.
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=fresh, initializer=end_with_parent) as pool:
        yield from _beside(run, rest, pool, is_ended)


def end_with_parent() -> None:
    """In a process of the pool: its end when the viewer is killed, which would leave it waiting for work for good."""
    import multiprocessing

    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _beside(
    run: Run, files: Sequence[RecordFile], pool: "ProcessPoolExecutor", is_ended: Callable[[], bool]
) -> Iterator[RecordFile]:
    from concurrent.futures.process import BrokenProcessPool

    pieces = [files[start : start + _PIECE_FILES] for start in range(0, len(files), _PIECE_FILES)]
    waiting: dict[Future[list[str]], Sequence[RecordFile]] = {}
    while (pieces or waiting) and not is_ended():
        while pieces and len(waiting) < 2 * PROCESSES:
            piece = pieces.pop(0)
            work = [(f.format, f.path, run.beside(f, run.cache), run.pictures, is_evaluation(run, f)) for f in piece]
            waiting[pool.submit(index_files, work)] = piece
        for done in wait(waiting, timeout=0.2, return_when="FIRST_COMPLETED").done:
            piece = waiting.pop(done)
            try:
                problems = done.result()
            except BrokenProcessPool:
                problems = ["the process that read it was killed (out of memory?)"] * len(piece)
            for file, problem in zip(piece, problems):
                _take_or_give_up(run, file, problem)
                yield file
    pool.shutdown(wait=False, cancel_futures=True)


def index_files(work: Sequence[tuple[RecordFormat, Path, Path, Path, bool]]) -> list[str]:
    """What went wrong with each file, or nothing."""
    problems = []
    for kind, path, segment, pictures, evaluated in work:
        problems.append(_problem(kind, path, segment, pictures, evaluated))
    return problems


def _problem(kind: RecordFormat, path: Path, segment: Path, pictures: Path, evaluated: bool) -> str:
    try:
        index_file(kind, path, segment, pictures, is_evaluation=evaluated)
    except (UserError, OSError) as error:
        return str(error)
    except (MemoryError, RecursionError) as error:
        return f"{path.name} is too large or too deep to be read ({type(error).__name__})"
    except Exception as error:  # The other files of a run, and other runs, go on whatever a stranger's file holds.
        return f"{path.name} cannot be read: {type(error).__name__}: {str(error)[:200]}"
    return ""


def _here(run: Run, file: RecordFile) -> None:
    _take_or_give_up(
        run, file, _problem(file.format, file.path, run.beside(file, run.cache), run.pictures, is_evaluation(run, file))
    )


def _shows_first(run: Run, file: RecordFile) -> bool:
    """Put the beginning of a large file into the table; False where it cannot be told from the rest."""
    if file.format.first is None or file.stamp[0] < _WORTH_FIRST_BYTES:
        return False
    path = run.beside(file, run.cache, f".first{SUFFIX}")
    try:
        indexed = file.format.first(file.path, run.pictures, _FIRST_S)
        kind: Kind = "eval" if is_evaluation(run, file) else "train"
        info = SegmentInfo(position=indexed.position, kind=kind, fingerprint=fingerprint(file.path))
        write_segment(path, indexed.rows, info=info)
        run.take(file, path, load_segment(path))
    except Exception:  # Whatever is wrong with it, reading it whole says so.
        return False
    run.notes[file.path.name] = f"{file.path.name}: the first {len(indexed.rows)} trajectories; the rest is being read"
    return True


def _take_or_give_up(run: Run, file: RecordFile, problem: str) -> None:
    if problem:
        run.give_up(file, problem)
        return
    path = run.beside(file, run.cache)
    try:
        run.take(file, path, load_segment(path))
    except (OSError, BadSegmentError) as error:
        run.give_up(file, f"{file.path.name}: its index could not be kept: {error}")
