"""avg@k of a benchmark's readings, where each question has several samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.codec.forms import Form
from saccade.evaluation.benchmarks.benchmark import ReadingName
from saccade.evaluation.benchmarks.reading import BenchmarkReading


@dataclass(frozen=True, kw_only=True, slots=True)
class SampleAverage:
    """avg@k of a reading: the mean over samples of its first figure, each over all questions."""

    FORM: ClassVar = Form(apart=("is_headline",), also=("value",))

    reading: str
    is_headline: bool
    figure: str
    by_sample: tuple[float, ...]
    """In the samples' order, without those that have no figure."""
    k: int
    """Samples of each question."""
    failed: int
    no_verdict: int

    @property
    def value(self) -> float:
        return sum(self.by_sample) / len(self.by_sample)

    def describe(self) -> str:
        text = f"{self.reading}{'*' if self.is_headline else ''}: avg@{self.k} of {self.figure} {self.value:.1%}"
        text += f" (samples {min(self.by_sample):.1%} to {max(self.by_sample):.1%})"
        without = self.k - len(self.by_sample)
        text += f"; INCOMPLETE: {without} samples have no figure" if without else ""
        text += f"; INCOMPLETE: {self.failed:,} failed" if self.failed else ""
        return text + (f"; {self.no_verdict:,} without verdict" if self.no_verdict else "")


def sample_averages(by_sample: Sequence[Sequence[BenchmarkReading]], headline: ReadingName) -> list[SampleAverage]:
    """Of every reading; nothing for one sample. An aggregate over groups of rows holds within each sample.

    ``by_sample`` has the readings of each sample, always the same in the same order.
    """
    if len(by_sample) < 2:
        return []
    found = []
    for readings in zip(*by_sample, strict=True):
        with_figure = [reading.figures[0] for reading in readings if reading.figures]
        if with_figure:
            average = SampleAverage(
                reading=readings[0].name,
                is_headline=readings[0].name == headline,
                figure=with_figure[0].name,
                by_sample=tuple(figure.value for figure in with_figure),
                k=len(by_sample),
                failed=sum(reading.failed for reading in readings),
                no_verdict=sum(reading.no_verdict for reading in readings),
            )
            found.append(average)
    return found
