"""Public benchmarks: their files, how they are asked, three readings of each reply, and their tables.

Start in ``benchmark.py`` (``Benchmark``, ``Reading``), then ``opening.py`` (``open_benchmark``). ``tsv.py`` streams
VLMEvalKit's files, ``rules/`` has the rules of the harnesses and ours, ``sets/`` the benchmarks.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.evaluation.benchmarks.benchmark import (
        Benchmark,
        BenchmarkFigure,
        BenchmarkRow,
        Extracted,
        OpenedBenchmark,
        Reading,
        ScoredRow,
    )
    from saccade.evaluation.benchmarks.opening import find_benchmark, open_benchmark
    from saccade.evaluation.benchmarks.published_record import PublishedFigure, published, published_figures, spread
    from saccade.evaluation.benchmarks.reading import BenchmarkReading, judge_replies, read_replies
    from saccade.evaluation.benchmarks.reward import benchmark_reward
    from saccade.evaluation.benchmarks.rows import with_options
    from saccade.evaluation.benchmarks.suites import (
        SUITES,
        Suite,
        ready_rows,
        suite_lines,
        suite_named,
        suite_readiness,
        suite_table,
    )
    from saccade.evaluation.benchmarks.table import BENCHMARKS, benchmark_named
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "BENCHMARKS",
    "SUITES",
    "Benchmark",
    "BenchmarkFigure",
    "BenchmarkReading",
    "BenchmarkRow",
    "Extracted",
    "OpenedBenchmark",
    "PublishedFigure",
    "Reading",
    "ScoredRow",
    "Suite",
    "benchmark_named",
    "benchmark_reward",
    "find_benchmark",
    "judge_replies",
    "open_benchmark",
    "published",
    "published_figures",
    "read_replies",
    "ready_rows",
    "spread",
    "suite_lines",
    "suite_named",
    "suite_readiness",
    "suite_table",
    "with_options",
]
