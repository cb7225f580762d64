"""Whether an evaluation that is killed again and again, or whose server fails, ends with the bytes of a calm one.

    python benchmarks/evaluation_survival.py [--kills 20] [--questions 300] [--json FILE]
    python benchmarks/evaluation_survival.py --checkpoint runs/demo/checkpoints/rl-000030

A server on loopback is the model: it looks with a tool at some questions and answers by a hash of what it is asked. The
command `saccade eval --server` is run three times on the same questions: left alone; killed with kill -9 of its process
group at random moments and resumed after each; and with a server that answers a tenth of the requests by 429, 500, half
a body, nonsense or nothing. Samples, trajectories and pictures must be the same bytes. Exit status 1 when they are not.
With `--checkpoint` the model is one, sampled at temperature 1 two questions at a time, left alone and killed.
"""

import argparse
import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from datetime import date
from pathlib import Path
from typing import NoReturn

from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply
from saccade.types import Json

REPLY_S = 0.05
TIMEOUT_S = 3.0
LOOK = (
    '<think>look</think><tool_call>{"name": "crop", "arguments": {"bbox_2d": [4, 4, 40, 40], "image": 1}}</tool_call>'
)
FAULTS = ("429", "500", "half a body", "nonsense", "nothing")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--questions", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0, help="Chooses the moments.")
    parser.add_argument("--checkpoint", type=Path, help="A checkpoint instead of servers.")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    chooser = random.Random(arguments.seed)
    if arguments.checkpoint is not None:
        finish_with(of_a_checkpoint(arguments, chooser), arguments)
    with tempfile.TemporaryDirectory() as temporary, ChatServer(model) as server:
        folder = Path(temporary)
        calm = folder / "calm"
        finish(calm, at_server(server.url), arguments.questions, resume=False)
        asked = len(server.received)
        killed = folder / "killed"
        kills = killed_again_and_again(killed, at_server(server.url), arguments.questions, arguments.kills, chooser)
        asked_killed = len(server.received) - asked
        faulty = Faulty()
        with ChatServer(faulty) as failing:
            disturbed = folder / "disturbed"
            finish(disturbed, at_server(failing.url), arguments.questions, resume=False)
        told: dict[str, Json] = {
            "questions": arguments.questions,
            "kills": kills,
            **repeated(killed, arguments.questions),
            "requests_calm": asked,
            "requests_killed": asked_killed,
            "same_bytes_after_kills": content(calm) == content(killed),
            "requests_failed_by_server": dict(faulty.faults),
            "requests_to_failing_server": len(failing.received),
            "same_scores_with_failing_server": scores(calm) == scores(disturbed),
            "failed_samples": sum(json.loads(line)["status"] == "failed" for line in sample_lines(disturbed)),
        }
    finish_with(told, arguments)


def of_a_checkpoint(arguments: argparse.Namespace, chooser: random.Random) -> dict[str, Json]:
    family = ["--family", "visual_search", "--protocol", "tagged", "--tools", "crop", "--temperature", "1"]
    model = ["--model", str(arguments.checkpoint), *family, "--set", "model.engine.max_rows=2"]
    with tempfile.TemporaryDirectory() as temporary:
        calm, killed = Path(temporary, "calm"), Path(temporary, "killed")
        finish(calm, model, arguments.questions, resume=False)
        kills = killed_again_and_again(killed, model, arguments.questions, arguments.kills, chooser)
        return {
            "questions": arguments.questions,
            "kills": kills,
            **repeated(killed, arguments.questions),
            "same_bytes_after_kills": content(calm) == content(killed),
        }


def repeated(killed: Path, questions: int) -> dict[str, Json]:
    """Samples that the journal has twice, and those that it lacks."""
    lines = [json.loads(line)["key"] for line in (killed / "journal" / "tagged.jsonl").read_bytes().splitlines()]
    return {"played_twice": len(lines) - len(set(lines)), "lost": questions - len(set(lines))}


def finish_with(told: dict[str, Json], arguments: argparse.Namespace) -> NoReturn:
    """Says it, keeps it, and ends with its status."""
    print(json.dumps(told, indent=1))
    if arguments.json:
        head = {"command": " ".join(sys.argv), "date": date.today().isoformat(), "cpus": os.cpu_count()}
        arguments.json.write_text(json.dumps({**head, **told}, indent=1) + "\n", encoding="utf-8")
    is_fine = told["same_bytes_after_kills"] and told.get("same_scores_with_failing_server", True)
    sys.exit(0 if is_fine and not told["played_twice"] and not told["lost"] else 1)


def model(received: Received) -> Served:
    """A function of the conversation alone: looks at some pictures first, then answers a small number."""
    asked = json.dumps(received.body["messages"], sort_keys=True)
    number = int(hashlib.sha256(asked.encode()).hexdigest()[:8], 16)
    messages = received.body["messages"]
    has_looked = isinstance(messages, list) and any("look</think>" in json.dumps(one) for one in messages)
    text = LOOK if number % 2 and not has_looked else f"<think>count</think><answer>{number % 7}</answer>"
    served = chat_reply(text, prompt_tokens=len(asked) // 400, completion_tokens=len(text) // 4)
    return Served(body=served.body, after_s=REPLY_S)


class Faulty:
    """The same model, but a tenth of the requests, chosen by their number, get something else."""

    def __init__(self) -> None:
        self.faults: Counter[str] = Counter()
        self._chooser = random.Random(5)
        self._lock = threading.Lock()

    def __call__(self, received: Received) -> Served:
        with self._lock:
            fault = self._chooser.choice(FAULTS) if self._chooser.random() < 0.1 else None
            if fault is not None:
                self.faults[fault] += 1
        good = model(received)
        match fault:
            case "429":
                return Served(body="slow down", status=429, headers={"Retry-After": "1"})
            case "500":
                return Served(body="<html>oops</html>", status=500)
            case "half a body":
                return Served(body=good.body, cut_to=len(good.body) // 2)
            case "nonsense":
                return Served(body='{"choices": [{"message": {"content": 7}}]}')
            case "nothing":
                return Served(body="", after_s=TIMEOUT_S + 1)
            case _:
                return good


def at_server(url: str) -> list[str]:
    """Options of the command that ask the model of this server."""
    family = ["--family", "counting", "--protocol", "tagged", "--tools", "crop"]
    return ["--server", url, "--server-model", "stub", *family, "--set", f"server.timeout_s={TIMEOUT_S}"]


def started(out: Path, model: list[str], questions: int, *, resume: bool) -> "subprocess.Popen[bytes]":
    command = [
        *(sys.executable, "-m", "saccade", "eval", *model, "-n", str(questions), "--quiet"),
        *("--out", str(out), *(["--resume"] if resume else [])),
    ]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENAI_API_KEY": "none"}
    return subprocess.Popen(
        command, start_new_session=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def finish(out: Path, model: list[str], questions: int, *, resume: bool) -> None:
    process = started(out, model, questions, resume=resume)
    _, said = process.communicate(timeout=600)
    if process.returncode != 0:
        sys.exit(f"the command fails by itself: {said.decode(errors='replace')[-2000:]}")


def killed_again_and_again(out: Path, model: list[str], questions: int, wanted: int, chooser: random.Random) -> int:
    """Kills the command ``wanted`` times at random moments of its work, each resumed, then lets it end.

    Each life plays some of the questions: the moments are drawn so that the last kill still finds it at work.
    """
    kills = 0
    journal = out / "journal" / "tagged.jsonl"
    while kills < wanted:
        process = started(out, model, questions, resume=(out / "run.json").is_file())
        before = finished(journal)
        goal = before + chooser.randint(0, max(1, 2 * (questions - before) // (wanted - kills + 1) - 1))
        wait_for_samples(journal, goal, process)
        # Also in the middle of a line, and before anything is written.
        time.sleep(chooser.random() * (0.1 if goal > before else 4.0))
        if process.poll() is not None:
            break
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        kills += 1
    finish(out, model, questions, resume=(out / "run.json").is_file())
    return kills


def wait_for_samples(journal: Path, goal: int, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + 300
    while finished(journal) < goal and process.poll() is None and time.monotonic() < end:
        time.sleep(0.005)


def finished(journal: Path) -> int:
    return journal.read_bytes().count(b"\n") if journal.exists() else 0


def content(run: Path) -> dict[str, str]:
    """What a run found, by file: samples, trajectories, and pictures by their names, which are hashes of them."""
    files = [*(run / "samples").glob("tagged.jsonl"), *(run / "evaluations").glob("*.jsonl")]
    return {
        **{path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files},
        "pictures": ",".join(sorted(path.name for path in (run / "media").glob("*.png"))),
    }


def sample_lines(run: Path) -> list[bytes]:
    return (run / "samples" / "tagged.jsonl").read_bytes().splitlines()[1:]


def scores(run: Path) -> list[Json]:
    """Of each sample all but its key, in which the server's address is."""
    return [{name: value for name, value in json.loads(line).items() if name != "key"} for line in sample_lines(run)]


if __name__ == "__main__":
    main()
