"""Chat models of a curation: servers and checkpoints, as the command line names them."""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from saccade.chat.chat_model import ChatModel
from saccade.chat.connect import ChatServerSettings, connect, is_checkpoint, is_server
from saccade.curation.codedance.report import Counts
from saccade.curation.folder import Ledger
from saccade.curation.pass_rates import recorded_pass_rates
from saccade.errors import UserError
from saccade.media.store import MediaStore

REPLIES, ASKED = "replies", ".asked.json"


@dataclass(kw_only=True)
class Teachers:
    """Opens chat models while it is entered; ``out`` keeps the servers' replies."""

    media: MediaStore
    server: ChatServerSettings
    api_key_env: str
    out: Path
    _stack: ExitStack = field(default_factory=ExitStack, init=False)
    _ledger: Ledger = field(init=False)
    _local: dict[Path, ChatModel] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._ledger = Ledger(self.out / ASKED)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def teacher(self, role: str, who: str, model: str | None) -> ChatModel:
        """A model of a server, or a checkpoint, which is loaded once; ``role`` is the option that names it."""
        if not is_server(who):
            path = Path(who)
            if path not in self._local:
                if not is_checkpoint(path):
                    raise UserError(
                        f"--{role} {path} is neither the address of a server (http://…) nor a checkpoint directory"
                    )
                self._local[path] = self._stack.enter_context(connect(path, self.server, media=self.media))
            return self._local[path]
        if model is None:
            raise UserError(f"--{role} {who} is a server; say with --{role}-model which of its models is meant")
        client = connect(
            who,
            self.server,
            model=model,
            media=self.media,
            api_key=os.environ.get(self.api_key_env, ""),
            cache_dir=self.out / REPLIES,
            on_count=self._ledger.of(role),
        )
        return self._stack.enter_context(client)

    def player(self, role: str, who: str, model: str | None) -> ChatModel | Mapping[str, float]:
        """A chat model, or the pass rates that a file or a run holds."""
        if is_server(who) or is_checkpoint(Path(who)):
            return self.teacher(role, who, model)
        return recorded_pass_rates(Path(who))

    def counts(self) -> Mapping[str, Counts]:
        """What was asked of each server, by role, in all processes that worked on ``out``."""
        return self._ledger.counts()
