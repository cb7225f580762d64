"""From a batch of scored groups to the learner's sequences: comparisons inside groups, and which tokens count."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from saccade.algorithms.advantages import GroupAdvantages
from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.dapo import is_truncated
from saccade.algorithms.losses import kl_token_rewards, with_kl_in_reward
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.sequences import TrainingSequence, training_sequence
from saccade.runs.signals import by_turn
from saccade.types import Attempt, Group, Signals, Trajectory

_Numbers = tuple[float, ...]
LogProbabilities = Callable[[Sequence[TrainingSequence]], Sequence[tuple[float, ...]]]
"""log p of the action tokens of each sequence under some policy."""

_Learned = Literal["reference_logprobs", "old_logprobs", "old_values", "returns", "advantages"]
_Place = tuple[int, int]
"""Index of a group in the batch and of a trajectory in the group."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CreditedBatch:
    """Sequences of a batch with their advantages."""

    sequences: list[list[TrainingSequence]]
    """For each group those that count in the batch's mean, with their advantages."""
    attempts: list[Attempt]
    """Every trajectory, for the records: its score as it was compared, and the advantages that it was trained with."""
    rejected: int
    """Sequences that the algorithm left out because their sampler was too far from the learner."""


def compute_advantages(
    groups: Sequence[Group],
    algorithm: Algorithm,
    learner: PolicyLearner,
    reference: LogProbabilities | None,
    *,
    temperature: float,
    recomputes_old: bool,
) -> CreditedBatch:
    """The batch with its advantages.

    ``reference`` is the policy that a KL ties the learner to, where the algorithm wants one. Trajectories that the
    machine failed are left out, and truncated ones where the algorithm masks them. With
    ``recomputes_old`` the ratio's denominator is the learner's own log-probability at this moment, not the engine's:
    an importance correction needs the two apart.
    """
    trajectories = {(g, t): one for g, group in enumerate(groups) for t, one in enumerate(group.trajectories)}
    sequences = {
        place: replace(training_sequence(one), place=number)
        for number, (place, one) in enumerate(trajectories.items())
        if one.status != "failed" and any(one.action_mask)
    }

    left_out = {place for place in sequences if algorithm.masks_truncated and is_truncated(trajectories[place])}

    def learn(name: _Learned, values: Sequence[_Numbers]) -> None:
        for (place, sequence), numbers in zip(list(sequences.items()), values):
            sequences[place] = replace(sequence, **{name: numbers})  # type: ignore[arg-type]

    if reference is not None:
        learn("reference_logprobs", reference([*sequences.values()]))
    if recomputes_old:
        learn("old_logprobs", learner.logprobs([*sequences.values()], temperature=temperature))
    rejected = {place for place, one in sequences.items() if _is_rejected(one, algorithm)} - left_out
    left_out |= rejected
    kl_rewards = {place: _kl_rewards(sequence, algorithm.kl_in_reward) for place, sequence in sequences.items()}
    compared = with_kl_in_reward(groups, _nested(groups, kl_rewards)) if algorithm.kl_in_reward else groups
    advantages: GroupAdvantages
    if algorithm.critic is None:
        advantages = algorithm.advantages(compared)
    else:
        learn("old_values", learner.values([*sequences.values()], temperature=temperature))
        # The critic whitens over what is trained on: what is left out has no part in that.
        values = {place: one.old_values or () for place, one in sequences.items() if place not in left_out}
        advantages, returns = algorithm.critic.targets(groups, _nested(groups, values), _nested(groups, kl_rewards))
        learn("returns", [returns[g][t] for g, t in sequences])
    learn("advantages", [training_sequence(trajectories[g, t], advantages[g][t]).advantages for g, t in sequences])
    trained = {place: one for place, one in sequences.items() if place not in left_out}
    return CreditedBatch(
        sequences=[
            [trained[g, t] for t in range(len(group.trajectories)) if (g, t) in trained]
            for g, group in enumerate(groups)
        ],
        attempts=[
            Attempt(
                task=group.task,
                trajectory=one,
                advantages=_by_turn(one, trained.get((g, t))),
                signals=_signals(one, sequences.get((g, t)), is_trained=(g, t) in trained),
            )
            for g, group in enumerate(compared)
            for t, one in enumerate(group.trajectories)
        ],
        rejected=len(rejected),
    )


def _signals(trajectory: Trajectory, sequence: TrainingSequence | None, *, is_trained: bool) -> Signals | None:
    """Advantages where they differ inside of a turn, and reference log-probabilities where there is a reference."""
    if sequence is None:
        return None
    turns = by_turn(sequence.advantages, trajectory.segments) if is_trained else None
    is_spread = any(len(set(turn)) > 1 for turn in turns or ())
    return Signals(
        advantages=sequence.advantages if is_spread else None, reference_logprobs=sequence.reference_logprobs
    )


def with_entropies(attempts: Sequence[Attempt], entropies: Mapping[int, _Numbers]) -> list[Attempt]:
    """The attempts of a batch with the entropies that learning met, by their place in it."""
    return [
        replace(one, signals=replace(one.signals or Signals(), entropy=entropies[place])) if place in entropies else one
        for place, one in enumerate(attempts)
    ]


def _is_rejected(sequence: TrainingSequence, algorithm: Algorithm) -> bool:
    if algorithm.keep_sequence is None:
        return False
    assert sequence.old_logprobs is not None, "keep_sequence needs needs_old_logprobs"
    return not algorithm.keep_sequence(sequence.old_logprobs, sequence.sampled_logprobs)


def _by_turn(trajectory: Trajectory, sequence: TrainingSequence | None) -> tuple[float, ...] | None:
    """A turn's advantage, or the mean of its tokens'; None for a trajectory that is not trained on."""
    if sequence is None:
        return None
    left = iter(sequence.advantages)
    actions = [segment for segment in trajectory.segments if segment.role == "action" and segment.ids]
    return tuple(_same_or_mean([next(left) for _ in segment.ids]) for segment in actions)


def _same_or_mean(numbers: Sequence[float]) -> float:
    # Equal numbers are not averaged, so that what is recorded is the advantage to the last bit.
    return numbers[0] if len(set(numbers)) == 1 else math.fsum(numbers) / len(numbers)


def _nested(groups: Sequence[Group], values: Mapping[_Place, _Numbers]) -> list[list[_Numbers]]:
    """By group and trajectory; nothing for those that are left out."""
    return [[values.get((g, t), ()) for t in range(len(group.trajectories))] for g, group in enumerate(groups)]


def _kl_rewards(sequence: TrainingSequence, weight: float) -> _Numbers:
    if not weight or sequence.reference_logprobs is None:
        return (0.0,) * sequence.action_count
    return kl_token_rewards(sequence.sampled_logprobs, sequence.reference_logprobs, weight=weight)
