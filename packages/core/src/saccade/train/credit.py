"""From a batch of scored groups to the learner's sequences: comparisons inside groups, and which tokens count."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, islice
from typing import Literal, Protocol

from saccade import metric_names as metric
from saccade.algorithms.advantages import PerToken
from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.dapo import is_truncated
from saccade.algorithms.losses import kl_token_rewards, with_kl_in_reward
from saccade.algorithms.options import DistillOptions, PairLoss, PairRule, PerceptionOptions
from saccade.algorithms.perception import shaped
from saccade.algorithms.preference import ComparedPairs, Likelihood, compared_pairs, pairs_of
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.sequences import TrainingSequence, training_sequences
from saccade.runs.signals import by_turn
from saccade.types import Attempt, Group, Signals, Task, Trajectory

_Numbers = tuple[float, ...]
LogProbabilities = Callable[[Sequence[TrainingSequence]], Sequence[tuple[float, ...]]]
"""log p of the action tokens of each sequence under some policy."""

_Learned = Literal["reference_logprobs", "masked_logprobs", "old_logprobs", "old_values", "returns", "advantages"]


class BatchTeacher(Protocol):
    """The teacher of a batch (``saccade.train.teachers``)."""

    def taught(self, groups: Sequence[tuple[Group, Sequence[TrainingSequence]]]) -> Sequence[TrainingSequence]:
        """All sequences, in their order, with the numbers and the views that the algorithm learns from."""
        ...

    def watch(self, gap: float) -> None:
        """Hears the ``teacher_gap`` of each step that has one."""
        ...


@dataclass(frozen=True, kw_only=True, slots=True)
class CreditedBatch:
    """Sequences of a batch with their advantages."""

    sequences: list[list[TrainingSequence]]
    """For each group those that count in the batch's mean, with their advantages."""
    attempts: list[Attempt]
    """Every trajectory, for the records: its score as it was compared, and the advantages that it was trained with."""
    places: list[tuple[int, ...]]
    """For each attempt the places of its sequences in the batch (``TrainingSequence.place``)."""
    rejected: int
    """Trajectories that the algorithm left out because their sampler was too far from the learner."""
    metrics: Mapping[str, float] = field(default_factory=dict)
    """Of pairs, where the algorithm compares them, and of a teacher, where there is one."""


@dataclass(slots=True)
class _CreditRow:
    """A trajectory and its contexts as sequences: none where nothing of it can be learned."""

    trajectory: Trajectory
    sequences: Sequence[TrainingSequence]
    is_left_out: bool = False
    """Whether the algorithm does not train on it."""

    def numbers(self, of: Callable[[TrainingSequence], _Numbers | None]) -> _Numbers:
        """Numbers of all its action tokens, one context after the other."""
        return tuple(chain.from_iterable(of(one) or () for one in self.sequences))


@dataclass(frozen=True, slots=True)
class _CreditTable:
    """The trajectories of a batch, by group."""

    rows: Sequence[Sequence[_CreditRow]]

    @staticmethod
    def of(groups: Sequence[Group]) -> "_CreditTable":
        places = count()

        def row(one: Trajectory) -> _CreditRow:
            is_learned = one.status != "failed" and any(one.action_mask)
            sequences = training_sequences(one) if is_learned else ()
            return _CreditRow(one, [replace(sequence, place=next(places)) for sequence in sequences])

        return _CreditTable([[row(one) for one in group.trajectories] for group in groups])

    @property
    def learned(self) -> list[_CreditRow]:
        return [row for of_group in self.rows for row in of_group if row.sequences]

    @property
    def sequences(self) -> list[TrainingSequence]:
        return [one for row in self.learned for one in row.sequences]

    def learn(self, name: _Learned, values: Sequence[_Numbers]) -> None:
        """Gives each sequence its numbers, which come in the order of ``sequences``."""
        left = iter(values)
        for row in self.learned:
            row.sequences = [
                replace(one, **{name: numbers})  # type: ignore[arg-type]
                for one, numbers in zip(row.sequences, left)
            ]

    def spread(self, name: _Learned, numbers: Sequence[Sequence[Sequence[float]]]) -> None:
        """Gives each sequence its part of its trajectory's numbers, one per turn or ``PerToken``."""
        given = [
            training_sequences(row.trajectory, of_row)
            for of_group, of_rows in zip(self.rows, numbers)
            for row, of_row in zip(of_group, of_rows)
            if row.sequences
        ]
        self.learn(name, [one.advantages for sequences in given for one in sequences])

    def teach(self, groups: Sequence[Group], teacher: BatchTeacher) -> None:
        """Gives each sequence what its teacher says of it."""
        asked = [
            (group, [one for row in of_group for one in row.sequences]) for group, of_group in zip(groups, self.rows)
        ]
        left = iter(teacher.taught(asked))
        for row in self.learned:
            row.sequences = tuple(islice(left, len(row.sequences)))

    def distill(self, options: DistillOptions) -> None:
        """Advantages with the part of the teacher, who has judged single tokens."""
        from saccade.algorithms.distillation import teacher_advantages

        def taught(one: TrainingSequence) -> TrainingSequence:
            own = one.old_logprobs or one.sampled_logprobs
            # Whole distributions are compared in the loss.
            judged = own if options.compares_whole else one.teacher_logprobs or own
            return replace(one, advantages=teacher_advantages(one.advantages, own, judged, options))

        for row in self.learned:
            row.sequences = [taught(one) for one in row.sequences]

    def teacher_metrics(self) -> Mapping[str, float]:
        """The gap between better and worse paid trajectories; nothing where no single token was judged."""
        from saccade.algorithms.distillation import teacher_gap

        gap = teacher_gap(
            [
                [
                    (row.trajectory.score.total, math.fsum(map(_preferred, row.sequences)))
                    for row in of_group
                    if row.sequences
                    and row.trajectory.score is not None
                    and row.numbers(lambda one: one.teacher_logprobs)
                ]
                for of_group in self.rows
            ]
        )
        return {} if gap is None else {metric.TEACHER_GAP: gap}

    def shape(self, perception: PerceptionOptions) -> None:
        """VPPO's advantages in the place of those that the sequences have; what is left out has no part in them."""
        rows = [row for row in self.learned if not row.is_left_out]
        found = shaped(
            [row.numbers(lambda one: one.advantages) for row in rows],
            [row.numbers(lambda one: one.old_logprobs or one.sampled_logprobs) for row in rows],
            [row.numbers(lambda one: one.masked_logprobs) for row in rows],
            perception,
        )
        for row, numbers in zip(rows, found, strict=True):
            left = iter(numbers)
            row.sequences = [replace(one, advantages=tuple(islice(left, one.action_count))) for one in row.sequences]

    def keep_pairs(self, groups: Sequence[Group], rule: PairRule) -> list[tuple[_CreditRow, _CreditRow]]:
        """The pairs of all groups; nothing is learned of trajectories that are in none, which need no forward."""
        pairs = [
            (of_group[better], of_group[worse])
            for group, of_group in zip(groups, self.rows, strict=True)
            for better, worse in pairs_of(group, rule)
        ]
        kept = {id(row) for pair in pairs for row in pair}
        for row in self.learned:
            row.sequences = row.sequences if id(row) in kept else ()
        return pairs

    def prefer(self, pairs: Sequence[tuple[_CreditRow, _CreditRow]], loss: PairLoss) -> ComparedPairs:
        """Gives each sequence the advantage of its trajectory in the pairs."""
        places = {id(row): place for place, row in enumerate(self.learned)}
        numbered = [(places[id(better)], places[id(worse)]) for better, worse in pairs]
        found = compared_pairs(numbered, [likelihood_of(row.sequences) for row in self.learned], loss)
        for row, advantage in zip(self.learned, found.advantages, strict=True):
            row.sequences = [replace(one, advantages=(advantage,) * one.action_count) for one in row.sequences]
        return found

    def nested(
        self, of: Callable[[TrainingSequence], _Numbers | None], *, trained: bool = False
    ) -> list[list[_Numbers]]:
        """Numbers by group and trajectory; nothing for those that are not learned from, or not ``trained`` on."""
        return [[() if trained and row.is_left_out else row.numbers(of) for row in of_group] for of_group in self.rows]


def compute_advantages(
    groups: Sequence[Group],
    algorithm: Algorithm,
    learner: PolicyLearner,
    reference: LogProbabilities | None,
    *,
    temperature: float,
    recomputes_old: bool,
    is_learned_once: bool = False,
    masked: LogProbabilities | None = None,
    teacher: BatchTeacher | None = None,
) -> CreditedBatch:
    """The batch with its advantages.

    ``reference`` is the policy that a KL ties the learner to, ``masked`` the learner with masked pictures, and
    ``teacher`` whom it learns from, where the algorithm wants them. Trajectories that the
    machine failed are left out, and truncated ones where the algorithm masks them. With
    ``recomputes_old`` the ratio's denominator is the learner's own log-probability at this moment, not the engine's:
    an importance correction needs the two apart. Of a batch that ``is_learned_once``, in one update, the update itself
    gives it, where nothing reads it before.
    """
    table, preference = _CreditTable.of(groups), algorithm.preference
    pairs = [] if preference is None else table.keep_pairs(groups, preference.rule)
    if reference is not None:
        table.learn("reference_logprobs", reference(table.sequences))
    if masked is not None:
        table.learn("masked_logprobs", masked(table.sequences))
    is_read = any((preference, algorithm.keep_sequence, algorithm.distill, algorithm.perception))
    if recomputes_old and is_learned_once and not is_read:
        for row in table.learned:
            row.sequences = [replace(one, old_is_own=True) for one in row.sequences]
    elif recomputes_old:
        table.learn("old_logprobs", learner.logprobs(table.sequences, temperature=temperature))
    rejected = 0
    for row in table.learned:
        is_masked = algorithm.masks_truncated and is_truncated(row.trajectory)
        is_rejected = _is_rejected(row.sequences, algorithm)
        row.is_left_out = is_masked or is_rejected
        rejected += is_rejected and not is_masked
    kl_rewards = table.nested(lambda one: _kl_rewards(one, algorithm.kl_in_reward))
    compared = with_kl_in_reward(groups, kl_rewards) if algorithm.kl_in_reward else groups
    metrics: Mapping[str, float] = {}
    if preference is not None:
        metrics = table.prefer(pairs, preference.loss).metrics
    elif algorithm.critic is None:
        table.spread("advantages", algorithm.advantages(compared))
    else:
        table.learn("old_values", learner.values(table.sequences, temperature=temperature))
        # The critic whitens over what is trained on: what is left out has no part in that.
        values = table.nested(lambda one: one.old_values, trained=True)
        advantages, returns = algorithm.critic.targets(groups, values, kl_rewards, algorithm.turn_rewards)
        table.spread("returns", [[PerToken(of_row) for of_row in of_group] for of_group in returns])
        table.spread("advantages", advantages)
    if algorithm.perception is not None and algorithm.perception.shapes_advantages:
        table.shape(algorithm.perception)
    if teacher is not None and algorithm.distill is not None:
        table.teach(groups, teacher)
        metrics = {**metrics, **table.teacher_metrics()}
        table.distill(algorithm.distill)
    return CreditedBatch(
        sequences=[[one for row in rows if not row.is_left_out for one in row.sequences] for rows in table.rows],
        attempts=[
            _attempt(group.task, one, row)
            for group, of_group in zip(compared, table.rows)
            for one, row in zip(group.trajectories, of_group)
        ],
        places=[
            tuple(one.place for one in row.sequences if one.place is not None)
            for of_group in table.rows
            for row in of_group
        ],
        rejected=rejected,
        metrics=metrics,
    )


def _preferred(one: TrainingSequence) -> float:
    """How much likelier the teacher finds it than the policy does, in nats."""
    own = one.old_logprobs or one.sampled_logprobs
    return math.fsum(theirs - mine for theirs, mine in zip(one.teacher_logprobs or (), own))


def likelihood_of(contexts: Sequence[TrainingSequence]) -> Likelihood:
    """Of a trajectory, all contexts taken together, by its ``old_logprobs`` and ``reference_logprobs``."""

    def total(of: Callable[[TrainingSequence], _Numbers | None]) -> float:
        return math.fsum(value for one in contexts for value in of(one) or ())

    return Likelihood(
        logprob=total(lambda one: one.old_logprobs),
        reference=total(lambda one: one.reference_logprobs),
        tokens=sum(one.action_count for one in contexts),
    )


def _attempt(task: Task, compared: Trajectory, row: _CreditRow) -> Attempt:
    is_trained = bool(row.sequences) and not row.is_left_out
    advantages = row.numbers(lambda one: one.advantages) if is_trained else None
    references = row.numbers(lambda one: one.reference_logprobs) or None
    taught = row.numbers(lambda one: one.teacher_logprobs) or None
    return Attempt(
        task=task,
        trajectory=compared,
        advantages=_by_turn(compared, advantages),
        signals=_signals(compared, advantages, references, taught),
    )


def _signals(
    trajectory: Trajectory, advantages: _Numbers | None, references: _Numbers | None, taught: _Numbers | None
) -> Signals | None:
    """Advantages where they differ inside of a turn, log-probabilities of reference and teacher where there is one."""
    turns = by_turn(advantages, trajectory.segments)
    is_spread = any(len(set(turn)) > 1 for turn in turns or ())
    if not is_spread and references is None and taught is None:
        return None
    return Signals(advantages=advantages if is_spread else None, reference_logprobs=references, teacher_logprobs=taught)


def with_entropies(credited: CreditedBatch, entropies: Mapping[int, _Numbers]) -> list[Attempt]:
    """The attempts of a batch with the entropies that learning met; none where it did not meet all contexts."""
    return [
        replace(one, signals=replace(one.signals or Signals(), entropy=sum((entropies[place] for place in places), ())))
        if places and all(place in entropies for place in places)
        else one
        for one, places in zip(credited.attempts, credited.places, strict=True)
    ]


def _is_rejected(contexts: Sequence[TrainingSequence], algorithm: Algorithm) -> bool:
    """Whether the trajectory, all contexts taken together, is too far from its sampler."""
    if algorithm.keep_sequence is None:
        return False
    old: list[float] = []
    for one in contexts:
        assert one.old_logprobs is not None, "keep_sequence needs needs_old_logprobs"
        old += one.old_logprobs
    return not algorithm.keep_sequence(old, [value for one in contexts for value in one.sampled_logprobs])


def _by_turn(trajectory: Trajectory, advantages: _Numbers | None) -> tuple[float, ...] | None:
    """A turn's advantage, or the mean of its tokens'; None for a trajectory that is not trained on."""
    if advantages is None:
        return None
    left = iter(advantages)
    actions = [segment for segment in trajectory.segments if segment.role == "action" and segment.ids]
    return tuple(_same_or_mean([next(left) for _ in segment.ids]) for segment in actions)


def _same_or_mean(numbers: Sequence[float]) -> float:
    # Equal numbers are not averaged, so that what is recorded is the advantage to the last bit.
    return numbers[0] if len(set(numbers)) == 1 else math.fsum(numbers) / len(numbers)


def _kl_rewards(sequence: TrainingSequence, weight: float) -> _Numbers:
    if not weight or sequence.reference_logprobs is None:
        return (0.0,) * sequence.action_count
    return kl_token_rewards(sequence.sampled_logprobs, sequence.reference_logprobs, weight=weight)
