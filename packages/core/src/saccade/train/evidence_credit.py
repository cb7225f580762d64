"""Credit for evidence on top of any reward and algorithm (``saccade.train.stage_settings.EvidenceCredit``)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from saccade.algorithms.advantages import GroupAdvantages
from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.turn_credit import add_turn_signal, turn_signal
from saccade.errors import UserError
from saccade.rewards.call_values import call_values
from saccade.types import Group, Task, Term, Trajectory

if TYPE_CHECKING:
    from saccade.train.stage_settings import EvidenceCredit


def check_evidence(credit: "EvidenceCredit", tasks: Sequence[Task]) -> None:
    """UserError for questions that say nothing of the evidence that is paid for; it says how many there are."""
    bare = [task.id for task in tasks if not (task.targets or task.missing_pages)]
    if credit.form == "found" and bare:
        raise UserError(
            f"rl.evidence.form=found pays for regions and pages that a question names, and {bare[0]} names none "
            f"({len(bare):,} of {len(tasks):,} questions); give the rows boxes, or set rl.evidence.form=difference and "
            "rollout.probes_calls=true"
        )


def credited(group: Group, credit: "EvidenceCredit") -> Group:
    """The group with the term in its scores; UserError for a question that says nothing of its evidence."""
    check_evidence(credit, [group.task])

    def with_term(trajectory: Trajectory) -> Trajectory:
        score = trajectory.score
        if score is None:
            return trajectory
        paid = credit.weight if credit.to == "trajectory" else 0.0
        value = sum(call_values(group.task, trajectory, credit.form))
        term = Term("evidence", value, paid, added_by=f"rl.evidence ({credit.form})")
        return replace(trajectory, score=replace(score, terms=(*score.terms, term)))

    return replace(group, trajectories=tuple(map(with_term, group.trajectories)))


def with_call_credit(algorithm: Algorithm, credit: "EvidenceCredit") -> Algorithm:
    """The algorithm with each turn's own value in its advantages; UserError for one with a critic."""
    if algorithm.critic is not None:
        raise UserError(
            f"rl.evidence.to=turns is added to advantages of groups, but those of {algorithm.name} are its "
            "critic's; set rl.evidence.to=trajectory"
        )

    def advantages(groups: Sequence[Group]) -> GroupAdvantages:
        played = [(group.task, one) for group in groups for one in group.trajectories]
        values = {id(one): call_values(task, one, credit.form) or [0.0] for task, one in played}
        signal = turn_signal(groups, lambda one: values[id(one)])
        return add_turn_signal(algorithm.advantages(groups), signal, weight=credit.weight)

    return replace(algorithm, name=f"{algorithm.name} with evidence", advantages=advantages)
