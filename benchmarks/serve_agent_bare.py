"""The least that any HTTP server adds to a rollout: a bare Starlette application, and a direct rollout beside it.

Started by ``serve_agent_load.py --floor``; the same clients ask it the same bodies. It reads a body's JSON and answers
with the transcript of the question of that seed as soon as the rollout, in a thread of the same process, has played
it. It checks nothing: no limits, tokens, metrics or traces, the pictures in the bodies are not looked at, and all
questions are known to the rollout from the start.
"""

import argparse
import asyncio
import json
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from serve_agent_load import NAME, drawn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

from saccade.engines.local import local_engine
from saccade.media import MediaStore, png_bytes
from saccade.recipes.serving import served_policy
from saccade.rollout import RolloutRequest
from saccade.rollout.batch import rollout_batch
from saccade.services.http.listening import listening, new_event_loop
from saccade.serving.replies import transcript
from saccade.types import Trajectory


class BareAgent:
    """The application, and the rollout that its answers come from."""

    def __init__(self, checkpoint: Path, count: int, rows: int) -> None:
        self._policy = served_policy(
            checkpoint, local_engine, temperature=1.0, overrides=[f"model.engine.max_rows={rows}"]
        )
        drawing = MediaStore()
        self._tasks = drawn(count, drawing)
        self._files = [png_bytes(drawing.get(task.images[0])) for task in self._tasks]
        self._loop = new_event_loop()
        self._texts = [self._loop.create_future() for _ in self._tasks]
        self._asked = threading.Event()

    def serve(self) -> None:
        """Until SIGTERM."""
        routes = [Route("/v1/chat/completions", self._complete, methods=["POST"]), Route("/health", self._health)]
        config = uvicorn.Config(Starlette(routes=routes), log_config=None, access_log=False, ws="none", lifespan="off")
        threading.Thread(target=self._play, daemon=True).start()
        with listening("127.0.0.1", 0) as bound, asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            print(json.dumps({"message": "serving", "port": bound.getsockname()[1]}), file=sys.stderr, flush=True)
            runner.run(uvicorn.Server(config).serve(sockets=[bound]))

    def _play(self) -> None:
        self._asked.wait()
        policy, spec, model = self._policy, self._policy.episodes, self._policy.model
        for task, file in zip(self._tasks, self._files, strict=True):
            policy.media.add_encoded(file, task.id)
        rollout_batch(
            [RolloutRequest(task=task, stream="d", sample=0, seed=at) for at, task in enumerate(self._tasks)],
            engine=policy.agent.engine,
            chat=model.chat,
            make_env=lambda: spec.environment(policy.media, model.view),
            settings=spec.rollout,
            on_finished=self._answer,
        )

    def _answer(self, played: Trajectory) -> None:
        text = self._texts[played.seed]
        self._loop.call_soon_threadsafe(text.set_result, transcript(played.turns))

    async def _health(self, _: Request) -> Response:
        return PlainTextResponse("ok")

    async def _complete(self, request: Request) -> Response:
        body = json.loads(await request.body())
        self._asked.set()
        text = await self._texts[body["seed"]]
        if body["stream"]:
            return StreamingResponse(_events(text), media_type="text/event-stream")
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return JSONResponse({"object": "chat.completion", "model": NAME, "choices": [choice]})


async def _events(text: str) -> AsyncIterator[bytes]:
    choice = {"index": 0, "delta": {"content": f"{text}\n"}}
    yield b"data: " + json.dumps({"object": "chat.completion.chunk", "choices": [choice]}).encode() + b"\n\n"
    yield b"data: [DONE]\n\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--checkpoint", type=Path, required=True)
    parser.add_argument("--questions", type=int, required=True)
    parser.add_argument("--rows", type=int, required=True)
    given = parser.parse_args()
    BareAgent(given.checkpoint, given.questions, given.rows).serve()
