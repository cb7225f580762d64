"""What a training run pays for the viewer: processor time of index, signals and clocks beside that of the whole step.

    python benchmarks/viewer_training_cost.py --out /tmp/cost --set rl.evaluate_every=1000
    ... --recipe ivgr:tiny --json docs/results/viewer_training_cost.json   # any recipe, and any of its settings

Trains as ``saccade demo`` and ``saccade train RECIPE`` do, in this process, and takes the process's time around each
write of what stands beside the records. A step lasts from one write of its stage to the next, so that the first one of
a stage, which loads what the others have, is left out. Of a step's time nothing is subtracted: the writes are in it.
"""

import argparse
import json
import os
import platform
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from saccade.cli.commands import saccade
from saccade.runs.position import Position
from saccade.runs.record_places import RecordPlace
from saccade.runs.runinfo import RunPaths
from saccade.train import measure
from saccade.types import Attempt


@dataclass(frozen=True, kw_only=True, slots=True)
class Write:
    """One write beside a file of records, in seconds of processor time."""

    stage: str
    step: int
    trajectories: int
    ended_cpu_s: float
    cpu_s: float
    is_training: bool


@dataclass(kw_only=True)
class Watch:
    """Stands where the trainer calls ``write_beside``, and keeps what each call took."""

    writes: list[Write] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._write = measure.write_beside
        measure.write_beside = self.write_beside

    def write_beside(
        self,
        paths: RunPaths,
        path: Path,
        position: Position,
        places: Sequence[RecordPlace],
        attempts: Sequence[Attempt],
    ) -> None:
        started_s = time.process_time()
        self._write(paths, path, position, places, attempts)
        ended_s = time.process_time()
        self.writes.append(
            Write(
                stage=position.stage,
                step=position.step,
                trajectories=len(attempts),
                ended_cpu_s=ended_s,
                cpu_s=ended_s - started_s,
                is_training=path.parent != paths.evaluations,
            )
        )


def steps_of(writes: Sequence[Write]) -> list[tuple[float, Write]]:
    """Each training step but the first of its stage: its processor time, and its write."""
    return [
        (write.ended_cpu_s - before.ended_cpu_s, write)
        for before, write in pairwise(writes)
        if write.is_training and before.is_training and before.stage == write.stage and before.step == write.step - 1
    ]


def told(writes: Sequence[Write]) -> dict[str, object]:
    steps = steps_of(writes)
    if not steps:
        raise SystemExit("no stage wrote two steps of trajectories, one after the other; give it more steps")
    step_s, write_s = sum(cpu_s for cpu_s, _ in steps), sum(write.cpu_s for _, write in steps)
    median_s = statistics.median(cpu_s for cpu_s, _ in steps)
    median_write_s = statistics.median(write.cpu_s for _, write in steps)
    return {
        "steps": len(steps),
        "trajectories_per_step": statistics.mean(write.trajectories for _, write in steps),
        "step_cpu_ms_median": 1000 * median_s,
        "write_cpu_ms_median": 1000 * median_write_s,
        "share_of_medians": median_write_s / median_s,
        "share_of_all_steps": write_s / step_s,
        "largest_share_of_a_step": max(write.cpu_s / cpu_s for cpu_s, write in steps),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipe", default="demo", help="demo, or what `saccade train` takes")
    parser.add_argument("--out", type=Path, required=True, help="a folder that is not there yet")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", dest="settings", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    command = ["demo"] if options.recipe == "demo" else ["train", options.recipe]
    overrides = [word for setting in options.settings for word in ("--set", setting)]
    watch = Watch()
    words = [*command, "--seed", str(options.seed), "--out", str(options.out), *overrides]
    # As the command line calls it: a run keeps the words that it was started with.
    saccade.main(args=words, prog_name="saccade", standalone_mode=False, obj=words)
    answer = {
        "recipe": options.recipe,
        "settings": options.settings,
        "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        "load": os.getloadavg()[0],
        **told(watch.writes),
    }
    text = json.dumps(answer, indent=2)
    print(text)
    if options.json:
        options.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
