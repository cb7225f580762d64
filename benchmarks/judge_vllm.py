"""The server of vLLM as the judge of an evaluation: one that knows its work, one of nonsense, one that is killed.

    saccade demo --out runs/demo
    python benchmarks/judge_checkpoint.py runs/judge
    SACCADE_VLLM_PYTHON=~/vllm/bin/python python benchmarks/judge_vllm.py --model runs/demo/checkpoints/rl-000030 \
        --judge runs/judge [--n 150] [--json FILE]

A policy answers drawn questions as they are and on blank pictures, so that about half of its answers are wrong, and a
file in CharXiv's layout with the same pictures. vLLM's own server serves the judge; ``saccade judge-agreement`` and
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

from saccade.engines.vllm.environment import find_environment
from saccade.media import MediaStore, png_bytes
from saccade.tasks import generate
from saccade.types import Json

NAME = "tiny-judge"
BENCHMARK = "charxiv-reasoning"
READY_WITHIN_S = 900.0


class Server:
    """vLLM's own server in its own environment, with its whole process group."""

    def __init__(self, checkpoint: Path, log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        # Its variables keep a torchvision that does not fit vLLM's torch out of the way.
        environment = find_environment(None)
        command = [
            # What `vllm serve` starts; the command itself asks for a package named vllm, which the CPU build is not.
            *(str(environment.python), "-m", "vllm.entrypoints.openai.api_server", "--model", str(checkpoint)),
            *("--served-model-name", NAME),
            *("--host", "127.0.0.1", "--port", str(port), "--dtype", "float32", "--max-model-len", "4096"),
            *("--enforce-eager", "--kv-cache-memory-bytes", str(256 << 20), "--block-size", "32"),
        ]
        self._log = log.open("ab")
        self._process = subprocess.Popen(
            command,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env=environment.variables(threads=1),
            start_new_session=True,
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


def judge_at(server: Server) -> list[str]:
    return ["--judge", f"{server.url}/v1", "--judge-model", NAME]


def judging(run: Path, server: Server, *further: str) -> list[str]:
    return saccade("judge-agreement", str(run), *judge_at(server), *further)


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
    run, charts, files = folder / "run", folder / "charts", str(folder / "files")
    write_charts(folder / "files", given.n // 2)
    played = ("--model", str(given.model), "--protocol", "tagged", "--quiet")
    asked = ("--family", "visual_search", "-n", str(given.n), "--probe", "blank", "--out", str(run))
    subprocess.run(saccade("eval", *played, *asked), check=True)
    found: dict[str, Json] = {}
    with serving(given.judge, given.log) as server:
        began = time.monotonic()
        subprocess.run(judging(run, server), check=True)
        found["seconds_of_judge_agreement"] = round(time.monotonic() - began, 1)
        undisturbed = verdicts(run)
        tell(found, "trained", agreement(run))
        of_charts = ("--benchmark", BENCHMARK, "--benchmarks-dir", files, "--out", str(charts))
        subprocess.run(saccade("eval", *played, *of_charts, *judge_at(server)), check=True)
        tell(found, "trained_charts", readings(charts))
        copies = [Path(shutil.copytree(run, folder / name)) for name in ("run_killed", "run_random")]
        copies += [Path(shutil.copytree(charts, folder / name)) for name in ("charts_killed", "charts_random")]
        for copy in copies[2:]:
            shutil.rmtree(copy / "judge-cache")
        reread = saccade("reread", str(copies[2]), "--benchmarks-dir", files)
        asking = [judging(copies[0], server), [*reread, *judge_at(server)]]
        going_on = killed_under(server, asking, given.n)
    killed_at = time.monotonic()
    # Commands without a judge wait for it between their tries, so there is time for another one.
    faults = nonsense(given, folder, copies[1], copies[3], found)
    if sum(abs(process.wait(900)) for process in going_on):
        faults.append("a command failed when its judge was killed")
    found["seconds_after_the_kill_at_most"] = round(time.monotonic() - killed_at, 1)
    tell(found, "killed", agreement(copies[0]))
    tell(found, "killed_charts", readings(copies[2]))
    faults += faults_of_the_kill(verdicts(copies[0]), undisturbed)
    with serving(given.judge, given.log) as server:
        subprocess.run([*reread, *judge_at(server)], check=True)
    tell(found, "asked_again_charts", readings(copies[2]))
    if found["asked_again_charts"] != found["trained_charts"]:
        faults.append("asked again after the kill, the benchmark's figures differ")
    return found, faults


def tell(found: dict[str, Json], name: str, part: Json) -> None:
    """Keeps a part and shows it at once."""
    found[name] = part
    print(json.dumps({name: part}), flush=True)


def nonsense(given: argparse.Namespace, folder: Path, run: Path, charts: Path, found: dict[str, Json]) -> list[str]:
    """A judge with random weights on a few answers: all of them must be without a verdict."""
    tokenizer = tokenizer_of([prompt for prompt, _ in (*answer_prompts("right-first"), *chart_prompts())])
    for part in (tiny_qwen2(tokenizer), tokenizer):
        part.save_pretrained(folder / "random")
    keep_first(charts, 2)
    with serving(folder / "random", given.log) as server:
        subprocess.run(judging(run, server, "-n", "3"), check=True)
        reread = saccade("reread", str(charts), "--benchmarks-dir", str(folder / "files"))
        subprocess.run([*reread, *judge_at(server)], check=True)
    tell(found, "random", agreement(run))
    tell(found, "random_charts", readings(charts))
    said = [one for one in verdicts(run).values() if one["judge"] is not None or one["swapped"] is not None]
    figures = [one for one in found["random_charts"].values() if one["n"] or one["failed"]]
    return [f"nonsense was taken for a verdict: {one}" for one in (*said, *figures)]


def keep_first(run: Path, count: int) -> None:
    """Leaves the first answers of a run's evaluation alone."""
    for path in (run / "evaluations").glob("*.jsonl"):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:count]), "utf-8")


def killed_under(server: Server, commands: list[list[str]], requests: int) -> list[subprocess.Popen[bytes]]:
    """Starts commands and kills their judge after so many requests; they go on without one."""
    before = server.answered()
    processes = [subprocess.Popen(command) for command in commands]
    while server.answered() < before + requests:
        if any(process.poll() is not None for process in processes):
            sys.exit("a command ended before its judge was killed")
        time.sleep(0.1)
    server.kill()
    return processes


def faults_of_the_kill(
    cut: dict[tuple[str, str], dict[str, Json]], undisturbed: dict[tuple[str, str], dict[str, Json]]
) -> list[str]:
    """An answer that is gone, or a verdict that is neither missing nor the one without the kill."""
    faults = [
        f"{key}: {name} is {one[name]} after the kill and {undisturbed[key][name]} without"
        for key, one in cut.items()
        for name in ("judge", "swapped")
        if one[name] not in (None, undisturbed[key][name])
    ]
    if cut.keys() != undisturbed.keys():
        faults.append(f"{len(cut)} answers after the kill, {len(undisturbed)} without")
    missing = sum(one["judge"] is None or one["swapped"] is None for one in cut.values())
    if not 0 < missing < len(cut):
        faults.append(f"the kill hit {missing} of {len(cut)} answers, so it shows nothing")
    return faults


if __name__ == "__main__":
    main()
