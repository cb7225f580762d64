"""Whether ``saccade curate tools`` that is killed again and again ends with the bytes of one left alone.

    python benchmarks/tool_curation_kills.py [--kills 20] [--trajectories 60] [--json FILE]

A server on loopback is the curator: it fails in two of ten requests, rambles in one and uses a tool that nobody defined
in one. The command is killed at random moments with kill -9 of its process group and resumed after each. Exit status 1
when the toolbox differs.
"""

import argparse
import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from saccade.media.store import MediaStore
from saccade.protocols import described_protocol
from saccade.runs.directory import RunDirectory
from saccade.runs.metrics import MetricsWriter
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply
from saccade.types import Attempt, Task, Trajectory, Turn

TOOLS = 12
REPLY_S = 0.08


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--trajectories", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0, help="Chooses the moments.")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, ChatServer(curator) as server:
        folder = Path(temporary)
        run = recorded(folder / "run", arguments.trajectories)
        calm, disturbed = folder / "calm" / "box.json", folder / "killed" / "box.json"
        if started(run, calm, server).wait() != 0:
            sys.exit("the command fails by itself")
        asked = len(server.received)
        kills = killed_again_and_again(run, disturbed, server, arguments.kills, random.Random(arguments.seed))
        curation = json.loads(calm.read_bytes())["curation"]
        told = {
            "kills": kills,
            "requests_undisturbed": asked,
            "requests_killed": len(server.received) - asked,
            "same_bytes": calm.read_bytes() == disturbed.read_bytes(),
            **{name: curation[name] for name in ("trajectories", "read", "cut_off", "no_reply", "refused", "rests_on")},
        }
    print(json.dumps(told, indent=1))
    if arguments.json:
        head = {"command": f"python benchmarks/tool_curation_kills.py {' '.join(sys.argv[1:])}".strip()}
        arguments.json.write_text(json.dumps({**head, "date": date.today().isoformat(), **told}, indent=1) + "\n")
    sys.exit(0 if told["same_bytes"] else 1)


def curator(received: Received) -> Served:
    """A reply that is a function of what is asked."""
    messages = received.body["messages"]
    assert isinstance(messages, list)
    asked = json.dumps(messages[1])
    time.sleep(REPLY_S)
    drawn = int(hashlib.sha256(f"{asked}{received.body.get('seed')}".encode()).hexdigest(), 16) % 10
    if drawn < 2:
        return Served(body="oops", status=500)
    if drawn == 2:
        return chat_reply("rambling " * 2000)
    if drawn == 3:
        return chat_reply("<tool name='made_up' args=''>x</tool>\nEND_OF_TOOLS")
    [step] = re.findall(r"use (\w+) now", asked)
    define = "" if f"{step} ||" in asked else f"DEFINE_TOOL: {step} || Image k || To {step}.\n"
    return chat_reply(f'{define}<tool name="{step}" args="Image 1">7</tool>\nEND_OF_TOOLS')


def started(run: Path, out: Path, server: ChatServer, *more: str) -> "subprocess.Popen[bytes]":
    out.parent.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "saccade", "curate", "tools", str(run), "--out", str(out), "--quiet"]
    asked = ["--curator", server.url, "--curator-model", "m", "--set", "server.retries=0", *more]
    quiet = subprocess.DEVNULL
    return subprocess.Popen([*command, *asked], stdout=quiet, stderr=quiet, start_new_session=True)


def killed_again_and_again(run: Path, out: Path, server: ChatServer, kills: int, chance: random.Random) -> int:
    """Kills the command so often, as far as it lives so long, and lets it end; how often it was killed."""
    journal = out.with_name(f"{out.name}.curation") / "outcomes.jsonl"
    for number in range(kills + 1):
        is_begun = journal.is_file() and journal.stat().st_size > 0
        process = started(run, out, server, *(["--resume"] if is_begun else []))
        try:
            code = process.wait(None if number == kills else chance.uniform(1.5, 4.5))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            continue
        if code != 0:
            sys.exit(f"the command fails with {code} after {number} kills")
        return number
    return kills


def recorded(root: Path, count: int) -> Path:
    """A run with one step of right trajectories."""
    media, position = MediaStore(), Position(stage="rl", step=1)
    with RunDirectory.create(root, resume=False, settings={}) as run:
        with MetricsWriter.open(run.paths.metrics, stages=("rl",)) as metrics:
            metrics.write(position, {"reward/mean": 1.0})
        attempts = [attempt(number) for number in range(count)]
        write_records(
            run.paths.trajectories(position), position, attempts, media=media, media_directory=run.paths.media
        )
        run.finish("finished")
    return root


def attempt(number: int) -> Attempt:
    task = Task(id=f"q{number}", family="f", question="?", answer="7", answer_kind="exact", images=())
    step = min(number % (TOOLS + 1), number * 7 % TOOLS)
    text = f"<think>Image 1.</think><description>use step_{step} now</description><answer>7</answer>"
    parsed = described_protocol().parse(text)
    turn = Turn(index=0, text=text, thought=parsed.thought, action=parsed.action, is_well_formed=True)
    trajectory = Trajectory(
        task_id=task.id,
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered",
    )
    return Attempt(task=task, trajectory=trajectory)


if __name__ == "__main__":
    main()
