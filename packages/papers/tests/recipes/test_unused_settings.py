"""Settings of recipes that nothing reads beside others are named when they are changed."""

import logging

import pytest

from saccade.config.context import RecipeContext
from saccade.config.settings import apply_overrides, setting_keys
from saccade.miniature.argos import TinyArgosSettings
from saccade.miniature.codedance import TinyCodeDanceSettings
from saccade.miniature.ivgr import TinyIvgrSettings
from saccade.miniature.lang2act import TinyLang2ActSettings
from saccade.miniature.vista_r1 import TinyVistaSettings
from saccade.models.checkpoint import base_checkpoint
from saccade.recipes.argos_settings import ArgosSettings
from saccade.recipes.codedance_settings import CodeDanceSettings
from saccade.recipes.distill_settings import DistillSettings
from saccade.recipes.dpo_settings import PairsSettings
from saccade.recipes.environment_settings import EnvironmentSettings
from saccade.recipes.ivgr_settings import IvgrSettings
from saccade.recipes.lang2act_settings import Lang2ActSettings
from saccade.recipes.questions_settings import QuestionsSettings
from saccade.recipes.sft_settings import ConversationsSettings
from saccade.recipes.vista_settings import VistaSettings
from saccade.train.recipe_loading import load_recipe
from saccade.train.stages import SFTStage

RECIPES = (
    *(ArgosSettings, CodeDanceSettings, ConversationsSettings, DistillSettings, EnvironmentSettings, IvgrSettings),
    *(Lang2ActSettings, PairsSettings, VistaSettings),
)
PPO = "rl.algorithm.name=ppo"
TINY = (TinyArgosSettings, TinyCodeDanceSettings, TinyIvgrSettings, TinyLang2ActSettings, TinyVistaSettings)
TOLD = [
    (
        CodeDanceSettings(),
        "reward=outcome paid_calls=successful",
        "paid_calls (reward=outcome pays no",
    ),
    (
        CodeDanceSettings(),
        "reward=outcome adaptive.pays_unanswered=true",
        "adaptive.pays_unanswered (",
    ),
    (CodeDanceSettings(), "sft.steps=4", "sft.steps (nothing is imitated without sft_data"),
    (
        TinyCodeDanceSettings(),
        "turn_credit=false turns.penalty=-2",
        "turns.penalty (turn_credit=false",
    ),
    (TinyCodeDanceSettings(), "sft_data=FILE", "sft_data (questions and demonstrations are drawn"),
    (
        TinyCodeDanceSettings(),
        "sft.steps=0 sft.batch_size=4",
        "sft.batch_size (steps=0 imitates nothing",
    ),
    (
        TinyCodeDanceSettings(),
        "model.matmul_precision=medium",
        "model.matmul_precision (the miniature",
    ),
    (TinyLang2ActSettings(), "curates=false tool_rl.steps=3", "tool_rl.steps (curates=false"),
    (ConversationsSettings(), "epochs=3 sft.steps=5", "epochs (sft.steps=5 says how long"),
    (PairsSettings(), "epochs=3 dpo.steps=5", "epochs (dpo.steps=5 says how long"),
    (DistillSettings(), "difficulty=1 held_out_tasks=9", "difficulty, held_out_tasks (without families"),
    (DistillSettings(), "families=counting pass_rates.high=0.9", "pass_rates.high (questions are drawn"),
    (
        DistillSettings(),
        "rl.algorithm.distill.weight=0 rl.algorithm.distill.reward_weight=1 teacher.view=answer",
        "teacher.view (rl.algorithm.distill.weight=0",
    ),
    (QuestionsSettings(), "judge.tries=2 judge.samples=4", "judge.samples, judge.tries (kind=none"),
    (QuestionsSettings(), "judge.kind=server judge.load.max_pixels=5000", "judge.load.max_pixels (kind=server"),
    (QuestionsSettings(), "judge.kind=checkpoint judge.cache_dir=DIR", "judge.cache_dir (kind=checkpoint"),
    (QuestionsSettings(), "sft.batch_size=4", "sft.batch_size (steps=0 imitates nothing"),
    (TinyIvgrSettings(), "judge.tries=2", "judge.tries (kind=exact"),
    (Lang2ActSettings(), "server.retries=2", "server.retries (without a curator"),
    (Lang2ActSettings(), "pages=4", "pages (without an index"),
    (TinyVistaSettings(), "stages=sft,rl tail.low=0.2", "tail.low (stages=sft,rl has none"),
    (TinyVistaSettings(), "tail.easy_to_hard=false tail.high=0.9", "tail.high (easy_to_hard=false"),
    (TinyIvgrSettings(), "crop_turns=3", "crop_turns (grounded_crops=false"),
    (IvgrSettings(), "general_pass_rates=FILE", "general_pass_rates (there is no general_data"),
    (ArgosSettings(), "max_turns=3", "max_turns (with_tools=false"),
    (ArgosSettings(), "shares_data=true", "shares_data (nothing is imitated without sft_data"),
    (EnvironmentSettings(), "credit.gae_lambda=0.9", "credit.gae_lambda (name=grpo has no critic"),
    (EnvironmentSettings(), "environment.processes=3", "environment.processes ("),
    (EnvironmentSettings(), f"{PPO} credit.weight=2", "credit.weight (name=ppo has a critic"),
    (
        EnvironmentSettings(),
        f"{PPO} rl.algorithm.critic.gae_lambda=0.9",
        "rl.algorithm.critic.gae_lambda (",
    ),
]
QUIET = [
    (ConversationsSettings(), "epochs=3 sft.batch_size=4 sft.optimizer.learning_rate=1e-4"),
    (ConversationsSettings(), "sft.steps=5 sft.batch_size=4"),
    (PairsSettings(), "epochs=3 dpo.batch_size=4"),
    (DistillSettings(), "families=counting difficulty=1 teacher.model=DIR sft.steps=3 sft.batch_size=4"),
    (DistillSettings(), "held_out_share=0.5 pass_rates.high=0.9"),
    (QuestionsSettings(), "judge.kind=server judge.tries=2 judge.cache_dir=DIR"),
    (QuestionsSettings(), "judge.kind=checkpoint judge.load.max_pixels=5000 judge.server.max_tokens=9"),
    (Lang2ActSettings(), "curator.at=DIR server.retries=2"),
    (EnvironmentSettings(), f"{PPO} credit.gae_lambda=0.9 rl.algorithm.critic.value_weight=1"),
    (EnvironmentSettings(), "credit.weight=2 environment.processes=3 environment.python=PYTHON"),
    (TinyCodeDanceSettings(), "sft.steps=5 reward=deepeyes paid_calls=successful"),
    (TinyCodeDanceSettings(), "turn_credit=false reward=outcome"),
    (TinyCodeDanceSettings(), "reward=outcome rl.evidence.weight=1 rl.evidence.form=difference paid_calls=successful"),
    (CodeDanceSettings(), "sft_data=FILE sft.steps=4"),
    (TinyVistaSettings(), "tail.low=0.2 reasoning=false"),
    (TinyVistaSettings(), "stages=tail rl.group_size=4"),
    (TinyIvgrSettings(), "grounded_crops=true crop_turns=3"),
    (TinyArgosSettings(), "with_tools=true max_turns=3"),
    (Lang2ActSettings(), "index=DIR encoder=DIR pages=4"),
]


def warnings_in(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records if "without effect" in one.getMessage()]


@pytest.mark.parametrize(("settings", "changes", "message"), TOLD)
def test_a_change_without_effect_is_told(
    settings: CodeDanceSettings, changes: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        apply_overrides(settings, changes.split())
    told = warnings_in(caplog)
    assert [one for one in told if one.startswith(f"set without effect: {message}")], told


@pytest.mark.parametrize(("settings", "changes"), QUIET)
def test_a_change_with_an_effect_is_not_told(
    settings: CodeDanceSettings, changes: str, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        apply_overrides(settings, changes.split())
    assert warnings_in(caplog) == []


@pytest.mark.parametrize("kind", [*RECIPES, *TINY])
def test_what_has_no_effect_is_a_setting(kind: type[CodeDanceSettings]) -> None:
    known = setting_keys(kind)
    assert all(any(f"{key}.".startswith(f"{name}.") for key in known) for name in kind().unused())


@pytest.mark.parametrize(
    "recipe", ["argos:tiny", "codedance:tiny", "ivgr:tiny", "lang2act:tiny", "vista_r1:tiny", "demo"]
)
def test_what_a_miniature_would_imitate_is_told_where_its_model_has_imitated(
    recipe: str, caplog: pytest.LogCaptureFixture
) -> None:
    context = RecipeContext(model=base_checkpoint(), overrides=("sft.steps=3", "sft.batch_size=2"))
    with caplog.at_level(logging.WARNING):
        plan = load_recipe(recipe).function(context)
    assert not [stage for stage in plan.stages if isinstance(stage, SFTStage)]
    assert "sft.steps, sft.batch_size imitates nothing: --model has imitated already" in caplog.messages
