"""Section of a report on public benchmarks: figures by each rule, and beside them published ones as a spread."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.evaluation.benchmarks import BENCHMARKS, PublishedFigure, published
from saccade.evaluation.benchmarks.judged_run import JUDGED
from saccade.plain_files import plain_text
from saccade.types import Json
from saccade.viewer.section import Section
from saccade.viewer.templates import page_template
from saccade.viewer.words import readable, visible

FOLDER = "benchmarks"
MAX_SHOWN = 40
"""Models, and figures of one model, that a benchmark's table has."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SpreadRow:
    """A line of a benchmark's spread: marks on a scale from 0 to 100, and what they are."""

    name: str
    said: str
    marks: tuple[float, ...]
    low: float
    high: float
    sources: tuple[str, ...] = ()
    is_own: bool = False
    is_headline: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedPart:
    """A benchmark of the run."""

    title: str
    file: str
    trap: str
    own: tuple[SpreadRow, ...]
    others: tuple[SpreadRow, ...]
    left_out: int
    """Models that are not listed."""


def published_parts(root: Path) -> list[PublishedPart]:
    """The benchmarks that a run has measured; none of a run that has measured none."""
    told: dict[str, list[Mapping[str, Json]]] = {}
    for path in sorted((root / FOLDER).glob("*.json")):
        record = _read(path)
        if record is not None:
            told.setdefault(str(record["benchmark"]), []).append(record)
    return [_part(name, records) for name, records in told.items() if name in BENCHMARKS]


def _read(path: Path) -> Mapping[str, Json] | None:
    """A record; None for a file that is none, as an interrupted run may leave one."""
    try:
        record = json.loads(plain_text(path))
    except (OSError, ValueError, RecursionError):
        return None
    is_one = isinstance(record, dict) and isinstance(record.get("readings"), list) and "benchmark" in record
    return {**record, "is_judged": path.name.endswith(JUDGED)} if is_one else None


def _part(name: str, records: Sequence[Mapping[str, Json]]) -> PublishedPart:
    benchmark = BENCHMARKS[name]
    by_model: dict[str, list[PublishedFigure]] = {}
    for figure in published(benchmark):
        by_model.setdefault(figure.model, []).append(figure)
    others = [_published_row(model, figures) for model, figures in sorted(by_model.items())]
    return PublishedPart(
        title=benchmark.title,
        file=visible(str(records[0].get("file", "")), 300),
        trap=benchmark.trap,
        own=tuple(row for record in records for row in _own_rows(record)),
        others=tuple(others[:MAX_SHOWN]),
        left_out=max(0, len(others) - MAX_SHOWN),
    )


def _own_rows(record: Mapping[str, Json]) -> Iterable[SpreadRow]:
    readings = record["readings"]
    for reading in readings if isinstance(readings, list) else []:
        figures = reading.get("figures") if isinstance(reading, dict) else None
        first = figures[0] if isinstance(figures, list) and figures else None
        if not isinstance(reading, dict) or not isinstance(first, dict):
            continue
        value = _percent(first.get("value"))
        interval = reading.get("ci95")
        low, high = (_percent(end) for end in interval) if isinstance(interval, list) else (value, value)
        name = visible(str(reading.get("reading")), 40)
        said = f"{visible(str(first.get('name')), 60)} {value:.1f}"
        said += f" ({low:.1f} to {high:.1f})" if high > low else ""
        said += f", n = {first.get('n')}"
        for key, words in (
            ("failed", "failed: incomplete"),
            ("no_verdict", "without verdict"),
            ("unanswered", "without an answer"),
        ):
            said += f", {reading[key]} {words}" if reading.get(key) else ""
        yield SpreadRow(
            name=f"{visible(readable(str(record.get('evaluation'))), 80)}, {name}"
            + (" with the judge" if record["is_judged"] else ""),
            said=said,
            marks=(value,),
            low=low,
            high=high,
            is_own=True,
            is_headline=reading.get("reading") == record.get("headline"),
        )


def _published_row(model: str, figures: Sequence[PublishedFigure]) -> SpreadRow:
    values = sorted(one.value for one in figures)
    low, high = values[0], values[-1]
    said = f"{low:g}" if low == high else f"{low:g} to {high:g} in {len(values)} sources"
    return SpreadRow(
        name=visible(model, 80),
        said=said,
        marks=tuple(values[:MAX_SHOWN]),
        low=low,
        high=high,
        sources=tuple(
            visible(
                f"{one.value:g}{' with tools' if one.tools else ''}: {one.source}, {one.date or 'no date told'}", 300
            )
            for one in figures[:MAX_SHOWN]
        ),
    )


def _percent(value: Json) -> float:
    return 100 * value if isinstance(value, int | float) else 0.0


SECTION = Section(
    read=lambda evidence, _: published_parts(evidence.paths.root) or None,
    rows=lambda _: {},
    html=lambda parts: page_template("published.html.jinja").render(benchmarks=parts),
)
