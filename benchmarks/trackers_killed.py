"""Whether trackers have each record of a run once when the run is killed and resumed, also while a tracker writes.

    python benchmarks/trackers_killed.py [--seed 0] [--json docs/results/trackers_killed.json]

Runs a shortened demo three times with Trackio, MLflow and TensorBoard at once: undisturbed; with kill -9 at five random
moments; and with kill -9 inside each kind of write of a tracker's own library (``POINTS``), at a random part of the
time that this write takes. After each kill the same command resumes the run. Then the stores are read by the trackers'
own libraries and compared with ``metrics.jsonl`` and with the undisturbed run. Exit status 1 when anything differs.
"""

import argparse
import importlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from trackers_read import differences, read_stores

SETTINGS = (
    *("sft.steps=8", "sft.batch_size=2", "sft.checkpoint_every=3", "rl.steps=6", "rl.checkpoint_every=2"),
    *("rl.tasks_per_step=1", "rl.group_size=2", "no_tool_tasks=0", "evaluation_tasks=2", "curve_tasks=2"),
    *("tracking.mlflow=demos", "tracking.trackio=demos", "tracking.pictures_every=1", "tracking.pictures=2"),
)
KILLS = 5
POINTS = {
    "MLflow creates the run": ("mlflow:MlflowClient.create_run", 1),
    "MLflow writes the settings": ("mlflow:MlflowClient.log_batch", 1),
    "Trackio opens the run": ("trackio:init", 1),
    "MLflow writes a record": ("mlflow:MlflowClient.log_batch", 5),
    "Trackio writes records": ("trackio.sqlite_storage:SQLiteStorage.bulk_log", 2),
    "TensorBoard writes an event": ("tensorboard.summary.writer.record_writer:RecordWriter.write", 60),
    "TensorBoard flushes its file": ("tensorboard.summary.writer.event_file_writer:EventFileWriter.flush", 1),
    "MLflow writes a picture": ("mlflow:MlflowClient.log_image", 2),
    "Trackio writes a picture": ("trackio:Image._save", 2),
    "Trackio closes the run": ("trackio.run:Run.finish", 1),
    "MLflow closes the run": ("mlflow:MlflowClient.set_terminated", 1),
    "MLflow writes the report": ("saccade.runs.trackers.mlflow:MlflowTracker.save", 1),
    "Trackio writes the report": ("trackio:save", 1),
}
"""Kinds of writes: the function, and the call of a process at which it is killed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0, help="Chooses the moments.")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--work", type=Path, help="An empty folder for the runs, which are then kept.")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("command", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        child(json.loads(arguments.child), arguments.command)
        return
    with tempfile.TemporaryDirectory() as temporary:
        told = measured(arguments.work or Path(temporary), random.Random(arguments.seed))
    print(json.dumps(told, indent=1))
    if arguments.json:
        head = {"command": f"python {' '.join(sys.argv)}", "date": date.today().isoformat()}
        arguments.json.write_text(json.dumps({**head, **told}, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if told["differences"] else 0)


def measured(work: Path, chance: random.Random) -> dict[str, Any]:
    calm = work / "calm"
    start = time.monotonic()
    if run(calm, {"times": str(work / "times.json")}) != 0:
        sys.exit("the demo fails by itself")
    wall_s = time.monotonic() - start
    times: dict[str, float] = json.loads((work / "times.json").read_text())
    moments = killed_at_moments(work / "moments", wall_s, chance)
    writes = killed_in_writes(work / "writes", times, chance)
    stores = {name: read_stores(work / name) for name in ("calm", "moments", "writes")}
    found = [line for name, one in stores.items() for line in differences(name, one, stores["calm"])]
    return {
        "undisturbed_s": round(wall_s, 1),
        "killed_after_s": moments,
        "killed_in": writes,
        "stores": {name: one.counts() for name, one in stores.items()},
        "differences": found,
    }


def killed_at_moments(folder: Path, wall_s: float, chance: random.Random) -> list[float]:
    """Seconds after which each process was killed; the last one ends by itself."""
    moments: list[float] = []
    while len(moments) < KILLS:
        # A resumed process has less to do: moments are early enough for all of them, and late enough for work.
        moment = chance.uniform(0.35, 0.85) * wall_s
        if run(folder, {}, kill_after_s=moment) != 0:
            moments.append(round(moment, 2))
        elif not moments:
            sys.exit("the run ended before it was killed: the machine became faster; start again")
        else:
            break
    if len(moments) == KILLS and run(folder, {}) != 0:
        sys.exit("the resumed run fails")
    return moments


def killed_in_writes(folder: Path, times: dict[str, float], chance: random.Random) -> dict[str, str]:
    """What became of the process at each kind of write."""
    told = {}
    for name, (function, call) in POINTS.items():
        delay_s = chance.uniform(0.0, 1.0) * times.get(function, 0.0)
        code = run(folder, {"function": function, "call": call, "delay_s": delay_s})
        told[name] = f"killed {delay_s * 1000:.1f} ms into call {call}" if code == -signal.SIGKILL else f"ended ({code})"
    if run(folder, {}) != 0:
        sys.exit("the resumed run fails")
    return told


def run(folder: Path, how: dict[str, Any], kill_after_s: float | None = None) -> int:
    """The command once, in a process whose stores are below the folder: its exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    command = ["demo", *(word for one in SETTINGS for word in ("--set", one)), "--out", str(folder / "demo")]
    places = {
        "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "TRACKIO_DIR": str(folder / "trackio"),
    }
    called = [sys.executable, __file__, "--child", json.dumps(how or {"calm": True}), *command, "--quiet", "--resume"]
    with subprocess.Popen(called, cwd=folder, env={**os.environ, **places}, stdout=subprocess.DEVNULL) as process:
        try:
            return process.wait(kill_after_s)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()


def child(how: dict[str, Any], command: Sequence[str]) -> None:
    """The command in this process, which kills itself inside a write, or notes how long writes take."""
    from saccade.cli import run_command

    seconds: dict[str, list[float]] = {}
    if "function" in how:
        patch(how["function"], lambda original: killing(original, how["call"], how["delay_s"]))
    if "times" in how:
        for function, _ in POINTS.values():
            noted = seconds.setdefault(function, [])
            patch(function, lambda original, noted=noted: timed(original, noted))
    code = run_command(list(command))
    if "times" in how:
        means = {name: sum(one) / len(one) for name, one in seconds.items() if one}
        Path(how["times"]).write_text(json.dumps(means), encoding="utf-8")
    sys.exit(code)


def patch(named: str, wrapped: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Puts another function in the place of ``module:name`` or ``module:Class.name``."""
    module, path = named.split(":")
    *above, name = path.split(".")
    holder: Any = importlib.import_module(module)
    for one in above:
        holder = getattr(holder, one)
    original = getattr(holder, name)
    is_static = isinstance(vars(holder).get(name), staticmethod)
    setattr(holder, name, staticmethod(wrapped(original)) if is_static else wrapped(original))


def killing(original: Callable[..., Any], call: int, delay_s: float) -> Callable[..., Any]:
    calls = 0

    def function(*given: Any, **named: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == call:
            threading.Timer(delay_s, os.kill, (os.getpid(), signal.SIGKILL)).start()
        try:
            return original(*given, **named)
        finally:
            # A write that was faster this time is killed as it ends.
            if calls >= call:
                time.sleep(delay_s + 1.0)

    return function


def timed(original: Callable[..., Any], seconds: list[float]) -> Callable[..., Any]:
    def function(*given: Any, **named: Any) -> Any:
        start = time.monotonic()
        try:
            return original(*given, **named)
        finally:
            seconds.append(time.monotonic() - start)

    return function


if __name__ == "__main__":
    main()
