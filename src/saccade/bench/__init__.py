"""Benchmarks: one reinforcement step beside a peer's, on the same model, the same tokens and the same rewards.

Start in ``race.py``, which drives the frameworks, each in a process of its own (``worker.py``), through the steps of a
``Workload``.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.bench.checkpoint import SIZES, write_checkpoint
    from saccade.bench.results import BenchResult, write_figures
    from saccade.bench.workload import WORKLOADS, BenchSpec, Workload
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "SIZES",
    "WORKLOADS",
    "BenchResult",
    "BenchSpec",
    "Workload",
    "write_checkpoint",
    "write_figures",
]
