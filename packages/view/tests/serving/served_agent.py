"""A served agent in this process whose policy is a script: it looks once, then answers with what it was asked."""

import asyncio
import base64
import io
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass

import httpx2
from PIL import Image

from saccade.envs.visual_reasoning import DEFAULT_VIEW
from saccade.errors import ToolError
from saccade.media.store import MediaStore
from saccade.protocols import tagged_protocol
from saccade.rollout import EpisodeSpec, RolloutSettings
from saccade.services.http.listening import listening, new_event_loop
from saccade.serving import AgentServerSettings, EngineAgent
from saccade.serving.episodes import EpisodesOfRequests
from saccade.serving.server import AgentServer
from saccade.testing.scripted import ScriptedEngine, letter_chat
from saccade.tools.images import crop
from saccade.tools.tool import tool_from

TOKENS = ("<|im_start|>", "<|im_end|>", "<|image_pad|>", "<tool_call>", "</tool_call>")
CALL = '<think>closer</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [0, 0, 500, 500]}}</tool_call>'


def look_then_tell(label: str, turn: int) -> str:
    """The answer names the question, so that a reply that reaches the wrong client is seen."""
    return CALL if turn == 0 else f"<think>clear</think><answer>{label.split('/')[0]}</answer>"


@dataclass
class Gate:
    """A tool that waits until the test lets it go."""

    opened: threading.Event
    entered: threading.Semaphore

    def wait(self, seconds: float) -> str:
        """Waits.

        Args:
            seconds: At most so long.
        """
        self.entered.release()
        if not self.opened.wait(min(seconds, 60.0)):
            raise ToolError("nobody came")
        return "done"


@dataclass
class Served:
    """An agent that is served, and its parts."""

    url: str
    engine: ScriptedEngine
    media: MediaStore
    gate: Gate
    episodes: EpisodesOfRequests

    def ask(self, content: object, *, timeout: float = 60, **fields: object) -> httpx2.Response:
        body = {"model": "demo", "messages": [{"role": "user", "content": content}], **fields}
        return httpx2.post(f"{self.url}/v1/chat/completions", json=body, timeout=timeout)

    def get(self, path: str) -> httpx2.Response:
        return httpx2.get(self.url + path, timeout=60)

    def until(self, is_so: Callable[[], bool], within_s: float = 180.0) -> None:
        """Waits for something that happens in another thread."""
        end = time.monotonic() + within_s
        while not is_so():
            assert time.monotonic() < end, "it never happened"
            time.sleep(0.01)


def picture(number: int = 1, size: tuple[int, int] = (64, 48), kind: str = "PNG") -> str:
    """A data URL of picture ``number``."""
    buffer = io.BytesIO()
    Image.new("RGB", size, (number % 256, 90, number // 256)).save(buffer, kind)
    return f"data:image/{kind.lower()};base64," + base64.b64encode(buffer.getvalue()).decode()


def shown(url: str) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": url}}


def said(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


@contextmanager
def serving(script=look_then_tell, *, token=None, max_tokens=4096, fetcher=None, **settings):
    chat = letter_chat(DEFAULT_VIEW)
    engine = ScriptedEngine(script=script, chat=chat)
    gate = Gate(threading.Event(), threading.Semaphore(0))
    spec = EpisodeSpec(
        protocol=tagged_protocol(style="brief"),
        tools=(tool_from(crop), tool_from(gate.wait, deadline_s=120.0)),
        rollout=RolloutSettings(max_tokens=max_tokens, max_turn_tokens=512, machine_retries=0),
        max_turns=3,
    )
    media = MediaStore()
    agent = EngineAgent(engine, spec, chat=chat, view=DEFAULT_VIEW, special_tokens=TOKENS)
    with listening("127.0.0.1", 0) as listener:
        made = AgentServer(
            agent,
            AgentServerSettings(name="demo", port=0, **settings),
            media=media,
            tool_names=frozenset({"crop", "wait"}),
            token=token,
            fetcher=fetcher,
        )

        def run() -> None:
            with asyncio.Runner(loop_factory=new_event_loop) as runner:
                runner.run(made.run(listener))

        thread = threading.Thread(target=run)
        thread.start()
        one = Served(f"http://127.0.0.1:{listener.getsockname()[1]}", engine, media, gate, made.episodes)
        try:
            one.until(lambda: made.has_started)
            yield one
        finally:
            gate.opened.set()
            made.stop()
            thread.join()
