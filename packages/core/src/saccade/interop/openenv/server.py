"""An environment as an OpenEnv server: each WebSocket session is an episode of its own.

    app = openenv_app(family="counting", max_sessions=64)     # FastAPI; or: saccade openenv --family counting

``reset(seed=..., episode_id=..., task_id=..., message_bytes=...)``: the same seed gives the same task; ``task_id``
chooses one of ``tasks``. A step is one turn of text. The reward stands in the observation and in the result, where
OpenEnv wants it, and ``done`` when the question is answered or the turns are used up. OpenEnv's plain HTTP routes
make a new environment for each request: they can reset, but a step needs a session.

``serve`` runs the app as a process: guarded as all our servers are, and rid of sessions whose client has gone.
"""

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import cast

from PIL import Image

from saccade.envs.visual_reasoning import (
    DEFAULT_VIEW,
    AnswerReward,
    VisualObservation,
    VisualReasoningEnv,
    answer_reward,
)
from saccade.errors import UserError, missing_extra
from saccade.interop.openenv.messages import (
    DEFAULT_MESSAGE_BYTES,
    ChatMessage,
    Part,
    SaccadeAction,
    SaccadeObservation,
    SaccadeState,
    pictures,
)
from saccade.media.resize import ViewRule
from saccade.media.store import MediaStore
from saccade.protocols.protocol import ChatProtocol
from saccade.services.http.connections import HEADERS_WITHIN_S, drop, protocol_within
from saccade.services.http.guards import OriginGuard, TokenGate, UploadGuard, UploadLimits
from saccade.services.http.listening import check_reach
from saccade.tasks.procedural import Family
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import EpisodeTool, Tool
from saccade.types import ImageRef, Message, Task

try:
    import uvicorn
    from fastapi import FastAPI
    from openenv.core.env_server import Environment, create_app
    from openenv.core.env_server.types import EnvironmentMetadata
    from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
except ImportError as error:
    raise missing_extra("interop", "openenv-core", needed_for="OpenEnv") from error

MIN_MESSAGE_BYTES = 1 << 16

UPLOADS = UploadLimits(most_bytes=lambda _: 4 << 20, together_bytes=64 << 20, within_s=30.0)
"""Limits of plain HTTP requests; an episode's messages travel in its session."""


class SaccadeEnvironment(Environment[SaccadeAction, SaccadeObservation, SaccadeState]):  # type: ignore[misc]
    """One session. ``make`` gives the environment, with a media store of its own."""

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(self, make: Callable[[], VisualReasoningEnv], tasks: "TasksById") -> None:
        super().__init__()
        self._env = make()
        self._tasks = tasks
        self._episode_id: str | None = None
        self._message_bytes = DEFAULT_MESSAGE_BYTES
        # What an episode adds to the store is forgotten with it.
        self._episode = ExitStack()

    def reset(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        task_id: str | None = None,
        message_bytes: int = DEFAULT_MESSAGE_BYTES,
        **unknown: object,
    ) -> SaccadeObservation:
        """A new episode: of the task that is named, else of one that the seed draws."""
        if unknown:
            raise UserError(
                f"reset knows no {next(iter(unknown))!r}; it knows seed, episode_id, task_id, message_bytes"
            )
        if message_bytes < MIN_MESSAGE_BYTES:
            raise UserError(f"message_bytes={message_bytes} is too little; use {MIN_MESSAGE_BYTES} or more")
        self._episode.close()
        self._episode.enter_context(self._env.media.temporary())
        options: dict[str, object] = {} if task_id is None else {"task": self._tasks.get(task_id, self._env.media)}
        observation, _ = self._env.reset(seed=seed, options=options)
        self._episode_id, self._message_bytes = episode_id, message_bytes
        return self._observation_of(observation, self._env.prompt, reward=0.0)

    def step(self, action: SaccadeAction, timeout_s: float | None = None, **unknown: object) -> SaccadeObservation:
        """One turn; the tools have deadlines of their own."""
        observation, reward, _, _, _ = self._env.step(action.text)
        shown = self._env.turns[-1].observation
        # As our own rollout renders it: what there is to see, then what there is to read.
        parts: tuple[str | ImageRef, ...] = () if shown is None else (*shown.images, shown.text)
        return self._observation_of(observation, (Message(role="tool", parts=parts),), reward=reward)

    @property
    def state(self) -> SaccadeState:
        started = self._env.status != "ready" or bool(self._env.prompt)
        return SaccadeState(
            episode_id=self._episode_id,
            step_count=len(self._env.turns),
            task_id=self._env.task.id if started else "",
            family=self._env.task.family if started else "",
            status=self._env.status,
            max_turns=self._env.max_turns,
        )

    def get_metadata(self) -> EnvironmentMetadata:
        return EnvironmentMetadata(
            name="saccade",
            description="Questions about images, answered in turns of text that may call tools.",
            version="0",
        )

    def close(self) -> None:
        self._env.close()
        self._episode.close()

    def _observation_of(
        self, seen: VisualObservation, messages: Sequence[Message], *, reward: float
    ) -> SaccadeObservation:
        is_done = self._env.status in ("answered", "turn_limit")
        images = [Image.fromarray(picture) for picture in seen["images"]]
        return SaccadeObservation(
            text=seen["text"],
            images=pictures(images, text_chars=2 * len(seen["text"]), message_bytes=self._message_bytes),
            messages=[] if is_done else _chat_messages(messages),
            stop=list(self._env.stop),
            status=self._env.status,
            task_id=self._env.task.id,
            turns=len(self._env.turns),
            reward=reward,
            done=is_done,
        )


class TasksById:
    """The tasks that clients may choose, and the store that holds their pictures."""

    def __init__(self, tasks: Sequence[Task], media: MediaStore | None) -> None:
        if tasks and media is None:
            raise UserError("no media store; pass media=, which holds the images of your tasks")
        self._tasks = {task.id: task for task in tasks}
        self._ids = tuple(self._tasks)
        self._media = media

    def get(self, task_id: str, media: MediaStore) -> Task:
        """The task, its pictures put into a session's own store."""
        if task_id not in self._tasks:
            offered = (
                "tasks are drawn here, and none can be chosen" if not self._tasks else "the server has no such task"
            )
            raise UserError(f"task_id={task_id!r}: {offered}")
        task = self._tasks[task_id]
        assert self._media is not None
        for image in task.images:
            media.add(self._media.get(image))
        return task

    def draw(self, index: int, media: MediaStore) -> Task:
        return self.get(self._ids[index % len(self._ids)], media)


def openenv_app(
    *,
    family: Family | None = None,
    tasks: Sequence[Task] = (),
    media: MediaStore | None = None,
    split: str = "train",
    seed: int = 0,
    difficulty: float = 0.5,
    protocol: Callable[[], ChatProtocol] | None = None,
    tools: Sequence[Tool | EpisodeTool] = IMAGE_TOOLS,
    view: ViewRule = DEFAULT_VIEW,
    max_turns: int = 6,
    reward: AnswerReward = answer_reward,
    max_sessions: int = 64,
) -> FastAPI:
    """OpenEnv's app around our environment, with tasks of a ``family`` or your own ``tasks`` in ``media``.

    Tools are shared by all sessions and must bear many threads, as all of ours do.
    """
    if (family is None) == (not tasks):
        raise UserError("give either family= or tasks= with media=, so that there is something to ask")
    by_id = TasksById(tasks, media)

    def make() -> VisualReasoningEnv:
        own = MediaStore()
        return VisualReasoningEnv(
            tasks=(lambda index: by_id.draw(index, own)) if tasks else None,
            family=family,
            split=split,
            seed=seed,
            difficulty=difficulty,
            protocol=protocol() if protocol else None,
            tools=tools,
            media=own,
            view=view,
            max_turns=max_turns,
            reward=reward,
        )

    # Mistakes in the settings stop here, not in the first session.
    make().close()
    app = create_app(
        lambda: SaccadeEnvironment(make, by_id),
        SaccadeAction,
        SaccadeObservation,
        env_name="saccade",
        max_concurrent_envs=max_sessions,
    )
    return cast(FastAPI, app)


def _chat_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """The messages with each picture as its place among the observation's."""
    count = 0
    numbered = []
    for message in messages:
        parts = []
        for part in message.parts:
            if isinstance(part, str):
                parts.append(Part(text=part))
            else:
                parts.append(Part(image=count))
                count += 1
        numbered.append(ChatMessage(role=message.role, parts=parts))
    return numbered


class SessionProtocol(WebSocketsSansIOProtocol):
    """uvicorn's, which waits for ever to tell a client that reads nothing that its session has ended."""

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self.loop.call_later(HEADERS_WITHIN_S, drop, self.transport)


def guarded(app: FastAPI, *, host: str, allow_hosts: Sequence[str] = (), token: str | None = None) -> FastAPI:
    """The app, which then refuses requests by web pages, under foreign host names, without the token, without end."""
    app.add_middleware(UploadGuard, limits=UPLOADS)
    if token is not None:
        # OpenEnv's own client sends no header of its own, and the name and password of its address.
        app.add_middleware(TokenGate, token=token, takes_passwords=True)
    app.add_middleware(OriginGuard, host=host, has_token=token is not None, allow_hosts=allow_hosts)
    return app


def serve(
    app: FastAPI,
    *,
    host: str,
    port: int,
    allow_hosts: Sequence[str] = (),
    token: str | None = None,
    is_open: bool = False,
) -> None:
    """Until SIGTERM or Ctrl-C. ``allow_hosts`` are names under which clients know this machine, beside its own.

    UserError beyond loopback without a token, unless ``is_open``: where others decide who reaches the server.
    """
    if not is_open:
        check_reach(host, token)
    uvicorn.run(
        guarded(app, host=host, allow_hosts=allow_hosts, token=token),
        host=host,
        port=port,
        http=protocol_within(HEADERS_WITHIN_S),
        log_level="warning",
        ws=SessionProtocol,
        timeout_graceful_shutdown=5,
    )
