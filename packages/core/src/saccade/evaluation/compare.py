"""Comparison of evaluations question by question: what differs, how surely, and on which questions.

Only what was asked alike is compared: the same questions, pictures and options, protocol, tools, limits, pixels and
sampling. What differs is said, and may be accepted by its name.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from saccade.codec.forms import Form
from saccade.errors import UserError
from saccade.evaluation.asked_alike import PairedSamples, asked_differences
from saccade.evaluation.grouped_means import GroupedMeans
from saccade.evaluation.sample_files import collection_paused
from saccade.evaluation.samples import SampleSet, StoredSample, by_question
from saccade.evaluation.statistics import (
    ClusteredMean,
    clustered_error,
    clustered_mean,
    exact_mcnemar,
    holm,
    smallest_difference,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class FlippedQuestion:
    """A question that one model answered right and the other wrong, with the shares of right samples of both."""

    id: str
    before: float
    after: float
    answers: tuple[str | None, str | None]
    gold: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PairedResult:
    """Two evaluations of the same questions, the second against the first."""

    FORM: ClassVar = Form(keys={"smallest": "smallest_difference"})

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
    flipped: tuple[FlippedQuestion, ...]
    left_out: int
    """Questions of which the machine failed a sample of one of them: in no figure."""
    accepted: tuple[str, ...] = ()
    """Differences in what was asked that the user accepts."""

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
            + ("" if self.p_holm < 0.05 else "; the difference found cannot be distinguished from zero"),
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
    with collection_paused():
        results = [
            _paired_result(sets[0], other, (labels[0], label), although) for other, label in zip(sets[1:], labels[1:])
        ]
    return with_holm(results)


def with_holm(results: Sequence[PairedResult]) -> list[PairedResult]:
    """The results corrected for each other: of several benchmarks, or several models."""
    return [replace(one, p_holm=p) for one, p in zip(results, holm([one.p_value for one in results]))]


def _paired_result(
    first: SampleSet, second: SampleSet, labels: tuple[str, str], although: Collection[str]
) -> PairedResult:
    of_first, of_second = by_question(first.samples), by_question(second.samples)
    differences = asked_differences(first.header, second.header, of_first, of_second)
    if refused := {name: how for name, how in differences.items() if name not in although}:
        listed = "\n".join(f"  {name}: {how}" for name, how in refused.items())
        raise UserError(
            f"{labels[0]} and {labels[1]} were asked differently and cannot be compared:\n{listed}\nAsk both in the "
            f"same way, or accept the difference by --although {' --although '.join(refused)}"
        )
    both = [(early, late) for name, early in of_first.items() if (late := of_second.get(name)) is not None]
    pairs = [(early, late) for early, late in both if None not in [one.right for one in (*early, *late)]]
    if not pairs:
        raise UserError(f"{labels[0]} and {labels[1]} have no question in common that both answered")
    asked = [early[0] for early, _ in pairs]
    before, after = (np.array([_share_right(pair[side]) for pair in pairs]) for side in (0, 1))
    changes = GroupedMeans(after - before, [one.cluster for one in asked], is_share=False)
    flipped = _flipped_questions(pairs, before, after)
    only_before = sum(one.before > one.after for one in flipped)
    p_mcnemar = exact_mcnemar(only_before, len(flipped) - only_before)
    error = clustered_error(changes.values, changes.clusters)
    difference = changes.mean()
    is_simple = difference.clusters == len(pairs) and not np.setdiff1d([before, after], [0.0, 1.0]).size
    p_value = p_mcnemar if is_simple else _two_sided(difference.mean or 0.0, error)
    return PairedResult(
        name=second.header.name,
        models=labels,
        before=clustered_mean(before, changes.clusters),
        after=clustered_mean(after, changes.clusters),
        difference=difference,
        only_before=only_before,
        only_after=len(flipped) - only_before,
        p_mcnemar=p_mcnemar,
        p_value=p_value,
        p_holm=p_value,
        smallest=smallest_difference(error),
        categories=changes.by_category(asked),
        flipped=flipped,
        left_out=len(both) - len(pairs),
        accepted=tuple(f"{name}: {how}" for name, how in differences.items()),
    )


def _share_right(samples: Sequence[StoredSample]) -> float:
    if len(samples) == 1:
        return 1.0 if samples[0].right else 0.0
    return sum(bool(one.right) for one in samples) / len(samples)


def _flipped_questions(
    pairs: Sequence[PairedSamples], before: NDArray[np.float64], after: NDArray[np.float64]
) -> tuple[FlippedQuestion, ...]:
    """By the majority of its samples, right for one and wrong for the other."""
    places = np.flatnonzero((before > 0.5) != (after > 0.5)).tolist()
    return tuple(
        FlippedQuestion(
            id=early[0].id,
            before=share_before,
            after=share_after,
            answers=(early[0].answer, late[0].answer),
            gold=early[0].gold,
        )
        for (early, late), share_before, share_after in zip(
            [pairs[place] for place in places], before[places].tolist(), after[places].tolist(), strict=True
        )
    )


def _two_sided(mean: float, error: float) -> float:
    if error == 0:
        return 1.0 if mean == 0 else 0.0
    return math.erfc(abs(mean) / error / math.sqrt(2))


def _points(change: ClusteredMean) -> str:
    low, high = change.ci95
    return f"{100 * (change.mean or 0.0):+.1f} points ({100 * low:+.1f} to {100 * high:+.1f})"
