"""Steps that are not finite change nothing and are reported; the critic's weights beside the policy's."""

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
import torch
from learner_samples import batch, same_bytes, sequence, small_model, weights

from saccade.algorithms.algorithm import Loss, PolicyTokens
from saccade.algorithms.losses import clipped_surrogate, negative_log_likelihood
from saccade.errors import UserError
from saccade.learner.forwards import ValueHead
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.sequences import TrainingSequence
from saccade.learner.step_figures import NonFiniteStep


def moments(learner: Learner) -> dict[str, torch.Tensor]:
    state: Mapping[int, Mapping[str, torch.Tensor]] = learner.optimizer.adamw.state_dict()["state"]
    return {f"{index} {name}": value.clone() for index, of in state.items() for name, value in of.items()}


def masters(learner: Learner) -> dict[str, torch.Tensor]:
    return {str(index): master.detach().clone() for index, master in enumerate(learner.optimizer.masters)}


def with_advantage(value: float, sequences: list[TrainingSequence], index: int) -> list[TrainingSequence]:
    """One sequence whose reward is out of all bounds."""
    changed = list(sequences)
    changed[index] = replace(changed[index], advantages=(value,) * changed[index].action_count)
    return changed


@pytest.mark.parametrize("reads_late", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize(
    "options", [{}, {"eight_bit_optimizer": True, "offload_optimizer": True}, {"activation_checkpointing": True}]
)
def test_an_infinite_advantage_skips_the_step_and_changes_neither_weights_nor_masters_nor_moments(
    dtype: torch.dtype, options: dict[str, bool], reads_late: bool
) -> None:
    model = small_model()
    model.hf.to(dtype)
    reports: list[NonFiniteStep] = []
    settings = OptimizerSettings(micro_batch_tokens=64, **options)
    learner = Learner(model, settings, on_nonfinite=reports.append)
    learner.reads_late = reads_late
    sequences = batch(model)
    learner.update(sequences, clipped_surrogate, temperature=1.0, learning_rate=1e-3)
    before = weights(model), masters(learner), moments(learner)
    broken = with_advantage(math.inf, sequences, 2)
    metrics = learner.update(broken, clipped_surrogate, temperature=1.0, learning_rate=1e-3)
    assert metrics["skipped"] == 1.0
    for was, now in zip(before, (weights(model), masters(learner), moments(learner))):
        assert same_bytes(was, now)
    [report] = reports
    assert report.sequences == tuple(broken)
    assert report.suspects == (2,)
    assert not math.isfinite(report.totals["policy_loss"])
    # The next step is one as any other.
    assert learner.update(sequences, clipped_surrogate, temperature=1.0, learning_rate=1e-3)["skipped"] == 0.0


def test_a_gradient_that_overflows_skips_the_step_without_a_suspect() -> None:
    """The loss of an advantage of 1e38 is finite, the square of its gradient is not."""
    model = small_model()
    reports: list[NonFiniteStep] = []
    learner = Learner(model, OptimizerSettings(), on_nonfinite=reports.append)
    before = weights(model)
    sequences = [replace(one, old_logprobs=None) for one in with_advantage(1e38, batch(model), 0)]
    metrics = learner.update(sequences, _unclipped, temperature=1.0, learning_rate=1e-3)
    assert metrics["skipped"] == 1.0
    assert "gradient_norm" not in metrics
    assert not math.isfinite(reports[0].gradient_norm)
    assert reports[0].suspects == ()
    assert same_bytes(before, weights(model))


def _unclipped(tokens: PolicyTokens) -> Loss:
    value = -(tokens.weights * tokens.advantages * tokens.logprobs).sum() * 1e-3
    return Loss(value=value, sums={"policy_loss": value.detach()})


def critic_loss(tokens: PolicyTokens) -> Loss:
    assert tokens.values is not None
    value = (tokens.weights * (tokens.values - 1.0) ** 2).sum()
    return Loss(value=value, sums={"value_loss": value.detach()})


def with_critic(*, settings: OptimizerSettings = OptimizerSettings(), trains_trunk: bool = False) -> Learner:
    model = small_model()
    head = ValueHead(model.hidden_size)
    return Learner(model, settings, value_head=head, critic_learning_rate=1e-2, values_train_trunk=trains_trunk)


def test_a_value_head_learns_and_leaves_the_policy_alone() -> None:
    learner = with_critic(settings=OptimizerSettings(learning_rate=1e-6, weight_decay=0.0))
    sequences = batch(learner.model)
    before = weights(learner.model)
    assert all(value == 0.0 for values in learner.values(sequences, temperature=1.0) for value in values)
    for _ in range(30):
        learner.update(sequences, critic_loss, temperature=1.0, learning_rate=1e-6)
    values = [value for of in learner.values(sequences, temperature=1.0) for value in of]
    assert sum(abs(value - 1.0) for value in values) / len(values) < 0.3
    assert same_bytes(before, weights(learner.model))


def test_a_critic_that_trains_the_trunk_moves_the_policy() -> None:
    learner = with_critic(trains_trunk=True)
    before = weights(learner.model)
    for _ in range(3):
        learner.update(batch(learner.model), critic_loss, temperature=1.0, learning_rate=1e-3)
    assert not same_bytes(before, weights(learner.model))


def test_the_critic_keeps_its_share_of_the_learning_rate_as_the_schedule_falls() -> None:
    learner = with_critic(settings=OptimizerSettings(learning_rate=1e-3))
    learner.update(batch(learner.model), critic_loss, temperature=1.0, learning_rate=5e-4)
    assert [group["lr"] for group in learner.optimizer.adamw.param_groups] == pytest.approx([5e-4, 5e-3])


def test_values_are_one_for_each_action_token_in_the_order_of_the_sequences() -> None:
    learner = with_critic()
    sequences = batch(learner.model)
    for _ in range(3):
        learner.update(sequences, critic_loss, temperature=1.0, learning_rate=1e-6)
    together = learner.values(sequences, temperature=1.0)
    assert [len(values) for values in together] == [one.action_count for one in sequences]
    for one, values in zip(sequences, together):
        assert learner.values([one], temperature=1.0)[0] == pytest.approx(values, abs=1e-5)


def test_values_without_a_critic_are_refused() -> None:
    model = small_model()
    with pytest.raises(ValueError, match="give the learner a value_head"):
        Learner(model, OptimizerSettings()).values([sequence(model, 0)], temperature=1.0)


def test_an_entropy_bonus_has_a_gradient_only_where_it_is_asked_for() -> None:
    def bonus(tokens: PolicyTokens) -> Loss:
        value = 0.0 * tokens.logprobs.sum() - tokens.entropy.sum()
        return Loss(value=value, sums={})

    for asked in (False, True):
        model = small_model()
        learner = Learner(model, OptimizerSettings())
        norm = learner.update(batch(model), bonus, temperature=1.0, learning_rate=1e-3, entropy_gradient=asked)[
            "gradient_norm"
        ]
        assert (norm > 0) == asked


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", math.nan),
        ("learning_rate", -1.0),
        ("weight_decay", math.inf),
        ("max_gradient_norm", math.nan),
        ("micro_batch_tokens", -5),
        ("betas", (math.nan, 0.9)),
    ],
)
def test_settings_that_are_no_numbers_or_negative_are_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(UserError, match=name):
        OptimizerSettings(**{name: value}).check()


def test_a_loss_on_all_tokens_counts_means_over_action_tokens() -> None:
    model = small_model()
    sequences = batch(model)
    metrics = Learner(model, OptimizerSettings()).update(
        sequences, negative_log_likelihood, temperature=1.0, learning_rate=0.0
    )
    logprobs = Learner(model, OptimizerSettings()).logprobs(sequences, temperature=1.0)
    flat = [value for of in logprobs for value in of]
    assert metrics["nll"] == pytest.approx(-sum(flat) / len(flat), rel=1e-5)
    assert metrics["action_tokens"] == len(flat)
