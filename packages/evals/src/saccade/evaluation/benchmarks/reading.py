"""Replies read by every reading of a benchmark, with a judge where one is given, and the figures of each reading."""

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from saccade.chat.chat_model import ChatModel
from saccade.chat.wire import RefusedRequestError
from saccade.errors import MachineError
from saccade.evaluation.benchmarks.aggregates import mean
from saccade.evaluation.benchmarks.benchmark import (
    NO_VERDICT,
    Benchmark,
    BenchmarkFigure,
    BenchmarkRow,
    Extracted,
    Reading,
    ReadingName,
    ScoredRow,
    bounded,
)
from saccade.evaluation.statistics import clustered_mean, wilson_interval
from saccade.rewards.judges.addressing import Runs, addresses_judge
from saccade.rewards.judges.llm_judge import without_thinking
from saccade.seeding import seed_for
from saccade.types import Json, Message

RESAMPLES = 200


SPOKEN_TO_JUDGE = Extracted("", 0.0)
_NO_RUNS: Runs = frozenset()
AT_ONCE = 16
"""Replies that a judge is asked about at a time."""
FORM_TRIES = 3
"""How often a judge is asked for a text in its form, where the harness's rule would take any."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkReading:
    """Replies to a benchmark by one reading."""

    name: ReadingName
    extracted: tuple[Extracted | None, ...]
    """In the replies' order; None for a reply that the machine failed to give."""
    figures: tuple[BenchmarkFigure, ...]
    """Over replies with a verdict; empty where there are none."""
    ci95: tuple[float, float] | None = None
    """Of the first figure, over clusters; None for fewer than two."""
    unanswered: int = 0
    """Replies to rows without an answer, for a submission: in no figure."""

    @property
    def failed(self) -> int:
        return sum(one is None for one in self.extracted)

    @property
    def no_verdict(self) -> int:
        """Replies of which no verdict could be had: counted, in no figure."""
        return sum(one is not None and one.credit is None for one in self.extracted) - self.unanswered

    def as_json(self) -> dict[str, Json]:
        return {
            "reading": self.name,
            "n": len(self.extracted) - self.failed - self.no_verdict - self.unanswered,
            "failed": self.failed,
            "no_verdict": self.no_verdict,
            **({"unanswered": self.unanswered} if self.unanswered else {}),
            "ci95": list(self.ci95) if self.ci95 else None,
            "figures": [{"name": one.name, "value": one.value, "n": one.n} for one in self.figures],
        }


def read_replies(
    benchmark: Benchmark,
    name: ReadingName,
    rows: Sequence[BenchmarkRow],
    replies: Sequence[str | None],
    transcripts: Sequence[str] | None = None,
) -> BenchmarkReading:
    """The replies by a reading without a judge; a reply is None where the machine failed.

    ``transcripts`` are all that the model wrote, where a reply is its final answer alone: some aggregates look for
    boxes there.
    """
    rule = benchmark.reading(name)
    read = [None if reply is None else rule.read(row, reply) for row, reply in zip(rows, replies, strict=True)]
    return _reading(benchmark, name, rows, transcripts or replies, read)


async def judge_replies(
    benchmark: Benchmark,
    name: ReadingName,
    rows: Sequence[BenchmarkRow],
    replies: Sequence[str | None],
    judge: ChatModel,
    *,
    transcripts: Sequence[str] | None = None,
    seed: int = 0,
) -> BenchmarkReading:
    """The replies by a reading, the judge asked wherever the rule does not decide alone; else as ``read_replies``."""
    rule = benchmark.reading(name)
    places = asyncio.Semaphore(AT_ONCE)

    async def one(row: BenchmarkRow, reply: str | None) -> Extracted | None:
        async with places:
            return None if reply is None else await judge_reply(rule, row, reply, judge, seed=seed)

    read = await asyncio.gather(*(one(row, reply) for row, reply in zip(rows, replies, strict=True)))
    return _reading(benchmark, name, rows, transcripts or replies, read)


async def judge_reply(reading: Reading, row: BenchmarkRow, reply: str, judge: ChatModel, *, seed: int = 0) -> Extracted:
    """One reply with the judge's help; no verdict where the judge's machine fails or it stays outside its form.

    A reply that speaks to the judge is wrong unasked: were it no verdict, it would take its question out of the figure.
    A judge's thoughts in ``<think>`` tags are not part of its text.
    """
    if reading.judging is None or not row.has_answer:
        return reading.read(row, reply)
    asking = reading.judging(row, bounded(reply))
    said: str | None = None
    turn = 0
    while True:
        try:
            prompt = next(asking) if said is None else asking.send(said)
        except StopIteration as end:
            extracted: Extracted = end.value
            return extracted
        if said is None and addresses_judge(reply, _NO_RUNS, question=row.question or row.task.question):
            return SPOKEN_TO_JUDGE
        message = Message(role="user", parts=(prompt,))
        for _ in range(FORM_TRIES):
            drawn = seed_for(seed, "judge", reading.name, row.task.id, turn)
            try:
                texts = await judge((message,), temperature=0.0 if turn == 0 else 0.5, samples=1, seed=drawn)
            except MachineError:
                return NO_VERDICT
            except RefusedRequestError as error:
                # A prompt that is refused for its length or its words; a wrong key or name would refuse all of them.
                if not error.is_about_one_request:
                    raise
                return NO_VERDICT
            turn += 1
            said = without_thinking(texts[0])
            if reading.in_form is None or reading.in_form(said):
                break
        else:
            return NO_VERDICT


def _reading(
    benchmark: Benchmark,
    name: ReadingName,
    rows: Sequence[BenchmarkRow],
    replies: Sequence[str | None],
    read: Sequence[Extracted | None],
) -> BenchmarkReading:
    scored = [
        ScoredRow(row=row, extracted=one, reply=reply or "")
        for row, one, reply in zip(rows, read, replies, strict=True)
        if one is not None and one.credit is not None
    ]
    return BenchmarkReading(
        name=name,
        extracted=tuple(read),
        figures=_figures(benchmark, name, scored),
        ci95=figure_interval(benchmark, name, scored),
        unanswered=sum(one is not None and not row.has_answer for row, one in zip(rows, read, strict=True)),
    )


def _figures(benchmark: Benchmark, name: ReadingName, scored: Sequence[ScoredRow]) -> tuple[BenchmarkFigure, ...]:
    """The figures; where questions were asked in every order of their options, ``n`` still counts questions."""
    figures = benchmark.figures(name, scored)
    if not any(one.row.cycle for one in scored):
        return tuple(figures)
    once = benchmark.figures(name, list({one.row.index: one for one in scored}.values()))
    questions = {one.name: one.n for one in once}
    return tuple(replace(one, n=questions.get(one.name, one.n)) for one in figures)


def figure_interval(
    benchmark: Benchmark, name: ReadingName, scored: Sequence[ScoredRow], *, seed: int = 0
) -> tuple[float, float] | None:
    """The 95 % interval of the first figure over whole clusters; None for fewer than two clusters.

    A figure that is the mean over rows has the interval of ``clustered_mean``. Any other is worked out anew for
    200 draws of clusters; where all are the same share, 0 or 1, Wilson's interval with one observation for each
    cluster stands in. The same rows give the same interval.
    """
    clusters: dict[str, list[ScoredRow]] = {}
    for one in scored:
        clusters.setdefault(benchmark.cluster(one.row), []).append(one)
    if len(clusters) < 2:
        return None
    figures = benchmark.figures(name, scored)
    if not figures:
        return None
    if abs(figures[0].value - mean(scored)) < 1e-12:
        values = [one.credit for one in scored]
        return clustered_mean(values, [benchmark.cluster(one.row) for one in scored], seed=seed).ci95
    names = sorted(clusters)
    drawn = random.Random(seed_for(seed, "bootstrap", benchmark.name, name))
    draws = ([one for key in drawn.choices(names, k=len(names)) for one in clusters[key]] for _ in range(RESAMPLES))
    # A draw of groups that all lack a row has no figure.
    values = sorted(found[0].value for rows in draws if (found := benchmark.figures(name, rows)))
    low, high = values[int(0.025 * len(values))], values[max(0, int(0.975 * len(values)) - 1)]
    return wilson_interval(round(low) * len(names), len(names)) if low == high and low in (0.0, 1.0) else (low, high)
