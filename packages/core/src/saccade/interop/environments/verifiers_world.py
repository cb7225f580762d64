"""Environments of the ``verifiers`` library (0.1): its own loop runs, and asks this policy where it asks a model."""

import asyncio
import importlib
import queue
import threading
from collections.abc import Mapping, Sequence
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
    """An environment by the name of its module, as the hub's packages are, or as ``MODULE:CLASS``.

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
        try:
            import verifiers
        except ImportError as error:
            raise UserError(
                f"the environment {self.id!r} needs the package verifiers (0.1), whose dependencies differ from "
                "Saccade's; install it in an environment of its own and name its Python: --set environment.python=PATH"
            ) from error
        module, _, kind = self.id.partition(":")
        try:
            if kind:
                return getattr(importlib.import_module(module), kind)(**self.arguments)
            return verifiers.load_environment(module, **self.arguments)
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise UserError(f"verifiers cannot load {self.id!r}: {error}") from error


class VerifiersWorld:
    """One rollout at a time. The library asks a client for each reply; this one waits for the policy's turn."""

    rules = ""

    def __init__(self, source: VerifiersSource) -> None:
        self._source = source
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True, name="verifiers")
        self._thread.start()
        self._asked: queue.Queue[list[Mapping[str, object]] | None] = queue.Queue()
        self._rollout: Future[Mapping[str, Any]] | None = None
        self._reply: asyncio.Future[str] | None = None
        self._heard = 0
        """Messages that the policy has seen."""

    def reset(self, episode: NumberedEpisode) -> WorldObservation:
        self._stop()
        rows = self._source.rows(episode.split)
        row = dict(rows[episode.number % len(rows)])
        environment, client = self._source.environment, _client(self)
        self._heard, self._asked = 0, queue.Queue()
        ended = self._asked
        self._rollout = asyncio.run_coroutine_threadsafe(
            environment._run_rollout_state(row, client, "policy", {}), self._loop
        )
        self._rollout.add_done_callback(lambda _: ended.put(None))
        messages = self._next_request()
        if messages is None:
            raise MachineError(f"{self._source.name} ended before its first turn: {self._error()}")
        return self._new(messages)

    def step(self, action: str) -> StepResult:
        assert self._reply is not None
        self._loop.call_soon_threadsafe(self._reply.set_result, action)
        messages = self._next_request()
        if messages is not None:
            return StepResult(shown=self._new(messages))
        assert self._rollout is not None
        state = self._rollout.result(timeout=ANSWER_S)
        if state.get("error"):
            raise MachineError(f"{self._source.name}: {state['error']}")
        reward = float(state.get("reward") or 0.0)
        return StepResult(reward=reward, terminated=True)

    def close(self) -> None:
        self._stop()
        ended = asyncio.run_coroutine_threadsafe(_end_tasks(), self._loop)
        with suppress(TimeoutError):
            ended.result(timeout=CLOSE_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=CLOSE_S)

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
            raise MachineError(f"{self._source.name} took over {ANSWER_S:.0f} s for its part of a turn") from None

    def _new(self, messages: Sequence[Mapping[str, object]]) -> WorldObservation:
        """What was said since the policy's last turn."""
        fresh = [one for one in messages[self._heard :] if one.get("role") != "assistant"]
        # The policy's own reply will stand between these messages and the next ones.
        self._heard = len(messages) + 1
        return shown_of_messages(fresh)

    def _error(self) -> object:
        assert self._rollout is not None
        error = self._rollout.exception(timeout=ANSWER_S)
        return error if error is not None else self._rollout.result().get("error")

    def _stop(self) -> None:
        if self._rollout is not None:
            self._rollout.cancel()
            self._rollout = None


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
