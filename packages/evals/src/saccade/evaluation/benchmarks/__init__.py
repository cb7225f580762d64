"""Public benchmarks: their files, how they are asked, three readings of each reply, and their tables.

Start in ``benchmark.py`` (``Benchmark``, ``Reading``), then ``opening.py`` (``open_benchmark``). ``tsv.py`` streams
VLMEvalKit's files, ``rules/`` has the rules of the harnesses and ours, ``sets/`` the benchmarks.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.evaluation.benchmarks.benchmark import Benchmark as Benchmark
    from saccade.evaluation.benchmarks.benchmark import BenchmarkFigure as BenchmarkFigure
    from saccade.evaluation.benchmarks.benchmark import BenchmarkRow as BenchmarkRow
    from saccade.evaluation.benchmarks.benchmark import Extracted as Extracted
    from saccade.evaluation.benchmarks.benchmark import OpenedBenchmark as OpenedBenchmark
    from saccade.evaluation.benchmarks.benchmark import Reading as Reading
    from saccade.evaluation.benchmarks.benchmark import ScoredRow as ScoredRow
    from saccade.evaluation.benchmarks.opening import find_benchmark as find_benchmark
    from saccade.evaluation.benchmarks.opening import open_benchmark as open_benchmark
    from saccade.evaluation.benchmarks.published_record import PublishedFigure as PublishedFigure
    from saccade.evaluation.benchmarks.published_record import published as published
    from saccade.evaluation.benchmarks.published_record import published_figures as published_figures
    from saccade.evaluation.benchmarks.published_record import spread as spread
    from saccade.evaluation.benchmarks.reading import BenchmarkReading as BenchmarkReading
    from saccade.evaluation.benchmarks.reading import judge_replies as judge_replies
    from saccade.evaluation.benchmarks.reading import read_replies as read_replies
    from saccade.evaluation.benchmarks.reward import benchmark_reward as benchmark_reward
    from saccade.evaluation.benchmarks.rows import with_options as with_options
    from saccade.evaluation.benchmarks.suites import SUITES as SUITES
    from saccade.evaluation.benchmarks.suites import Suite as Suite
    from saccade.evaluation.benchmarks.suites import ready_rows as ready_rows
    from saccade.evaluation.benchmarks.suites import suite_lines as suite_lines
    from saccade.evaluation.benchmarks.suites import suite_named as suite_named
    from saccade.evaluation.benchmarks.suites import suite_readiness as suite_readiness
    from saccade.evaluation.benchmarks.suites import suite_table as suite_table
    from saccade.evaluation.benchmarks.table import BENCHMARKS as BENCHMARKS
    from saccade.evaluation.benchmarks.table import benchmark_named as benchmark_named
else:
    __getattr__, __dir__ = names_on_use(__name__)
