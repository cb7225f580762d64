"""Aggregates of benchmarks: means, means of means, and groups that count only where all their rows are right."""

import math
from collections.abc import Callable, Iterable, Sequence

from saccade.evaluation.benchmarks.benchmark import Aggregate, BenchmarkFigure, ScoredRow

Scored = Sequence[ScoredRow]
Key = Callable[[ScoredRow], str]


def mean(scored: Scored) -> float:
    """Mean credit."""
    return math.fsum(one.credit for one in scored) / len(scored)


def grouped(scored: Iterable[ScoredRow], key: Key) -> dict[str, list[ScoredRow]]:
    """Rows by key, in the keys' order; rows whose key is empty are left out."""
    groups: dict[str, list[ScoredRow]] = {}
    for one in scored:
        groups.setdefault(key(one), []).append(one)
    groups.pop("", None)
    return dict(sorted(groups.items()))


def column(name: str) -> Key:
    """The key that a column is; empty where it is missing."""
    return lambda one: one.row.fields.get(name, "")


def accuracy(*columns: str, name: str = "accuracy") -> Aggregate:
    """Mean over rows, then the mean of each group of the columns."""

    def figures(scored: Scored) -> list[BenchmarkFigure]:
        found = [BenchmarkFigure(name, mean(scored), len(scored))]
        for one in columns:
            found += [BenchmarkFigure(f"{one}: {key}", mean(rows), len(rows)) for key, rows in _by(scored, one)]
        return found

    return figures


def _by(scored: Scored, name: str) -> Iterable[tuple[str, list[ScoredRow]]]:
    return grouped(scored, column(name)).items()


def mean_of_groups(name: str, then: str = "") -> Aggregate:
    """Mean over the groups of a column, each counting alike; then the groups, and those of another column."""

    def figures(scored: Scored) -> list[BenchmarkFigure]:
        groups = grouped(scored, column(name)) or {"": list(scored)}
        means = [BenchmarkFigure(f"{name}: {key}", mean(rows), len(rows)) for key, rows in groups.items()]
        overall = math.fsum(one.value for one in means) / len(means)
        rest = [BenchmarkFigure(f"{then}: {key}", mean(rows), len(rows)) for key, rows in _by(scored, then)]
        return [BenchmarkFigure(f"mean over {name}", overall, len(scored)), *means, *(rest if then else [])]

    return figures


def yes_no_f1(scored: Scored) -> list[BenchmarkFigure]:
    """POPE: F1 of yes over all rows, then accuracy, precision, recall, the share of yes, and each category's F1.

    A row of several categories, with commas between, counts in each, and as often in the whole.
    """
    parts = {
        category: [one for one in scored if category in one.row.fields.get("category", "").split(",")]
        for category in sorted({c for one in scored for c in one.row.fields.get("category", "").split(",")} - {""})
    }
    every = [one for one in scored for _ in one.row.fields.get("category", "").split(",")]
    f1, precision, recall = _f1(every)
    said_yes = sum(_says_yes(one) for one in every) / len(every)
    return [
        BenchmarkFigure("F1", f1, len(every)),
        BenchmarkFigure("accuracy", mean(every), len(every)),
        BenchmarkFigure("precision", precision, len(every)),
        BenchmarkFigure("recall", recall, len(every)),
        BenchmarkFigure("said yes", said_yes, len(every)),
        *(BenchmarkFigure(f"F1, {name}", _f1(rows)[0], len(rows)) for name, rows in parts.items()),
    ]


def _says_yes(one: ScoredRow) -> bool:
    return one.extracted.text.lower() == "yes"


def _f1(scored: Scored) -> tuple[float, float, float]:
    is_yes = [one.row.answer.lower() == "yes" for one in scored]
    says_yes = [_says_yes(one) for one in scored]
    hits = sum(truth and said for truth, said in zip(is_yes, says_yes))
    precision = hits / sum(says_yes) if any(says_yes) else 0.0
    recall = hits / sum(is_yes) if any(is_yes) else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return f1, precision, recall


def all_right(scored: Scored, key: Key) -> float:
    """Share of groups whose every row is right."""
    groups = grouped(scored, key)
    return sum(all(one.credit >= 1.0 for one in rows) for rows in groups.values()) / len(groups) if groups else 0.0
