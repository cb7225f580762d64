"""GDPO: each term of the reward is compared inside its group by itself."""

from collections.abc import Sequence

from saccade.algorithms.advantages import ByPlace, for_every_turn, standardised
from saccade.types import Group, Term


def by_term(groups: Sequence[Group]) -> list[list[list[float]]]:
    """GDPO's advantage (arXiv 2601.05242), for every turn.

    Each term is standardised among the group's trajectories that have it; their sums by the terms' weights are
    standardised over the whole batch. A group whose sums of rewards are standardised cannot show which term they differ
    in, and a term that varies widely drowns the others. A ``failed`` trajectory has zeros and enters no mean.
    """
    sums = {(row, place): value for row, group in enumerate(groups) for place, value in _weighted_sums(group).items()}
    values: list[dict[int, float]] = [{} for _ in groups]
    for (row, place), value in standardised(sums).items():
        values[row][place] = value
    return for_every_turn(groups, values)


def _weighted_sums(group: Group) -> ByPlace:
    """The weighted sum of each trajectory's standardised terms."""
    terms = {place: _terms(group, place) for place, one in enumerate(group.trajectories) if one.status != "failed"}
    sums = dict.fromkeys(terms, 0.0)
    for name in dict.fromkeys(name for own in terms.values() for name in own):
        found = {place: own[name] for place, own in terms.items() if name in own}
        for place, value in standardised({place: term.value for place, term in found.items()}).items():
            sums[place] += found[place].weight * value
    return sums


def _terms(group: Group, place: int) -> dict[str, Term]:
    score = group.trajectories[place].score
    if score is None:
        raise ValueError(f"trajectory {group.task.id}#{place} has no score; score it before advantages")
    return {term.name: term for term in score.terms}
