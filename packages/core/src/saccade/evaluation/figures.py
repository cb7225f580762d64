"""Figures of an evaluation from its stored samples: how right, how sure, at what cost, with which errors.

Nothing here plays or scores: a hundred thousand samples are summed up in seconds, again and again.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar

import numpy as np

from saccade.codec.codecs import plain_json
from saccade.codec.forms import Form
from saccade.evaluation.grouped_means import GroupedMeans
from saccade.evaluation.prices import Price
from saccade.evaluation.repeats import Repeats, repeats
from saccade.evaluation.samples import SampleHeader, SampleSet, SampleTimes, StoredSample, question_of
from saccade.evaluation.statistics import ClusteredMean, clustered_mean, planned_difference
from saccade.rewards.groups import UNANSWERED
from saccade.types import Json

_ERRORS: Mapping[str, str] = {
    "E1": "without a readable call",
    "E2": "with an unknown argument",
    "E3": "with a wrong value",
    "E5": "with nothing usable from a tool",
}
"""Kinds of errors that rules find (``saccade.evaluation.errors``), of trajectories, in short."""

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
MEGAPIXEL_BOUNDS = (0.0, 0.25, 1.0, 4.0, 16.0)
"""Lower bounds of the bands of picture sizes, in megapixels of a question's largest picture."""
MOST_TURNS = 6
"""Samples with as many turns or more are one band."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quantiles:
    """Median and 95 % quantile."""

    p50: float
    p95: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Spending:
    """Tokens, pictures, seconds and money of the samples that were played."""

    tokens_in: int
    tokens_out: int
    images: int
    calls: int
    samples: int
    wall_s: Quantiles | None
    """Seconds of a sample; None where they were not kept."""
    tool_s: Quantiles | None
    money: float | None
    """In the currency of the price file; None without one."""
    currency: str = ""

    def describe(self) -> str:
        """``1,204 tokens in and 85 out a sample, 1.9 pictures, 0.8 calls, 2.1 s (p95 4.0), 0.52 USD in all``."""
        n = max(1, self.samples)
        text = f"{self.tokens_in / n:,.0f} tokens in and {self.tokens_out / n:,.0f} out a sample, "
        text += f"{self.images / n:.1f} pictures, {self.calls / n:.1f} calls"
        if self.wall_s is not None:
            text += f", {self.wall_s.p50:.1f} s (p95 {self.wall_s.p95:.1f})"
        return text if self.money is None else f"{text}, {self.money:,.2f} {self.currency} in all"


@dataclass(frozen=True, kw_only=True, slots=True)
class EvaluationFigures:
    """All figures of one evaluation."""

    FORM: ClassVar = Form(apart=("header",), flat=("repeats",), sparse=("unanswered", "commonest_answer"))

    header: SampleHeader
    failed: int
    """Samples that the machine failed, or a judge gave no verdict on: in no figure."""
    cut_off: int
    """Samples that a limit on tokens ended before they answered: wrong in every figure."""
    not_in_form: int
    """Samples that ended without an answer in the protocol's form; of an environment, without one action in it."""
    refused: int
    """Samples whose last reply the server marked as a refusal, or said that a filter took; in none of the other two."""
    empty: int
    """Samples whose last reply says nothing."""
    total: int
    repeats: Repeats
    chance: float | None
    """Accuracy of a guess among the options; None unless every question has some."""
    smallest_difference: float
    """The smallest difference that a paired comparison on so many questions shows with 80 % power."""
    categories: Mapping[str, ClusteredMean]
    """By family and bucket, where there are several."""
    by_turns: Mapping[str, ClusteredMean]
    by_pixels: Mapping[str, ClusteredMean]
    by_option: Mapping[str, Json]
    """By the place of the right option: n, accuracy, and the share of all answers that picked this place."""
    all_cycles: ClusteredMean | None
    """Questions right in every rotation of their options, where they were cycled."""
    errors: Mapping[str, int]
    """Samples with each kind of error with tools that rules find."""
    tools: Mapping[str, int]
    """Calls that ran, by tool."""
    spending: Spending
    unanswered: int = 0
    """Samples of questions that come without an answer: in no figure."""
    commonest_answer: float | None = None
    """Share of questions of which the most frequent right answer of these very questions is the right one.

    None where all have options.
    """

    @property
    def accuracy(self) -> ClusteredMean:
        return self.repeats.avg

    @property
    def is_complete(self) -> bool:
        return self.failed == 0

    def as_json(self) -> dict[str, Json]:
        return {"name": self.header.name, "model": dict(self.header.model), **plain_json(self)}

    def describe(self) -> str:
        """``direct: 63.3% (57.2% to 68.9%) of 256 questions in 240 clusters; chance 25.0%``, and what is missing."""
        accuracy = self.accuracy
        text = f"{self.header.name}: {accuracy.describe()}, {accuracy.n:,} questions in {accuracy.clusters:,} clusters"
        if self.chance is not None:
            text += f"; chance {self.chance:.1%}"
        if self.commonest_answer is not None:
            text += f"; always the commonest answer {self.commonest_answer:.1%}"
        if self.repeats.k > 1:
            text += f"; {self.repeats.describe()}"
        if self.all_cycles is not None:
            text += f"; right in all cycles {self.all_cycles.describe()}"
        if self.failed:
            text += f"; INCOMPLETE: {self.failed:,} of {self.total:,} samples failed and are in no figure"
        counts = (
            (self.cut_off, "cut off by a token limit"),
            (self.not_in_form, "not in the form"),
            (self.refused, "refused"),
            (self.empty, "empty"),
            (self.unanswered, "without an answer to score by"),
        )
        return "; ".join([text, *(f"{count:,} {what}" for count, what in counts if count)])


def _is_in_no_form(sample: StoredSample) -> bool:
    is_whole = sample.status != "token_limit" and not sample.refused
    # An episode of an environment has no right answer, and ends by an action.
    is_played = not sample.gold and bool(sample.calls)
    return sample.answer is None and is_whole and bool(sample.reply.strip()) and not is_played


def figures(found: SampleSet, *, times: Sequence[SampleTimes] = (), price: Price | None = None) -> EvaluationFigures:
    """The figures of a set of samples."""
    samples = found.samples
    scored = [one for one in samples if one.right is not None]
    unanswered = [one.failure for one in samples].count(UNANSWERED) if len(scored) < len(samples) else 0
    of_each = [question_of(one.id, found.header.asked) for one in scored]
    is_cycled = any(question != one.id for question, one in zip(of_each, scored))
    repeated = repeats(samples)
    if is_cycled:
        repeated = replace(repeated, avg=replace(repeated.avg, n=len(set(of_each))))
    means = GroupedMeans(
        [float(bool(one.right)) for one in scored],
        [one.cluster for one in scored],
        questions=of_each if is_cycled else None,
    )
    error_kinds = Counter(chain.from_iterable([one.errors for one in scored]))
    tools: Counter[str] = Counter()
    for one in samples:
        for name, count in one.calls.items():
            tools[name] += count
    return EvaluationFigures(
        header=found.header,
        failed=len(samples) - len(scored) - unanswered,
        unanswered=unanswered,
        cut_off=[one.status for one in scored].count("token_limit"),
        not_in_form=sum(_is_in_no_form(one) for one in scored),
        refused=sum(one.refused for one in scored),
        empty=sum(not (one.reply.strip() or one.refused) for one in scored),
        total=len(samples),
        repeats=repeated,
        chance=chance(scored),
        commonest_answer=commonest_answer(scored),
        smallest_difference=planned_difference(max(1, repeated.avg.clusters), share=_share_of(repeated.avg.mean)),
        categories=means.by_category(scored),
        by_turns=_in_order(means.by(_bands([one.turns for one in scored], _turn_band))),
        by_pixels=_in_order(means.by(_bands([one.pixels for one in scored], _pixel_band))),
        by_option=_by_option(scored),
        all_cycles=_all_cycles(scored, of_each) if is_cycled else None,
        errors=dict(sorted(error_kinds.items())),
        tools=dict(tools.most_common()),
        spending=_spending(samples, sum(tools.values()), times, price),
    )


def chance(samples: Sequence[StoredSample]) -> float | None:
    """The accuracy of a guess among the options; None unless every question has some."""
    if not samples or not all(one.choices for one in samples):
        return None
    return math.fsum([1 / one.choices for one in samples]) / len(samples)


def commonest_answer(samples: Sequence[StoredSample]) -> float | None:
    """The share of questions that the right answer of most of them answers: what never looking may reach here.

    None where all have options, for a single question, and for episodes of an environment, which have no right answer.
    """
    golds = [one.gold.strip().casefold() for one in samples]
    if all(one.choices for one in samples) or not any(golds) or len({one.id for one in samples}) < 2:
        return None
    return Counter(golds).most_common(1)[0][1] / len(golds)


def _share_of(mean: float | None) -> float:
    """For planning: at 0 and 1 nothing would be seen to vary."""
    return 0.5 if mean is None else min(0.95, max(0.05, mean))


def _in_order(bands: Mapping[str, ClusteredMean]) -> dict[str, ClusteredMean]:
    return {band: bands[band] for band in sorted(bands, key=_band_order)}


def _band_order(band: str) -> tuple[float, str]:
    number = band.split("+")[0].split(" ")[-2 if band.endswith("MP") else 0]
    return (float(number) if number.replace(".", "").isdigit() else -1.0), band


def _turn_band(turns: int) -> str:
    return f"{MOST_TURNS}+" if turns >= MOST_TURNS else str(turns)


def _pixel_band(pixels: int) -> str:
    if not pixels:
        return "no picture"
    low = max(bound for bound in MEGAPIXEL_BOUNDS if bound <= pixels / 1e6)
    return f"from {low:g} MP"


def _bands(numbers: Sequence[int], band: Callable[[int], str]) -> list[str]:
    """The band of each number: there are fewer numbers than samples."""
    bands = {number: band(number) for number in set(numbers)}
    return [bands[number] for number in numbers]


def _by_option(samples: Sequence[StoredSample]) -> dict[str, Json]:
    asked = [(one.option, one.picked, bool(one.right)) for one in samples if one.option >= 0]
    if not asked:
        return {}
    counts = Counter(asked)
    found: dict[str, Json] = {}
    for place in range(1 + max(max(option, picked) for option, picked, _ in counts)):
        n = sum(count for (option, _, _), count in counts.items() if option == place)
        right = sum(count for (option, _, is_right), count in counts.items() if option == place and is_right)
        share = right / n if n else None
        found[LETTERS[place % 26]] = {"n": n, "accuracy": share, "picked": _pick_count(place, counts) / len(asked)}
    found["none"] = {"n": 0, "accuracy": None, "picked": _pick_count(-1, counts) / len(asked)}
    return found


def _pick_count(place: int, counts: Mapping[tuple[int, int, bool], int]) -> int:
    return sum(count for (_, picked, _), count in counts.items() if picked == place)


def _all_cycles(samples: Sequence[StoredSample], of_each: Sequence[str]) -> ClusteredMean:
    questions: dict[str, list[StoredSample]] = {}
    for question, one in zip(of_each, samples, strict=True):
        questions.setdefault(question, []).append(one)
    right = [float(all(one.right for one in of)) for of in questions.values()]
    return clustered_mean(right, [of[0].cluster for of in questions.values()])


def _spending(
    samples: Sequence[StoredSample], calls: int, times: Sequence[SampleTimes], price: Price | None
) -> Spending:
    tokens_in, tokens_out = sum([one.tokens_in for one in samples]), sum([one.tokens_out for one in samples])
    return Spending(
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        images=sum([one.images for one in samples]),
        calls=calls,
        samples=len(samples),
        wall_s=_quantiles([one.wall_s for one in times]),
        tool_s=_quantiles([one.tool_s for one in times]),
        money=None if price is None else price.of(tokens_in, tokens_out),
        currency="" if price is None else price.currency,
    )


def _quantiles(seconds: Sequence[float]) -> Quantiles | None:
    if not seconds:
        return None
    # Of an infinite time there is no place between two others.
    with np.errstate(invalid="ignore"):
        median, high = np.percentile(seconds, [50, 95])
    return Quantiles(p50=float(median), p95=float(high))


def table(found: Iterable[EvaluationFigures]) -> str:
    """Lines for the terminal: each evaluation, its categories, its cost, its errors and tools."""
    lines = []
    for one in found:
        lines.append(one.describe())
        lines += [f"    {name}: {mean.describe()} of {mean.n:,}" for name, mean in one.categories.items()]
        lines.append(f"    cost: {one.spending.describe()}")
        if one.tools:
            lines.append("    tools: " + ", ".join(f"{name} {count:,}" for name, count in one.tools.items()))
        if one.errors:
            kinds = (f"{count:,} {_ERRORS.get(kind, 'of kind')} ({kind})" for kind, count in one.errors.items())
            lines.append("    errors: " + ", ".join(kinds))
    return "\n".join(lines)
