"""Published figures with their sources: a spread, never one best figure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from saccade.codec.codecs import PLAIN_CODEC
from saccade.evaluation.benchmarks.benchmark import Benchmark


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedFigure:
    """A figure that somebody published of a model."""

    benchmark: str
    """As the source calls it; see ``Benchmark.published_as``."""
    model: str
    value: float
    """In percent, or points of the benchmark's own score."""
    tools: bool
    source: str
    """Where, with the protocol as far as it is told."""
    date: str


@cache
def published_figures() -> tuple[PublishedFigure, ...]:
    """All of them, in the file's order."""
    text = files("saccade.evaluation.benchmarks").joinpath("published_figures.json").read_text(encoding="utf-8")
    read = PLAIN_CODEC.reader(PublishedFigure).from_json
    return tuple(read(one, "a figure") for one in json.loads(text))


def published(benchmark: Benchmark) -> tuple[PublishedFigure, ...]:
    """Those of a benchmark, under any of its names."""
    names = {name.casefold() for name in (benchmark.name, *benchmark.published_as)}
    return tuple(one for one in published_figures() if one.benchmark.casefold() in names)


def spread(figures: Sequence[PublishedFigure]) -> Mapping[str, tuple[float, float, int]]:
    """The lowest and highest figure of each model, and of how many; models in alphabetical order."""
    by_model: dict[str, list[float]] = {}
    for one in figures:
        by_model.setdefault(one.model, []).append(one.value)
    return {model: (min(found), max(found), len(found)) for model, found in sorted(by_model.items())}
