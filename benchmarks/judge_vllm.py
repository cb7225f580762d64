"""The server of vLLM as the judge of an evaluation: one that knows its work, one of nonsense, one that is killed.

    saccade demo --out runs/demo
    python benchmarks/judge_checkpoint.py runs/judge
    SACCADE_VLLM_PYTHON=~/vllm/bin/python python benchmarks/judge_vllm.py --model runs/demo/checkpoints/rl-000030 \
        --judge runs/judge [--n 150] [--json FILE]

A policy answers drawn questions as they are and on blank pictures, so that about half of its answers are wrong, and a
file in CharXiv's layout with the same pictures. ``vllm serve`` serves the judge; ``saccade judge-agreement`` and
``saccade eval --judge`` ask it. Then a judge with random weights is served, and the first one again, killed by SIGKILL
while it is asked. Exit status 1 where a verdict is lost, made up or changed: nonsense and a dead server must be counted
as no verdict, and asking the same run again after the kill must give what the undisturbed run gave.
"""

import argparse
import base64
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path

import httpx
import pandas as pd
from judge_checkpoint import answer_prompts, chart_prompts, tiny_qwen2, tokenizer_of

from saccade.media import MediaStore, png_bytes
from saccade.tasks import generate
from saccade.types import Json

NAME = "tiny-judge"
BENCHMARK = "charxiv-reasoning"
READY_WITHIN_S = 900.0


class Server:
    """``vllm serve`` in its own environment, with its whole process group."""

    def __init__(self, checkpoint: Path, log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        python = Path(os.environ["SACCADE_VLLM_PYTHON"])
        command = [
            *(str(python.with_name("vllm")), "serve", str(checkpoint), "--served-model-name", NAME),
            *("--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--max-model-len", "4096"),
            *("--enforce-eager", "--kv-cache-memory-bytes", str(256 << 20), "--block-size", "32"),
        ]
        ours = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
        cpu = {"OMP_NUM_THREADS": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "TORCHDYNAMO_DISABLE": "1"}
        offline = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            command, stdout=self._log, stderr=subprocess.STDOUT, env={**ours, **cpu, **offline}, start_new_session=True
        )

    def wait_ready(self) -> None:
        until_s = time.monotonic() + READY_WITHIN_S
        while time.monotonic() < until_s and self._process.poll() is None:
            try:
                if httpx.get(f"{self.url}/health", timeout=5, trust_env=False).status_code == 200:
                    return
            except httpx.HTTPError:
                time.sleep(1)
        sys.exit(f"vLLM does not answer; see {self._log.name}")

    def answered(self) -> int:
        """Requests that it has finished, by its own metrics."""
        lines = httpx.get(f"{self.url}/metrics", timeout=30, trust_env=False).text.splitlines()
        return int(sum(float(one.split()[-1]) for one in lines if one.startswith("vllm:request_success_total")))

    def kill(self) -> None:
        """By SIGKILL, with its engine."""
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._log.close()


@contextmanager
def serving(checkpoint: Path, log: Path) -> Iterator[Server]:
    server = Server(checkpoint, log)
    try:
        server.wait_ready()
        yield server
    finally:
        if server._process.poll() is None:
            server.kill()


def saccade(*words: str) -> list[str]:
    return [sys.executable, "-m", "saccade", *words]


def judging(run: Path, server: Server, *further: str) -> list[str]:
    return saccade("judge-agreement", str(run), "--judge", f"{server.url}/v1", "--judge-model", NAME, *further)


def agreement(run: Path) -> dict[str, Json]:
    """What ``saccade judge-agreement`` left, by evaluation."""
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted((run / "judging").glob("*.json"))}


def verdicts(run: Path) -> dict[tuple[str, str], dict[str, Json]]:
    """Every answer's verdicts, by evaluation and question."""
    found = {}
    for path in sorted((run / "judging").glob("*.jsonl")):
        for line in path.read_text("utf-8").splitlines():
            one = json.loads(line)
            found[path.stem, one["id"]] = one
    return found


def readings(run: Path) -> dict[str, Json]:
    """The readings of CharXiv's file with the judge, by name."""
    [path] = (run / "benchmarks").glob("*.judged.json")
    return {one["reading"]: one for one in json.loads(path.read_text("utf-8"))["readings"]}


def write_charts(folder: Path, count: int) -> None:
    """Drawn questions in the columns of CharXiv's release."""
    media, rows = MediaStore(), []
    for index in range(count):
        task = generate("visual_search", split="held_out", index=index, seed=1, media=media, difficulty=0.5).task
        image = base64.b64encode(png_bytes(media.get(task.images[0]))).decode()
        row = {"index": index, "question": task.question, "answer": task.answer, "inst_category": 1 + index % 4}
        rows.append({**row, "image": image})
    folder.mkdir()
    pd.DataFrame(rows).to_csv(folder / "CharXiv_reasoning_val.tsv", sep="\t", index=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--judge", type=Path, required=True)
    parser.add_argument("--n", type=int, default=150)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--log", type=Path, default=Path("vllm_judge.log"))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        found, faults = measured(given, Path(temporary))
    head = {"command": " ".join(sys.argv), "date": date.today().isoformat(), "cpus": os.cpu_count()}
    print(json.dumps(found, indent=1))
    if given.json:
        given.json.write_text(json.dumps({**head, **found}, indent=1) + "\n", encoding="utf-8")
    sys.exit("\n".join(faults) if faults else 0)


def measured(given: argparse.Namespace, folder: Path) -> tuple[dict[str, Json], list[str]]:
    run, charts = folder / "run", folder / "charts"
    write_charts(folder / "files", given.n // 2)
    asked = ("--family", "visual_search", "-n", str(given.n), "--protocol", "tagged", "--probe", "blank", "--quiet")
    subprocess.run(saccade("eval", "--model", str(given.model), *asked, "--out", str(run)), check=True)
    found: dict[str, Json] = {}
    with serving(given.judge, given.log) as server:
        subprocess.run(judging(run, server), check=True)
        undisturbed = verdicts(run)
        found["trained"] = agreement(run)
        of_charts = ("--benchmark", BENCHMARK, "--benchmarks-dir", str(folder / "files"), "--protocol", "tagged")
        judge = ("--judge", f"{server.url}/v1", "--judge-model", NAME)
        model = ("--model", str(given.model), "--quiet", "--out", str(charts))
        subprocess.run(saccade("eval", *model, *of_charts, *judge), check=True)
        found["trained_charts"] = readings(charts)
    faults = nonsense(given, folder, run, charts, found)
    faults += killed(given, folder, run, charts, found, undisturbed)
    return found, faults


def nonsense(given: argparse.Namespace, folder: Path, run: Path, charts: Path, found: dict[str, Json]) -> list[str]:
    """A judge with random weights on a few answers: all of them must be without a verdict."""
    prompts = [prompt for prompt, _ in (*answer_prompts("right-first"), *chart_prompts())]
    tokenizer = tokenizer_of(prompts)
    for part in (tiny_qwen2(tokenizer), tokenizer):
        part.save_pretrained(folder / "random")
    copy = Path(shutil.copytree(charts, folder / "charts_random"))
    shutil.rmtree(copy / "judge-cache")
    with serving(folder / "random", given.log) as server:
        subprocess.run(judging(run, server, "-n", "3"), check=True)
        judge = ("--judge", f"{server.url}/v1", "--judge-model", NAME)
        keep_first(copy, 2)
        subprocess.run(saccade("reread", str(copy), "--benchmarks-dir", str(folder / "files"), *judge), check=True)
    found["random"], found["random_charts"] = agreement(run), readings(copy)
    said = [one for one in verdicts(run).values() if one["judge"] is not None or one["swapped"] is not None]
    faults = [f"nonsense was taken for a verdict: {one}" for one in said]
    figures = [one for one in found["random_charts"].values() if one["n"] or one["failed"]]
    return faults + [f"nonsense was taken for a figure: {one}" for one in figures]


def keep_first(run: Path, count: int) -> None:
    """Leaves the first answers of a run's evaluation alone."""
    for path in (run / "evaluations").glob("*.jsonl"):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:count]), "utf-8")


def killed(
    given: argparse.Namespace,
    folder: Path,
    run: Path,
    charts: Path,
    found: dict[str, Json],
    undisturbed: dict[tuple[str, str], dict[str, Json]],
) -> list[str]:
    """The judge is killed while both commands ask it; later it is asked again about the benchmark."""
    copy = Path(shutil.copytree(charts, folder / "charts_killed"))
    shutil.rmtree(copy / "judge-cache")
    reread = ("reread", str(copy), "--benchmarks-dir", str(folder / "files"), "--judge-model", NAME)
    with serving(given.judge, given.log) as server:
        asked = saccade(*reread, "--judge", f"{server.url}/v1")
        found["seconds_after_the_kill"] = killed_after(server, [judging(run, server), asked], given.n)
    cut = verdicts(run)
    found["killed"], found["killed_charts"] = agreement(run), readings(copy)
    with serving(given.judge, given.log) as server:
        subprocess.run(saccade(*reread, "--judge", f"{server.url}/v1"), check=True)
    found["asked_again_charts"] = readings(copy)
    faults = [
        f"{key}: {name} is {one[name]} after the kill and {undisturbed[key][name]} before"
        for key, one in cut.items()
        for name in ("judge", "swapped")
        if one[name] not in (None, undisturbed[key][name])
    ]
    if cut.keys() != undisturbed.keys():
        faults.append(f"{len(cut)} answers after the kill, {len(undisturbed)} before")
    missing = sum(one["judge"] is None or one["swapped"] is None for one in cut.values())
    if not 0 < missing < len(cut):
        faults.append(f"the kill hit {missing} of {len(cut)} answers, so it shows nothing")
    if found["asked_again_charts"] != found["trained_charts"]:
        faults.append("asked again after the kill, the benchmark's figures differ")
    return faults


def killed_after(server: Server, commands: list[list[str]], requests: int) -> float:
    """Runs commands, kills their judge after so many requests, and says how long they went on without one."""
    before = server.answered()
    processes = [subprocess.Popen(command) for command in commands]
    while server.answered() < before + requests:
        if any(process.poll() is not None for process in processes):
            sys.exit("a command ended before its judge was killed")
        time.sleep(0.2)
    server.kill()
    began = time.monotonic()
    if sum(abs(process.wait(900)) for process in processes):
        sys.exit("a command failed when its judge was killed")
    return round(time.monotonic() - began, 1)


if __name__ == "__main__":
    main()
