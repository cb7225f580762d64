"""Credit for single turns: a signal per turn, made comparable over the batch and added to group-relative advantages."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

from saccade.algorithms.advantages import GroupAdvantages, PerToken
from saccade.algorithms.algorithm import Algorithm
from saccade.errors import UserError
from saccade.types import Group, Trajectory

_STD_FLOOR = 1e-8

TurnReturns = Callable[[Trajectory], Sequence[float]]
"""A trajectory's return of each turn: what follows from that turn on."""


def with_turn_credit(
    algorithm: Algorithm,
    returns: TurnReturns,
    *,
    weight: float = 0.2,
    includes_final_turn: bool = True,
    keeps_equal: bool = False,
    limit: float = 10.0,
) -> Algorithm:
    """The algorithm with ``weight`` times the batch's turn signal on top of its advantages (CodeDance, equation 2).

    Groups of equal rewards have no advantage of their own and are trained by the signal alone; a filter of the
    algorithm's (DAPO) takes them out before. The public code's form is ``includes_final_turn=False,
    keeps_equal=True, limit=math.inf``. UserError for an algorithm with a critic, whose credit is the critic's, or
    one of pairs.
    """
    if algorithm.critic is not None:
        raise UserError(f"turn credit is added to advantages of groups, but those of {algorithm.name} are its critic's")
    refuse_pairs(algorithm, "turn credit")
    if not (0 <= weight < math.inf and limit > 0):
        raise UserError(f"weight={weight} must be a finite number of 0 or more, and limit={limit} above 0")

    def advantages(groups: Sequence[Group]) -> list[list[list[float]]]:
        signal = turn_signal(
            groups, returns, includes_final_turn=includes_final_turn, keeps_equal=keeps_equal, limit=limit
        )
        return add_turn_signal(algorithm.advantages(groups), signal, weight=weight)

    return replace(algorithm, name=f"{algorithm.name} with turn credit", advantages=advantages)


def refuse_pairs(algorithm: Algorithm, what: str) -> None:
    """UserError for an algorithm that compares pairs of whole trajectories."""
    if algorithm.preference is not None:
        raise UserError(f"{what} is added to advantages, and {algorithm.name} has none: it compares whole trajectories")


def turn_signal(
    groups: Sequence[Group],
    returns: TurnReturns,
    *,
    includes_final_turn: bool = True,
    keeps_equal: bool = False,
    limit: float = 10.0,
) -> list[list[list[float]]]:
    """(G - mean) / std for every turn, with one mean and one population std over all turns of the batch.

    The batch's mean is one number for every turn that was played, the last included, so it is a baseline: in
    expectation it moves nothing, and the std is a common scale. Three other ways are not. Statistics per turn index
    scale turns differently and compare late turns with few others. Normalising *rewards* and summing them afterwards
    subtracts as many means as there are turns, which pays for length where rewards are negative. Leaving the final
    turn out (``includes_final_turn=False``, as CodeDance's code does; it is 0 then and does not enter the statistics)
    takes the baseline from the turns that go on but not from those that stop, which pays for going on too.

    A batch whose signals are all alike gives zeros, or with ``keeps_equal``, as CodeDance's code has it, the returns
    as they are. Where few turns differ from all others the std is small; ``limit`` cuts what it would blow up. A
    ``failed`` trajectory has zeros and does not enter the statistics.
    """
    if not limit > 0:
        raise ValueError(f"limit={limit} must be above 0; inf never cuts")
    signals = [[_signal(trajectory, returns) for trajectory in group.trajectories] for group in groups]
    counted = [
        number
        for group, of_group in zip(groups, signals)
        for trajectory, numbers in zip(group.trajectories, of_group)
        for number in numbers[: _counted_turns(trajectory, numbers, includes_final_turn)]
    ]
    mean = math.fsum(counted) / len(counted) if counted else 0.0
    std = math.sqrt(math.fsum((number - mean) ** 2 for number in counted) / len(counted)) if counted else 0.0
    scale = 1.0 / std if std > _STD_FLOOR else 0.0
    if keeps_equal and not scale:
        mean, scale = 0.0, 1.0

    def normalised(trajectory: Trajectory, numbers: Sequence[float]) -> list[float]:
        count = _counted_turns(trajectory, numbers, includes_final_turn)
        kept = [max(-limit, min(limit, (number - mean) * scale)) for number in numbers[:count]]
        return kept + [0.0] * (max(1, len(numbers)) - count)

    return [
        [normalised(trajectory, numbers) for trajectory, numbers in zip(group.trajectories, of_group)]
        for group, of_group in zip(groups, signals)
    ]


def add_turn_signal(
    advantages: GroupAdvantages, signal: Sequence[Sequence[Sequence[float]]], *, weight: float = 0.2
) -> list[list[list[float]]]:
    """Advantage plus weight times signal, turn by turn (CodeDance; 0.2 is the weight of its code).

    The sum is not normalised again. ValueError where the two differ in shape or the advantages are per token.
    """
    return [
        [_with_signal(own, extra, weight) for own, extra in zip(of_group, extra_of_group, strict=True)]
        for of_group, extra_of_group in zip(advantages, signal, strict=True)
    ]


def _with_signal(advantages: Sequence[float], signal: Sequence[float], weight: float) -> list[float]:
    if isinstance(advantages, PerToken) or len(advantages) != len(signal):
        kind = "action tokens" if isinstance(advantages, PerToken) else "turns"
        raise ValueError(f"advantages of {len(advantages)} {kind} and a signal of {len(signal)} turns cannot be added")
    return [own + weight * extra for own, extra in zip(advantages, signal)]


def _signal(trajectory: Trajectory, returns: TurnReturns) -> Sequence[float]:
    if trajectory.status == "failed":
        return [0.0] * len(trajectory.turns)
    numbers = returns(trajectory)
    if len(numbers) != len(trajectory.turns):
        raise ValueError(
            f"trajectory {trajectory.task_id}#{trajectory.sample} has {len(trajectory.turns)} turns, "
            f"but the signal gives {len(numbers)} numbers; give one per turn"
        )
    return numbers


def _counted_turns(trajectory: Trajectory, numbers: Sequence[float], includes_final_turn: bool) -> int:
    """How many leading turns enter the statistics."""
    if trajectory.status == "failed":
        return 0
    return len(numbers) if includes_final_turn else max(0, len(numbers) - 1)
