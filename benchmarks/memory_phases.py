"""The command line in this process, with the peak memory of each phase of a training.

    python benchmarks/memory_phases.py OUT.json train questions --model ... --out ...

Linux only: between phases the kernel's mark of the peak is set back (``/proc/self/clear_refs``).
"""

import functools
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

WATCHED = (
    ("load", "saccade.train.run", "open_run"),
    ("evaluation", "saccade.train.run", "evaluate_stage"),
    ("optimizer made or restored", "saccade.train.run", "restore_learner"),
    ("rollout", "saccade.train.collect", "Collector.collect"),
    ("engine against learner", "saccade.train.loops", "check_parity"),
    ("learner: pictures", "saccade.models.vlm", "VisionLanguageModel.encode_images"),
    ("learner: forward", "saccade.learner.learner", "Learner._forward"),
    ("learner: backward", "torch", "Tensor.backward"),
    ("learner: clip", "saccade.learner.optimizer", "MasterOptimizer.clip"),
    ("learner: step", "saccade.learner.optimizer", "MasterOptimizer.step"),
    ("checkpoint", "saccade.train.run", "save_checkpoint"),
    ("checkpoint: weights", "saccade.models.vlm", "VisionLanguageModel.save"),
)
"""Phase, module and function. A phase inside another counts for itself alone."""
BETWEEN = "between"


class Phases:
    """Resident memory of this process, by the phase that it is in."""

    def __init__(self) -> None:
        self.found: dict[str, dict[str, float]] = {}
        self._inside = [BETWEEN]

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        self._mark()
        self._inside.append(name)
        begun = resident()
        try:
            yield
        finally:
            self._mark()
            self._inside.pop()
            row = self.found[name]
            row["times"] = row.get("times", 0) + 1
            row["begins_gib"] = max(row.get("begins_gib", 0.0), begun["VmRSS"])
            row["ends_gib"] = max(row.get("ends_gib", 0.0), resident()["VmRSS"])

    def _mark(self) -> None:
        """Gives the peak since the last mark to the phase that the process is in."""
        now = resident()
        row = self.found.setdefault(self._inside[-1], {"peak_gib": 0.0})
        row["peak_gib"] = max(row["peak_gib"], now["VmHWM"])
        row["files_gib"] = max(row.get("files_gib", 0.0), now["RssFile"])
        Path("/proc/self/clear_refs").write_text("5")

    def watch(self, name: str, module: str, function: str) -> None:
        *owners, attribute = function.split(".")
        owner = functools.reduce(getattr, owners, importlib.import_module(module))
        plain: Callable[..., object] = getattr(owner, attribute)

        @functools.wraps(plain)
        def watched(*arguments: object, **options: object) -> object:
            # Pictures are encoded in rollouts too; only the learner's are told apart.
            if name == "learner: pictures" and self._inside[-1] != "learner: forward":
                return plain(*arguments, **options)
            with self.phase(name):
                return plain(*arguments, **options)

        setattr(owner, attribute, watched)


def resident() -> dict[str, float]:
    """GiB by the names of ``/proc/self/status``."""
    lines = (line.split() for line in Path("/proc/self/status").read_text().splitlines())
    return {words[0].rstrip(":"): round(int(words[1]) / 2**20, 3) for words in lines if words[-1] == "kB"}


def main() -> None:
    out, command = Path(sys.argv[1]), sys.argv[2:]
    phases = Phases()
    for name, module, function in WATCHED:
        phases.watch(name, module, function)
    from saccade.cli import main as saccade

    sys.argv = ["saccade", *command]
    try:
        with phases.phase("outside of all"):
            saccade()
    finally:
        out.write_text(json.dumps(phases.found, indent=1) + "\n")


if __name__ == "__main__":
    main()
