"""Critic targets by hand: GAE, where rewards arrive, whitening, what failed trajectories get."""

import math

import pytest
from algorithm_samples import group, trajectory

from saccade.algorithms.advantages import PerToken
from saccade.algorithms.critic import Critic, gae, whitened
from saccade.errors import UserError


def test_gae_by_hand() -> None:
    # verl, compute_gae_advantage_return. delta = (0 + 0.9 * 0.4 - 0.5, 0.9 * 0.2 - 0.4, 1 - 0.2) = (-0.14, -0.22, 0.8)
    # A3 = 0.8, A2 = -0.22 + 0.9 * 0.5 * 0.8 = 0.14, A1 = -0.14 + 0.45 * 0.14 = -0.077
    assert gae([0.0, 0.0, 1.0], [0.5, 0.4, 0.2], gae_lambda=0.5, discount=0.9) == pytest.approx([-0.077, 0.14, 0.8])


def test_lambda_one_is_the_return_minus_the_value_and_lambda_zero_one_step() -> None:
    rewards, values = [1.0, -2.0, 4.0], [0.5, 0.25, 2.0]
    assert gae(rewards, values, gae_lambda=1.0, discount=1.0) == pytest.approx([3 - 0.5, 2 - 0.25, 4 - 2.0])
    assert gae(rewards, values, gae_lambda=0.0, discount=1.0) == pytest.approx([0.75, -0.25, 2.0])


def test_gae_of_one_token_and_of_none() -> None:
    assert gae([1.0], [0.25], gae_lambda=0.95, discount=1.0) == [0.75]
    assert gae([], [], gae_lambda=0.95, discount=1.0) == []


def test_the_score_arrives_at_the_last_action_token_and_token_rewards_at_theirs() -> None:
    critic = Critic(gae_lambda=1.0, whitens=False)
    advantages, returns = critic.targets(
        [group(trajectory(1.0), trajectory(0.0))], [[(0.5, 0.5), (0.25,)]], [[(-0.125, -0.25), (-0.5,)]]
    )
    # Returns: -0.125 - 0.25 + 1 and -0.25 + 1 for the first, -0.5 + 0 for the second.
    assert returns == [[(0.625, 0.75), (-0.5,)]]
    assert advantages == [[(0.125, 0.25), (-0.75,)]]
    assert all(isinstance(one, PerToken) for one in advantages[0])


def test_whitening_is_over_all_action_tokens_of_the_batch_and_leaves_returns_alone() -> None:
    critic = Critic(gae_lambda=1.0)
    groups = [group(trajectory(1.0)), group(trajectory(0.0))]
    advantages, returns = critic.targets(groups, [[(0.0, 0.0)], [(0.0,)]], [[(0.0, 0.0)], [(0.0,)]])
    # Advantages 1, 1, 0: mean 2/3, unbiased variance 1/3.
    scale = 1 / math.sqrt(1 / 3 + 1e-8)
    assert [*advantages[0][0], *advantages[1][0]] == pytest.approx([scale / 3, scale / 3, -2 * scale / 3])
    assert returns == [[(1.0, 1.0)], [(0.0,)]]


def test_equal_advantages_are_whitened_to_zero_and_noise_is_not_blown_up() -> None:
    groups = [group(trajectory(1.0))]
    assert whitened(groups, [[PerToken([0.1, 0.1, 0.1])]]) == [[(0.0, 0.0, 0.0)]]
    assert whitened(groups, [[PerToken([0.7])]]) == [[(0.0,)]]
    ((noisy,),) = whitened(groups, [[PerToken([0.3, 0.1 + 0.2])]])
    assert max(map(abs, noisy)) < 1e-9


def test_failed_trajectories_get_zeros_and_change_nothing_for_the_others() -> None:
    fine, lost = (trajectory(1.0), trajectory(0.5)), trajectory(None, status="failed")
    values = [(0.0, 0.5), (0.25,)]
    zeros = [(0.0, 0.0), (0.0,)]
    expected, returns = Critic().targets([group(*fine)], [values], [zeros])
    with_lost = Critic().targets([group(*fine, lost)], [[*values, (0.5, 0.5)]], [[*zeros, (0.0, 0.0)]])
    assert with_lost == ([[*expected[0], (0.0, 0.0)]], [[*returns[0], (0.0, 0.0)]])
    # Those without values, because the learner never saw them, have nothing.
    assert Critic().targets([group(lost)], [[()]], [[()]]) == ([[()]], [[()]])


def test_an_unscored_trajectory_is_an_error() -> None:
    with pytest.raises(ValueError, match="has no score"):
        Critic().targets([group(trajectory(None))], [[(0.0,)]], [[(0.0,)]])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gae_lambda": 1.5}, "gae_lambda=1.5 must lie between 0 and 1"),
        ({"discount": -0.1}, "discount=-0.1"),
        ({"value_clip": 0.0}, "value_clip=0.0 must be above 0"),
        ({"value_weight": 0.0}, "value_weight=0.0"),
        ({"learning_rate": math.nan}, "learning_rate=nan"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(UserError, match=message):
        Critic(**settings).check()  # type: ignore[arg-type]
