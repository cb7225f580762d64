"""Losses, gradients and metrics of pairs beside those of TRL's DPO and CPO trainers on the same log-probabilities."""

from collections import defaultdict
from types import SimpleNamespace

import pytest

pytest.importorskip("trl", reason='compares with TRL; pip install -e ".[trl]"')

import torch
from torch import Tensor
from trl import DPOTrainer
from trl.experimental.cpo import CPOTrainer

from saccade.algorithms.options import PairLoss
from saccade.algorithms.preference import ComparedPairs, Likelihood, compared_pairs

PROMPT = 3
COMPLETIONS = (4, 6, 1, 3)
"""Tokens of two chosen completions and of two rejected ones."""
LONGEST = PROMPT + max(COMPLETIONS)

TRL_S = (
    (PairLoss(beta=0.3), ["sigmoid"], [1.0]),
    (PairLoss(kind="robust", beta=0.3, label_smoothing=0.1), ["robust"], [1.0]),
    (PairLoss(kind="hinge", beta=0.3), ["hinge"], [1.0]),
    (PairLoss(kind="ipo", beta=0.3), ["ipo"], [1.0]),
    (PairLoss(beta=0.3, length_normalised=True), ["sigmoid_norm"], [1.0]),
    (PairLoss(beta=0.3, sft_weight=0.7), ["sigmoid", "sft"], [1.0, 0.7]),
)


def drawn() -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities of the policy, of the reference, and which of them are a completion's."""
    generator = torch.Generator().manual_seed(3)
    shape = len(COMPLETIONS), LONGEST
    mask = torch.tensor([[PROMPT <= at < PROMPT + count for at in range(LONGEST)] for count in COMPLETIONS])
    own, reference = (-torch.rand(shape, generator=generator, dtype=torch.float64) for _ in range(2))
    return own * mask, reference * mask, mask


def bare_trainer(kind: type, **attributes: object) -> object:
    """A trainer without its model and data: its loss needs neither."""
    trainer = kind.__new__(kind)
    accelerator = SimpleNamespace(device="cpu", gather=lambda one: one, gather_for_metrics=lambda one: one)
    vars(trainer).update(accelerator=accelerator, aux_loss_enabled=False, **attributes)
    return trainer


def trl_step(loss: PairLoss, types: list[str], weights: list[float]) -> tuple[float, Tensor, dict[str, float]]:
    """Loss, its gradient by each log-probability, and metrics of ``DPOTrainer``."""
    own, reference, mask = drawn()
    own.requires_grad_()
    trainer = bare_trainer(
        DPOTrainer,
        ld_alpha=None,
        precompute_ref_logps=True,
        f_divergence_type="reverse_kl",
        loss_types=types,
        loss_weights=weights,
        beta=loss.beta,
        label_smoothing=loss.label_smoothing,
        use_weighting=False,
        _metrics=defaultdict(lambda: defaultdict(list)),
        _total_train_tokens=0,
        _tp_size=1,
        model=SimpleNamespace(training=True),
    )

    def model(**_: object) -> SimpleNamespace:
        others = {name: torch.zeros(len(COMPLETIONS), LONGEST - 1) for name in ("entropy", "mean_logits", "is_top1")}
        return SimpleNamespace(log_probs=own[:, 1:], **{**others, "is_top1": others["is_top1"].bool()})

    chosen, rejected = reference.sum(1).chunk(2)
    inputs = {
        "input_ids": torch.ones_like(mask, dtype=torch.long),
        "attention_mask": torch.ones_like(mask, dtype=torch.long),
        "completion_mask": mask.long(),
        "ref_chosen_logps": chosen,
        "ref_rejected_logps": rejected,
    }
    value = trainer._compute_loss(model, inputs, return_outputs=False)  # type: ignore[attr-defined]
    value.backward()
    assert own.grad is not None
    return value.item(), own.grad * mask, {name: one[-1] for name, one in trainer._metrics["train"].items()}  # type: ignore[attr-defined]


def our_step(loss: PairLoss) -> tuple[ComparedPairs, Tensor]:
    own, reference, mask = drawn()
    rows = [
        Likelihood(logprob=float(one.sum()), reference=0.0 if loss.reference_free else float(other.sum()), tokens=count)
        for one, other, count in zip(own, reference, COMPLETIONS)
    ]
    found = compared_pairs([(0, 2), (1, 3)], rows, loss)
    return found, -torch.tensor(found.advantages, dtype=torch.float64)[:, None] * mask


@pytest.mark.parametrize(("loss", "types", "weights"), TRL_S, ids=[str(types) for _, types, _ in TRL_S])
def test_loss_and_gradient_are_trl_s(loss: PairLoss, types: list[str], weights: list[float]) -> None:
    value, gradient, metrics = trl_step(loss, types, weights)
    found, own_gradient = our_step(loss)
    assert found.metrics["pair_loss"] == pytest.approx(value, abs=1e-6)
    torch.testing.assert_close(own_gradient, gradient, rtol=1e-6, atol=1e-6)
    shared = ["logps/chosen", "logps/rejected"]
    # TRL's rewards are sums also where the loss compares means.
    shared += (
        [] if loss.is_per_token else [f"rewards/{what}" for what in ("chosen", "rejected", "margins", "accuracies")]
    )
    assert {name: found.metrics[name] for name in shared} == pytest.approx({name: metrics[name] for name in shared})


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_simpo_and_smoothed_labels_are_those_of_cpo(smoothing: float) -> None:
    loss = PairLoss(beta=2.0, length_normalised=True, reference_free=True, target_margin=0.6, label_smoothing=smoothing)
    own, _, mask = drawn()
    own.requires_grad_()
    trainer = bare_trainer(
        CPOTrainer, beta=2.0, alpha=0.0, loss_type="simpo", simpo_gamma=0.6, label_smoothing=smoothing
    )
    chosen, rejected = (own.sum(1) / mask.sum(1)).chunk(2)
    losses, chosen_rewards, rejected_rewards = trainer.cpo_loss(chosen, rejected)  # type: ignore[attr-defined]
    losses.mean().backward()
    found, own_gradient = our_step(loss)
    assert found.metrics["pair_loss"] == pytest.approx(losses.mean().item(), abs=1e-6)
    torch.testing.assert_close(own_gradient, own.grad * mask, rtol=1e-6, atol=1e-6)
    assert found.metrics["rewards/chosen"] == pytest.approx(chosen_rewards.mean().item())
    assert found.metrics["rewards/rejected"] == pytest.approx(rejected_rewards.mean().item())
