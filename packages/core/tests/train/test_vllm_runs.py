"""Runs whose engine is vLLM: killed in the midst of a batch, in flight, and asked by several rollout workers.

vLLM is our server on loopback; the process that is killed passes its bytes on, so that it starts in a moment.
"""

import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from copy import deepcopy
from functools import partial
from pathlib import Path

import pytest
from test_overlap import outcome, plan_of, run

from saccade.config.engine import EngineChoice
from saccade.config.fleet import FleetSettings
from saccade.engines.engine import Engine, EngineContext
from saccade.media.store import MediaStore
from saccade.models.vlm import VisionLanguageModel
from saccade.runs.progress import Progress
from saccade.testing.vllm_server import FakeVllm
from saccade.train.engine_choice import vllm_engine
from saccade.train.fleet import Fleet, PlayedShard, Shard
from saccade.train.fleet_weights import Invitation
from saccade.train.plan import Plan
from saccade.train.rollout_worker import RolloutWorker
from saccade.train.run import run_plan
from saccade.types import Json

PASSING_ON = """
import json, os, socket, sys, threading, urllib.request
fake, pids = {fake!r}, {pids!r}
if sys.argv[1] == "-c":
    print(json.dumps({{"vllm": "0.32.0", "torch": "2.13.0+cpu", "plugin": os.path.dirname(pids)}}))
    sys.exit()
with open(pids, "a") as file:
    file.write(f"{{os.getpid()}}\\n")
# A process that begins knows nothing of weights and pictures.
told = urllib.request.Request(f"http://127.0.0.1:{{fake}}/collective_rpc", data=b"null", method="POST")
urllib.request.urlopen(told).close()
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
def pass_on(one, other):
    while data := one.recv(1 << 16):
        other.sendall(data)
    other.shutdown(socket.SHUT_WR)
listening = socket.create_server(("127.0.0.1", int(sys.argv[sys.argv.index("--port") + 1])))
while True:
    asked, _ = listening.accept()
    answering = socket.create_connection(("127.0.0.1", fake))
    for pair in ((asked, answering), (answering, asked)):
        threading.Thread(target=pass_on, args=pair, daemon=True).start()
"""


@pytest.fixture
def open_servers() -> Iterator[ExitStack]:
    with ExitStack() as servers:
        yield servers


def twin_of(model: VisionLanguageModel) -> VisionLanguageModel:
    """The same model in memory of its own, as a server has it."""
    return VisionLanguageModel(
        deepcopy(model.hf), model.tokenizer, model.image_processor, model.media, observation_role=None
    )


def run_by_vllm(folder: Path, servers: ExitStack, *, die_at: int) -> Path:
    """A run of two steps; the reply of this number to a request for tokens is the process's last."""
    folder.mkdir()
    pids = folder / "pids"

    def engine(context: EngineContext) -> Engine:
        server = servers.enter_context(FakeVllm(twin_of(context.model)))
        replies: list[Json] = []

        def die(reply: dict[str, Json]) -> dict[str, Json]:
            replies.append(reply)
            if len(replies) == die_at:
                os.kill(int(pids.read_text().split()[-1]), signal.SIGKILL)
            return reply

        server.lies = die
        script, python = folder / "passing_on.py", folder / "python"
        port = int(server.url.rpartition(":")[2])
        script.write_text(PASSING_ON.format(fake=port, pids=str(pids)), encoding="utf-8")
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{script}" "$@"\n', encoding="utf-8")
        python.chmod(0o755)
        return vllm_engine(context, choice=EngineChoice(kind="vllm", python=python), logs=folder / "logs")

    out = folder / "run"
    run(out, "rl.staleness=0", "rl.steps=2", engine=engine)
    return out


def test_a_restart_of_vllm_is_in_run_json_and_costs_no_token(tmp_path: Path, open_servers: ExitStack) -> None:
    alone = run_by_vllm(tmp_path / "alone", open_servers, die_at=0)
    died = run_by_vllm(tmp_path / "died", open_servers, die_at=14)
    assert outcome(died) == outcome(alone)
    told = json.loads((died / "run.json").read_text(encoding="utf-8"))["restarts"]
    assert len(told) == 1
    assert "vLLM at http://127.0.0.1:" in told[0]
    assert "ended with status -9; another one starts" in told[0]
    assert not json.loads((alone / "run.json").read_text(encoding="utf-8")).get("restarts")
    assert len((tmp_path / "died" / "pids").read_text().split()) == 2
    for out in (alone, died):
        log = out.parent / "logs" / "vllm.log"
        assert log.read_text(encoding="utf-8").count("--- start") == (2 if out == died else 1)


def test_rollout_workers_share_a_server_to_the_bytes_of_one_process_that_asks_it(
    tmp_path: Path, open_servers: ExitStack
) -> None:
    def run_at_a_server(out: Path, workers: int) -> None:
        media = MediaStore()
        server = open_servers.enter_context(FakeVllm(twin_of(plan_of(media).build_model())))
        choice = EngineChoice(kind="vllm", urls=(server.url,))
        engine = partial(vllm_engine, choice=choice, logs=None)
        plan = plan_of(media, "rl.staleness=0", "rl.steps=2", "rl.tasks_per_step=3", engine=engine)
        # Both are asked at the same time, each for its own share.
        settings = FleetSettings(rollouts=workers)
        fleet = Fleet(settings=settings, start_worker=partial(Thread, plan, media, out), weights=out.parent / "weights")
        progress = Progress("quiet")
        run_plan(plan, out=out, media=media, seed=7, progress=progress, fleet=fleet if workers else None)
        assert len(set(server.pixels_received)) == 6

    run_at_a_server(tmp_path / "one", 0)
    run_at_a_server(tmp_path / "two", 2)
    one, two = outcome(tmp_path / "one"), outcome(tmp_path / "two")
    assert two == one


class Thread:
    """A rollout worker in a thread of its own, with the run's pictures."""

    def __init__(self, plan: Plan, media: MediaStore, out: Path, number: int) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._worker = RolloutWorker(plan, media=media, seed=7, threads=1, run=out)

    def play(self, shard: Shard) -> "Future[PlayedShard]":
        return self._pool.submit(self._worker.play, shard)

    def receive(self, invitation: Invitation) -> "Future[None]":
        raise AssertionError("servers read files")

    def leave(self) -> None:
        pass

    def end(self) -> None:
        self._pool.submit(self._worker.close).result()
