"""Suites: the benchmarks of a paper's table, run on what files are there, with the paper's rows beside."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from saccade.errors import UserError
from saccade.evaluation.benchmarks.benchmark import Benchmark
from saccade.evaluation.benchmarks.opening import Readiness, find_benchmark
from saccade.evaluation.benchmarks.published_record import PublishedFigure, published, published_figures, spread
from saccade.evaluation.benchmarks.reading import BenchmarkReading
from saccade.evaluation.benchmarks.table import benchmark_named


@dataclass(frozen=True, kw_only=True, slots=True)
class SuiteRow:
    """A benchmark of a paper's table."""

    name: str
    """Of the benchmark."""
    published_as: str
    """Its name among the paper's published figures; empty where the paper's figure is in none of our lists."""

    @property
    def benchmark(self) -> Benchmark:
        return benchmark_named(self.name)


@dataclass(frozen=True, kw_only=True, slots=True)
class Suite:
    """A paper's table of public benchmarks."""

    name: str
    title: str
    paper: str
    """Begins the source of the paper's published figures."""
    protocol: str
    """How the paper asked, as far as it says; what of it cannot be had again."""
    rows: tuple[SuiteRow, ...]

    def own_figures(self, row: SuiteRow) -> tuple[PublishedFigure, ...]:
        """The paper's figures of a benchmark."""
        return tuple(
            one
            for one in published_figures()
            if one.source.startswith(self.paper) and one.benchmark == row.published_as
        )

    def other_figures(self, row: SuiteRow) -> tuple[PublishedFigure, ...]:
        """What others published of the same benchmark."""
        return tuple(one for one in published(row.benchmark) if not one.source.startswith(self.paper))


def _rows(*pairs: tuple[str, str]) -> tuple[SuiteRow, ...]:
    return tuple(SuiteRow(name=name, published_as=known) for name, known in pairs)


_VISTA = ("chartqa", "geometry3k", "geoqa", "unigeo", "mapqa", "tabmwp", "ai2d", "plotqa", "clevr-math", "iconqa")

SUITES: Mapping[str, Suite] = MappingProxyType(
    {
        one.name: one
        for one in (
            Suite(
                name="ivgr",
                title="iVGR, tables 2 to 4",
                paper="iVGR",
                protocol="VLMEvalKit's rules; MMK12 is in no version of it that was read; pixel limits are not stated",
                rows=_rows(
                    ("vstar", "VStarBench"),
                    ("hrbench-4k", "HRBench4K"),
                    ("hrbench-8k", "HRBench8K"),
                    ("mme-realworld-lite", "MME-RealWorld-Lite"),
                    ("pope", "POPE"),
                    ("realworldqa", "RealWorldQA"),
                    ("cv-bench-2d", "CV-Bench-2D"),
                    ("cv-bench-3d", "CV-Bench-3D"),
                    ("treebench", ""),
                    ("chartqa-test", "ChartQA_TEST"),
                    ("ai2d-test", "AI2D_TEST"),
                    ("wemath-testmini", "WeMath"),
                    ("mmstar", "MMStar"),
                    ("mmmu-val", "MMMU_DEV_VAL"),
                    ("mmk12", "MMK12"),
                ),
            ),
            Suite(
                name="codedance",
                title="CodeDance, tables 1 and 2",
                paper="CodeDance",
                protocol="VLMEvalKit's rules; some baselines are quoted from their own reports",
                rows=_rows(
                    ("countbench", "CountBenchQA"),
                    ("pixmo-count", "PixMo-Count"),
                    ("vstar", "VStarBench"),
                    ("hrbench-4k", "HRBench4K"),
                    ("hrbench-8k", "HRBench8K"),
                    ("chartqa-test", "ChartQA_TEST"),
                    ("charxiv-reasoning", "CharXiv_reasoning_val"),
                    ("mathvision-test", "MathVision"),
                    ("mathvista-testmini", "MathVista_MINI"),
                    ("mathverse-vision-only", "MathVerse_MINI"),
                    ("wemath-testmini", "WeMath"),
                ),
            ),
            Suite(
                name="vista",
                title="VISTA-R1, table 2",
                paper="VISTA",
                protocol="rules on draws of the test sets that are not published",
                rows=_rows(*((name, name) for name in (*_VISTA, "mathvista"))),
            ),
            Suite(
                name="argos",
                title="Argos, tables 1 and 2",
                paper="Argos",
                protocol="temperature 0.6; GPT-4 judges HallusionBench; its CV-Bench may be 2D and 3D together",
                rows=_rows(
                    ("blink", "BLINK"),
                    ("mindcube-tiny", "MindCube_tiny"),
                    ("cv-bench-2d", "CV-Bench"),
                    ("cv-bench-3d", "CV-Bench-3D"),
                    ("countercurate", "CounterCurate"),
                    ("hallusionbench", "HallusionBench"),
                    ("sugarcrepe", "SugarCrepe"),
                ),
            ),
            Suite(
                name="mini-o3",
                title="Mini-o3, visual search",
                paper="Mini-o3",
                protocol="GPT-4o grades VisualProbe; each figure is the mean of 32 samples",
                rows=_rows(
                    ("visualprobe-hard", "VisualProbe hard"),
                    ("visualprobe-medium", "VisualProbe medium"),
                    ("visualprobe-easy", "VisualProbe easy"),
                    ("vstar", "VStarBench"),
                    ("hrbench-4k", "HRBench4K"),
                    ("hrbench-8k", "HRBench8K"),
                    ("mme-realworld", "MME-RealWorld"),
                ),
            ),
            Suite(
                name="lang2act",
                title="Lang2Act, table 1",
                paper="Lang2Act",
                protocol="three retrieved pages for each question, Qwen2.5-72B-Instruct judges; an index is needed",
                rows=_rows(
                    ("slidevqa", "SLIDEVQA"),
                    ("vidoseek", "ViDoSeek"),
                    ("mmlongbench-doc", "MMLongBench_DOC"),
                    ("fetatab", ""),
                    ("papertab", ""),
                ),
            ),
        )
    }
)


def suite_named(name: str) -> Suite:
    """The suite of this name; ``UserError`` that lists the names where there is none."""
    if name not in SUITES:
        raise UserError(f"there is no suite {name!r}; choose one of {', '.join(SUITES)}")
    return SUITES[name]


def suite_readiness(suite: Suite, where: Path) -> tuple[Readiness, ...]:
    """For each row whether its file is in the folder, or what file to put where."""
    return tuple(find_benchmark(row.benchmark, where) for row in suite.rows)


def ready_rows(suite: Suite, where: Path) -> tuple[SuiteRow, ...]:
    """The rows that can be run; ``UserError`` with what to put where when there are none."""
    found = suite_readiness(suite, where)
    ready = tuple(row for row, one in zip(suite.rows, found) if one.is_ready)
    if not ready:
        missing = "".join(f"\n  {one.benchmark.title}: {one.wanted}" for one in found)
        raise UserError(f"no benchmark of {suite.title} is in {where}; put there any of:{missing}")
    return ready


def suite_table(suite: Suite, measured: Mapping[str, Sequence[BenchmarkReading]]) -> str:
    """A Markdown table: our figure by each reading, the paper's rows, and what others published, in percent.

    ``measured`` has the readings of each benchmark by its name; the headline is marked by a star. A figure stands
    beside how many replies failed or have no verdict.
    """
    sources = sorted({f"{one.source} ({one.date})" for row in suite.rows for one in suite.own_figures(row)})
    lines = [f"{suite.title}. {suite.protocol[0].upper()}{suite.protocol[1:]}. The paper: {'; '.join(sources)}.", ""]
    lines += ["| benchmark | measured | the paper | published elsewhere |", "|---|---|---|---|"]
    for row in suite.rows:
        beside = _own(suite, row), _elsewhere(suite.other_figures(row))
        cells = (row.benchmark.title, _readings_text(row, measured.get(row.name)), *beside)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def suite_lines(suite: Suite, measured: Mapping[str, Sequence[BenchmarkReading]]) -> list[str]:
    """The same in lines for a terminal: the rows that were run, and the names of those that were not."""
    lines: list[str] = []
    for row in suite.rows:
        if row.name not in measured:
            continue
        lines.append(f"{row.benchmark.title}: {_readings_text(row, measured[row.name])}")
        lines.append(f"  the paper: {_own(suite, row)}")
        lines.append(f"  published elsewhere: {_elsewhere(suite.other_figures(row))}")
    missing = [row.benchmark.title for row in suite.rows if row.name not in measured]
    return [*lines, *([f"not run, no file: {', '.join(missing)}"] if missing else [])]


def _own(suite: Suite, row: SuiteRow) -> str:
    """The paper's figures of a benchmark."""
    figures = suite.own_figures(row)
    return "; ".join(f"{one.model}{' (tools)' * one.tools} {one.value:g}" for one in figures) or "not listed"


def _readings_text(row: SuiteRow, readings: Sequence[BenchmarkReading] | None) -> str:
    if readings is None:
        return "not run: no file"
    return "; ".join(_one_reading(row.benchmark, reading) for reading in readings)


def _one_reading(benchmark: Benchmark, reading: BenchmarkReading) -> str:
    star = "*" if reading.name == benchmark.headline else ""
    counts = [f"{reading.failed} failed"] * bool(reading.failed)
    counts += [f"{reading.no_verdict} without verdict"] * bool(reading.no_verdict)
    counts += [f"{reading.unanswered} without an answer"] * bool(reading.unanswered)
    beside = f" ({', '.join(counts)})" if counts else ""
    if not reading.figures:
        return f"{reading.name}{star}: no figure{beside}"
    first = reading.figures[0]
    low, high = reading.ci95 or (first.value, first.value)
    interval = f" ({100 * low:.1f} to {100 * high:.1f})" if reading.ci95 else ""
    return f"{reading.name}{star}: {100 * first.value:.1f}{interval} {first.name}, n={first.n:,}{beside}"


def _elsewhere(figures: Sequence[PublishedFigure]) -> str:
    parts = [
        f"{model} {low:g}" if low == high else f"{model} {low:g} to {high:g} ({count} figures)"
        for model, (low, high, count) in spread(figures).items()
    ]
    sources = sorted({f"{one.source.partition(',')[0]}, {one.date}" for one in figures})
    return "; ".join(parts) + (f" [{'; '.join(sources)}]" if sources else "") or "none"
