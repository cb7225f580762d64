"""The algorithm by name: what is set but would have no effect, or could not work, is refused in words."""

import pytest

from saccade.algorithms.critic import Critic
from saccade.algorithms.options import PolicyOptions
from saccade.config.settings import check_settings
from saccade.errors import UserError
from saccade.train.stage_settings import AlgorithmSettings, chosen_algorithm

REFUSED = {
    "max_refills=3 belongs to name=dapo": AlgorithmSettings(max_refills=3),
    "critic.gae_lambda=0.5 belongs to name=ppo": AlgorithmSettings(critic=Critic(gae_lambda=0.5)),
    "options.importance_cap=5.0 changes nothing": AlgorithmSettings(
        options=PolicyOptions(importance="none", importance_cap=5.0)
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_a_setting_that_the_algorithm_has_no_use_for_is_refused(message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_settings(REFUSED[message])


def test_what_belongs_to_the_algorithm_is_taken() -> None:
    check_settings(AlgorithmSettings(name="dapo", max_refills=3, overlong_tokens=8))
    check_settings(AlgorithmSettings(name="ppo", critic=Critic(gae_lambda=0.5)))
    check_settings(AlgorithmSettings(options=PolicyOptions(importance="token", importance_cap=5.0)))


def test_an_overlong_penalty_over_more_tokens_than_an_episode_has_names_the_setting() -> None:
    settings = AlgorithmSettings(name="dapo", overlong_tokens=200)
    with pytest.raises(UserError, match=r"overlong_tokens=200 is more than the 144 tokens that an episode may have"):
        chosen_algorithm(settings, action_tokens=144)
