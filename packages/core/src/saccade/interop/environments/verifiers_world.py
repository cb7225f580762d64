"""Environments of the ``verifiers`` library: its own loop runs, and asks this policy where it asks a model.

Here the form of 0.1; ``verifiers_v1_world`` plays the form of 0.2 and later.
"""

import asyncio
import importlib
import queue
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from saccade.errors import MachineError, UserError
from saccade.interop.environments.messages import shown_of_messages
from saccade.interop.environments.world import EndlessSource, NumberedEpisode, Split, StepResult, WorldObservation

ANSWER_S = 600.0
"""How long an environment may take for its own part of a turn."""
CLOSE_S = 10.0
"""How long an unfinished rollout may take to end once it is cancelled."""


@dataclass(frozen=True, kw_only=True)
class VerifiersSource(EndlessSource):
    """An environment of 0.1 by the name of its module, as the hub's packages are, or as ``MODULE:CLASS``.

    Rows of its data set are the episodes of ``train``, those of its evaluation set the ones of ``test``. The reward of
    its rubric comes with the end of an episode. Rubrics that compare the members of a group are refused.
    """

    id: str
    arguments: Mapping[str, object] = field(default_factory=dict)
    action_names: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.id.rpartition(":")[2] or self.id

    def make(self) -> "VerifiersWorld":
        return VerifiersWorld(self)

    def count(self, split: Split) -> int | None:
        return len(self.rows(split))

    def rows(self, split: Split) -> Any:
        return self.environment.get_dataset() if split == "train" else self.environment.get_eval_dataset()

    @cached_property
    def environment(self) -> Any:
        """The environment, loaded once; its rollouts have states of their own."""
        import verifiers

        module, _, kind = self.id.partition(":")
        try:
            if kind:
                return getattr(importlib.import_module(module), kind)(**self.arguments)
            return verifiers.load_environment(module, **self.arguments)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise UserError(f"verifiers cannot load {self.id!r}: {error}") from error


class AskedWorld(ABC):
    """One rollout at a time, in a thread of its own. What the library asks of a model waits here for the policy."""

    def __init__(self, name: str) -> None:
        self.rules, self._name = "", name
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="verifiers")
        self._thread.start()
        self._asked: queue.Queue[list[Mapping[str, object]] | None] = queue.Queue()
        self._rollout: Future[StepResult] | None = None
        self._reply: asyncio.Future[str] | None = None
        self._heard = 0
        """Messages that the policy has seen."""

    def reset(self, episode: NumberedEpisode) -> WorldObservation:
        self._stop()
        self._heard, self._asked = 0, queue.Queue()
        ended = self._asked
        self._rollout = asyncio.run_coroutine_threadsafe(self._played(episode), self._loop)
        self._rollout.add_done_callback(lambda _: ended.put(None))
        messages = self._next_request()
        if messages is None:
            # Its own error, where it has one.
            self._rollout.result(timeout=ANSWER_S)
            raise MachineError(f"{self._name} ended before its first turn")
        return self._new(messages)

    def step(self, action: str) -> StepResult:
        assert self._reply is not None
        self._loop.call_soon_threadsafe(self._reply.set_result, action)
        messages = self._next_request()
        if messages is not None:
            return StepResult(shown=self._new(messages))
        assert self._rollout is not None
        return self._rollout.result(timeout=ANSWER_S)

    def close(self) -> None:
        self._stop()
        ended = asyncio.run_coroutine_threadsafe(_end_tasks(), self._loop)
        with suppress(TimeoutError):
            ended.result(timeout=CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=CLOSE_S)

    @abstractmethod
    def _played(self, episode: NumberedEpisode) -> Coroutine[None, None, StepResult]:
        """Runs the episode in the loop, up to its reward; ``MachineError`` where it fails."""

    @property
    def is_asked(self) -> bool:
        """Whether a turn is waited for."""
        return self._reply is not None and not self._reply.done()

    async def reply_to(self, messages: Sequence[Mapping[str, object]]) -> str:
        """Called by the client, in the loop: hands the messages over and waits for the turn."""
        self._reply = asyncio.get_running_loop().create_future()
        self._asked.put(list(messages))
        return await self._reply

    def _next_request(self) -> list[Mapping[str, object]] | None:
        """The next messages to answer; None when the rollout has ended."""
        try:
            return self._asked.get(timeout=ANSWER_S)
        except queue.Empty:
            raise MachineError(f"{self._name} took over {ANSWER_S:.0f} s for its part of a turn") from None

    def _new(self, messages: Sequence[Mapping[str, object]]) -> WorldObservation:
        """What was said since the policy's last turn."""
        # Fewer messages than before are a conversation that begins anew.
        heard = self._heard if len(messages) >= self._heard else 0
        fresh = [one for one in messages[heard:] if one.get("role") != "assistant"]
        # The policy's own reply will stand between these messages and the next ones.
        self._heard = len(messages) + 1
        return shown_of_messages(fresh)

    def _stop(self) -> None:
        if self._rollout is not None:
            self._rollout.cancel()
            self._rollout = None
        if self._reply is not None:
            self._loop.call_soon_threadsafe(self._reply.cancel)
            self._reply = None


class VerifiersWorld(AskedWorld):
    """A rollout of 0.1, whose client answers by the policy's turns."""

    def __init__(self, source: VerifiersSource) -> None:
        super().__init__(source.name)
        self._source = source

    async def _played(self, episode: NumberedEpisode) -> StepResult:
        rows = self._source.rows(episode.split)
        row = dict(rows[episode.number % len(rows)])
        state = await self._source.environment._run_rollout_state(row, _client(self), "policy", {})
        if state.get("error"):
            raise MachineError(f"{self._name}: {state['error']}")
        return StepResult(reward=float(state.get("reward") or 0.0), terminated=True)


async def _end_tasks() -> None:
    """Cancels what the loop still does, and waits for its end."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _client(world: VerifiersWorld) -> object:
    """A client of verifiers' own kind whose answers are the policy's turns."""
    from verifiers.clients.client import Client
    from verifiers.types import Response, ResponseMessage, Usage

    class PolicyClient(Client):  # type: ignore[misc]
        def setup_client(self, config: object) -> object:
            return self

        async def to_native_tool(self, tool: object) -> object:
            return tool

        async def to_native_prompt(
            self, messages: Sequence[Any]
        ) -> tuple[list[Mapping[str, object]], dict[str, object]]:
            return [one if isinstance(one, Mapping) else one.model_dump() for one in messages], {}

        async def get_native_response(self, prompt: Sequence[Mapping[str, object]], *_: object, **__: object) -> str:
            return await world.reply_to(prompt)

        async def raise_from_native_response(self, response: str) -> None: ...

        async def from_native_response(self, response: str) -> object:
            usage = Usage(prompt_tokens=0, reasoning_tokens=0, completion_tokens=0, total_tokens=0)
            message = ResponseMessage(content=response, finish_reason="stop", is_truncated=False)
            return Response(id="policy", created=0, model="policy", usage=usage, message=message)

        async def close(self) -> None: ...

    return PolicyClient(object())
