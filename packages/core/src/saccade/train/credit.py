"""From a batch of scored groups to the learner's sequences: comparisons inside groups, and which tokens count."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from saccade.algorithms.advantages import GroupAdvantages, PerToken
from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.dapo import is_truncated
from saccade.algorithms.losses import kl_token_rewards, with_kl_in_reward
from saccade.learner.policy_learner import PolicyLearner
from saccade.learner.sequences import TrainingSequence, training_sequences
from saccade.runs.signals import by_turn
from saccade.types import Attempt, Group, Signals, Trajectory

_Numbers = tuple[float, ...]
LogProbabilities = Callable[[Sequence[TrainingSequence]], Sequence[tuple[float, ...]]]
"""log p of the action tokens of each sequence under some policy."""

_Learned = Literal["reference_logprobs", "old_logprobs", "old_values", "returns", "advantages"]
_Place = tuple[int, int]
"""Index of a group in the batch and of a trajectory in the group."""
_ContextPlace = tuple[int, int, int]
"""The place of a trajectory, and the index of a context in it."""


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
        (*place, c): sequence
        for place, one in trajectories.items()
        if one.status != "failed" and any(one.action_mask)
        for c, sequence in enumerate(training_sequences(one))
    }
    sequences = {where: replace(one, place=number) for number, (where, one) in enumerate(sequences.items())}
    learned_from = dict.fromkeys((g, t) for g, t, _ in sequences)

    left_out = {place for place in learned_from if algorithm.masks_truncated and is_truncated(trajectories[place])}

    def learn(name: _Learned, values: Sequence[_Numbers]) -> None:
        for (place, sequence), numbers in zip(list(sequences.items()), values):
            sequences[place] = replace(sequence, **{name: numbers})  # type: ignore[arg-type]

    if reference is not None:
        learn("reference_logprobs", reference([*sequences.values()]))
    if recomputes_old:
        learn("old_logprobs", learner.logprobs([*sequences.values()], temperature=temperature))
    rejected = {place for place in learned_from if _is_rejected(_contexts(sequences, place), algorithm)} - left_out
    left_out |= rejected
    kl_rewards = _by_trajectory({p: _kl_rewards(one, algorithm.kl_in_reward) for p, one in sequences.items()})
    compared = with_kl_in_reward(groups, _nested(groups, kl_rewards)) if algorithm.kl_in_reward else groups
    advantages: GroupAdvantages
    if algorithm.critic is None:
        advantages = algorithm.advantages(compared)
    else:
        learn("old_values", learner.values([*sequences.values()], temperature=temperature))
        # The critic whitens over what is trained on: what is left out has no part in that.
        values = _by_trajectory({p: one.old_values or () for p, one in sequences.items() if p[:2] not in left_out})
        advantages, returns = algorithm.critic.targets(
            groups, _nested(groups, values), _nested(groups, kl_rewards), algorithm.turn_rewards
        )
        spread = {(g, t): training_sequences(trajectories[g, t], PerToken(returns[g][t])) for g, t in learned_from}
        learn("returns", [spread[g, t][c].advantages for g, t, c in sequences])
    spread = {(g, t): training_sequences(trajectories[g, t], advantages[g][t]) for g, t in learned_from}
    learn("advantages", [spread[g, t][c].advantages for g, t, c in sequences])
    trained: list[list[TrainingSequence]] = [[] for _ in groups]
    for place in learned_from:
        if place not in left_out:
            trained[place[0]] += _contexts(sequences, place)
    references = _by_trajectory({p: one.reference_logprobs for p, one in sequences.items() if one.reference_logprobs})
    advantages_of = _by_trajectory({p: one.advantages for p, one in sequences.items() if p[:2] not in left_out})
    return CreditedBatch(
        sequences=trained,
        attempts=[
            Attempt(
                task=group.task,
                trajectory=one,
                advantages=_by_turn(one, advantages_of.get((g, t))),
                signals=_signals(one, advantages_of.get((g, t)), references.get((g, t))),
            )
            for g, group in enumerate(compared)
            for t, one in enumerate(group.trajectories)
        ],
        places=[
            tuple(one.place for one in _contexts(sequences, place) if one.place is not None) for place in trajectories
        ],
        rejected=len(rejected),
    )


def _signals(trajectory: Trajectory, advantages: _Numbers | None, references: _Numbers | None) -> Signals | None:
    """Advantages where they differ inside of a turn, and reference log-probabilities where there is a reference."""
    turns = by_turn(advantages, trajectory.segments)
    is_spread = any(len(set(turn)) > 1 for turn in turns or ())
    if not is_spread and references is None:
        return None
    return Signals(advantages=advantages if is_spread else None, reference_logprobs=references)


def with_entropies(credited: CreditedBatch, entropies: Mapping[int, _Numbers]) -> list[Attempt]:
    """The attempts of a batch with the entropies that learning met; none where it did not meet all contexts."""
    return [
        replace(one, signals=replace(one.signals or Signals(), entropy=sum((entropies[place] for place in places), ())))
        if places and all(place in entropies for place in places)
        else one
        for one, places in zip(credited.attempts, credited.places, strict=True)
    ]


def _contexts(sequences: Mapping[_ContextPlace, TrainingSequence], place: _Place) -> list[TrainingSequence]:
    """The sequences of a trajectory."""
    found: list[TrainingSequence] = []
    while (*place, len(found)) in sequences:
        found.append(sequences[*place, len(found)])
    return found


def _by_trajectory(numbers: Mapping[_ContextPlace, _Numbers]) -> dict[_Place, _Numbers]:
    """Numbers of all action tokens of a trajectory, one context after the other."""
    joined: dict[_Place, _Numbers] = {}
    for (g, t, _), of_context in numbers.items():
        joined[g, t] = (*joined.get((g, t), ()), *of_context)
    return joined


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


def _nested(groups: Sequence[Group], values: Mapping[_Place, _Numbers]) -> list[list[_Numbers]]:
    """By group and trajectory; nothing for those that are left out."""
    return [[values.get((g, t), ()) for t in range(len(group.trajectories))] for g, group in enumerate(groups)]


def _kl_rewards(sequence: TrainingSequence, weight: float) -> _Numbers:
    if not weight or sequence.reference_logprobs is None:
        return (0.0,) * sequence.action_count
    return kl_token_rewards(sequence.sampled_logprobs, sequence.reference_logprobs, weight=weight)
