"""Credit for evidence on top of any reward and algorithm: settings ``rl.evidence`` of a stage."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from saccade.algorithms.advantages import GroupAdvantages
from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.turn_credit import add_turn_signal, turn_signal
from saccade.codec.bounds import NotNegative, check_bounds
from saccade.errors import UserError
from saccade.types import Group, Term, Trajectory


@dataclass(frozen=True, kw_only=True)
class EvidenceCredit:
    """Pays calls for what they returned (``saccade.rewards.call_values``)."""

    weight: NotNegative = 0.0
    """0 pays nothing. An outcome of 1 with 0.5 here is a start."""
    form: Literal["found", "difference", "judged"] = "found"
    """``found`` for questions that name their regions or pages, ``difference`` for any with a right answer in words,
    which needs ``rollout.probes_calls``, ``judged`` for any, which needs a judge that sees (``evidence_judge``)."""
    to: Literal["trajectory", "turns"] = "trajectory"
    """``trajectory`` adds the sum as a term ``evidence`` to the score; ``turns`` gives each turn its own value,
    standardised over the batch, on top of the algorithm's advantages."""

    def check(self) -> None:
        check_bounds(self)

    def credited(self, group: Group) -> Group:
        """The group with the term in its scores; UserError for a question that says nothing of its evidence."""
        if not self.weight:
            return group
        if self.form == "found" and not (group.task.targets or group.task.missing_pages):
            raise UserError(
                f"rl.evidence.form=found pays for regions and pages that a question names, and {group.task.id} names "
                "none; give the rows targets, or set rl.evidence.form=difference and rollout.probes_calls=true"
            )
        return replace(group, trajectories=tuple(self._with_term(group, one) for one in group.trajectories))

    def added_to(self, algorithm: Algorithm) -> Algorithm:
        """The algorithm with each turn's own value in its advantages, where the values go to turns.

        UserError for an algorithm with a critic.
        """
        if not self.weight or self.to == "trajectory":
            return algorithm
        if algorithm.critic is not None:
            raise UserError(
                f"rl.evidence.to=turns is added to advantages of groups, but those of {algorithm.name} are its "
                "critic's; set rl.evidence.to=trajectory"
            )

        def advantages(groups: Sequence[Group]) -> GroupAdvantages:
            values = {id(one): self._values(group, one) or [0.0] for group in groups for one in group.trajectories}
            signal = turn_signal(groups, lambda one: values[id(one)])
            return add_turn_signal(algorithm.advantages(groups), signal, weight=self.weight)

        return replace(algorithm, name=f"{algorithm.name} with evidence", advantages=advantages)

    def _with_term(self, group: Group, trajectory: Trajectory) -> Trajectory:
        score = trajectory.score
        if score is None:
            return trajectory
        value = sum(self._values(group, trajectory))
        paid = self.weight if self.to == "trajectory" else 0.0
        term = Term("evidence", value, paid, added_by=f"rl.evidence ({self.form})")
        return replace(trajectory, score=replace(score, terms=(*score.terms, term)))

    def _values(self, group: Group, trajectory: Trajectory) -> list[float]:
        # Most runs pay for none, and what they are worth takes many modules.
        from saccade.rewards.call_values import call_values

        return call_values(group.task, trajectory, self.form)
