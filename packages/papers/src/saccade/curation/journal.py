"""Journal of a curation: the folder that keeps the outcome of each question as soon as it is known.

``work_off`` works questions off into it, many at a time; what the machine failed is left for the next run.
"""

import asyncio
import fcntl
import hashlib
import json
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Generic, Protocol, Self, TypeVar

from saccade.atomic import check_in_place, refuse_link, write_text_atomic
from saccade.chat.chat_model import ChatServerSettings
from saccade.chat.wire import RefusedRequestError
from saccade.codec.codecs import FOREIGN_CODEC, plain_json
from saccade.codec.wrong import BrokenRecordError
from saccade.config.settings import to_json
from saccade.errors import MachineError, SaccadeError, UserError
from saccade.heartbeat import phase
from saccade.plain_files import ANY_BYTES, check_plain_below, plain_bytes
from saccade.strict_json import strict_json
from saccade.tasks.rows.fields import Row, RowError
from saccade.tasks.rows.text_files import json_lines
from saccade.types import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

logger = logging.getLogger(__name__)

SETTINGS, OUTCOMES, LOCK = "curation.json", "outcomes.jsonl", ".lock"


class Kept(Protocol):
    """An outcome that a journal can keep: one line of JSON."""

    @property
    def task_id(self) -> str: ...

    def as_json(self) -> Mapping[str, Json]: ...


class WrittenReport(Protocol):
    """Counts over the outcomes of a curation."""

    def describe(self) -> str: ...


Outcome = TypeVar("Outcome", bound=Kept)


def kept_as(kind: type[Outcome]) -> Callable[[Row], Outcome]:
    """Reads outcomes of a class by the fields that it has, for a journal; RowError for anything else."""

    def outcome_from(row: Row) -> Outcome:
        try:
            return FOREIGN_CODEC.reader(kind).from_json(row, "the outcome")
        except BrokenRecordError as error:
            raise RowError("", str(error)) from error

    return outcome_from


class Journal(Generic[Outcome]):
    """A folder with what the curation was started with and its outcomes; this process alone may write it while open."""

    def __init__(
        self, directory: Path, started_with: Mapping[str, Json], outcome_from: Callable[[Row], Outcome], *, resume: bool
    ) -> None:
        """UserError when the folder holds something else, was started otherwise, or ``resume`` is not given for it.

        ``outcome_from`` reads an outcome's JSON, and raises RowError.

        A curation without a single outcome has not begun: it may be started anew, otherwise too.
        """
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            found = sorted(entry.name for entry in directory.iterdir() if not entry.name.startswith("."))
        except OSError as error:
            raise UserError(f"{directory} cannot be used ({error.strerror}); choose another folder") from error
        if found and SETTINGS not in found:
            raise UserError(f"{directory} is not empty (it has {', '.join(found[:3])}); choose another folder")
        check_plain_below(directory)
        is_begun = OUTCOMES in found and (directory / OUTCOMES).stat().st_size > 0
        if is_begun and not resume:
            raise UserError(f"{directory} holds a curation already; go on with --resume, or choose another folder")
        for name in (LOCK, OUTCOMES):
            refuse_link(directory / name)
        self._lock = self._lock_file()
        try:
            self._keep_settings(started_with, is_begun=is_begun)
            self.outcomes = self._read_outcomes(outcome_from)
            self._file = (directory / OUTCOMES).open("ab")
        except BaseException:
            self._lock.close()
            raise

    def add(self, outcome: Outcome) -> None:
        """Keeps an outcome, flushed to the disk before this returns."""
        check_in_place(self._file.fileno(), self.directory / OUTCOMES)
        line = json.dumps(outcome.as_json()) + "\n"
        try:
            self._file.write(line.encode("ascii"))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise MachineError(f"{self.directory / OUTCOMES}: {error.strerror}; free some space and resume") from error
        self.outcomes[outcome.task_id] = outcome

    def write(self, name: str, text: str) -> Path:
        """Writes a file of the folder atomically."""
        path = self.directory / name
        write_text_atomic(path, text)
        return path

    def write_report(self, report: WrittenReport) -> None:
        """Writes a report as JSON and as text."""
        self.write("report.json", strict_json(plain_json(report), indent=2) + "\n")
        self.write("report.txt", report.describe())

    def close(self) -> None:
        self._file.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _lock_file(self) -> IO[bytes]:
        lock = (self.directory / LOCK).open("ab")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise UserError(f"{self.directory} is being written by another process; wait for it") from error
        return lock

    def _keep_settings(self, started_with: Mapping[str, Json], *, is_begun: bool) -> None:
        path = self.directory / SETTINGS
        # Through JSON, so that tuples and lists compare equal.
        wanted = json.loads(json.dumps(started_with))
        if not is_begun:
            self.write(SETTINGS, json.dumps(wanted, indent=2) + "\n")
            return
        try:
            before = json.loads(plain_bytes(path))
        except (OSError, ValueError, RecursionError) as error:
            raise UserError(f"{path} cannot be read ({error}); choose another folder") from error
        if before != wanted:
            changed = sorted(key for key in {*before, *wanted} if before.get(key) != wanted.get(key))
            lines = [f"  {key}: {before.get(key)!r} then, {wanted.get(key)!r} now" for key in changed]
            raise UserError(
                "\n".join(
                    [
                        f"{self.directory} was started with other settings:",
                        *lines,
                        "Resume it with the same settings, or choose another folder",
                    ]
                )
            )

    def _read_outcomes(self, outcome_from: Callable[[Row], Outcome]) -> dict[str, Outcome]:
        path = self.directory / OUTCOMES
        if not path.exists():
            return {}
        content = plain_bytes(path, ANY_BYTES)
        complete = content.rfind(b"\n") + 1
        if complete < len(content):
            # A killed process was in the middle of this line.
            os.truncate(path, complete)
        outcomes = {}
        for numbered in json_lines(path):
            try:
                if isinstance(numbered.row, RowError):
                    raise numbered.row
                outcome = outcome_from(numbered.row)
            except RowError as error:
                where = f"{error.key}: " if error.key else ""
                raise UserError(f"{path}, row {numbered.number}: {where}{error.why}; delete this row") from error
            outcomes[outcome.task_id] = outcome
        return outcomes


FAILURES_IN_A_ROW = 8
"""So many questions that fail by the machine's fault, one after another, end the run: the server is gone."""

Item = TypeVar("Item")


async def work_off(
    items: Mapping[str, Item],
    outcome_of: Callable[[Item], Awaitable[Outcome]],
    journal: Journal[Outcome],
    *,
    at_once: int,
    on_outcome: Callable[[Outcome], None],
) -> None:
    """Works off the items, by their ids, that have no outcome in the journal yet, in their order.

    An item that fails by the machine's fault has no outcome, and is tried again when the run is resumed. Raises
    MachineError when many in a row fail, UserError when the server refuses all that it is asked.
    """
    waiting = {key: item for key, item in items.items() if key not in journal.outcomes}
    failures = _Failures()
    left = iter(waiting.items())

    async def work() -> None:
        for key, item in left:
            try:
                outcome = await outcome_of(item)
            except (MachineError, RefusedRequestError) as error:
                failures.add(key, error)
                continue
            failures.in_a_row = 0
            journal.add(outcome)
            on_outcome(outcome)

    try:
        with phase(lambda: f"{sum(key in journal.outcomes for key in items)} of {len(items)} questions"):
            async with asyncio.TaskGroup() as group:
                for _ in range(min(at_once, len(waiting))):
                    group.create_task(work())
    except* SaccadeError as errors:
        # One of them is enough to read; the others were cut short.
        raise errors.exceptions[0] from None


class _Failures:
    """Questions that failed one after another by the machine's fault."""

    def __init__(self) -> None:
        self.in_a_row = 0

    def add(self, key: str, error: MachineError | RefusedRequestError) -> None:
        """Raises the error when there is no hope that the next question fares better."""
        self.in_a_row += 1
        is_hopeless = isinstance(error, RefusedRequestError) and not error.is_about_one_request
        if is_hopeless or self.in_a_row >= FAILURES_IN_A_ROW:
            raise error
        logger.warning("question %s failed; --resume tries it again: %s", key, error)


PICTURES = ".pictures"
"""Folder of a run's pictures, for they are many; it is hidden and deleted in the end."""


def deciding(settings: "DataclassInstance", server: ChatServerSettings) -> dict[str, Json]:
    """The settings that decide what is asked and kept; how fast one asks decides nothing."""
    values = to_json(settings)
    values["server"] = {"max_tokens": server.max_tokens, "extra_body": server.extra_body}
    del values["questions_at_once"]
    return values


def digest(lines: Iterable[str]) -> str:
    """SHA-256 of what is worked on, so that a changed file of questions is noticed when resumed."""
    return hashlib.sha256("\n".join(lines).encode("utf-8", errors="replace")).hexdigest()


def telling(journal: Journal[Outcome], total: int, is_kept: Callable[[Outcome], bool]) -> Callable[[Outcome], None]:
    """A callback that logs the progress at every twentieth of the way."""

    def tell(_: Outcome) -> None:
        done = len(journal.outcomes)
        if done % max(1, total // 20) == 0:
            kept = sum(is_kept(outcome) for outcome in journal.outcomes.values())
            logger.info("%d of %d questions, %d kept", done, total, kept)

    return tell


def remove_pictures(out: Path) -> None:
    """Deletes the pictures that only the run itself needed."""
    directory = out / PICTURES
    for picture in directory.glob("*.png"):
        picture.unlink(missing_ok=True)
    if directory.is_dir():
        directory.rmdir()
