"""Who answers in a curation: servers and checkpoints, as the command line names them."""

from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

from saccade.chat.chat_model import ChatModel, EngineChat
from saccade.chat.server_settings import ChatServerSettings
from saccade.curation.codedance.report import Counts
from saccade.curation.ledger import Ledger
from saccade.curation.pass_rates import recorded_pass_rates
from saccade.errors import UserError
from saccade.media.store import MediaStore

REPLIES, ASKED = "replies", ".asked.json"


def is_server(who: str) -> bool:
    return who.startswith(("http://", "https://"))


@dataclass(kw_only=True)
class Teachers:
    """Opens teachers while it is entered; ``out`` keeps the servers' replies."""

    media: MediaStore
    server: ChatServerSettings
    api_key_env: str
    out: Path
    _stack: AsyncExitStack = field(default_factory=AsyncExitStack, init=False)
    _ledger: Ledger = field(init=False)
    _local: dict[Path, ChatModel] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._ledger = Ledger(self.out / ASKED)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def teacher(self, role: str, who: str, model: str | None) -> ChatModel:
        """A model of a server, or a checkpoint, which is loaded once; ``role`` is the option that names it."""
        if not is_server(who):
            path = Path(who)
            if path not in self._local:
                self._local[path] = self._checkpoint(role, path)
            return self._local[path]
        if model is None:
            raise UserError(f"--{role} {who} is a server; say with --{role}-model which of its models is meant")
        client = self.server.client(
            who,
            model,
            api_key_env=self.api_key_env,
            media=self.media,
            cache_dir=self.out / REPLIES,
            on_count=self._ledger.of(role),
        )
        return await self._stack.enter_async_context(client)

    async def player(self, role: str, who: str, model: str | None) -> ChatModel | Mapping[str, float]:
        """A teacher, or the pass rates that a file or a run holds."""
        if is_server(who) or _is_checkpoint(Path(who)):
            return await self.teacher(role, who, model)
        return recorded_pass_rates(Path(who))

    def counts(self) -> Mapping[str, Counts]:
        """What was asked of each server, by role, in all processes that worked on ``out``."""
        return self._ledger.counts()

    def _checkpoint(self, role: str, path: Path) -> ChatModel:
        if not _is_checkpoint(path):
            raise UserError(f"--{role} {path} is neither the address of a server (http://…) nor a checkpoint directory")
        # Here, for servers need no torch.
        from saccade.engines.local import LocalEngine
        from saccade.models.loading import LoadSettings, load_model

        model = load_model(path, self.media, LoadSettings())
        return EngineChat(engine=LocalEngine(model), chat=model.chat, max_tokens=self.server.max_tokens)


def _is_checkpoint(path: Path) -> bool:
    return (path / "config.json").is_file() or (path / "adapter_config.json").is_file()
