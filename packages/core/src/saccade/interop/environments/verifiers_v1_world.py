"""Environments of ``verifiers.v1`` (0.2 and later): a taskset with its environment, harness and tool servers.

The library lets a harness run its loop in this process, so long as each call of the model goes through its interception
server. ``PolicyHarness`` does so, and its calls end at a server of the world, whose completions are the policy's turns.
"""

import itertools
import secrets
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from saccade.errors import MachineError, UserError
from saccade.interop.environments.actions import calls_in, tool_rules
from saccade.interop.environments.verifiers_policy import POLICY, answer_of, policy_harness
from saccade.interop.environments.verifiers_world import AskedWorld
from saccade.interop.environments.world import EndlessSource, NumberedEpisode, Split, StepResult
from saccade.types import Json

HELD_OUT = "test"
"""The argument with the fields of the taskset that differ for held-out episodes."""
_REQUEST_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class VerifiersV1Source(EndlessSource):
    """An environment by the id of its taskset; ``arguments`` is verifiers' block ``[env]``, and ``HELD_OUT`` beside it.

    Tasks are the episodes. Without ``HELD_OUT`` every tenth is held out, of fewer than ten the last.
    """

    id: str
    arguments: Mapping[str, Json] = field(default_factory=dict)
    action_names: tuple[str, ...] = ()
    _read: dict[Split, "TasksRead"] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.id.rpartition("/")[2]

    def make(self) -> "VerifiersV1World":
        return VerifiersV1World(self)

    def count(self, split: Split) -> int | None:
        count = self._tasks(split).count
        if count is None or HELD_OUT in self.arguments:
            return count
        if count == 1 and split == "test":
            raise UserError(
                f"{self.name} has one task, so none can be held out; name other fields of the taskset for these "
                f"episodes: environment.arguments='{{\"{HELD_OUT}\": {{…}}}}', or set held_out=0"
            )
        return count // min(10, count) if split == "test" else max(1, count - count // min(10, count))

    def task(self, episode: NumberedEpisode) -> Any:
        """The library's task of an episode."""
        tasks, number, split = self._tasks(episode.split), episode.number, episode.split
        count = self.count(split)
        number = number if count is None else number % count
        every = min(10, tasks.count or 10)
        if HELD_OUT not in self.arguments and every > 1:
            number = every * number + every - 1 if split == "test" else number + number // (every - 1)
        return tasks.at(number)

    def environment(self, split: Split) -> Any:
        """The library's environment, loaded; ``UserError`` where it refuses what is named."""
        from verifiers.v1.utils.loaders import load_environment

        try:
            return load_environment(self._config(split))
        except (ImportError, AttributeError, TypeError, ValueError) as error:
            raise UserError(f"verifiers cannot load {self.id!r}: {error}") from error

    def _tasks(self, split: Split) -> "TasksRead":
        split = split if HELD_OUT in self.arguments else "train"
        if split not in self._read:
            self._read.setdefault(split, TasksRead(self.environment(split).taskset))
        return self._read[split]

    def _config(self, split: Split) -> Any:
        """The block ``[env]``: the one seat without a client of its own is the policy's, in this process."""
        from verifiers.v1.configs.agent import agent_config_fields
        from verifiers.v1.configs.env import default_agent_harness
        from verifiers.v1.runtimes import SubprocessConfig
        from verifiers.v1.utils.loaders import resolve_env_config

        own = self.arguments.get(HELD_OUT) if split == "test" else None
        parts = (self.arguments.get("taskset"), own)
        taskset = {"id": self.id} | {
            name: one for part in parts if isinstance(part, Mapping) for name, one in part.items()
        }
        block = {name: one for name, one in self.arguments.items() if name != HELD_OUT}
        config = resolve_env_config({**block, "taskset": taskset})
        open_seats = {name: seat for name, seat in agent_config_fields(config).items() if seat.client is None}
        if len(open_seats) != 1:
            raise UserError(
                f"{self.name} has {len(open_seats)} seats for the policy ({', '.join(open_seats)}), and it plays one; "
                'give the others a model: environment.arguments=\'{"SEAT": {"model": …, "client": {"base_url": …}}}\''
            )
        [(name, seat)] = open_seats.items()
        given = block.get(name)
        update: dict[str, object] = {}
        if not isinstance(given, Mapping) or "runtime" not in given:
            update["runtime"] = SubprocessConfig()
        # The plain chat program, and the shell that verifiers gives where nothing is said.
        if (seat.harness or default_agent_harness(self.id)).id in ("null", *(() if seat.harness else ("bash",))):
            update["harness"] = policy_harness().CONFIG(id=POLICY)
        return config.model_copy(update={name: seat.model_copy(update=update)})


class TasksRead:
    """Tasks of a taskset, read as far as they are wanted; ``count`` is None for one without an end."""

    def __init__(self, taskset: Any) -> None:
        self._left, self._read, self._lock = iter(taskset), list[Any](), threading.Lock()
        self.count: int | None = None
        if taskset.bounded:
            self._read = list(self._left)
            self.count = len(self._read)
            if not self._read:
                raise UserError("the taskset has no tasks")

    def at(self, index: int) -> Any:
        with self._lock:
            self._read.extend(itertools.islice(self._left, max(0, index + 1 - len(self._read))))
            return self._read[index]


class VerifiersV1World(AskedWorld):
    """An episode of v1. Tools of its harness are told in the rules, and called by an action that is such JSON."""

    def __init__(self, source: VerifiersV1Source) -> None:
        super().__init__(source.name)
        self._source = source
        self._conversation = self._secret = ""
        self._tools: tuple[str, ...] = ()

    def step(self, action: str) -> StepResult:
        why = calls_in(action, self._tools)
        return StepResult(invalid=why) if isinstance(why, str) else super().step(action)

    async def _played(self, episode: NumberedEpisode) -> StepResult:
        from verifiers.v1.clients import ModelContext
        from verifiers.v1.configs.client import EvalClientConfig

        self._conversation, self._tools, self.rules = "", (), ""
        environment = self._source.environment(episode.split)
        async with self._completions() as url, environment.serving():
            context = ModelContext(model=POLICY, client=EvalClientConfig(base_url=url, api_key_var="SACCADE_NO_KEY"))
            [slot] = environment.slots(self._source.task(episode))
            played = await environment.run_slot(slot, context)
        if not played.ok:
            errors = [*played.errors, *(error for trace in played.traces for error in trace.errors)]
            raise MachineError(f"{self._name}: {'; '.join(f'{one.type}: {one.message}'[:500] for one in errors)}")
        own = (trace.reward for trace in played.traces if trace.agent.config.model == POLICY)
        return StepResult(reward=float(sum(own)), terminated=True)

    @asynccontextmanager
    async def _completions(self) -> AsyncIterator[str]:
        """The address, with a secret in it, of OpenAI's chat API in this loop, while it is open."""
        from aiohttp import web

        app, secret = web.Application(client_max_size=_REQUEST_BYTES), secrets.token_urlsafe()
        self._secret = secret
        app.router.add_post(f"/{secret}/v1/chat/completions", self._completion)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        try:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            yield f"http://127.0.0.1:{runner.addresses[0][1]}/{secret}/v1"
        finally:
            await runner.cleanup()

    async def _completion(self, request: Any) -> Any:
        """Waits for the policy's turn; 400 for a second conversation, which the policy cannot play beside its own."""
        from aiohttp import web

        body, conversation = await request.json(), request.headers.get("X-Session-ID", "")
        is_late = request.path.split("/")[1] != self._secret
        if is_late or self.is_asked or conversation != (self._conversation or conversation):
            return web.json_response(
                {"error": {"message": "the policy plays one conversation of an episode"}}, status=400
            )
        tools = [tool["function"] for tool in body.get("tools") or ()]
        self._conversation, self._tools = conversation, tuple(tool["name"] for tool in tools)
        self.rules = f"{tool_rules(tools)} Any other action is your reply." if tools else ""
        text = await self.reply_to(body["messages"])
        return answer_of(web, text, self._tools, is_streamed=bool(body.get("stream")))
