"""Losses beside TRL's own code, run in the same process on the same numbers (pip install -e ".[trl]")."""

import dataclasses
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
import torch
from algorithm_samples import policy_tokens
from torch import Tensor

from saccade.algorithms.algorithm import Aggregation, Algorithm
from saccade.algorithms.cispo import cispo
from saccade.algorithms.dapo import dapo
from saccade.algorithms.gmpo import gmpo
from saccade.algorithms.luspo import luspo
from saccade.algorithms.options import GammaWeights, GateTemperatures, PolicyOptions
from saccade.algorithms.policy_gradient import dr_grpo, grpo, gspo, rloo
from saccade.algorithms.sapo import sapo
from saccade.algorithms.vespo import vespo

pytest.importorskip("trl", reason='compares with TRL; pip install -e ".[trl]"')

from accelerate import Accelerator
from trl import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer
from trl.trainer.rloo_trainer import RLOOTrainer
from trl.trainer.utils import entropy_from_logits, selective_log_softmax

LENGTHS = (5, 2, 7, 1)
WIDTH, VOCABULARY = max(LENGTHS), 11
MAX_LENGTH = 12
"""Of a completion, for Dr. GRPO."""


@dataclass(frozen=True, kw_only=True)
class Rollout:
    """Four completions as TRL has them: padded on the right, shape (sequences, tokens)."""

    logits: Tensor
    chosen: Tensor
    mask: Tensor
    old: Tensor
    sampled: Tensor
    reference: Tensor
    advantages: Tensor


@pytest.fixture
def rollout() -> Rollout:
    generator = torch.Generator().manual_seed(7)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    logits = draw(len(LENGTHS), WIDTH, VOCABULARY)
    chosen = torch.randint(VOCABULARY, (len(LENGTHS), WIDTH), generator=generator)
    now = selective_log_softmax(logits, chosen)
    return Rollout(
        logits=logits,
        chosen=chosen,
        mask=(torch.arange(WIDTH) < torch.tensor(LENGTHS)[:, None]).long(),
        old=now + 0.3 * draw(*now.shape),
        sampled=now + 0.5 * draw(*now.shape),
        reference=now + 0.3 * draw(*now.shape),
        advantages=torch.tensor([1.2, -0.7, -1.1, 0.9], dtype=torch.float64),
    )


def loss_and_gradient(rollout: Rollout, loss: Callable[[Tensor, Tensor], Tensor]) -> tuple[float, Tensor]:
    """Of a loss of log-probabilities and entropies, with respect to the logits."""
    logits = rollout.logits.clone().requires_grad_()
    value = loss(selective_log_softmax(logits, rollout.chosen), entropy_from_logits(logits))
    return value.item(), torch.autograd.grad(value, logits)[0]


def ours(algorithm: Algorithm, rollout: Rollout) -> tuple[float, Tensor]:
    kept = rollout.mask.bool()
    lengths = torch.tensor(LENGTHS)
    weights = torch.tensor(algorithm.aggregation.token_weights(LENGTHS), dtype=torch.float64)

    def loss(logprobs: Tensor, entropy: Tensor) -> Tensor:
        tokens = policy_tokens(
            logprobs[kept],
            old=rollout.old[kept].tolist(),
            sampled=rollout.sampled[kept].tolist(),
            advantages=rollout.advantages.repeat_interleave(lengths).tolist(),
            weights=weights.repeat_interleave(lengths).tolist(),
            sequence=torch.arange(len(LENGTHS)).repeat_interleave(lengths).tolist(),
            entropy=entropy[kept],
            reference_logprobs=rollout.reference[kept],
        )
        return algorithm.loss(tokens).value

    return loss_and_gradient(rollout, loss)


def trl_settings(**changed: object) -> SimpleNamespace:
    """What ``GRPOTrainer._compute_loss`` reads of its trainer, for one micro-batch that is the whole batch."""
    arguments = {
        "delta": None,
        "use_bias_correction_kl": False,
        "steps_per_generation": 1,
        "sapo_temperature_pos": 1.0,
        "sapo_temperature_neg": 1.05,
        "vespo_k_pos": 2.0,
        "vespo_lambda_pos": 3.0,
        "vespo_k_neg": 3.0,
        "vespo_lambda_neg": 2.0,
    }
    given = {
        "loss_type": "dapo",
        "importance_sampling_level": "token",
        "epsilon_low": 0.2,
        "epsilon_high": 0.2,
        "beta": 0.0,
        "use_vllm": False,
        "vllm_importance_sampling_correction": False,
        "entropy_coef": 0.0,
        **{name: value for name, value in changed.items() if name not in arguments},
    }
    return SimpleNamespace(
        args=SimpleNamespace(**{name: changed.get(name, value) for name, value in arguments.items()}),
        accelerator=Accelerator(cpu=True),
        model=SimpleNamespace(training=True),
        aux_loss_enabled=False,
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        current_gradient_accumulation_steps=1,
        max_completion_length=MAX_LENGTH,
        use_adaptive_entropy=False,
        _entropy_bonus_enabled=given["entropy_coef"] != 0.0,
        _metrics=defaultdict(lambda: defaultdict(list)),
        get_gamma_weights=GRPOTrainer.get_gamma_weights,
        **given,
    )


def theirs(
    compute_loss: Callable[[SimpleNamespace, None, dict[str, Tensor]], Tensor],
    settings: SimpleNamespace,
    rollout: Rollout,
    **more: Tensor,
) -> tuple[float, Tensor]:
    empty = torch.zeros(len(LENGTHS), 0, dtype=torch.long)
    inputs = {
        "prompt_ids": empty,
        "prompt_mask": empty,
        "completion_ids": rollout.chosen,
        "completion_mask": rollout.mask,
        "advantages": rollout.advantages,
        "old_per_token_logps": rollout.old,
        "ref_per_token_logps": rollout.reference,
        "num_items_in_batch": rollout.mask.sum(),
        **more,
    }

    def loss(logprobs: Tensor, entropy: Tensor) -> Tensor:
        settings._get_per_token_logps_and_entropies = lambda *_, **__: (logprobs, entropy, None)
        return compute_loss(settings, None, inputs)

    return loss_and_gradient(rollout, loss)


def assert_equal(one: tuple[float, Tensor], other: tuple[float, Tensor]) -> None:
    assert one[1].abs().max() > 1e-3
    assert one[0] == pytest.approx(other[0], abs=1e-9)
    torch.testing.assert_close(one[1], other[1], rtol=1e-6, atol=1e-9)


SEQUENCES = Aggregation(over="sequences")


@pytest.mark.parametrize(
    ("algorithm", "changed"),
    [
        (grpo(), {"loss_type": "dapo"}),
        (grpo(), {"loss_type": "bnpo"}),
        (grpo(aggregation=SEQUENCES), {"loss_type": "grpo"}),
        (dapo(), {"loss_type": "dapo", "epsilon_high": 0.28}),
        (dr_grpo(length=MAX_LENGTH), {"loss_type": "dr_grpo"}),
        (
            gspo(clip_low=0.02, clip_high=0.03),
            {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon_low": 0.02, "epsilon_high": 0.03},
        ),
        (
            gspo(),
            {"loss_type": "grpo", "importance_sampling_level": "sequence", "epsilon_low": 3e-4, "epsilon_high": 4e-4},
        ),
        (cispo(clip_high=0.1), {"loss_type": "cispo", "epsilon_high": 1.1}),
        (
            # Temperatures that single precision has, in which TRL holds them.
            sapo(temperatures=GateTemperatures(negative=1.0625)),
            {"loss_type": "sapo", "sapo_temperature_neg": 1.0625},
        ),
        (
            sapo(temperatures=GateTemperatures(positive=2.0, negative=0.5)),
            {"loss_type": "sapo", "sapo_temperature_pos": 2.0, "sapo_temperature_neg": 0.5},
        ),
        (
            luspo(clip_low=0.02, clip_high=0.03),
            {"loss_type": "luspo", "importance_sampling_level": "sequence", "epsilon_low": 0.02, "epsilon_high": 0.03},
        ),
        (grpo(options=PolicyOptions(kl_weight=0.1)), {"beta": 0.1}),
        (grpo(aggregation=SEQUENCES, options=PolicyOptions(kl_weight=0.1)), {"beta": 0.1, "loss_type": "grpo"}),
        (grpo(options=PolicyOptions(dual_clip=1.25)), {"delta": 1.25}),
        (grpo(options=PolicyOptions(entropy_weight=0.05)), {"entropy_coef": 0.05}),
        (
            dapo(options=PolicyOptions(kl_weight=0.1, dual_clip=1.4, entropy_weight=0.01)),
            {"beta": 0.1, "delta": 1.4, "entropy_coef": 0.01, "epsilon_high": 0.28},
        ),
    ],
)
def test_loss_and_gradient_equal_trl_s(algorithm: Algorithm, changed: dict[str, object], rollout: Rollout) -> None:
    assert_equal(ours(algorithm, rollout), theirs(GRPOTrainer._compute_loss, trl_settings(**changed), rollout))


def test_numbers_that_papers_give_are_trl_s() -> None:
    fields = {field.name: field.default for field in dataclasses.fields(GRPOConfig)}
    gate, weights = GateTemperatures(), GammaWeights()
    assert (gate.positive, gate.negative) == (fields["sapo_temperature_pos"], fields["sapo_temperature_neg"])
    assert (weights.k_positive, weights.k_negative) == (fields["vespo_k_pos"], fields["vespo_k_neg"])
    assert (weights.lambda_positive, weights.lambda_negative) == (
        fields["vespo_lambda_pos"],
        fields["vespo_lambda_neg"],
    )


@pytest.mark.parametrize(("low", "high"), [(0.4, 0.4), (0.1, 0.2)])
@pytest.mark.filterwarnings("ignore:You are importing from 'trl.experimental'")
def test_gmpo_equals_trl_s(low: float, high: float, rollout: Rollout) -> None:
    from trl.experimental.gmpo import GMPOTrainer

    algorithm, settings = gmpo(clip_low=low, clip_high=high), trl_settings(epsilon_low=low, epsilon_high=high)
    assert_equal(ours(algorithm, rollout), theirs(GMPOTrainer._compute_loss, settings, rollout))


@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_vespo_equals_trl_s_where_the_sampler_is_the_old_policy(scale: float, rollout: Rollout) -> None:
    now = selective_log_softmax(rollout.logits, rollout.chosen)
    near = now + scale * (rollout.old - now)
    moved = Rollout(**{**vars(rollout), "old": near, "sampled": near})
    expected = theirs(GRPOTrainer._compute_loss, trl_settings(loss_type="vespo"), moved)
    assert_equal(ours(vespo(), moved), expected)


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_importance_correction_equals_trl_s_given_its_truncated_ratios(level: str, rollout: Rollout) -> None:
    gap = (rollout.old - rollout.sampled) * rollout.mask
    if level == "sequence":
        gap = gap.sum(dim=-1, keepdim=True)
    settings = trl_settings(use_vllm=True, vllm_importance_sampling_correction=True, beta=0.1)
    expected = theirs(GRPOTrainer._compute_loss, settings, rollout, importance_sampling_ratio=gap.exp().clamp(max=1.5))
    options = PolicyOptions(kl_weight=0.1, importance=level, importance_cap=1.5)  # type: ignore[arg-type]
    assert_equal(ours(grpo(options=options), rollout), expected)


def test_rloo_s_first_gradient_is_trl_s_up_to_the_constant_between_sums_and_means(rollout: Rollout) -> None:
    now = selective_log_softmax(rollout.logits, rollout.chosen)
    settings = trl_settings()
    # On-policy; TRL takes the sum over a sequence's tokens and the mean over sequences, we the mean over tokens.
    _, expected = theirs(RLOOTrainer._compute_loss, settings, rollout, old_logps=(now * rollout.mask).sum(dim=1))
    _, found = ours(rloo(), Rollout(**{**vars(rollout), "old": now}))
    torch.testing.assert_close(found * sum(LENGTHS) / len(LENGTHS), expected, rtol=1e-6, atol=1e-9)


def test_clip_fraction_and_kl_equal_what_trl_logs(rollout: Rollout) -> None:
    settings = trl_settings(beta=0.1, epsilon_high=0.28)
    theirs(GRPOTrainer._compute_loss, settings, rollout)
    kept = rollout.mask.bool()
    lengths = torch.tensor(LENGTHS)
    tokens = policy_tokens(
        selective_log_softmax(rollout.logits, rollout.chosen)[kept],
        old=rollout.old[kept].tolist(),
        advantages=rollout.advantages.repeat_interleave(lengths).tolist(),
        reference_logprobs=rollout.reference[kept],
    )
    sums = dapo(options=PolicyOptions(kl_weight=0.1)).loss(tokens).sums
    (logged,) = settings._metrics["train"]["clip_ratio/region_mean"]
    assert sums["clip_fraction"].item() / sum(LENGTHS) == pytest.approx(logged, abs=1e-6)
    assert logged > 0
    (logged_kl,) = settings._metrics["train"]["kl"]
    assert sums["reference_kl"].item() / sum(LENGTHS) == pytest.approx(logged_kl, abs=1e-6)
