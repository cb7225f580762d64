"""A run of two learners and two rollout workers under Ray that is killed again and again, beside one left alone.

    python benchmarks/demo_seeds.py --seeds 0 --out runs/demo_seeds --threads 1 --set rl.steps=0 --set sft.steps=500
    python benchmarks/fleet_kills.py --kills 10 --from runs/demo_seeds/seed-0 --json docs/results/fleet_kills.json

Kills (SIGKILL) come in turn: a rollout worker, a learner, the command itself, a learner while a checkpoint is written,
a rollout worker while weights go to it. The command is started again with ``--resume``; all else the run has to mend
by itself. Between two kills at least one step is finished. Exit status 1 when a byte differs.
"""

import argparse
import json
import os
import platform
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path

import psutil
from overlap import digest
from seed_runs import imitation_of

KINDS = ("rollout", "learner", "controller", "saving", "syncing")
SETTINGS = ("fleet.learners=2", "fleet.rollouts=2", "fleet.restarts=50", "rl.checkpoint_every=1", "rl.evaluate_every=0")
SMALL = ("rl.tasks_per_step=4", "rl.group_size=4", "evaluation_tasks=16")
WITHIN_S = 420.0
"""For everything that is waited for."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--steps", type=int, default=16)
    parser.add_argument("--seed", type=int, default=0, help="Chooses the moments and the victims.")
    parser.add_argument("--from", dest="start", type=Path, default=Path("runs/demo_seeds/seed-0"))
    parser.add_argument("--out", type=Path, default=Path("runs/fleet_kills"))
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    settings = [*SETTINGS, *SMALL, f"rl.steps={arguments.steps}", *arguments.overrides]
    arguments.out.mkdir(parents=True, exist_ok=True)
    runs = {name: Run(arguments.out / name, imitation_of(arguments.start), settings) for name in ("calm", "killed")}
    calm_s = runs["calm"].left_alone()
    started_s = time.monotonic()
    kills = runs["killed"].killed(arguments.kills, random.Random(arguments.seed))
    hashes = {name: digest(run.out) for name, run in runs.items()}
    result = {
        "command": "python benchmarks/fleet_kills.py " + " ".join(sys.argv[1:]),
        "date": date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, no GPU",
        "load": os.getloadavg()[0],
        "calm_s": round(calm_s, 1),
        "killed_s": round(time.monotonic() - started_s, 1),
        "kills": kills,
        "restarts": json.loads((runs["killed"].out / "run.json").read_text(encoding="utf-8"))["restarts"],
        "hashes": hashes,
    }
    print(json.dumps(result, indent=1))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if len(set(hashes.values())) > 1:
        sys.exit("the two runs differ")
    if len(kills) < arguments.kills:
        sys.exit(f"it was killed {len(kills)} times and not {arguments.kills}: give it more --steps")


class Run:
    """A run's command, started as often as needed."""

    def __init__(self, out: Path, model: Path, settings: list[str]) -> None:
        self.out = out
        self._command = [sys.executable, "-m", "saccade", "train", "demo", "--model", str(model), "--out", str(out)]
        self._command += [
            "--threads",
            "1",
            "--resume",
            "--quiet",
            *(word for one in settings for word in ("--set", one)),
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def left_alone(self) -> float:
        """Runs it to its end; the seconds that it took."""
        started_s = time.monotonic()
        subprocess.run(self._command, check=True, stdout=subprocess.DEVNULL)
        return time.monotonic() - started_s

    def killed(self, times: int, chance: random.Random) -> list[dict[str, object]]:
        """Runs it to its end and kills parts of it meanwhile: each kill, and the seconds until the next step."""
        kills: list[dict[str, object]] = []
        self._start()
        self._until(self._has_stepped(self._recorded()))
        for number in range(times):
            kind = KINDS[number % len(KINDS)]
            time.sleep(chance.uniform(0.0, 1.5))
            killed = self._kill(kind, chance)
            if killed is None:
                break
            killed_s, before = time.monotonic(), self._recorded()
            if kind == "controller":
                assert self._process is not None
                self._process.wait()
                self._start()
            is_going_on = self._until(self._has_stepped(before))
            kills.append({"kind": kind, "process": killed, "next_step_s": round(time.monotonic() - killed_s, 1)})
            print(kills[-1], flush=True)
            if not is_going_on:
                break
        assert self._process is not None
        if self._process.wait(timeout=WITHIN_S) != 0:
            sys.exit(f"the command failed with {self._process.returncode}")
        return kills

    def _start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL, start_new_session=True)

    def _kill(self, kind: str, chance: random.Random) -> str | None:
        """Kills a process of that kind, at its moment; what it was. None when the run has ended before."""
        assert self._process is not None
        if kind == "controller":
            self._process.send_signal(signal.SIGKILL)
            return "the command"
        wanted = "LearnerActor" if kind in ("learner", "saving") else "RolloutActor"
        if kind == "saving" and not self._until(lambda: any(self.out.glob("checkpoints/.unfinished-*"))):
            return None
        if kind == "syncing" and not self._until(self._has_new_weights(self._weights())):
            return None
        while self._process.poll() is None:
            actors = [
                one for one in psutil.Process(self._process.pid).children(recursive=True) if wanted in _title(one)
            ]
            if actors:
                victim = chance.choice(sorted(actors, key=lambda one: one.pid))
                title = _title(victim)
                victim.kill()
                return title
            time.sleep(0.02)
        return None

    def _until(self, holds: Callable[[], bool]) -> bool:
        """Waits; False when the run ends before."""
        assert self._process is not None
        until_s = time.monotonic() + WITHIN_S
        while not holds():
            if self._process.poll() is not None:
                return False
            if time.monotonic() > until_s:
                self._process.kill()
                sys.exit(f"nothing happened for {WITHIN_S} s")
            time.sleep(0.003)
        return True

    def _recorded(self) -> tuple[int, float]:
        path = self.out / "metrics.jsonl"
        return (path.stat().st_size, path.stat().st_mtime) if path.exists() else (0, 0.0)

    def _has_stepped(self, before: tuple[int, float]) -> Callable[[], bool]:
        """Whether metrics of a step were added since; a run that rewinds makes them shorter first."""
        sizes = [before[0]]

        def has() -> bool:
            size = self._recorded()[0]
            grew = size > sizes[-1]
            sizes[-1] = size
            return grew

        return has

    def _weights(self) -> set[str]:
        return {path.name for path in Path("/dev/shm").glob(".unfinished-saccade-weights-*/*w-*")}

    def _has_new_weights(self, before: set[str]) -> Callable[[], bool]:
        return lambda: bool(self._weights() - before)


def _title(process: psutil.Process) -> str:
    """What Ray calls a process: its actor, and the call that it is in."""
    try:
        return process.cmdline()[0] if process.cmdline() else ""
    except psutil.Error:
        return ""


if __name__ == "__main__":
    main()
