"""Folders of curation: what decides a resumed one, and the ledger of what was asked."""

import hashlib
import json
import logging
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from saccade.atomic import disk_errors
from saccade.chat.chat_model import ChatCounts
from saccade.chat.connect import ChatServerSettings
from saccade.config.settings import to_json
from saccade.curation.journal import Journal, Kept
from saccade.errors import UserError
from saccade.types import Json

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


Outcome = TypeVar("Outcome", bound=Kept)

PICTURES = ".pictures"
"""Where pictures of a run lie on disk, for they are many; the folder is hidden and goes in the end."""

logger = logging.getLogger(__name__)


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
    """Says every twentieth of the way how far it is."""

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


class Ledger:
    """The counts of all processes by role, in a file that this process alone may write; made with the first request."""

    def __init__(self, path: Path) -> None:
        """UserError for a file that cannot be read."""
        self._path = path
        self._before = _read(path)
        self._now: dict[str, ChatCounts] = {}
        self._lock = threading.Lock()

    def of(self, role: str) -> Callable[[ChatCounts], None]:
        """To be told what a client of this role has done so far in this process."""
        self._now[role] = ChatCounts()

        def count(done: ChatCounts) -> None:
            with self._lock:
                self._now[role] = done
                self._write()

        return count

    def counts(self) -> Mapping[str, Mapping[str, int]]:
        """Requests counted by role, of the roles that this process has, or an earlier one had."""
        roles = dict.fromkeys((*self._now, *self._before))
        none = ChatCounts()
        return {role: self._before.get(role, none).plus(self._now.get(role, none)).as_counts() for role in roles}

    def _write(self) -> None:
        # Not forced to the disk with each request: only the machine's death, not the process's, may cost the last ones.
        unfinished = self._path.with_name(f"{self._path.name}.part")
        with disk_errors(self._path):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            unfinished.write_text(json.dumps(self.counts()) + "\n", encoding="utf-8")
            unfinished.replace(self._path)


def _read(path: Path) -> dict[str, ChatCounts]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise UserError(f"{path} cannot be read ({error}); delete it to count anew") from error
    names = {field.name for field in fields(ChatCounts)}
    if not isinstance(content, dict) or not all(
        isinstance(of, dict) and set(of) == names and all(isinstance(one, int) for one in of.values())
        for of in content.values()
    ):
        raise UserError(f"{path} holds no counts of requests; delete it to count anew")
    return {role: ChatCounts(**of) for role, of in content.items()}
