"""Chat models of a curation by role, as the command line names them, and the ledger of what they were asked."""

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from saccade.atomic import disk_errors
from saccade.chat.chat_model import (
    ChatCounts,
    ChatModel,
    ChatServerSettings,
    ConnectedChat,
    connect,
    is_checkpoint,
    is_server,
)
from saccade.chat.vision_chat import LentImages, VisionChat
from saccade.codec.codecs import PLAIN_CODEC
from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.curation.reports import Counts
from saccade.curation.requests import CurationRequest, NamedModel
from saccade.curation.rows import check_covered, recorded_pass_rates
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.plain_files import plain_text
from saccade.types import Task
from saccade.vision_models.kinds import VisionModel

REPLIES, ASKED = "replies", ".asked.json"


class Ledger:
    """The counts of all processes by role, in a file that this process alone may write; made with the first request."""

    def __init__(self, path: Path) -> None:
        """UserError for a file that cannot be read."""
        self._path = path
        self._before = _read(path)
        self._now: dict[str, ChatCounts] = {}
        self._lock = threading.Lock()

    def of(self, role: str) -> Callable[[ChatCounts], None]:
        """A callback for the counts of a client of this role in this process."""
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
        counts = Fields(json.loads(plain_text(path)), "the file").values
        return {role: PLAIN_CODEC.reader(ChatCounts).from_json(of, repr(role)) for role, of in counts.items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, BrokenRecordError, RecursionError) as error:
        raise UserError(f"{path} cannot be read ({error}); delete it to restart the count") from error


@dataclass(kw_only=True)
class Teachers:
    """Opens chat models while it is entered; ``out`` keeps the servers' replies."""

    media: MediaStore
    server: ChatServerSettings
    api_key_env: str
    out: Path
    models: Mapping[str, NamedModel]
    """By role, which is the option that names the model."""
    _stack: ExitStack = field(default_factory=ExitStack, init=False)
    _ledger: Ledger = field(init=False)
    _local: dict[Path, ChatModel] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._ledger = Ledger(self.out / ASKED)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @classmethod
    def of(cls, request: CurationRequest, server: ChatServerSettings, media: MediaStore) -> Self:
        """The models that a command names."""
        return cls(media=media, server=server, api_key_env=request.api_key_env, out=request.out, models=request.models)

    def teacher(self, role: str) -> ChatModel:
        """A model of a server, or a checkpoint, which is loaded once."""
        model = self.models[role]
        if not is_server(model.where):
            path = Path(model.where)
            if path not in self._local:
                if not is_checkpoint(path):
                    raise UserError(
                        f"--{role} {path} is neither the address of a server (http://…) nor a checkpoint directory"
                    )
                try:
                    self._local[path] = self._stack.enter_context(connect(path, self.server, media=self.media))
                except UserError as error:
                    raise UserError(f"--{role} {error}") from error
            return self._local[path]
        return self._stack.enter_context(self._connect(role, self.media))

    def teacher_if_named(self, role: str) -> ChatModel | None:
        """The same, where the command names one."""
        return self.teacher(role) if role in self.models else None

    def vision(self, role: str) -> VisionModel:
        """A model that answers requests about a picture at once."""
        images = LentImages()
        return self._stack.enter_context(VisionChat(self._connect(role, images), images))

    def player(self, role: str, tasks: Sequence[Task]) -> ChatModel | Mapping[str, float]:
        """A chat model, or the pass rates of these questions that a file or a run holds."""
        model = self.models[role]
        if is_server(model.where) or is_checkpoint(Path(model.where)):
            return self.teacher(role)
        rates = recorded_pass_rates(Path(model.where))
        check_covered(tasks, rates, f"--{role} {model.where}")
        return rates

    def server_model(self, role: str) -> str:
        """The model's name at its server; UserError without one."""
        model = self.models[role]
        if model.name is None:
            raise UserError(f"--{role} {model.where} is a server; say with --{role}-model which of its models is meant")
        return model.name

    def _connect(self, role: str, media: MediaStore) -> ConnectedChat:
        where = self.models[role].where
        return connect(
            where if is_server(where) else Path(where),
            self.server,
            model=self.server_model(role) if is_server(where) else None,
            media=media,
            api_key=os.environ.get(self.api_key_env, ""),
            cache_dir=self.out / REPLIES,
            on_count=self._ledger.of(role),
        )

    def counts(self) -> Mapping[str, Counts]:
        """Counts of the requests to each server, by role, in all processes that worked on ``out``."""
        return self._ledger.counts()
