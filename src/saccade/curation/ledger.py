"""What was asked of servers, kept with every request, so that a process that is killed has told it."""

import json
import threading
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path

from saccade.atomic import disk_errors
from saccade.chat.chat_model import ChatCounts
from saccade.errors import UserError


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
        """Of the roles that this process has, or an earlier one had."""
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
