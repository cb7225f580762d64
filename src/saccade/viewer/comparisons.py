"""Evaluations of a run held against each other: after training with before it, and one way of asking with another."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.evaluation.statistics import Difference, paired_difference
from saccade.rewards.reward import counts_as_right
from saccade.types import Json
from saccade.viewer.evidence import Evaluation

What = Literal["training", "asking", "unknown"]
"""The difference: the weights, how they were asked, or unknown in a run that did not record it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Comparison:
    """Right answers of one evaluation minus those of another, on the tasks that both have."""

    what: What
    before: str
    after: str
    difference: Difference

    def as_json(self) -> dict[str, Json]:
        return {
            "what": self.what,
            "before": self.before,
            "after": self.after,
            "difference": self.difference.mean,
            "ci95": list(self.difference.ci95),
            "n": self.difference.n,
        }


def comparisons_of(evaluations: Sequence[Evaluation]) -> tuple[Comparison, ...]:
    """Each evaluation beside what it is to be compared with, as far as they share questions.

    Beside the last and the first before it that asked alike, with other weights; and beside the first that asked the
    same weights otherwise, for a second look the one that saw no views. In a run that did not record how it asked,
    beside the first.
    """
    compared = []
    for place, evaluation in enumerate(evaluations):
        right, beside = _right_by_task(evaluation), set[str]()
        for what, other in _others(evaluation, evaluations[:place]):
            before = _right_by_task(other)
            shared = [task for task in before if task in right]
            if shared and other.name not in beside:
                beside.add(other.name)
                difference = paired_difference(
                    [before[task] for task in shared],
                    [right[task] for task in shared],
                    seed=0,
                    labels=(evaluation.name,),
                )
                compared.append(Comparison(what=what, before=other.name, after=evaluation.name, difference=difference))
            if what == "unknown" and beside:
                break
    return tuple(compared)


def _others(evaluation: Evaluation, earlier: Sequence[Evaluation]) -> Iterator[tuple[What, Evaluation]]:
    asked = evaluation.asked
    if asked is None:
        yield from (("unknown", other) for other in earlier)
        return
    known = [(other, other.asked) for other in earlier if other.asked is not None]
    alike = [
        other
        for other, how in known
        if (how.way, how.views) == (asked.way, asked.views) and other.policy_version != evaluation.policy_version
    ]
    if alike:
        yield "training", alike[-1]
        yield "training", alike[0]
    same_weights = [(other, how) for other, how in known if other.policy_version == evaluation.policy_version]
    plain = [other for other, how in same_weights if asked.views and not how.views and how.way == asked.way]
    yield from (("asking", other) for other in (plain or [other for other, _ in same_weights])[:1])


def _right_by_task(evaluation: Evaluation) -> dict[str, float]:
    """Share of right answers for each task that was scored at least once."""
    right: dict[str, list[bool]] = {}
    for attempt in evaluation.attempts:
        if attempt.trajectory.status != "failed":
            right.setdefault(attempt.task.id, []).append(counts_as_right(attempt.task, attempt.trajectory))
    return {task: sum(answers) / len(answers) for task, answers in right.items()}
