"""A real run in a process of its own, killed at random moments, ends with the bytes of one that was left alone."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from warm import WarmProcess

SMALL = (
    "sft.steps=12",
    "sft.batch_size=4",
    "sft.checkpoint_every=3",
    "rl.steps=4",
    "rl.tasks_per_step=4",
    "rl.group_size=2",
    "rl.checkpoint_every=1",
    "rl.evaluate_every=2",
    "rl.algorithm.options.kl_weight=0.01",
    "evaluation_tasks=8",
    "curve_tasks=4",
    "no_tool_tasks=1",
)
KILLS = 2
"""`benchmarks/kills.py` makes more."""

pytestmark = pytest.mark.slow


def start(out: Path, *, kind: type[subprocess.Popen[bytes]] = WarmProcess) -> subprocess.Popen[bytes]:
    settings = [word for setting in SMALL for word in ("--set", setting)]
    command = [sys.executable, "-m", "saccade", "demo", "--out", str(out), "--threads", "1", "--quiet", "--resume"]
    return kind([*command, *settings], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def finish(process: subprocess.Popen[bytes]) -> None:
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors.decode()


def outcome(run: Path) -> dict[str, object]:
    """Everything of a run that the same seed must give again: all but clocks, versions of files and their report."""
    files = [
        *run.glob("trajectories/*/*.jsonl"),
        *run.glob("evaluations/*.jsonl"),
        *(file for file in run.glob("samples/*.jsonl") if not file.name.endswith(".times.jsonl")),
        *run.glob("media/*.png"),
        *run.glob("index/**/*.arrow"),
        *run.glob("signals/**/*.arrow"),
        *(file for file in run.glob("checkpoints/**/*") if file.is_file()),
        run / "settings.json",
    ]
    metrics = [
        {key: value for key, value in json.loads(line).items() if not key.startswith("time/")}
        for line in (run / "metrics.jsonl").read_text().splitlines()
    ]
    digests = {str(file.relative_to(run)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}
    return {**digests, "metrics": metrics}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, float]:
    """A run whose process makes its imports itself, with a hash seed of its own, and its seconds without imports."""
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    finish(start(out, kind=subprocess.Popen))
    return out, time.time() - (out / "settings.json").stat().st_mtime


def test_kills_at_random_moments_change_no_byte(undisturbed: tuple[Path, float], tmp_path: Path) -> None:
    reference, duration_s = undisturbed
    out = tmp_path / "run"
    chance = random.Random(20)
    for _ in range(KILLS):
        process = start(out)
        # Moments before the first checkpoint and long after it are both wanted.
        delay_s = chance.uniform(0.1, 0.8) * duration_s
        try:
            process.wait(timeout=delay_s)
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
        process.communicate()
    finish(start(out))
    assert outcome(out) == outcome(reference)
    assert json.loads((out / "run.json").read_text())["status"] == "finished"


def test_resuming_a_finished_run_changes_no_byte(undisturbed: tuple[Path, float]) -> None:
    reference, _ = undisturbed
    before = outcome(reference)
    finish(start(reference))
    assert outcome(reference) == before
