"""A benchmark as a value: where its rows lie, how they are asked, how replies are read, what is reported.

A public figure is comparable only with all of these beside it. Each harness reads the same reply by its own rule; a
``Reading`` is one such rule, in words of our own. ``Benchmark.headline`` names the one that a report puts first.
"""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from saccade.errors import UserError
from saccade.evaluation.pixel_rule import PixelRule
from saccade.tasks.rows.fields import Row
from saccade.types import ImageRef, Task

ReadingName = Literal["official", "vlmevalkit", "vlmevalkit-2026-08", "lmms-eval", "lmms-eval-0.7.2", "strict"]
"""``official`` is the rule in the benchmark's own repository, ``vlmevalkit`` ms-vlmeval 0.0.20, ``lmms-eval`` 0.7.3;
another version stands beside where its rule differs."""

OptionPolicy = Literal["published", "shuffled", "cycles"]
"""Options in their published order, in one order drawn by seed, or in every rotation, each a question of its own."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(frozen=True, kw_only=True, slots=True)
class BenchmarkRow:
    """A question as it is asked, with the columns of its row that rules and aggregates need."""

    task: Task
    """``id`` is ``NAME/INDEX``, ``family`` the benchmark, ``answer`` the letter where there are options."""
    fields: Mapping[str, str]
    """The row's columns as text, images left out, under the names of VLMEvalKit's TSV (``question``, ``answer``,
    ``A``, ``category``, ...) whatever the layout; empty columns are left out. Options and answer are as asked. In
    ``targets`` is a list of the boxes that the answer depends on, in pixels of the first picture."""
    cycle: int = 0
    """How far the options are rotated; 0 as published."""
    pictures: tuple[ImageRef, ...] = ()
    """The file's, in its order; those of ``task`` stand as its words name them."""

    @property
    def index(self) -> str:
        return self.fields["index"]

    @property
    def question(self) -> str:
        """The published question, with its pictures' places as the file has them."""
        return self.fields.get("question", "")

    @property
    def answer(self) -> str:
        """The published answer: the letter of an option, or text."""
        return self.fields.get("answer", "")

    @property
    def has_answer(self) -> bool:
        """Whether the right answer is known; rows of a test split have none, and no reply to them is ever scored."""
        return bool(self.task.answer or self.task.accepted)

    @property
    def options(self) -> dict[str, str]:
        """The text of each option by its letter."""
        return {letter: self.fields[letter] for letter in LETTERS if letter in self.fields}

    def column(self, name: str) -> str:
        """The column; ``UserError`` names row and column where it is missing."""
        if name not in self.fields:
            raise UserError(f"row {self.index} has no column {name!r}, which this benchmark's rule needs")
        return self.fields[name]


@dataclass(frozen=True, slots=True)
class Extracted:
    """What a rule reads out of a reply, and what it is worth."""

    text: str
    """What the rule takes for the answer; empty where it finds none."""
    credit: float | None
    """Between 0 and 1; None is no verdict: the rule needs a judge here, or the judge gave none."""

    right_from: float = 1.0
    """The credit from which on reports, which know right and wrong alone, call the reply right."""

    @property
    def is_right(self) -> bool | None:
        """None without a verdict."""
        return None if self.credit is None else self.credit >= self.right_from


NO_VERDICT = Extracted("", None)

Rule = Callable[[BenchmarkRow, str], Extracted]
"""A pure function of row and reply."""

Judging = Callable[[BenchmarkRow, str], Generator[str, str, Extracted]]
"""The rule where a judge helps: yields each prompt for the judge, is sent the judge's text, returns the extract.

It returns without asking wherever the rule decides alone, and credit None where the judge stays outside its form.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoredRow:
    """A row with the extract of one of its replies, which has a verdict."""

    row: BenchmarkRow
    extracted: Extracted
    reply: str = ""
    """The whole reply, boxes of its thought among it."""

    @property
    def credit(self) -> float:
        if self.extracted.credit is None:
            raise ValueError(f"row {self.row.index} has no verdict; leave it out of the aggregate and count it")
        return self.extracted.credit


@dataclass(frozen=True, slots=True)
class BenchmarkFigure:
    """A figure of the benchmark's table."""

    name: str
    value: float
    """A share between 0 and 1, but for WeMath's scores, which may be negative."""
    n: int
    """Rows, or groups of rows, that it is taken over."""


Aggregate = Callable[[Sequence[ScoredRow]], Sequence[BenchmarkFigure]]
"""The figures of rows with a verdict; the first is the benchmark's figure. Nothing for no rows."""


MAX_REPLY_CHARACTERS = 20_000


def bounded(reply: str) -> str:
    """The reply, or its two ends: public rules take time with the square of a hostile reply's length."""
    half = MAX_REPLY_CHARACTERS // 2
    return reply if len(reply) <= MAX_REPLY_CHARACTERS else f"{reply[:half]}\n{reply[-half:]}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Reading:
    """A published rule, or ours, that reads replies to a benchmark."""

    name: ReadingName
    rule: Rule
    """Without a judge. What VLMEvalKit's ``exact_matching`` counts as wrong is wrong; what its rule cannot decide
    without a judge is no verdict."""
    judging: Judging | None = None
    """With a judge; None where the rule never asks one."""
    in_form: Callable[[str], bool] | None = None
    """Whether a judge's text has the form that it was asked for, where the harness's rule takes any text for a verdict;
    after ``FORM_TRIES`` without it there is no verdict."""
    needs_judge: bool = False
    """Without a judge the rule says nothing of ordinary replies, so that it cannot be the reward of a run."""
    aggregate: Aggregate | None = None
    """The harness's own, where it differs from the benchmark's."""
    differs: str = ""
    """What of the harness's rule is left out or cannot be had."""

    def read(self, row: BenchmarkRow, reply: str) -> Extracted:
        """The extract of a reply; of a very long one its beginning and its end are read.

        There is no verdict of a row without an answer.
        """
        return self.rule(row, bounded(reply)) if row.has_answer else NO_VERDICT

    def with_aggregate(self, aggregate: Aggregate) -> "Reading":
        return replace(self, aggregate=aggregate)


@dataclass(frozen=True, kw_only=True, slots=True)
class Release:
    """A file of a published release that is known by its hash."""

    file: str
    md5: str = ""
    """As the release's or a harness's own code gives it, or its first digits; empty where none is published."""
    date: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class FileLayout:
    """Where rows lie, in one file of VLMEvalKit's TSV or on the hub, or in a data set that ``read_data_set`` reads."""

    releases: tuple[Release, ...] = ()
    """VLMEvalKit's files, the newest first."""
    hub: str = ""
    """The name on the Hugging Face hub of the same questions in parquet."""
    columns: tuple[str, ...] = ("index", "question", "answer")
    """Without these a file is refused."""
    from_hub: Callable[[Row], Row] | None = None
    """A row of the hub's parquet in the TSV's columns; None where they are the same."""
    prepare: Callable[[Mapping[str, str]], Mapping[str, str]] | None = None
    """The TSV's columns in their usual form, where the release has another."""
    keep: Callable[[Mapping[str, str]], bool] | None = None
    """The rows that are asked, where a file holds others."""
    folder: str = ""
    """The folder of a release that ``release_rows`` reads, instead of or beside files of these layouts."""
    release_rows: Callable[[Path], Iterator[Mapping[str, str]]] | None = None
    """Rows with ``image_path``, or ``video_path``, in the folder; ``UserError`` names the file that is missing or
    damaged."""
    frames: int = 0
    """Frames that the release takes of each video; 0 where it has none."""
    data_set: str = ""
    """A name of ``DATA_SETS`` instead of files of its own."""
    split: str = "test"
    is_named_by_split: bool = False
    """Whether no file but one that the split names is this benchmark's: those of others lie beside it."""
    origin: str = ""
    """Where the release is to be had, and under which licence as far as its own pages say."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Benchmark:
    """One benchmark."""

    name: str
    title: str
    layout: FileLayout
    size: int
    """Questions of the release; 0 where it is not known."""
    prompt: Callable[[BenchmarkRow], str]
    """The text that VLMEvalKit sends after the pictures."""
    cluster: Callable[[BenchmarkRow], str]
    """Rows of one cluster are not independent: they share a picture, a document or a problem."""
    readings: tuple[Reading, ...]
    aggregate: Aggregate
    headline: ReadingName = "vlmevalkit"
    options: OptionPolicy = "published"
    pixels: PixelRule = PixelRule()
    source: str = ""
    """``Task.metric``, which the strict reading goes by; empty for the rule of the answer's kind."""
    interleaves: Literal["", "numbered", "in order"] = ""
    """How its texts name the places of its pictures: ``<image 2>``, or ``<image>`` one after another; empty where they
    name none. A picture that is named twice is shown twice, one that is not is not shown, unless none is named."""
    takes_any: bool = False
    """An answer that is the text of a list holds several answers, any of which counts; else all of its items do."""
    published_as: tuple[str, ...] = ()
    """Its names among the published figures."""
    trap: str = ""
    """What makes published figures of it differ, in a sentence."""

    def reading(self, name: ReadingName) -> Reading:
        """The reading of this name; ``UserError`` lists those that there are."""
        for one in self.readings:
            if one.name == name:
                return one
        raise UserError(
            f"{self.name} has no reading {name!r}; choose one of {', '.join(r.name for r in self.readings)}"
        )

    def figures(self, name: ReadingName, scored: Sequence[ScoredRow]) -> Sequence[BenchmarkFigure]:
        """The figures by a reading, the benchmark's own first."""
        return (self.reading(name).aggregate or self.aggregate)(scored) if scored else ()


@dataclass(frozen=True, kw_only=True, slots=True)
class OpenedBenchmark:
    """A benchmark whose rows were read."""

    benchmark: Benchmark
    rows: tuple[BenchmarkRow, ...]
    file: str
    """Name of the file."""
    md5: str
    """Of the file's bytes; empty where rows came from several files."""
    release: Release | None
    """The release whose hash the file has; None for a file that is no known one."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Rows that are not asked, counted by why, before the last one that is."""

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(row.task for row in self.rows)

    @property
    def unanswered(self) -> int:
        """Rows without an answer: they are asked, and never scored."""
        return sum(not row.has_answer for row in self.rows)

    def describe(self) -> str:
        """The file, and whether it is a known release: what a figure needs beside it."""
        questions = f"{len(self.rows):,} questions"
        if self.unanswered:
            questions += f", {self.unanswered:,} of them WITHOUT AN ANSWER: asked for a submission, in no figure"
        return f"{self._described_file()}, {questions}"

    def _described_file(self) -> str:
        known = [release for release in self.benchmark.layout.releases if release.md5]
        if self.release:
            date = f" of {self.release.date}" if self.release.date else ""
            return f"{self.file}, the published file{date} (md5 {self.md5})"
        if known and self.md5:
            listed = ", ".join(dict.fromkeys(one.md5 for one in known))
            return f"{self.file}, md5 {self.md5}, NOT a published file ({listed})"
        return f"{self.file}{f', md5 {self.md5}' if self.md5 else ''}"
