"""Chunked log-probabilities and entropy against log_softmax of all logits, values and gradients."""

from collections.abc import Callable

import pytest
import torch
from packing_samples import model_of
from torch import Tensor, nn

from saccade.learner.logprobs import chosen_logprobs
from saccade.models.vlm import VisionLanguageModel

TOKENS, HIDDEN = 11, 32
ROWS = {"at once": 1000, "in chunks": 4, "one by one": 1}


class AdaptedHead(nn.Linear):
    """A linear layer that computes more than its weights say, as one with a low-rank adapter does."""

    def __init__(self, base: nn.Linear) -> None:
        super().__init__(base.in_features, base.out_features, bias=False)
        self.weight = base.weight
        self.extra = nn.Parameter(0.1 * torch.randn(1, HIDDEN, generator=torch.Generator().manual_seed(3)))

    def forward(self, states: Tensor) -> Tensor:
        return super().forward(states + (states * self.extra).sum(dim=-1, keepdim=True))


@pytest.fixture(params=["matrix", "adapted"])
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    model = model_of("qwen2_5_vl")
    if request.param == "adapted":
        model.hf.lm_head = AdaptedHead(model.hf.lm_head)
    return model


def states() -> Tensor:
    return torch.randn(TOKENS, HIDDEN, generator=torch.Generator().manual_seed(0)).requires_grad_()


def allowed_targets(model: VisionLanguageModel) -> Tensor:
    allowed = sorted(set(range(model.vocab_size)) - set(model.forbidden_ids.tolist()))
    return torch.tensor(allowed)[torch.arange(TOKENS) * 17 % len(allowed)]


def plain(model: VisionLanguageModel, states: Tensor, targets: Tensor, temperature: float) -> tuple[Tensor, Tensor]:
    logits = model.hf.lm_head(states).float().index_fill(-1, model.forbidden_ids, -torch.inf) / temperature
    log_p = logits.log_softmax(dim=-1)
    finite = log_p.masked_fill(log_p == -torch.inf, 0.0)
    return log_p.gather(-1, targets[:, None])[:, 0], -(log_p.exp() * finite).sum(dim=-1)


def gradients(
    model: VisionLanguageModel, of: Callable[[Tensor], tuple[Tensor, Tensor]], *, entropy: bool
) -> tuple[Tensor, ...]:
    """Values, then gradients of a sum with a weight of its own for each token."""
    given = states()
    logprobs, entropies = of(given)
    weights = torch.linspace(-1.0, 2.0, TOKENS)
    loss = (weights * logprobs).sum() + ((weights.flip(0) * entropies).sum() if entropy else 0.0)
    wanted = [given, *model.hf.lm_head.parameters()]
    return logprobs.detach(), entropies.detach(), *torch.autograd.grad(loss, wanted)


@pytest.mark.parametrize("entropy", [False, True])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS.keys())
def test_values_and_gradients_are_those_of_log_softmax(
    model: VisionLanguageModel, rows: int, temperature: float, entropy: bool
) -> None:
    targets = allowed_targets(model)
    ours = gradients(
        model,
        lambda given: chosen_logprobs(
            model, given, targets, temperature=temperature, entropy_gradient=entropy, max_logits=rows * model.vocab_size
        ),
        entropy=entropy,
    )
    expected = gradients(model, lambda given: plain(model, given, targets, temperature), entropy=entropy)
    for one, other in zip(ours, expected, strict=True):
        torch.testing.assert_close(one, other, atol=5e-6, rtol=1e-5)


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS.keys())
def test_entropy_has_no_gradient_unless_it_is_asked_for(model: VisionLanguageModel, rows: int) -> None:
    limit = rows * model.vocab_size
    given = states()
    _, entropy = chosen_logprobs(model, given, allowed_targets(model), temperature=1.0, max_logits=limit)
    assert not entropy.requires_grad


def test_a_frozen_head_lets_the_gradient_through(model: VisionLanguageModel) -> None:
    targets = allowed_targets(model)
    model.hf.lm_head.requires_grad_(False)
    weights, results = torch.linspace(-1.0, 2.0, TOKENS), []
    for rows in ROWS.values():
        given = states()
        logprobs, _ = chosen_logprobs(model, given, targets, temperature=0.7, max_logits=rows * model.vocab_size)
        results.append(torch.autograd.grad(logprobs @ weights, given)[0])
    given = states()
    expected = torch.autograd.grad(plain(model, given, targets, 0.7)[0] @ weights, given)[0]
    for result in results:
        torch.testing.assert_close(result, expected, atol=1e-6, rtol=1e-5)
    assert model.hf.lm_head.weight.grad is None


@torch.no_grad()
def test_a_forbidden_token_has_no_probability(model: VisionLanguageModel) -> None:
    targets = allowed_targets(model)
    targets[3] = model.forbidden_ids[0]
    for rows in ROWS.values():
        logprobs, entropy = chosen_logprobs(
            model, states(), targets, temperature=0.7, max_logits=rows * model.vocab_size
        )
        assert (logprobs == -torch.inf).nonzero().tolist() == [[3]]
        assert bool(entropy.isfinite().all())


@torch.no_grad()
def test_a_certain_policy_has_no_entropy_and_an_indifferent_one_the_most(model: VisionLanguageModel) -> None:
    targets = allowed_targets(model)
    _, certain = chosen_logprobs(model, 1e4 * states(), targets, temperature=1.0)
    torch.testing.assert_close(certain, torch.zeros(TOKENS), atol=1e-5, rtol=0)
    _, indifferent = chosen_logprobs(model, 0 * states(), targets, temperature=1.0)
    allowed = torch.tensor(float(model.vocab_size - len(model.forbidden_ids)))
    torch.testing.assert_close(indifferent, allowed.log().expand(TOKENS))


def test_no_tokens_at_all_keep_the_graph(model: VisionLanguageModel) -> None:
    given = states()
    logprobs, entropy = chosen_logprobs(
        model, given[:0], torch.empty(0, dtype=torch.long), temperature=1.0, max_logits=model.vocab_size
    )
    assert logprobs.shape == entropy.shape == (0,)
    assert torch.equal(torch.autograd.grad(logprobs.sum(), given)[0], torch.zeros(TOKENS, HIDDEN))


def test_what_is_not_a_number_stays_none(model: VisionLanguageModel) -> None:
    given = states().detach().index_fill(0, torch.tensor([2]), torch.nan)
    logprobs, _ = chosen_logprobs(model, given, allowed_targets(model), temperature=1.0)
    assert logprobs.isnan().nonzero().tolist() == [[2]]


def test_half_precision_weights_give_single_precision_values() -> None:
    model = model_of("qwen2_5_vl")
    model.hf.to(torch.bfloat16)
    targets, given = allowed_targets(model), states().detach().bfloat16().requires_grad_()
    results = []
    for rows in ROWS.values():
        model.hf.zero_grad()
        logprobs, entropy = chosen_logprobs(model, given, targets, temperature=0.7, max_logits=rows * model.vocab_size)
        assert logprobs.dtype == entropy.dtype == torch.float32
        expected, _ = plain(model, given, targets, 0.7)
        torch.testing.assert_close(logprobs, expected, atol=1e-5, rtol=1e-5)
        to_states, to_weight = torch.autograd.grad(logprobs.sum(), (given, model.hf.lm_head.weight))
        assert to_states.dtype == to_weight.dtype == torch.bfloat16
        results.append(to_weight.float())
    torch.testing.assert_close(results[0], results[1], atol=0.05, rtol=0.02)


def test_a_backward_outside_autocast_uses_the_precision_of_the_forward() -> None:
    model = model_of("qwen2_5_vl")
    targets, given = allowed_targets(model), states()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        whole, _ = chosen_logprobs(model, given, targets, temperature=1.0)
        chunked, _ = chosen_logprobs(model, given, targets, temperature=1.0, max_logits=4 * model.vocab_size)
        rounded = model.hf.lm_head(given).float()
    exact, _ = chosen_logprobs(model, given, targets, temperature=1.0)
    assert not torch.equal(rounded, model.hf.lm_head(given))
    torch.testing.assert_close(whole, chunked)
    torch.testing.assert_close(whole, exact, atol=0.05, rtol=0)
    torch.testing.assert_close(
        torch.autograd.grad(whole.sum(), given), torch.autograd.grad(chunked.sum(), given), atol=1e-3, rtol=1e-2
    )
