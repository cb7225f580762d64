"""Public benchmarks in ``saccade eval``: their questions as sets to measure, and readings of what was answered."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, get_args

from saccade.atomic import disk_errors, write_json_atomic, write_text_atomic
from saccade.chat import check_up, connect
from saccade.codec.codecs import plain_json
from saccade.config import RecipeContext
from saccade.errors import UserError
from saccade.evaluation.benchmarks import (
    Benchmark,
    BenchmarkReading,
    BenchmarkRow,
    benchmark_named,
    benchmark_reward,
    open_benchmark,
    published,
    read_replies,
    ready_rows,
    spread,
    suite_lines,
    suite_named,
    suite_table,
    with_options,
)
from saccade.evaluation.benchmarks.judged_run import RereadEvaluation
from saccade.evaluation.benchmarks.reward import reply_of
from saccade.evaluation.benchmarks.rows import in_own_words
from saccade.evaluation.benchmarks.several_samples import SampleAverage, sample_averages
from saccade.evaluation.pixel_rule import PixelRule
from saccade.evaluation.probes import ProbeName
from saccade.recipes.evaluation_pixels import Pixels, encoded_task, pixel_rule
from saccade.recipes.evaluation_stages import TaskSet
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths
from saccade.strict_json import finite_object
from saccade.types import Attempt, Json

Options = Literal["published", "shuffled", "cycles"]
Prompts = Literal["saccade", "vlmevalkit"]

REORDERING: tuple[ProbeName, ...] = ("shuffled", "cycled")


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredBenchmark:
    """A benchmark that is measured: its rows, and the set of their questions."""

    benchmark: Benchmark
    rows: Mapping[str, BenchmarkRow]
    file: str
    """What is known of its file."""
    tasks: TaskSet


def measured_benchmarks(
    names: Sequence[str],
    folder: Path,
    context: RecipeContext,
    *,
    suite: str | None = None,
    count: int | None = None,
    prompt: Prompts = "saccade",
    probes: Sequence[ProbeName] = (),
    pixels: Pixels = "benchmark",
    frames: int | None = None,
) -> list[MeasuredBenchmark]:
    """The benchmarks that the user names (``NAME``, ``NAME=shuffled``, ``NAME=cycles``), and those of a suite.

    Of a video so many ``frames`` are shown, by default as many as its release takes.

    ``UserError`` for an unknown name or policy, a missing file, and a probe that would fight with the option policy.
    """
    wanted = list(names)
    if suite is not None:
        wanted += [row.name for row in ready_rows(suite_named(suite), folder)]
    if fighting := [probe for probe in probes if probe in REORDERING]:
        policy = "shuffled" if fighting[0] == "shuffled" else "cycles"
        raise UserError(f"--probe {fighting[0]} is an option policy of a benchmark: write --benchmark NAME={policy}")
    return [
        _measure(one, folder, context, count=count, prompt=prompt, pixels=pixels, frames=frames)
        for one in dict.fromkeys(wanted)
    ]


def _measure(
    wanted: str,
    folder: Path,
    context: RecipeContext,
    *,
    count: int | None,
    prompt: Prompts,
    pixels: Pixels,
    frames: int | None,
) -> MeasuredBenchmark:
    name, _, said = wanted.partition("=")
    benchmark = benchmark_named(name)
    policy = next((one for one in get_args(Options) if one == (said or benchmark.options)), None)
    if policy is None:
        raise UserError(f"--benchmark {wanted}: {said!r} is no order of options; use {', '.join(get_args(Options))}")
    opened = open_benchmark(benchmark, folder, media=context.media, take=count, frames=frames)
    rows = list(with_options(opened.rows, policy, seed=context.seed))
    # A rule that always asks a judge gives no verdict here: the strict one decides what the report calls right.
    reading = "strict" if benchmark.reading(benchmark.headline).needs_judge else benchmark.headline
    by_id = {row.task.id: row for row in rows}
    clusters = {row.task.id: benchmark.cluster(row) for row in rows}
    tasks = [row.task if prompt == "saccade" else in_own_words(benchmark, row) for row in rows]
    rule = pixel_rule(pixels, [benchmark.pixels])
    tasks = [encoded_task(task, rule, context.media) for task in tasks]
    apart: dict[str, Json] = {
        "benchmark": benchmark.name,
        "file_md5": opened.md5,
        "options": policy,
        "reading": reading,
        "prompt": prompt,
        "rows": count,
        **({"frames": frames or benchmark.layout.frames} if benchmark.layout.frames else {}),
        **({} if rule == PixelRule() else {"pixels": {"rule": pixels, **asdict(rule)}}),
    }
    return MeasuredBenchmark(
        benchmark=benchmark,
        rows=by_id,
        file=opened.describe(),
        tasks=TaskSet(
            tasks=tasks,
            name=wanted,
            reward=benchmark_reward(benchmark, by_id, reading),
            cluster=lambda task: clusters.get(task.id, task.id),
            set_apart=apart,
        ),
    )


def check_judge(measured: Sequence[Benchmark], judge: str, model: str | None) -> None:
    """UserError, before anything is played, where no rule asks a judge, or the judge cannot be what was named."""
    if not any(reading.judging is not None for benchmark in measured for reading in benchmark.readings):
        names = ", ".join(benchmark.name for benchmark in measured)
        raise UserError(f"--judge {judge} has no effect: no rule of {names} asks a judge; leave it out")
    connect(judge, model=model)
    check_up(judge)


def benchmark_report(
    out: Path,
    measured: Sequence[MeasuredBenchmark],
    stages: Mapping[str, Sequence[str]],
    suite: str | None,
    judged: Mapping[str, RereadEvaluation] = MappingProxyType({}),
) -> str:
    """Reads every answer by each rule of its benchmark, writes ``benchmarks/`` of the run, and says it in lines.

    ``stages`` are the names of the evaluations of each benchmark, by the name of its set. ``judged`` are evaluations
    read with a judge, by name: they are told and stand in a suite's table instead of the same rule without one.
    """
    paths = RunPaths(root=out)
    with disk_errors(out):
        (out / "benchmarks").mkdir(exist_ok=True)
    lines: list[str] = []
    tables: dict[str, dict[str, Sequence[BenchmarkReading]]] = {}
    for one in measured:
        lines.append(f"{one.benchmark.title}: {one.file}")
        for stage in stages[one.tasks.name]:
            attempts = list(read_records(paths.evaluation(stage)))
            readings = _readings(one, attempts)
            averages = _averages(one, attempts)
            way = stage.removeprefix(_file_name(one.tasks.name)).strip("_")
            judging = judged.get(stage)
            asked = {reading.name: reading for reading in judging.readings} if judging else {}
            told = [asked.get(reading.name, reading) for reading in readings]
            tables.setdefault(way, {})[one.benchmark.name] = told
            lines += [
                f"  {way}: {_line_of(one.benchmark, reading)}{' (with the judge)' if reading.name in asked else ''}"
                for reading in told
            ]
            by_judge = {average.reading: average for average in judging.averages} if judging else {}
            lines += [
                f"  {way}: {by_judge.get(average.reading, average).describe()}"
                f"{' (with the judge)' if average.reading in by_judge else ''}"
                for average in averages
            ]
            write_json_atomic(
                out / "benchmarks" / f"{stage}.json", finite_object(_json(one, stage, readings, averages))
            )
        lines += [f"  published: {said}" for said in _published_lines(one.benchmark)]
    if suite is not None:
        for way, found in tables.items():
            table = suite_table(suite_named(suite), found)
            write_text_atomic(out / "benchmarks" / f"{suite}_{way}.md", table + "\n")
            lines += ["", f"{suite}, {way} (the whole table: benchmarks/{suite}_{way}.md):"]
            lines += suite_lines(suite_named(suite), found)
    return "\n".join(lines)


def _averages(one: MeasuredBenchmark, attempts: Sequence[Attempt]) -> list[SampleAverage]:
    samples = sorted({attempt.trajectory.sample for attempt in attempts})
    return sample_averages([_readings(one, attempts, sample) for sample in samples], one.benchmark.headline)


def _readings(one: MeasuredBenchmark, attempts: Sequence[Attempt], sample: int = 0) -> list[BenchmarkReading]:
    """Of one sample of each question, by default the first, as a harness would read it."""
    first = [attempt for attempt in attempts if attempt.trajectory.sample == sample]
    rows = [one.rows[attempt.task.id] for attempt in first]
    replies = [reply_of(attempt) for attempt in first]
    transcripts = ["\n".join(turn.text for turn in attempt.trajectory.turns) for attempt in first]
    names = [reading.name for reading in one.benchmark.readings]
    return [read_replies(one.benchmark, name, rows, replies, transcripts) for name in names]


def _line_of(benchmark: Benchmark, reading: BenchmarkReading) -> str:
    star = "*" if reading.name == benchmark.headline else ""
    figures = ", ".join(f"{one.name} {one.value:.1%} (n={one.n:,})" for one in reading.figures[:3]) or "no figure"
    interval = f"; 95 % interval of the first {reading.ci95[0]:.1%} to {reading.ci95[1]:.1%}" if reading.ci95 else ""
    text = f"{reading.name}{star}: {figures}{interval}"
    text += f"; INCOMPLETE: {reading.failed:,} failed" if reading.failed else ""
    text += f"; {reading.unanswered:,} without an answer, not scored" if reading.unanswered else ""
    return text + (f"; {reading.no_verdict:,} without verdict" if reading.no_verdict else "")


def _published_lines(benchmark: Benchmark) -> Iterable[str]:
    for model, (low, high, count) in spread(published(benchmark)).items():
        yield f"{model} {low:g}" if low == high else f"{model} {low:g} to {high:g} in {count} sources"


def _json(
    one: MeasuredBenchmark, stage: str, readings: Sequence[BenchmarkReading], averages: Sequence[SampleAverage]
) -> dict[str, Json]:
    return {
        "benchmark": one.benchmark.name,
        "evaluation": stage,
        "file": one.file,
        "asked": dict(one.tasks.set_apart),
        "headline": one.benchmark.headline,
        "readings": [reading.as_json() for reading in readings],
        "avg_at_k": [plain_json(average) for average in averages],
        "published": [
            {
                "model": figure.model,
                "value": figure.value,
                "tools": figure.tools,
                "source": figure.source,
                "date": figure.date,
            }
            for figure in published(one.benchmark)
        ],
    }


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in name)
