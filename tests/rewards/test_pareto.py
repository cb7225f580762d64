"""Theorem 1 and its corollary in numbers: where the bound is empty, where it is false, where it holds."""

import pytest

from saccade.errors import UserError
from saccade.rewards.pareto import COUNTEREXAMPLE, NoisyRewards, best_group_size, pareto_bound, simulate

FOUR = (1.0,) * 4


def test_the_bound_by_hand() -> None:
    # C m = 2: 1 - (1 - 0.5)^2 = 0.75, and 1 - e^-2 = 0.86466.
    assert pareto_bound(2, 0.5, 2, 1.0, 0.5, (1.0, 1.0)) == pytest.approx(0.75 * 0.8646647)
    # Weights of 1 and 2 quarter C.
    assert pareto_bound(2, 0.5, 2, 1.0, 0.5, (1.0, 2.0)) == pytest.approx(0.75 * 0.3934693)
    # With the gate: three rewards, and 1 - 2 e^-2.
    assert pareto_bound(2, 0.5, 2, 1.0, 0.5, (1.0,) * 3, gamma=1.0) == pytest.approx(0.75 * 0.9502129 * 0.7293294)


def test_each_factor_stays_above_zero() -> None:
    """Two factors below 0 would give a product of 23 here."""
    assert pareto_bound(16, 0.05, 4, 0.4, 0.25, (1.0,) * 5, gamma=0.1) == 0.0
    assert pareto_bound(16, 0.05, 4, 0.4, 0.25, FOUR) == 0.0


def test_the_theorem_is_false_as_it_is_printed() -> None:
    found = simulate(COUNTEREXAMPLE, 2, seed=1)
    assert COUNTEREXAMPLE.undominated().tolist() == [True, False, True]
    assert (COUNTEREXAMPLE.beta, found.bound) == (0.5, 0.75)
    assert found.undominated == pytest.approx(0.25, abs=0.02)
    assert found.best_of_group == 1.0


def test_with_one_reward_the_bound_holds() -> None:
    rewards = [(index / 10,) for index in range(10)]
    setting = NoisyRewards(rewards=rewards, policy=(0.1,) * 10, delta=0.35, sigma=0.1, weights=(1.0,))
    for n in (2, 4, 8):
        found = simulate(setting, n)
        assert found.undominated >= found.bound > 0


def test_the_best_group_size_is_where_the_bound_is_largest() -> None:
    arguments = (0.3, 8, 1.0, 0.3, (1.0,) * 8)
    best = best_group_size(*arguments, largest=200)
    bounds = {n: pareto_bound(n, *arguments) for n in range(1, 201)}
    assert bounds[best] == max(bounds.values())
    assert best_group_size(0.5, 2, 1.0, 0.0, (1.0, 1.0), largest=2000) < 2000  # Without noise it saturates.


@pytest.mark.parametrize(
    "change",
    [{"n": 0}, {"m": 0}, {"beta": 1.1}, {"delta": 0.0}, {"sigma": -1.0}, {"weights": (1.0,)}, {"gamma": 0.0}],
)
def test_values_that_mean_nothing_are_refused(change: dict[str, object]) -> None:
    given = {"n": 2, "beta": 0.5, "m": 2, "delta": 1.0, "sigma": 0.5, "weights": (1.0, 1.0), **change}
    with pytest.raises(UserError):
        pareto_bound(**given)  # type: ignore[arg-type]
