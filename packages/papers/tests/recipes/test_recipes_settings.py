"""Numbers that no training can use are refused before any work, with the key that sets them."""

from dataclasses import dataclass, field

import pytest

from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.train.stage_settings import RLSettings, SFTSettings


@dataclass(frozen=True, kw_only=True)
class Settings:
    sft: SFTSettings = field(default_factory=lambda: SFTSettings(steps=1))
    rl: RLSettings = field(default_factory=lambda: RLSettings(steps=1))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("rl.steps=-1", "rl.steps=-1 must be a whole number of 0 or more"),
        ("rl.temperature=0", "rl.temperature=0.0 gives equal trajectories; use a finite value above 0"),
        ("rl.temperature=inf", "rl.temperature=inf cannot be sampled at; use a finite value above 0"),
        ("rl.algorithm.options.kl_weight=-1", "rl.algorithm.options.kl_weight=-1.0 must be a finite number"),
        ("rl.evaluate_every=-1", "rl.evaluate_every=-1 must be a whole number of 0 or more"),
        ("rl.warmup_steps=-1", "rl.warmup_steps=-1 must be a whole number of 0 or more"),
        ("rl.group_size=0", "rl.group_size=0 must be 1 or more"),
        ("rl.minibatches=17", "rl.minibatches=17 is more than the 16 questions of a step"),
        ("rl.inner_epochs=0", "rl.inner_epochs=0 must be a whole number of 1 or more"),
        ("rl.staleness=-1", "rl.staleness=-1 must be a whole number of 0 or more"),
        ("rl.algorithm.name=trpo", "--set rl.algorithm.name=trpo"),
        ("rl.algorithm.overlong_tokens=9", "rl.algorithm.overlong_tokens=9 belongs to name=dapo, not grpo"),
        ("rl.algorithm.options.dual_clip=0.5", "rl.algorithm.options.dual_clip=0.5 must be above 1"),
        ("rl.algorithm.critic.gae_lambda=2", "rl.algorithm.critic.gae_lambda=2.0 must lie between 0 and 1"),
        ("rl.algorithm.clip_low=2", "rl.algorithm.clip_low=2.0 must lie between 0 and 1"),
        ("rl.algorithm.clip_high=-1", "rl.algorithm.clip_high=-1.0 must be a finite number of 0 or more"),
        ("sft.final_rate=inf", "sft.final_rate=inf must be a finite number of 0 or more"),
        ("sft.optimizer.learning_rate=-1", "sft.optimizer.learning_rate=-1.0 must be a finite number of 0 or more"),
        ("rl.optimizer.learning_rate=inf", "rl.optimizer.learning_rate=inf must be a finite number of 0 or more"),
        ("rl.optimizer.weight_decay=-1", "rl.optimizer.weight_decay=-1.0 must be a finite number of 0 or more"),
        ("rl.optimizer.betas=2,3", "rl.optimizer.betas=(2.0, 3.0) must both be 0 or more and below 1"),
        ("rl.optimizer.max_gradient_norm=0", "rl.optimizer.max_gradient_norm=0.0 must be above 0"),
        ("rl.optimizer.micro_batch_tokens=0", "rl.optimizer.micro_batch_tokens=0 must be a whole number of 1 or more"),
    ],
)
def test_a_number_that_cannot_train_is_refused(override: str, message: str) -> None:
    with pytest.raises(UserError) as caught:
        apply_overrides(Settings(), [override])
    assert str(caught.value).startswith(message)


def test_numbers_at_their_bounds_are_taken() -> None:
    overrides = ("rl.algorithm.clip_high=0", "rl.optimizer.max_gradient_norm=inf", "rl.optimizer.learning_rate=0")
    assert apply_overrides(Settings(), overrides).rl.optimizer.max_gradient_norm == float("inf")
