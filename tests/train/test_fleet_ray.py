"""Whole runs under Ray: two learners and two rollout workers, killed and not. ``make test-cluster`` runs it."""

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from test_run_stages import files

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="Ray is not here; make test-cluster installs it"
    ),
]

WITHIN_S = 600.0
SMALL = (
    *("sft.steps=4", "rl.steps=6", "rl.tasks_per_step=4", "rl.group_size=2", "rl.evaluate_every=0"),
    *("rl.checkpoint_every=1", "evaluation_tasks=4", "fleet.learners=2", "fleet.rollouts=2"),
)


def started(out: Path, *settings: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "saccade", "demo", "--out", str(out), "--threads", "1", "--resume", "--quiet"]
    command += [word for one in (*SMALL, *settings) for word in ("--set", one)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def ended(process: "subprocess.Popen[str]") -> str:
    said, _ = process.communicate(timeout=WITHIN_S)
    return said


def kill(process: "subprocess.Popen[str]", actor: str) -> None:
    for one in psutil.Process(process.pid).children(recursive=True):
        try:
            title = one.cmdline()
        except psutil.Error:
            continue
        if title and actor in title[0]:
            one.kill()
            return
    raise AssertionError(f"no {actor} is there to be killed")


def wait_for(path: Path, process: "subprocess.Popen[str]") -> None:
    until_s = time.monotonic() + WITHIN_S
    while not path.exists():
        assert process.poll() is None, process.communicate()[0]
        assert time.monotonic() < until_s
        time.sleep(0.05)


def test_a_run_that_loses_a_rollout_worker_and_a_learner_ends_with_the_same_bytes(tmp_path: Path) -> None:
    calm, killed = tmp_path / "calm", tmp_path / "killed"
    process = started(calm)
    said = ended(process)
    assert process.returncode == 0, said
    process = started(killed)
    wait_for(killed / "checkpoints" / "rl-000001", process)
    kill(process, "RolloutActor")
    wait_for(killed / "checkpoints" / "rl-000002", process)
    kill(process, "LearnerActor")
    said = ended(process)
    assert process.returncode == 0, said
    assert files(killed) == files(calm)
    info = json.loads((killed / "run.json").read_text())
    assert info["status"] == "finished"
    assert len(info["restarts"]) >= 1
    assert any("another group of learners goes on" in line for line in info["restarts"])


def test_missing_resources_are_said_in_words(tmp_path: Path) -> None:
    process = started(tmp_path / "run", "fleet.learner_gpus=4", "fleet.resources_timeout_s=2")
    said = ended(process)
    assert process.returncode == 3
    assert "the cluster has no room for fleet.learners=2 processes with 0 CPUs and 4 GPUs each" in said
    assert f"it has {os.cpu_count()} CPUs and 0 GPUs" in said
    assert not (tmp_path / "run").exists()
