"""Aggregates of benchmarks: means, means of means, and groups that count only where all their rows are right."""

import math
import re
from collections.abc import Callable, Iterable, Sequence

from saccade.evaluation.benchmarks.benchmark import Aggregate, BenchmarkFigure, ScoredRow
from saccade.evaluation.benchmarks.boxes import best_iou
from saccade.evaluation.benchmarks.hub_rows import list_of, literal_list
from saccade.evaluation.benchmarks.rules.documents import slide_gold

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


def accuracy(*columns: str, listed: str = "", name: str = "accuracy") -> Aggregate:
    """Mean over rows, then of each group of the columns; a row counts for each item of its ``listed`` column."""

    def figures(scored: Scored) -> list[BenchmarkFigure]:
        found = [BenchmarkFigure(name, mean(scored), len(scored))]
        for one in columns:
            found += [BenchmarkFigure(f"{one}: {key}", mean(rows), len(rows)) for key, rows in _by(scored, one)]
        items = [(item, one) for one in scored for item in literal_list(one.row.fields.get(listed, "")) if item]
        for item in sorted({item for item, _ in items}):
            rows = [one for name, one in items if name == item]
            found.append(BenchmarkFigure(f"{listed}: {item}", mean(rows), len(rows)))
        return found

    return figures


def vqa_accuracy(scored: Scored) -> list[BenchmarkFigure]:
    """Mean of VQA's soft accuracy; then of questions that cannot be answered, as VizWiz has them, and the others."""
    groups = grouped(scored, lambda one: "unanswerable" if one.row.task.answer == "unanswerable" else "answerable")
    apart = groups if "unanswerable" in groups else {}
    return [
        BenchmarkFigure("VQA accuracy", mean(scored), len(scored)),
        *(BenchmarkFigure(name, mean(rows), len(rows)) for name, rows in apart.items()),
    ]


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


def mean_of_cycles(scored: Scored) -> list[BenchmarkFigure]:
    """HR-Bench: the mean of each cycle, then over the cycles; so for each category."""
    return [
        _over_cycles("mean over cycles", scored),
        *(_over_cycles(f"category: {key}", rows) for key, rows in _by(scored, "category")),
        BenchmarkFigure("right in every cycle", all_right(scored, lambda one: one.row.task.question), len(scored)),
    ]


def _over_cycles(name: str, scored: Scored) -> BenchmarkFigure:
    cycles = grouped(scored, column("cycle_category")) or {"": list(scored)}
    return BenchmarkFigure(name, math.fsum(map(mean, cycles.values())) / len(cycles), len(scored))


def hallusion_accuracies(scored: Scored) -> list[BenchmarkFigure]:
    """HallusionBench: over questions (aAcc), figures (fAcc) and question groups (qAcc); a group counts whole.

    Set, figure and question are the fourth, fifth and sixth part of the index.
    """

    def part(place: int) -> Key:
        def key(one: ScoredRow) -> str:
            parts = one.row.index.split("_")
            return f"{one.row.fields.get('l2-category', '')}_{parts[3]}_{parts[place]}"

        return key

    return [
        BenchmarkFigure("aAcc", mean(scored), len(scored)),
        BenchmarkFigure("fAcc", all_right(scored, part(4)), len(grouped(scored, part(4)))),
        BenchmarkFigure("qAcc", all_right(scored, part(5)), len(grouped(scored, part(5)))),
        *(BenchmarkFigure(f"aAcc, {key}", mean(rows), len(rows)) for key, rows in _by(scored, "category")),
    ]


def with_box_recall(scored: Scored) -> list[BenchmarkFigure]:
    """TreeBench: accuracy, the mean over rows of each target's best IoU with a box of the thought, categories."""
    ious = [best_iou(one.reply, one.row.fields.get("target_instances", "[]")) for one in scored]
    figures = accuracy("category")(scored)
    return [figures[0], BenchmarkFigure("mIoU", math.fsum(ious) / len(ious), len(ious)), *figures[1:]]


def word_scores(scored: Scored) -> list[BenchmarkFigure]:
    """SlideVQA: ANLS, exact match, and F1 of words between spaces, each word counted as often as it is said."""
    pairs = [(slide_gold(one.row), one.extracted.text) for one in scored]
    exact = [float(gold.strip() == said.strip()) for gold, said in pairs]
    words = [_word_f1(gold.split(), said.split()) for gold, said in pairs]
    return [
        BenchmarkFigure("ANLS", mean(scored), len(scored)),
        BenchmarkFigure("exact match", math.fsum(exact) / len(exact), len(scored)),
        BenchmarkFigure("F1", math.fsum(words) / len(words), len(scored)),
    ]


def _word_f1(gold: list[str], said: list[str]) -> float:
    hits = sum(word in gold for word in said)
    if not gold or not said or not hits:
        return 0.0
    recall, precision = hits / len(gold), hits / len(said)
    return 2 * recall * precision / (recall + precision)


def document_scores(scored: Scored) -> list[BenchmarkFigure]:
    """MMLongBench-Doc: F1 of recall over questions with an answer and precision over replies with one; then accuracy.

    Then the mean of each source of evidence, of one page, several, and of none.
    """
    asked = [one for one in scored if not _is_unanswerable(one.row.answer)]
    told = [one for one in scored if not _is_unanswerable(one.extracted.text)]
    recall, precision = (mean(rows) if rows else 0.0 for rows in (asked, told))
    f1 = 2 * recall * precision / (recall + precision) if recall + precision else 0.0
    parts = {**_by_source(scored), **{name: [one for one in scored if is_in(one)] for name, is_in in _PAGES.items()}}
    return [
        BenchmarkFigure("F1", f1, len(scored)),
        BenchmarkFigure("accuracy", mean(scored), len(scored)),
        *(BenchmarkFigure(name, mean(rows), len(rows)) for name, rows in parts.items() if rows),
    ]


def _is_unanswerable(text: str) -> bool:
    return text.strip().lower() == "not answerable"


def _pages(one: ScoredRow) -> int:
    return len(list_of(one.row.fields.get("evidence_pages", "[]")))


_SOURCE = re.compile(r"(?:.*\()?(.*?)\)?")
_SHORT = {"plain-text": "text", "figure": "image"}


def _by_source(scored: Scored) -> dict[str, list[ScoredRow]]:
    """Rows by each label that the rows themselves name, a label nobody foresaw among them.

    A figure is called by what the label has in brackets, or all of it, as both harnesses' tables call it.
    """
    groups: dict[str, list[ScoredRow]] = {}
    for one in scored:
        for label in dict.fromkeys(list_of(one.row.fields.get("evidence_sources", "[]"))):
            match = _SOURCE.fullmatch(label)
            name = (match[1] if match else label).lower()
            groups.setdefault(_SHORT.get(name, name), []).append(one)
    return dict(sorted(groups.items()))


_PAGES: dict[str, Callable[[ScoredRow], bool]] = {
    "single page": lambda one: _pages(one) == 1,
    "several pages": lambda one: _pages(one) > 1,
    "unanswerable": lambda one: _pages(one) == 0,
}
