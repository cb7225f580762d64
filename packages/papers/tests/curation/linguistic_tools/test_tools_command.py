"""``saccade curate tools`` on runs on disk: a server, the policy; killed, and with the user's mistakes."""

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from run_samples import attempt, run_with

from saccade.cli import run_command
from saccade.curation.linguistic_tools import CuratedTools
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.protocols import LinguisticToolbox
from saccade.runs.checkpoints import save_checkpoint
from saccade.runs.position import Position
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply
from warm import WarmProcess

STEPS = ("find_row", "read_cell", "compare")
SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    attempts = [attempt(number, f"step {STEPS[number % 3]} done") for number in range(6)]
    evaluations = {"held_out": [attempt(9, "step compare done")]}
    return run_with(tmp_path / "run", {("rl", 1): attempts[:3], ("rl", 2): attempts[3:]}, evaluations)


def curator(received: Received) -> Served:
    """Reuses what the list has, defines what it has not."""
    messages = received.body["messages"]
    assert isinstance(messages, list)
    asked = json.dumps(messages[1])
    [step] = re.findall(r"step (\w+) done", asked)
    define = "" if f"{step} ||" in asked else f"DEFINE_TOOL: {step} || Image k || To {step}.\n"
    return chat_reply(f'{define}<tool name="{step}" args="Image 1">7</tool>\nEND_OF_TOOLS')


def curating(run: Path, out: Path, *more: str) -> list[str]:
    return ["curate", "tools", str(run), "--out", str(out), "--quiet", *more]


def served(run: Path, out: Path, server: ChatServer, *more: str) -> list[str]:
    return curating(run, out, "--curator", server.url, "--curator-model", "qwen", *more)


def test_a_server_curates_a_run(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "box.json"
    with ChatServer(curator) as server:
        assert run_command(served(run, out, server, "--k", "2")) == 0
        assert len(server.received) == 6
        assert all(one.body["max_tokens"] == 2048 for one in server.received)
    assert capsys.readouterr().out == (
        "  find_row        2 trajectories       2 uses  first in q0\n"
        "  read_cell       2 trajectories       2 uses  first in q1\n"
        "  not in the toolbox:\n"
        "  compare         2 trajectories       2 uses  first in q2\n"
        "2 of 3 tools; they cover 66.7% of all uses.\n"
        "They rest on 4 of 6 right trajectories, fewer than 100: take their order with caution.\n"
        f"Toolbox: {out}\n"
    )
    content = json.loads(out.read_text())
    assert LinguisticToolbox.from_json(content).names == ("find_row", "read_cell")
    assert CuratedTools.from_json(content).rests_on == content["curation"]["rests_on"] == 4


def test_an_evaluation_is_curated_by_its_name(run: Path, tmp_path: Path) -> None:
    with ChatServer(curator) as server:
        assert run_command(served(run, tmp_path / "box.json", server, "--stage", "held_out")) == 0
        assert len(server.received) == 1


def test_a_curation_that_was_killed_ends_with_the_same_bytes(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "box.json"
    speaks_again = threading.Event()
    numbers = itertools.count(1)

    def silent(received: Received) -> Served:
        if next(numbers) >= 4:
            speaks_again.wait(300)
        return curator(received)

    with ChatServer(silent) as server:
        arguments = served(run, out, server)
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        full = [sys.executable, "-m", "saccade", *arguments]
        with WarmProcess(full, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
            end = time.monotonic() + 180
            while len(server.received) < 4 and time.monotonic() < end and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        speaks_again.set()
        assert not out.exists()
        assert run_command(arguments) == 2
        assert run_command([*arguments, "--resume"]) == 0
        # The third reply came, and the fourth was on its way.
        assert len(server.received) == 7
    with ChatServer(curator) as server:
        assert run_command(served(run, tmp_path / "whole.json", server)) == 0
    assert out.read_bytes() == (tmp_path / "whole.json").read_bytes()


def test_the_policy_itself_is_asked_and_one_that_cannot_name_a_step_gives_no_box(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(curating(run, tmp_path / "box.json")) == 2
    assert "has no checkpoint to curate with" in capsys.readouterr().err
    model = tiny_model(["step done Image"] * 9, MediaStore(), size=SIZE, vocab_size=300)
    save_checkpoint(run / "checkpoints", Position(stage="rl", step=2), model, None)
    said = ("--set", "server.max_tokens=8", "--set", "attempts=2", "--set", "trajectories=2")
    assert run_command(curating(run, tmp_path / "box.json", *said)) == 2
    told = capsys.readouterr().err
    assert "rl-000002 named no usable tool in 2 right trajectories" in told
    assert "2 trajectories were skipped: cut off." in told
    assert not (tmp_path / "box.json").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (("--curator", "http://localhost:1/v1"), "say with --curator-model which of its models"),
        (("--curator", "nobody"), "neither the address of a server"),
        (("--stage", "sft"), "no trajectories of 'sft'"),
        (("--set", "max_pool=900"), "max_pool=900"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(
    run: Path, tmp_path: Path, more: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(curating(run, tmp_path / "box.json", *more)) == 2
    assert says in capsys.readouterr().err


def test_a_run_without_a_right_trajectory_and_a_folder_as_a_file_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_with(tmp_path / "run", {("rl", 1): [attempt(1, "a", answer="8")]}, {})
    assert run_command(curating(run, tmp_path / "box.json")) == 2
    assert "no right trajectory that reasons in words" in capsys.readouterr().err
    assert run_command(curating(run, tmp_path)) == 2
    assert "is a folder; name the file of the toolbox" in capsys.readouterr().err
