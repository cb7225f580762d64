"""Rollouts beside learning and in turn with it: the same bytes, and what a step takes.

python -m studies.async.overlap --steps 34 --json studies/async/overlap.json

Both runs have a staleness of 1 and their engine in a process of its own; each side has one thread. A machine with less
than two free cores shows no gain: rollout and learning then share one.
"""

import argparse
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
from datetime import date
from pathlib import Path

from saccade.runs.metrics import read_metrics, without_times

ROLLOUT, REWARD, WAIT, STEP = "time/rollout_s", "time/reward_s", "time/rollout_wait_s", "time/step_s"
MEASURED_EVERY = 16
"""Steps between those that take turns in both runs, to measure the mismatch."""

RECIPE = """
from dataclasses import replace

from saccade.engines.process import ProcessEngine
from saccade.miniature.demo import demo


def apart(context):
    return replace(demo(context), engine=ProcessEngine)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=34)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("runs/overlap"))
    parser.add_argument("--set", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    runs = {
        name: run(
            arguments.out / name, arguments.seed, [f"rl.steps={arguments.steps}", *arguments.overrides], is_beside
        )
        for name, is_beside in (("in_turn", False), ("beside", True))
    }
    result = {
        "command": "python -m studies.async.overlap " + " ".join(sys.argv[1:]),
        "date": date.today().isoformat(),
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, {platform.system()}, no GPU",
        "load": os.getloadavg()[0],
        "has_same_bytes": runs["in_turn"]["sha256"] == runs["beside"]["sha256"],
        "runs": runs,
    }
    print(told(result))
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    if not result["has_same_bytes"]:
        sys.exit("the two runs differ")


def run(out: Path, seed: int, settings: list[str], is_beside: bool) -> dict[str, object]:
    """One run: the hash of all that depends on no clock, and medians of what its reinforcement took."""
    out.parent.mkdir(parents=True, exist_ok=True)
    recipe = out.parent / "apart.py"
    recipe.write_text(RECIPE, encoding="utf-8")
    settings = ["rl.staleness=1", f"rl.overlap={str(is_beside).lower()}", *settings]
    command = [sys.executable, "-m", "saccade", "train", f"{recipe}:apart", "--out", str(out), "--seed", str(seed)]
    command += ["--threads", "1", "--quiet", *(word for one in settings for word in ("--set", one))]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    steps = [
        values
        for position, values in read_metrics(out / "metrics.jsonl")
        if position.stage == "rl" and (position.step - 1) % MEASURED_EVERY
    ]
    played = statistics.median(one[ROLLOUT] + one[REWARD] for one in steps)
    waited = [one.get(WAIT, one[ROLLOUT] + one[REWARD]) for one in steps]
    return {
        "sha256": digest(out),
        "step_s": statistics.median(one[STEP] for one in steps),
        "played_s": played,
        "learned_s": statistics.median(one[STEP] - wait for one, wait in zip(steps, waited)),
        "waited_s": statistics.median(waited),
    }


SAVE_ID = ".metadata"
"""torch's distributed checkpoints name each saving by a random id and by its folder there."""


def digest(out: Path) -> str:
    """Of metrics without times, trajectories, evaluations, pictures and checkpoints."""
    patterns = ("trajectories/**/*.jsonl", "evaluations/*.jsonl", "media/*.png", "checkpoints/**/*")
    files = sorted(
        {path for pattern in patterns for path in out.glob(pattern) if path.is_file() and path.name != SAVE_ID}
    )
    found = hashlib.sha256(repr(without_times(out / "metrics.jsonl")).encode())
    for path in files:
        found.update(str(path.relative_to(out)).encode() + path.read_bytes())
    return found.hexdigest()


def told(result: dict[str, object]) -> str:
    """A Markdown table; ``parts`` are those of the run that takes turns, where neither slows the other down."""
    runs = result["runs"]
    assert isinstance(runs, dict)
    parts = max(runs["in_turn"]["played_s"], runs["in_turn"]["learned_s"])
    lines = ["| | step | playing | learning | waiting | step / slower part |", "|---|---|---|---|---|---|"]
    lines += [
        f"| {name} | {one['step_s']:.3f} s | {one['played_s']:.3f} s | {one['learned_s']:.3f} s | "
        f"{one['waited_s']:.3f} s | {one['step_s'] / parts:.2f} |"
        for name, one in runs.items()
    ]
    return "\n".join([*lines, f"same bytes: {result['has_same_bytes']}; load {result['load']:.1f}"])


if __name__ == "__main__":
    main()
