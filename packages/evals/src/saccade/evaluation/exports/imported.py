"""Runs of other harnesses as samples of ours: read by a rule of ours, then compared and summed up like any other."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from saccade.errors import UserError
from saccade.evaluation.benchmarks.benchmark import LETTERS, Benchmark, BenchmarkRow, Reading, ReadingName
from saccade.evaluation.benchmarks.rows import gold_kind, row_of
from saccade.evaluation.benchmarks.rules.strict import STRICT
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import OPTIONS
from saccade.evaluation.exports.predictions import Prediction
from saccade.evaluation.sample_files import FOLDER
from saccade.evaluation.sample_files import write_samples as write_sample_set
from saccade.evaluation.samples import SampleHeader, SampleSet, StoredSample, default_cluster, question_hash
from saccade.tasks.rows.fields import RowError
from saccade.types import Json, Task


def imported_samples(
    predictions: Sequence[Prediction],
    *,
    name: str,
    source: Path,
    model: str,
    reading: ReadingName = "strict",
    benchmark: Benchmark | None = None,
) -> SampleSet:
    """The predictions scored anew by a reading of the benchmark; of any other set by ``strict`` or a ``vlmevalkit``.

    Pictures are in no prediction file: the samples' questions are told apart by words and options alone.
    """
    rule = _rule(reading, benchmark)
    asked: Mapping[str, Json] = {
        "imported": source.name,
        "reading": reading,
        "benchmark": None if benchmark is None else benchmark.name,
    }
    header = SampleHeader(name=name, model={"model": model}, asked=asked)
    return SampleSet(header=header, samples=tuple(_sample(one, rule, benchmark, source) for one in predictions))


def write_imported(found: SampleSet, run: Path) -> Path:
    """Writes ``RUN/samples/NAME.jsonl``; UserError where one of that name is there."""
    path = run / FOLDER / f"{found.header.name}.jsonl"
    if path.exists():
        raise UserError(f"{path} is there already; choose another --name or --out")
    write_sample_set(path, found)
    return path


def _rule(reading: ReadingName, benchmark: Benchmark | None) -> Reading:
    if benchmark is not None:
        return benchmark.reading(reading)
    rules = {one.name: one for one in (STRICT, *OPTIONS)}
    if reading not in rules:
        raise UserError(
            f"{reading} has a rule for each of its tasks; name the benchmark (--benchmark), or read by "
            f"{' or '.join(rules)}"
        )
    return rules[reading]


def _sample(one: Prediction, rule: Reading, benchmark: Benchmark | None, source: Path) -> StoredSample:
    row = _row(one, benchmark, source)
    task = row.task
    right = None if one.reply is None else rule.read(row, one.reply).is_right
    return StoredSample(
        id=task.id,
        q=question_hash(task),
        key="",
        sample=0,
        status="failed" if one.reply is None else "answered",
        right=right,
        score=None if right is None else float(right),
        answer=one.reply,
        gold=task.answer,
        reply=one.reply or "",
        family=task.family,
        cluster=default_cluster(task),
        buckets=task.buckets,
        choices=len(task.choices),
        failure="the other harness has no reply" if one.reply is None else "",
    )


def _row(one: Prediction, benchmark: Benchmark | None, source: Path) -> BenchmarkRow:
    options = dict(zip(LETTERS, one.options))
    fields = {"index": one.index, "question": one.question or one.id, "answer": one.gold, **options}
    if one.category:
        fields["category"] = one.category
    if benchmark is not None:
        try:
            return row_of(benchmark, fields, ())
        except RowError as error:
            raise UserError(f"{source}, question {one.index}: {error}") from None
    task = Task(
        id=one.id,
        family=one.category or source.stem,
        question=fields["question"],
        answer=one.gold,
        answer_kind=gold_kind(one.gold, one.question, one.options),
        images=(),
        choices=one.options,
        source="imported",
    )
    return BenchmarkRow(task=task, fields=fields)
