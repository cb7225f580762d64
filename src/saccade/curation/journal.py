"""A folder of curation on disk: what it was started with, and the outcome of each question as soon as it is known."""

import fcntl
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Generic, Protocol, Self, TypeVar

from saccade.atomic import write_text_atomic
from saccade.errors import MachineError, UserError
from saccade.tasks.rows.fields import Row, RowError
from saccade.tasks.rows.text_files import json_lines
from saccade.types import Json

SETTINGS, OUTCOMES, LOCK = "curation.json", "outcomes.jsonl", ".lock"


class Kept(Protocol):
    """What a journal keeps: an outcome that can be a line of JSON."""

    @property
    def task_id(self) -> str: ...

    def as_json(self) -> Mapping[str, Json]: ...


Outcome = TypeVar("Outcome", bound=Kept)


class Journal(Generic[Outcome]):
    """The folder, which this process alone may write while it is open."""

    def __init__(
        self,
        directory: Path,
        started_with: Mapping[str, Json],
        outcome_from: Callable[[Row], Outcome],
        *,
        resume: bool,
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
        is_begun = OUTCOMES in found and (directory / OUTCOMES).stat().st_size > 0
        if is_begun and not resume:
            raise UserError(f"{directory} holds a curation already; go on with --resume, or choose another folder")
        self._lock = self._locked()
        try:
            self._keep_settings(started_with, is_begun=is_begun)
            self.outcomes = self._read_outcomes(outcome_from)
            self._file = (directory / OUTCOMES).open("ab")
        except BaseException:
            self._lock.close()
            raise

    def add(self, outcome: Outcome) -> None:
        """Keeps it, on the disk too before this returns."""
        line = json.dumps(outcome.as_json()) + "\n"
        try:
            self._file.write(line.encode("ascii"))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise MachineError(f"{self.directory / OUTCOMES}: {error.strerror}; free some space and resume") from error
        self.outcomes[outcome.task_id] = outcome

    def write(self, name: str, text: str) -> Path:
        """A file of the folder, there whole or not at all."""
        path = self.directory / name
        write_text_atomic(path, text)
        return path

    def close(self) -> None:
        self._file.close()
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _locked(self) -> IO[bytes]:
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
            before = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise UserError(f"{path} cannot be read ({error}); choose another folder") from error
        if before != wanted:
            changed = sorted(key for key in {*before, *wanted} if before.get(key) != wanted.get(key))
            lines = [f"  {key}: {before.get(key)!r} then, {wanted.get(key)!r} now" for key in changed]
            raise UserError(
                "\n".join(
                    [f"{self.directory} was started otherwise:", *lines, "Resume it alike, or choose another folder"]
                )
            )

    def _read_outcomes(self, outcome_from: Callable[[Row], Outcome]) -> dict[str, Outcome]:
        path = self.directory / OUTCOMES
        if not path.exists():
            return {}
        content = path.read_bytes()
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
                raise UserError(f"{path}, row {numbered.number}: {error.key}: {error.why}; delete this row") from error
            outcomes[outcome.task_id] = outcome
        return outcomes
