"""The algorithm by name: what is set but would have no effect, or could not work, is refused in words."""

from dataclasses import replace
from typing import get_args

import pytest

from saccade.algorithms.critic import Critic
from saccade.algorithms.options import GateTemperatures, PairLoss, PolicyOptions
from saccade.config.settings import apply_overrides, check_settings
from saccade.errors import UserError
from saccade.recipes.questions_settings import TINY as QUESTIONS_TINY
from saccade.recipes.questions_settings import QuestionsSettings
from saccade.train.algorithm_settings import (
    AdvantageName,
    AlgorithmName,
    AlgorithmSettings,
    chosen_algorithm,
    other_advantages,
)

REFUSED = {
    "max_refills=3 belongs to name=dapo": AlgorithmSettings(max_refills=3),
    "critic.gae_lambda=0.5 belongs to name=ppo": AlgorithmSettings(critic=Critic(gae_lambda=0.5)),
    "clip_high=0.3 has no effect with name=sapo": AlgorithmSettings(name="sapo", clip_high=0.3),
    "sapo.positive=2.0 belongs to name=sapo": AlgorithmSettings(sapo=GateTemperatures(positive=2.0)),
    "advantages=gdpo has no effect with name=ppo": AlgorithmSettings(name="ppo", advantages="gdpo"),
    "options.kl_in_reward=0.1 adds a penalty to the reward, and advantages=gdpo": AlgorithmSettings(
        advantages="gdpo", options=PolicyOptions(kl_in_reward=0.1)
    ),
    "overlong_tokens=8 adds a penalty to the reward, and advantages=maxrl": AlgorithmSettings(
        name="dapo", advantages="maxrl", overlong_tokens=8
    ),
    "scale_by_std=false has no effect with advantages=maxrl": AlgorithmSettings(advantages="maxrl", scale_by_std=False),
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


@pytest.mark.parametrize("name", get_args(AlgorithmName))
def test_every_name_is_an_algorithm_and_takes_other_advantages(name: AlgorithmName) -> None:
    settings = AlgorithmSettings(name=name)
    check_settings(settings)
    algorithm = chosen_algorithm(settings, action_tokens=64)
    assert algorithm.name == name
    for advantages in [one for one in get_args(AdvantageName) if name != "ppo"]:
        chosen = chosen_algorithm(replace(settings, advantages=advantages), action_tokens=64)
        taken = [chosen.advantages, other_advantages(advantages)]
        of, wanted = [(getattr(one, "func", one), getattr(one, "keywords", {})) for one in taken]
        assert (of == wanted) == (advantages != "default")
        assert chosen.aggregation == algorithm.aggregation


def test_a_name_brings_its_paper_s_clips_in_the_place_of_the_recipe_s() -> None:
    for name in get_args(AlgorithmName):
        if name == "grpo":
            continue
        for recipe in (QuestionsSettings(), QUESTIONS_TINY):
            chosen = apply_overrides(recipe, [f"rl.algorithm.name={name}"]).rl.algorithm
            assert chosen == AlgorithmSettings(name=name)
    gspo = apply_overrides(QuestionsSettings(), ["rl.algorithm.name=gspo"]).rl.algorithm
    assert (gspo.clips, gspo.in_words) == ((3e-4, 4e-4), "gspo, clip_low=0.0003, clip_high=0.0004")
    assert AlgorithmSettings(name="vespo").in_words == "vespo, without clips"


def test_clips_that_are_set_beside_a_name_are_kept_in_any_order() -> None:
    for overrides in (
        ["rl.algorithm.name=cispo", "rl.algorithm.clip_high=3"],
        ["rl.algorithm.clip_high=3", "rl.algorithm.name=cispo"],
    ):
        assert apply_overrides(QuestionsSettings(), overrides).rl.algorithm.clips == (1.0, 3.0)


def test_the_recipe_s_own_name_keeps_its_clips_and_options_outlast_a_name() -> None:
    assert apply_overrides(QuestionsSettings(), ["rl.algorithm.name=grpo"]) == QuestionsSettings()
    held = AlgorithmSettings(name="dapo", max_refills=2, options=PolicyOptions(kl_weight=0.01))
    assert apply_overrides(held, ["name=grpo"]) == AlgorithmSettings(options=PolicyOptions(kl_weight=0.01))
    assert apply_overrides(held, ["clip_high=0.3"]).max_refills == 2


def test_pairs_need_a_reference_unless_their_loss_is_free_of_one() -> None:
    simpo = PairLoss(beta=2.0, length_normalised=True, reference_free=True, target_margin=1.0)
    for loss, needs in ((PairLoss(), True), (simpo, False)):
        settings = AlgorithmSettings(name="dpo", dpo=loss)
        assert chosen_algorithm(settings, action_tokens=64).needs_reference == needs
