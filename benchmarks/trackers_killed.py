"""Whether trackers have each record of a run once when the run is killed and resumed, also while a tracker writes.

    python benchmarks/trackers_killed.py [--seed 0] [--json docs/results/trackers_killed.json]

Runs a shortened demo three times with Trackio, MLflow and TensorBoard at once: undisturbed; with kill -9 at five random
moments; and with kill -9 inside each kind of write of a tracker's own library (``POINTS``), at a random part of the
time that this write takes. After each kill the same command resumes the run. Then the stores are read by the trackers'
own libraries and compared with ``metrics.jsonl`` and with the undisturbed run. Exit status 1 when anything differs.
"""

import argparse
import contextlib
import importlib
import json
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

from trackers_read import differences, read_stores

SETTINGS = (
    *("sft.steps=8", "sft.batch_size=2", "sft.checkpoint_every=3", "rl.steps=6", "rl.checkpoint_every=2"),
    *("rl.tasks_per_step=1", "rl.group_size=2", "no_tool_tasks=0", "evaluation_tasks=2", "curve_tasks=2"),
    *("tracking.mlflow=demos", "tracking.trackio=demos", "tracking.pictures_every=1", "tracking.pictures=2"),
)
QUIETLY = ("--quiet", "--resume", "--threads", "1")
KILLS = 5
IMPORTED = ("saccade.miniature.demo", "saccade.learner.learner", "saccade.engines.local", "saccade.cli.train", "mlflow")
"""What this process imports for its forks. Trackio reads its folder when it is imported, so each imports it anew."""
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
    parser.add_argument("--part", choices=["calm", "moments", "writes", "stores"], help="with --work: this part alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        work: Path = (arguments.work or Path(temporary)).resolve()
        for part in PARTS if arguments.part is None else (arguments.part,):
            PARTS[part](work, random.Random(f"{arguments.seed} {part}"))
        told = json.loads((work / "told.json").read_text(encoding="utf-8"))
    print(json.dumps(told, indent=1))
    if arguments.json:
        words = ["benchmarks/trackers_killed.py", *(["--seed", str(arguments.seed)] if arguments.seed else [])]
        head = {"command": f"python {' '.join(words)}", "date": date.today().isoformat()}
        arguments.json.write_text(json.dumps({**head, **told}, indent=1) + "\n", encoding="utf-8")
    sys.exit(1 if told.get("differences") else 0)


def keep(work: Path, **figures: object) -> None:
    """Adds to what is told."""
    file = work / "told.json"
    told = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    file.write_text(json.dumps({**told, **figures}), encoding="utf-8")


def undisturbed(work: Path, chance: random.Random) -> None:
    del chance
    start = time.monotonic()
    if run(work / "calm", {"times": str(work / "times.json")}) != 0:
        sys.exit("the demo fails by itself")
    keep(work, undisturbed_s=round(time.monotonic() - start, 1))
    (work / "calm" / "ended").touch()


def killed_at_moments(work: Path, chance: random.Random) -> None:
    """A run killed some time after a record, again and again, then left alone. Goes on where it stopped."""
    folder = work / "moments"
    records = (work / "calm" / "demo" / "metrics.jsonl").read_bytes().count(b"\n")
    # Later and later, since a moment before the newest checkpoint would come at once.
    chosen = [(number, chance.uniform(0.0, 0.5)) for number in sorted(chance.sample(range(2, records), KILLS))]
    moments: list[str] = json.loads((work / "told.json").read_text()).get("killed_at", [])
    for number, delay_s in chosen[len(moments) :]:
        if run(folder, {}, kill_at=(number, delay_s)) != -signal.SIGKILL:
            sys.exit(f"the run ended before it was killed at record {number}")
        moments.append(f"{delay_s:.2f} s after record {number}")
        keep(work, killed_at=moments)
    if run(folder, {}) != 0:
        sys.exit("the resumed run fails")
    (folder / "ended").touch()


def killed_in_writes(work: Path, chance: random.Random) -> None:
    """A run killed in each kind of write. Goes on where it stopped."""
    folder = work / "writes"
    told: dict[str, str] = json.loads((work / "told.json").read_text()).get("killed_in", {})
    times: dict[str, float] = json.loads((work / "times.json").read_text())
    for name, (function, call) in POINTS.items():
        delay_s = chance.uniform(0.0, 1.0) * times.get(function, 0.0)
        if name in told:
            continue
        code = run(folder, {"function": function, "call": call, "delay_s": delay_s})
        told[name] = (
            f"killed {delay_s * 1000:.1f} ms into call {call}" if code == -signal.SIGKILL else f"ended ({code})"
        )
        keep(work, killed_in=told)
    if run(folder, {}) != 0:
        sys.exit("the resumed run fails")
    (folder / "ended").touch()


def compared(work: Path, chance: random.Random) -> None:
    del chance
    ended = [name for name in ("calm", "moments", "writes") if (work / name / "ended").exists()]
    stores = {name: read_stores(work / name) for name in ended}
    found = [line for name, one in stores.items() for line in differences(name, one, stores["calm"])]
    keep(work, stores={name: one.counts() for name, one in stores.items()}, differences=found)


PARTS: dict[str, Callable[[Path, random.Random], None]] = {
    "calm": undisturbed,
    "moments": killed_at_moments,
    "writes": killed_in_writes,
    "stores": compared,
}


def run(folder: Path, how: dict[str, Any], kill_at: tuple[int, float] | None = None) -> int:
    """The command once, in a fork of this process whose stores are below the folder: its exit status."""
    folder.mkdir(parents=True, exist_ok=True)
    for module in IMPORTED:
        importlib.import_module(module)
    child_id = os.fork()
    if not child_id:
        os.chdir(folder)
        os.dup2(os.open("output.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644), 1)
        os.dup2(1, 2)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        os.environ |= {
            "MLFLOW_TRACKING_URI": f"sqlite:///{folder}/mlflow.db",
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "TRACKIO_DIR": str(folder / "trackio"),
        }
        code = 1
        try:
            code = command_here(how)
        finally:
            # Not by an exception: what this process has open belongs to the parent.
            sys.stdout.flush()
            os._exit(code)
    if kill_at is not None:
        threading.Thread(target=kill_later, args=(child_id, folder / "demo" / "metrics.jsonl", *kill_at)).start()
    return os.waitstatus_to_exitcode(os.waitpid(child_id, 0)[1])


def kill_later(process: int, metrics: Path, records: int, delay_s: float) -> None:
    """Kills a process some time after it has written so many records, if it lives so long."""
    with contextlib.suppress(ProcessLookupError):
        while not metrics.exists() or metrics.read_bytes().count(b"\n") < records:
            os.kill(process, 0)
            time.sleep(0.01)
        time.sleep(delay_s)
        os.kill(process, signal.SIGKILL)


def command_here(how: dict[str, Any]) -> int:
    """The command in this process, which kills itself inside a write, or notes how long writes take."""
    from saccade.cli import run_command

    seconds: dict[str, list[float]] = {}
    if "function" in how:
        patch(how["function"], lambda original: killing(original, how["call"], how["delay_s"]))
    if "times" in how:
        for function in {function for function, _ in POINTS.values()}:
            noted = seconds.setdefault(function, [])
            patch(function, lambda original, noted=noted: timed(original, noted))
    code = run_command(["demo", *(word for one in SETTINGS for word in ("--set", one)), "--out", "demo", *QUIETLY])
    if "times" in how:
        means = {name: sum(one) / len(one) for name, one in seconds.items() if one}
        Path(how["times"]).write_text(json.dumps(means), encoding="utf-8")
    return code


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
