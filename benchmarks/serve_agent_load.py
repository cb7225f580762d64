"""A served agent under load: 64 clients, each reply checked, and the processor time beside a direct rollout's.

    python benchmarks/serve_agent_load.py --checkpoint runs/demo/checkpoints/rl-000030 --seconds 600

Clients are threads of another process, each on its own connection, which ask questions of ``visual_search`` in their
own order by seeds of their own, sampled at temperature 1, every fourth as a stream. A reply is the whole transcript and
must be that of the same question by the same seed in a direct rollout, for an episode has the same tokens in any
company; one of another question would be seen. The direct rollout plays the same questions by the same seeds at the
same engine in a process of its own, with as many rows and threads, before the load and after it. Compared is
processor time of the processes for each episode (wall time is shared with the clients). There are fewer rows than
clients, so that somebody always waits for a row and the batches stay full.

Like is compared with like by ``--once``: each question is asked once, so that every picture is new to the server, and
the direct rollout, too, reads each from its PNG and sees none a second time. ``--turns 3`` does so three times by
turns. Without ``--once`` the questions come again and again, and what the server knows of them by then helps it; give
``--repeats 4`` for four clients with the same question at a time.

``--floor`` (with ``--once``) also measures the least that any server would add: a bare Starlette application that
answers the same bodies from a direct rollout in its own process (``serve_agent_bare.py``), by the same clients.

The demo's model has a quarter of a million parameters, and an episode of it costs little more than a request over HTTP.
``--millions 50`` widens its multilayer perceptrons to so many parameters by units that add exactly nothing: the same
replies, at the cost of a model of that size.
"""

import argparse
import base64
import itertools
import json
import os
import platform
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import psutil
import torch
from safetensors.torch import load_file, save_file

from saccade.engines.local import local_engine
from saccade.media import MediaStore, png_bytes
from saccade.recipes.serving import served_policy
from saccade.rollout import RolloutRequest
from saccade.rollout.batch import rollout_batch
from saccade.serving.replies import transcript
from saccade.tasks import generate

NAME = "demo"


def drawn(count: int, media: MediaStore) -> list:
    return [
        generate("visual_search", split="train", index=index, seed=0, media=media, difficulty=0.5).task
        for index in range(count)
    ]


def direct(checkpoint: Path, count: int, rows: int, rounds: int) -> None:
    """Prints the answers, and the processor time of each episode, for the process that compares."""
    policy = served_policy(checkpoint, local_engine, temperature=1.0, overrides=[f"model.engine.max_rows={rows}"])
    drawing = MediaStore()
    tasks = drawn(count, drawing)
    files = [png_bytes(drawing.get(task.images[0])) for task in tasks]
    del drawing
    spec, model = policy.episodes, policy.model
    pictures, played = [], []
    for _ in range(rounds):
        policy.agent.engine.reset()
        before = time.process_time()
        with policy.media.temporary():
            for task, file in zip(tasks, files, strict=True):
                assert policy.media.add_encoded(file, task.id).hash == task.images[0].hash
            pictures.append((time.process_time() - before) / count)
            trajectories = rollout_batch(
                [RolloutRequest(task=task, stream="d", sample=0, seed=at) for at, task in enumerate(tasks)],
                engine=policy.agent.engine,
                chat=model.chat,
                make_env=lambda: spec.environment(policy.media, model.view),
                settings=spec.rollout,
            )
        played.append((time.process_time() - before) / count)
    answers = [transcript(one.turns) for one in trajectories]
    work = policy.agent.engine.work
    filled = work.tokens_sampled / work.decode_steps
    print(json.dumps({"answers": answers, "cpu_s": played, "of_it_pictures_s": pictures, "rows_per_step": filled}))


def widened(checkpoint: Path, millions: float, folder: Path) -> Path:
    """The checkpoint with units in its perceptrons whose way out is zero, until it has so many parameters."""
    copy = Path(shutil.copytree(checkpoint, folder / "widened", ignore=shutil.ignore_patterns("trainer")))
    config = json.loads((copy / "config.json").read_text(encoding="utf-8"))
    text = config["text_config"]
    hidden, layers, old = text["hidden_size"], text["num_hidden_layers"], text["intermediate_size"]
    wide = text["intermediate_size"] = int(millions * 1e6 / (3 * hidden * layers)) // 64 * 64
    weights = load_file(copy / "model.safetensors")
    drawn = torch.Generator().manual_seed(0)
    for name, weight in weights.items():
        if "language_model" in name and name.endswith(("gate_proj.weight", "up_proj.weight")):
            weights[name] = torch.cat([weight, 0.1 * torch.randn(wide - old, hidden, generator=drawn)])
        elif "language_model" in name and name.endswith("down_proj.weight"):
            weights[name] = torch.cat([weight, torch.zeros(hidden, wide - old)], dim=1)
    save_file(weights, copy / "model.safetensors", metadata={"format": "pt"})
    (copy / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return copy


class Clients:
    """What all clients have found."""

    def __init__(self, url: str, bodies: list[dict], answers: list[str], repeats: int) -> None:
        self.url = url
        self.repeats = repeats
        self.bodies = bodies
        self.answers = answers
        self.replies = 0
        self.wrong: list[dict] = []
        self.seconds: list[float] = []
        self.numbers = itertools.count()
        self.lock = threading.Lock()

    def work(self, until: float, episodes: int) -> None:
        with httpx.Client(timeout=120) as http:
            while time.monotonic() < until:
                number = next(self.numbers)
                if number >= episodes:
                    return
                at = number // self.repeats % len(self.bodies)
                began = time.monotonic()
                try:
                    said = self.ask(http, at, streams=number % 4 == 0)
                except Exception as error:
                    said = f"{type(error).__name__}: {error}"
                with self.lock:
                    self.replies += 1
                    self.seconds.append(time.monotonic() - began)
                    if said != self.answers[at]:
                        self.wrong.append({"question": at, "said": said, "expected": self.answers[at]})

    def ask(self, http: httpx.Client, at: int, *, streams: bool) -> str:
        body = {**self.bodies[at], "stream": streams}
        if not streams:
            reply = http.post(self.url, json=body)
            reply.raise_for_status()
            return reply.json()["choices"][0]["message"]["content"]
        text = ""
        with http.stream("POST", self.url, json=body) as reply:
            reply.raise_for_status()
            for line in reply.iter_lines():
                if line.startswith("data: {"):
                    for choice in json.loads(line[6:]).get("choices", []):
                        text += choice["delta"].get("content") or ""
        return text.removesuffix("\n")


def load(port: int, answers_file: Path, count: int, clients: int, seconds: float, episodes: int, repeats: int) -> None:
    """Prints what the clients have found."""
    media = MediaStore()
    bodies = []
    for at, task in enumerate(drawn(count, media)):
        url = "data:image/png;base64," + base64.b64encode(png_bytes(media.get(task.images[0]))).decode()
        content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": task.question}]
        bodies.append({"model": NAME, "messages": [{"role": "user", "content": content}], "seed": at})
    answers = json.loads(answers_file.read_text())
    found = Clients(f"http://127.0.0.1:{port}/v1/chat/completions", bodies, answers, repeats)
    until = time.monotonic() + seconds
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(lambda _: found.work(until, episodes), range(clients)))
    if len(found.seconds) < 2:
        sys.exit(f"{len(found.seconds)} replies in {seconds:g} s; give more --seconds on a machine that is so busy")
    p50, p95 = (statistics.quantiles(found.seconds, n=20)[place] for place in (9, 18))
    seen = {
        "replies": found.replies,
        "wrong": len(found.wrong),
        "examples": found.wrong[:5],
        "p50_s": p50,
        "p95_s": p95,
    }
    print(json.dumps(seen))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--episodes", type=int, default=1 << 40, help="Stop after so many.")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rows", type=int, default=32, help="Rows of the engine, served and directly.")
    parser.add_argument("--questions", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3, help="Of the direct rollout, each time that it is played.")
    parser.add_argument("--once", action="store_true", help="Each question once; --seconds is a limit then.")
    parser.add_argument("--floor", action="store_true", help="With --once: a bare application beside a rollout, too.")
    parser.add_argument("--repeats", type=int, default=1, help="Requests in a row that ask the same question.")
    parser.add_argument("--turns", type=int, default=1, help="Direct and served rollouts, by turns.")
    parser.add_argument("--millions", type=float, help="Parameters of the model, widened without effect.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--part", choices=["direct", "load"], help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--answers", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.part == "direct":
        direct(given.checkpoint, given.questions, given.rows, given.rounds)
    elif given.part == "load":
        load(given.port, given.answers, given.questions, given.clients, given.seconds, given.episodes, given.repeats)
    else:
        if given.floor and not given.once:
            parser.error("--floor plays each question once; give --once too")
        if given.once:
            given.episodes, given.repeats = given.questions, 1
        with tempfile.TemporaryDirectory() as folder:
            if given.millions is not None:
                given.checkpoint = widened(given.checkpoint, given.millions, Path(folder))
            compare(given)


ALIKE = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OMP_WAIT_POLICY": "passive"}
"""What a process of the server sets for itself."""


def played_directly(given: argparse.Namespace) -> dict:
    """What a process of its own prints that plays the questions without a server."""
    sizes = ["--questions", str(given.questions), "--rows", str(given.rows), "--rounds", str(given.rounds)]
    command = [sys.executable, __file__, "--part", "direct", "--checkpoint", str(given.checkpoint), *sizes]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, env=ALIKE).stdout)


def compare(given: argparse.Namespace) -> None:
    alone = [played_directly(given)]
    served: list[dict] = []
    bare: list[dict] = []
    for _ in range(given.turns):
        served.append(played_served(given, alone[0]["answers"]))
        if given.floor:
            bare.append(played_bare(given, alone[0]["answers"]))
        alone.append(played_directly(given))
    direct_s = statistics.median([second for one in alone for second in one["cpu_s"]])
    # A server plays each question once, and so with nothing warm, as the first round of a direct rollout does.
    first_s = statistics.median([one["cpu_s"][0] for one in alone])
    replies = sum(one["replies"] for one in served)
    served_s = sum(one["cpu_s"] for one in served) / replies
    result = {
        "clients": given.clients,
        "widened_to_millions": given.millions,
        "questions": given.questions,
        "each_once": given.once,
        "wall_s": [round(one["wall_s"], 1) for one in served],
        "replies": replies,
        "wrong": sum(one["wrong"] for one in served),
        "examples_of_wrong": [example for one in served for example in one["examples"]][:5],
        "reply_p50_s": [round(one["p50_s"], 3) for one in served],
        "reply_p95_s": [round(one["p95_s"], 3) for one in served],
        "rows": given.rows,
        "direct_cpu_ms_per_episode": [[round(1000 * second, 3) for second in one["cpu_s"]] for one in alone],
        "of_it_reading_pictures": [[round(1000 * second, 3) for second in one["of_it_pictures_s"]] for one in alone],
        "served_cpu_ms_per_episode": [round(1000 * one["cpu_s"] / one["replies"], 3) for one in served],
        "of_these": [one["threads"] for one in served],
        **(beside_the_floor(bare, first_s, served_s) if bare else {}),
        "overhead_ms": round(1000 * (served_s - direct_s), 3),
        "overhead": round(served_s / direct_s - 1, 4),
        "overhead_over_first_round": round(served_s / first_s - 1, 4),
        "direct_rows_per_step": round(alone[0]["rows_per_step"], 1),
        "rows_per_step": [round(one["rows_per_step"], 1) for one in served],
        "rss_mib": [one["rss_mib"] for one in served],
        "left": served[-1]["left"],
        "machine": {"cpu": platform.processor() or platform.machine(), "cores": os.cpu_count()},
    }
    print(json.dumps(result, indent=2))
    if given.json:
        given.json.write_text(json.dumps(result, indent=2) + "\n")
    if any(one["answers"] != alone[0]["answers"] for one in alone):
        sys.exit("the direct rollouts differ")
    if result["wrong"]:
        sys.exit("some replies were lost or mixed")


def beside_the_floor(bare: list[dict], first_s: float, served_s: float) -> dict:
    floor_s = sum(one["cpu_s"] for one in bare) / sum(one["replies"] for one in bare)
    return {
        "bare_cpu_ms_per_episode": [round(1000 * one["cpu_s"] / one["replies"], 3) for one in bare],
        "http_thread_of_the_bare": [one["threads"]["http_thread"] for one in bare],
        "wrong_of_the_bare": sum(one["wrong"] for one in bare),
        "floor_over_first_round": round(floor_s / first_s - 1, 4),
        "overhead_over_bare": round(served_s / floor_s - 1, 4),
    }


def played_served(given: argparse.Namespace, expected: list[str]) -> dict:
    """What clients find at the served agent, and what that took."""
    limits = ["--set", f"model.engine.max_rows={given.rows}"]
    how = ["--port", "0", "--temperature", "1", "--reply", "transcript", *limits]
    command = [sys.executable, "-m", "saccade", "serve-agent", "--model", str(given.checkpoint), "--name", NAME, *how]
    names = ("agent_open_trajectories", "agent_traces", "agent_pictures")

    def counted(port: int) -> dict:
        meters = metrics(port)
        filled = meters["agent_engine_tokens_sampled"] / meters["agent_engine_decode_steps"]
        return {"rows_per_step": filled, "left": {name: meters[name] for name in names}}

    return asked_of(command, given, expected, counted)


def played_bare(given: argparse.Namespace, expected: list[str]) -> dict:
    """The same of a bare application beside a direct rollout."""
    bare = str(Path(__file__).with_name("serve_agent_bare.py"))
    sizes = ["--questions", str(given.questions), "--rows", str(given.rows)]
    command = [sys.executable, bare, "--checkpoint", str(given.checkpoint), *sizes]
    return asked_of(command, given, expected, lambda _: {})


def asked_of(
    command: list[str], given: argparse.Namespace, expected: list[str], counted: Callable[[int], dict]
) -> dict:
    """What clients find at the server that a command starts, and what that took."""
    answers = Path(os.environ.get("TMPDIR", "/tmp")) / f"answers-{os.getpid()}.json"
    answers.write_text(json.dumps(expected))
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=ALIKE)
    try:
        port = next(
            entry["port"]
            for line in server.stderr
            if line.startswith("{") and (entry := json.loads(line))["message"] == "serving"
        )
        threading.Thread(target=lambda: list(server.stderr), daemon=True).start()
        httpx.get(f"http://127.0.0.1:{port}/health", timeout=120).raise_for_status()
        process = psutil.Process(server.pid)
        memory: list[float] = []
        before, threads = process.cpu_times(), thread_seconds(process)
        began = time.monotonic()
        asking = subprocess.Popen(
            [
                *[sys.executable, __file__, "--part", "load", "--port", str(port), "--answers", str(answers)],
                *["--questions", str(given.questions), "--clients", str(given.clients)],
                *["--seconds", str(given.seconds), "--episodes", str(given.episodes)],
                *["--repeats", str(given.repeats)],
            ],
            stdout=subprocess.PIPE,
        )
        while asking.poll() is None:
            memory.append(process.memory_info().rss / 2**20)
            time.sleep(1)
        if asking.returncode:
            sys.exit("the clients ended by an error")
        found = json.loads(asking.stdout.read())
        wall_s = time.monotonic() - began
        after = process.cpu_times()
        spent = [seconds - threads.get(ident, 0.0) for ident, seconds in thread_seconds(process).items()]
        told = counted(port)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(120)
        answers.unlink()
    front, engine, *others = [spent[0], *sorted(spent[1:], reverse=True)]
    parts = {"engine_thread": engine, "http_thread": front, "tools_and_pictures": sum(others)}
    return {
        **found,
        "wall_s": wall_s,
        "cpu_s": after.user + after.system - before.user - before.system,
        "threads": {name: round(1000 * seconds / found["replies"], 3) for name, seconds in parts.items()},
        "rss_mib": [round(memory[int(place * (len(memory) - 1))]) for place in (0, 0.25, 0.5, 0.75, 1)],
        **told,
    }


def thread_seconds(process: psutil.Process) -> dict[int, float]:
    """Processor seconds of each thread, the first one, which serves HTTP, first."""
    return {one.id: one.user_time + one.system_time for one in sorted(process.threads(), key=lambda one: one.id)}


def metrics(port: int) -> dict[str, float]:
    lines = httpx.get(f"http://127.0.0.1:{port}/metrics", timeout=60).text.splitlines()
    return {line.split()[0]: float(line.split()[1]) for line in lines if line and not line.startswith("#")}


if __name__ == "__main__":
    main()
