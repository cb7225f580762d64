"""Comparison of evaluations question by question: what differs, how surely, and on which questions.

Only what was asked alike is compared: the same questions, pictures and options, protocol, tools, limits, pixels and
sampling. What differs is said, and may be accepted by its name.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.errors import UserError
from saccade.evaluation.asked_alike import asked_differences
from saccade.evaluation.samples import SampleSet, StoredSample
from saccade.evaluation.statistics import (
    ClusteredMean,
    clustered_error,
    clustered_mean,
    exact_mcnemar,
    holm,
    smallest_difference,
)
from saccade.types import Json


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedQuestion:
    """A question with the shares of right samples of both models."""

    id: str
    before: float
    after: float
    cluster: str
    groups: tuple[str, ...]
    answers: tuple[str | None, str | None]
    gold: str

    @property
    def has_flipped(self) -> bool:
        """By the majority of its samples, right for one and wrong for the other."""
        return (self.before > 0.5) != (self.after > 0.5)


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedResult:
    """Two evaluations of the same questions, the second against the first."""

    name: str
    """Of the benchmark or evaluation."""
    models: tuple[str, str]
    before: ClusteredMean
    after: ClusteredMean
    difference: ClusteredMean
    """Of the second and the first, by a paired bootstrap over clusters."""
    only_before: int
    """Questions that only the first answered right, and only the second."""
    only_after: int
    p_mcnemar: float
    """Exact, two-sided, of independent questions."""
    p_value: float
    """McNemar's where every question is a cluster of its own and was played once, else by the clustered error."""
    p_holm: float
    """Corrected for all comparisons that were made together."""
    smallest: float
    """The smallest true difference that this comparison shows with 80 % power."""
    categories: Mapping[str, ClusteredMean]
    """The difference by category."""
    flipped: tuple[PairedQuestion, ...]
    left_out: int
    """Questions of which the machine failed a sample of one of them: in no figure."""
    accepted: tuple[str, ...] = ()
    """Differences in what was asked that the user accepts."""

    def as_json(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "models": list(self.models),
            "before": self.before.as_json(),
            "after": self.after.as_json(),
            "difference": self.difference.as_json(),
            "only_before": self.only_before,
            "only_after": self.only_after,
            "p_mcnemar": self.p_mcnemar,
            "p_value": self.p_value,
            "p_holm": self.p_holm,
            "smallest_difference": self.smallest,
            "categories": {name: mean.as_json() for name, mean in self.categories.items()},
            "flipped": [
                {"id": one.id, "before": one.before, "after": one.after, "answers": list(one.answers), "gold": one.gold}
                for one in self.flipped
            ],
            "left_out": self.left_out,
            "accepted": list(self.accepted),
        }

    def describe(self) -> str:
        """Lines for the terminal."""
        low, high = self.difference.ci95
        mean = self.difference.mean or 0.0
        lines = [
            f"{self.name}: {self.before.describe()} before, {self.after.describe()} after, "
            f"{self.difference.n:,} questions in {self.difference.clusters:,} clusters",
            f"    difference {100 * mean:+.1f} points ({100 * low:+.1f} to {100 * high:+.1f}); right only before "
            f"{self.only_before:,}, right only after {self.only_after:,}; exact McNemar p = {self.p_mcnemar:.3g}, "
            f"p = {self.p_value:.3g}, by Holm {self.p_holm:.3g}",
            f"    the smallest difference that it can show (80 % power): {100 * self.smallest:.1f} points"
            + ("" if self.p_holm < 0.05 else "; the difference found cannot be distinguished from chance"),
        ]
        if self.left_out:
            lines.append(f"    INCOMPLETE: {self.left_out:,} questions have failed samples and are left out")
        lines += [f"    although: {one}" for one in self.accepted]
        for name, change in self.categories.items():
            lines.append(f"    {name}: {_points(change)} of {change.n:,}")
        return "\n".join(lines)


def compare(sets: Sequence[SampleSet], labels: Sequence[str], *, although: Collection[str] = ()) -> list[PairedResult]:
    """Each later set against the first, with p-values corrected by Holm over all of them.

    UserError where what was asked differs in more than ``although`` names.
    """
    return with_holm(
        [_compared(sets[0], other, (labels[0], label), although) for other, label in zip(sets[1:], labels[1:])]
    )


def with_holm(results: Sequence[PairedResult]) -> list[PairedResult]:
    """The results corrected for each other: of several benchmarks, or several models."""
    return [replace(one, p_holm=p) for one, p in zip(results, holm([one.p_value for one in results]))]


def _compared(first: SampleSet, second: SampleSet, labels: tuple[str, str], although: Collection[str]) -> PairedResult:
    differences = asked_differences(first, second)
    if refused := {name: how for name, how in differences.items() if name not in although}:
        listed = "\n".join(f"  {name}: {how}" for name, how in refused.items())
        raise UserError(
            f"{labels[0]} and {labels[1]} were asked differently and cannot be compared:\n{listed}\nAsk both in the "
            f"same way, or accept the difference by --although {' --although '.join(refused)}"
        )
    pairs, left_out = _pairs(first, second)
    if not pairs:
        raise UserError(f"{labels[0]} and {labels[1]} have no question in common that both answered")
    clusters = [pair.cluster for pair in pairs]
    before, after = [pair.before for pair in pairs], [pair.after for pair in pairs]
    changes = [late - early for early, late in zip(before, after)]
    only_before = sum(pair.has_flipped and pair.before > pair.after for pair in pairs)
    only_after = sum(pair.has_flipped and pair.after > pair.before for pair in pairs)
    p_mcnemar, error = exact_mcnemar(only_before, only_after), clustered_error(changes, clusters)
    is_simple = len(set(clusters)) == len(pairs) and set(before + after) <= {0.0, 1.0}
    p_value = p_mcnemar if is_simple else _two_sided(math.fsum(changes) / len(changes), error)
    return PairedResult(
        name=second.header.name,
        models=labels,
        before=clustered_mean(before, clusters),
        after=clustered_mean(after, clusters),
        difference=clustered_mean(changes, clusters, is_share=False),
        only_before=only_before,
        only_after=only_after,
        p_mcnemar=p_mcnemar,
        p_value=p_value,
        p_holm=p_value,
        smallest=smallest_difference(error),
        categories=_by_category(pairs),
        flipped=tuple(pair for pair in pairs if pair.has_flipped),
        left_out=left_out,
        accepted=tuple(f"{name}: {how}" for name, how in differences.items()),
    )


def _two_sided(mean: float, error: float) -> float:
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return math.erfc(abs(mean) / error / math.sqrt(2))


def _pairs(first: SampleSet, second: SampleSet) -> tuple[list[PairedQuestion], int]:
    """Questions that both answered in all their samples, in the first one's order, and how many are left out."""
    of_second = _by_question(second.samples)
    pairs, left_out = [], 0
    for question, early in _by_question(first.samples).items():
        late = of_second.get(question)
        if late is None:
            continue
        if any(one.right is None for one in (*early, *late)):
            left_out += 1
            continue
        one = early[0]
        pairs.append(
            PairedQuestion(
                id=one.id,
                before=sum(bool(sample.right) for sample in early) / len(early),
                after=sum(bool(sample.right) for sample in late) / len(late),
                cluster=one.cluster,
                groups=tuple(dict.fromkeys((one.family, *one.buckets))),
                answers=(one.answer, late[0].answer),
                gold=one.gold,
            )
        )
    return pairs, left_out


def _by_question(samples: Sequence[StoredSample]) -> dict[str, list[StoredSample]]:
    found: dict[str, list[StoredSample]] = {}
    for one in samples:
        found.setdefault(one.id, []).append(one)
    return found


def _by_category(pairs: Sequence[PairedQuestion]) -> dict[str, ClusteredMean]:
    found: dict[str, list[PairedQuestion]] = {}
    for pair in pairs:
        for name in pair.groups:
            found.setdefault(name, []).append(pair)
    if len(found) < 2:
        return {}
    return {
        name: clustered_mean([one.after - one.before for one in of], [one.cluster for one in of], is_share=False)
        for name, of in sorted(found.items())
    }


def _points(change: ClusteredMean) -> str:
    low, high = change.ci95
    return f"{100 * (change.mean or 0.0):+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
