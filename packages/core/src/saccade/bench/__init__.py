"""Benchmarks: one reinforcement step beside a peer's, on the same model, the same tokens and the same rewards.

Start in ``race.py``, which drives the frameworks, each in a process of its own (``worker.py``), through the steps of a
``Workload``.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.bench.checkpoint import SIZES as SIZES
    from saccade.bench.checkpoint import write_checkpoint as write_checkpoint
    from saccade.bench.results import BenchResult as BenchResult
    from saccade.bench.results import write_figures as write_figures
    from saccade.bench.workload import WORKLOADS as WORKLOADS
    from saccade.bench.workload import BenchSpec as BenchSpec
    from saccade.bench.workload import Workload as Workload
else:
    __getattr__, __dir__ = names_on_use(__name__)
