"""Every benchmark by name."""

from collections.abc import Mapping
from types import MappingProxyType

from saccade.errors import UserError
from saccade.evaluation.benchmarks.benchmark import Benchmark
from saccade.evaluation.benchmarks.sets.fine_details import V_STAR
from saccade.evaluation.benchmarks.sets.yes_or_no import POPE

BENCHMARKS: Mapping[str, Benchmark] = MappingProxyType({one.name: one for one in (V_STAR, POPE)})


def benchmark_named(name: str) -> Benchmark:
    """The benchmark of this name; ``UserError`` that lists the names where there is none."""
    if name not in BENCHMARKS:
        raise UserError(f"there is no benchmark {name!r}; choose one of {', '.join(BENCHMARKS)}")
    return BENCHMARKS[name]
