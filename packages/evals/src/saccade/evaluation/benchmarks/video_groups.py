"""Video-MME-v2's score: the four questions of a video count together, and not in proportion."""

import math
from collections.abc import Iterator, Mapping, Sequence

from saccade.evaluation.benchmarks.aggregates import Scored, mean
from saccade.evaluation.benchmarks.benchmark import BenchmarkFigure, ScoredRow

GROUP_SIZE = 4
_SQUARES = (0.0, 1 / 16, 4 / 16, 9 / 16, 1.0)
CHAINS: Mapping[str, tuple[float, ...]] = {
    "[1, 2, 3, 4]": _SQUARES,
    "[1, [2, 3], 4]": (0.0, 1 / 12, 4 / 12, 7 / 12, 1.0),
    "[[1, 2], 3, 4]": (0.0, 1 / 10, 2 / 10, 5 / 10, 1.0),
}
"""What so many right answers from the first on are worth, by the structure of a group whose questions build on each
other; those in inner brackets may stand for each other."""
KINDS = ("relevance", "logic")


def group_score(kind: str, structure: str, worth: Sequence[float]) -> float:
    """The worth of a group of four answers, between 0 and 1.

    Of ``relevance`` (the same ability asked four times) (right / 4)^2. Of ``logic`` by how many are right from the
    first on, one of two that may stand for each other enough for the first step of both.
    """
    if kind == "relevance":
        right = sum(worth)
        return _SQUARES[int(right)] if 0 <= right <= GROUP_SIZE else 0.0
    chain = next((place for place, one in enumerate(worth) if not one), len(worth))
    if structure == "[1, [2, 3], 4]" and chain == 1 and worth[2]:
        chain = 2
    if structure == "[[1, 2], 3, 4]" and chain == 0 and worth[1]:
        chain = 1
    return CHAINS[structure][chain]


def video_groups(scored: Scored) -> list[BenchmarkFigure]:
    """The non-linear score, then the share of right answers, then the score by kind, level and ability.

    A group that lacks a question is in no score. Level and abilities are those of a group's last question.
    """
    return _figures(scored, [one.credit for one in scored])


def video_groups_as_published(scored: Scored) -> list[BenchmarkFigure]:
    """As the release's script: a reply without a letter counts -1, which a chain takes for right."""
    return _figures(scored, [one.credit if one.extracted.text else -1.0 for one in scored])


def _figures(scored: Scored, worth: Sequence[float]) -> list[BenchmarkFigure]:
    groups = [
        (
            rows[-1].row,
            group_score(rows[-1].row.column("group_type"), rows[-1].row.fields.get("group_structure", ""), each),
        )
        for rows, each in _whole_groups(scored, worth)
    ]
    if not groups:
        return []
    found = [_mean("non-linear score", [score for _, score in groups])]
    found.append(BenchmarkFigure("accuracy", mean(scored), len(scored)))
    for name in ("group_type", "level", "second_head", "third_head"):
        for key in sorted({last.fields[name] for last, _ in groups if name in last.fields}):
            found.append(_mean(f"{name}: {key}", [score for last, score in groups if last.fields.get(name) == key]))
    return found


def _mean(name: str, scores: Sequence[float]) -> BenchmarkFigure:
    return BenchmarkFigure(name, math.fsum(scores) / len(scores), len(scores))


def _whole_groups(scored: Scored, worth: Sequence[float]) -> Iterator[tuple[list[ScoredRow], list[float]]]:
    """The questions of each video in their order, with what each is worth; one of each where a video comes again."""
    held: dict[tuple[str, int], dict[int, list[tuple[ScoredRow, float]]]] = {}
    for one, each in zip(scored, worth, strict=True):
        places = held.setdefault((one.row.column("video"), one.row.cycle), {})
        places.setdefault(int(one.row.column("place")), []).append((one, each))
    for places in held.values():
        if len(places) == GROUP_SIZE:
            for group in zip(*(places[place] for place in sorted(places))):
                yield [one for one, _ in group], [each for _, each in group]
