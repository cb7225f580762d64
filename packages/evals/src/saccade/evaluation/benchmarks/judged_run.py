"""Answers of a finished run read again, with a judge where a rule asks one: nothing is played again."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.atomic import write_json_atomic
from saccade.chat.chat_model import ChatModel
from saccade.codec.codecs import plain_json
from saccade.errors import UserError
from saccade.evaluation.benchmarks.benchmark import LETTERS, Benchmark, BenchmarkRow
from saccade.evaluation.benchmarks.opening import open_benchmark
from saccade.evaluation.benchmarks.reading import BenchmarkReading, judge_replies
from saccade.evaluation.benchmarks.reward import reply_of
from saccade.evaluation.benchmarks.several_samples import SampleAverage, sample_averages
from saccade.evaluation.benchmarks.table import benchmark_named
from saccade.media.store import MediaStore
from saccade.plain_files import plain_text
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths
from saccade.strict_json import finite_object
from saccade.types import Json, Task

JUDGED = ".judged.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class RereadEvaluation:
    """An evaluation of a benchmark, read with a judge by each rule that asks one."""

    benchmark: Benchmark
    evaluation: str
    readings: tuple[BenchmarkReading, ...]
    """Of the first sample of each question."""
    averages: tuple[SampleAverage, ...] = ()
    """Over all samples, where there are several."""


async def reread_run(run: Path, folder: Path, judge: ChatModel, judge_name: str) -> list[RereadEvaluation]:
    """All evaluations of benchmarks in a run, read again; kept in ``benchmarks/EVALUATION.judged.json`` of the run.

    ``UserError`` where the run has none, or a file of a benchmark is not in the folder.
    """
    found: list[RereadEvaluation] = []
    for path in measured_files(run):
        told = _read_record(path)
        one = await _reread(run, folder, judge, str(told["benchmark"]), str(told["evaluation"]))
        kept: dict[str, Json] = {**told, "judge": judge_name, "readings": [each.as_json() for each in one.readings]}
        kept["avg_at_k"] = [plain_json(average) for average in one.averages]
        write_json_atomic(path.with_name(f"{path.stem}{JUDGED}"), finite_object(kept))
        found.append(one)
    return found


def measured_files(run: Path) -> list[Path]:
    """The records of a run's evaluations of benchmarks; ``UserError`` where it has none."""
    measured = sorted(path for path in (run / "benchmarks").glob("*.json") if not path.name.endswith(JUDGED))
    if not measured:
        raise UserError(f"{run}: holds no evaluation of a benchmark; saccade eval --benchmark NAME makes one")
    return measured


def _read_record(path: Path) -> dict[str, Json]:
    try:
        told = json.loads(plain_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{path}: cannot be read as JSON ({error})") from error
    if not isinstance(told, dict) or not {"benchmark", "evaluation"} <= set(told):
        raise UserError(f"{path}: is no record of a benchmark; benchmark and evaluation are missing")
    if Path(str(told["evaluation"])).name != told["evaluation"]:
        raise UserError(f"{path}: evaluation must be the name of one of this run, not {told['evaluation']!r}")
    return told


async def _reread(run: Path, folder: Path, judge: ChatModel, name: str, evaluation: str) -> RereadEvaluation:
    benchmark = benchmark_named(name)
    published = {row.task.id: row for row in open_benchmark(benchmark, folder, media=MediaStore()).rows}
    attempts = list(read_records(RunPaths(root=run).evaluation(evaluation)))
    asking = [reading.name for reading in benchmark.readings if reading.judging is not None]
    by_sample: list[list[BenchmarkReading]] = []
    for sample in sorted({one.trajectory.sample for one in attempts}):
        of_sample = [one for one in attempts if one.trajectory.sample == sample]
        rows = [_as_asked(one.task, published, folder) for one in of_sample]
        replies = [reply_of(one) for one in of_sample]
        wrote = ["\n".join(turn.text for turn in one.trajectory.turns) for one in of_sample]
        by_sample.append(
            [await judge_replies(benchmark, each, rows, replies, judge, transcripts=wrote) for each in asking]
        )
    return RereadEvaluation(
        benchmark=benchmark,
        evaluation=evaluation,
        readings=tuple(by_sample[0]) if by_sample else (),
        averages=tuple(sample_averages(by_sample, benchmark.headline)),
    )


def _as_asked(task: Task, published: dict[str, BenchmarkRow], folder: Path) -> BenchmarkRow:
    """The row of a question, its options in the order in which they were asked."""
    row = published.get(task.id.partition("#")[0])
    if row is None:
        raise UserError(f"{task.id} was asked, but is in no file of {folder}; give the folder that the run read")
    if not row.options:
        return BenchmarkRow(task=task, fields=row.fields, pictures=row.pictures)
    fields = {**row.fields, **dict(zip(LETTERS, task.choices)), "answer": task.answer}
    return BenchmarkRow(task=task, fields=fields, pictures=row.pictures)


def reread_lines(found: Sequence[RereadEvaluation]) -> list[str]:
    """A line for each evaluation and reading."""
    lines: list[str] = []
    for one in found:
        lines.append(f"{one.benchmark.title}, {one.evaluation}:")
        for reading in one.readings:
            first = f"{reading.figures[0].name} {reading.figures[0].value:.1%}" if reading.figures else "no figure"
            told = reading.as_json()
            counts = f"n={told['n']:,}, {reading.no_verdict:,} without verdict, {reading.failed:,} failed"
            counts += f", {reading.unanswered:,} without an answer" if reading.unanswered else ""
            lines.append(f"  {reading.name} with the judge: {first} ({counts})")
        lines += [f"  {average.describe()} (with the judge)" for average in one.averages]
    return lines
