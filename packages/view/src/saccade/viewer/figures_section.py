"""Figures of stored samples in the report: intervals over clusters, repeats, cost, accuracy by turns and pixels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import UserError
from saccade.evaluation.figures import EvaluationFigures, Quantiles, figures
from saccade.evaluation.prices import Price, read_price
from saccade.evaluation.sample_files import FOLDER, read_samples, read_times, sample_files
from saccade.evaluation.samples import SampleHeader
from saccade.evaluation.statistics import ClusteredMean
from saccade.viewer.words import readable, visible

PRICES = "prices.toml"
"""The run's copy of the price file that it was measured with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FiguresRow:
    """An evaluation in the tables of figures, each cell as a text."""

    name: str
    accuracy: tuple[str, ...]
    cost: tuple[str, ...]
    bands: tuple[tuple[str, str], ...]
    """Accuracy by turns, by pixels and by the place of the right option: what, and the accuracies."""


def run_figures(root: Path) -> list[EvaluationFigures]:
    """The figures of a run's evaluations; none of a run that kept no samples."""
    if not (root / FOLDER).is_dir():
        return []
    try:
        files = sample_files(root)
    except UserError:
        return []
    found = []
    for path in files.values():
        kept = read_samples(path)
        found.append(figures(kept, times=read_times(path), price=price_of(root, kept.header)))
    return found


def price_of(root: Path, header: SampleHeader) -> Price | None:
    """The price of the evaluation's model by the run's copy of the price file; None where there is none."""
    path = root / PRICES
    return read_price(path, str(header.model.get("name"))) if path.exists() else None


def figures_rows(found: Sequence[EvaluationFigures]) -> list[FiguresRow]:
    return [
        FiguresRow(
            name=visible(readable(one.header.name), 80),
            accuracy=_accuracy(one),
            cost=_cost(one),
            bands=tuple((name, text) for name, text in _bands(one) if text),
        )
        for one in found
    ]


def _accuracy(one: EvaluationFigures) -> tuple[str, ...]:
    repeated = one.repeats
    several = f"pass@{repeated.k} {_mean(repeated.passed[repeated.k])}, maj@{repeated.k} {_mean(repeated.majority)}"
    return (
        _mean(one.accuracy),
        f"{one.accuracy.n:,} in {one.accuracy.clusters:,}",
        _without_looking(one),
        f"{100 * one.smallest_difference:.1f} points",
        several if repeated.k > 1 else "",
        f"incomplete: {one.failed:,} of {one.total:,} failed" if one.failed else "",
    )


def _without_looking(one: EvaluationFigures) -> str:
    if one.chance is not None:
        return f"{one.chance:.1%} by chance"
    return "–" if one.commonest_answer is None else f"{one.commonest_answer:.1%} by the commonest answer"


def _cost(one: EvaluationFigures) -> tuple[str, ...]:
    spent, n = one.spending, max(1, one.spending.samples)
    return (
        f"{spent.tokens_in / n:,.0f}",
        f"{spent.tokens_out / n:,.0f}",
        f"{spent.images / n:.1f}",
        f"{spent.calls / n:.1f}",
        _seconds(spent.tool_s),
        _seconds(spent.wall_s),
        "" if spent.money is None else f"{spent.money:,.2f} {visible(spent.currency, 8)}",
    )


def _bands(one: EvaluationFigures) -> list[tuple[str, str]]:
    cycles = "" if one.all_cycles is None else _mean(one.all_cycles)
    return [
        ("by turns", _means_text(one.by_turns) if len(one.by_turns) > 1 else ""),
        ("by largest picture", _means_text(one.by_pixels) if len(one.by_pixels) > 1 else ""),
        ("right option at", _places(one)),
        ("right in every cycle", cycles),
    ]


def _places(one: EvaluationFigures) -> str:
    cells = []
    for name, values in one.by_option.items():
        if isinstance(values, Mapping) and isinstance(picked := values.get("picked"), float):
            share = values.get("accuracy")
            right = f"{share:.0%} right, " if isinstance(share, float) else ""
            cells.append(f"{name}: {right}picked in {picked:.0%}")
    return ", ".join(cells)


def _means_text(means: Mapping[str, ClusteredMean]) -> str:
    return ", ".join(f"{visible(name, 40)}: {_mean(mean)} of {mean.n:,}" for name, mean in means.items())


def _mean(mean: ClusteredMean) -> str:
    return mean.describe()


def _seconds(quantiles: Quantiles | None) -> str:
    return "–" if quantiles is None else f"{quantiles.p50:.2f} s, p95 {quantiles.p95:.2f} s"
