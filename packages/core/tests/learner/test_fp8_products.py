"""Products of 8-bit floats: their plain form against torch's own, their gradients, and where they are refused."""

import pytest
import torch
from learner_samples import batch, small_model
from torch import Tensor, nn

from saccade.algorithms.losses import negative_log_likelihood
from saccade.errors import UserError
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.miniature.tiny_model import TinySize
from saccade.models.fp8_products import (
    Fp8Products,
    coded_layers,
    coded_linear,
    coded_product,
    coded_rows,
    missing_for,
    off_by,
)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_each_row_has_a_scale_that_its_largest_number_fills() -> None:
    states = drawn(5, 64) * torch.tensor([1.0, 1e-3, 1e3, 0.0, 1.0])[:, None]
    codes, scales = coded_rows(states)
    assert codes.dtype == torch.float8_e4m3fn
    assert codes.float().abs().amax(dim=1).tolist() == [448.0, 448.0, 448.0, 0.0, 448.0]
    kept = codes.float() * scales
    # Half a step of three bits of mantissa, or of the smallest step there is.
    allowed = states.abs() / 16 + scales * 2**-10
    assert bool(((kept - states).abs() <= allowed).all())


def test_the_plain_form_is_the_product_that_gpus_have() -> None:
    left, right = drawn(40, 64).bfloat16(), drawn(48, 64, seed=1).bfloat16()
    (own, scales), (others, other_scales) = coded_rows(left), coded_rows(right)
    theirs = torch._scaled_mm(own, others.T, scale_a=scales, scale_b=other_scales.T, out_dtype=torch.bfloat16)
    torch.testing.assert_close(coded_product(left, right, torch.bfloat16), theirs, atol=2e-2, rtol=1e-2)
    exact = left.float() @ right.float().T
    assert 0.01 < float((theirs.float() - exact).norm() / exact.norm()) < 0.05


def test_a_layer_gives_such_products_and_their_gradients() -> None:
    layer = nn.Linear(80, 96)
    states, weights = drawn(3, 7, 80).requires_grad_(), drawn(3, 7, 96, seed=2)
    found = coded_linear(layer, states)
    exact = layer(states)
    assert 0.005 < float(((found - exact).norm() / exact.norm()).detach()) < 0.05
    ours = torch.autograd.grad((found * weights).sum(), [states, layer.weight, layer.bias])
    theirs = torch.autograd.grad((exact * weights).sum(), [states, layer.weight, layer.bias])
    assert 0.005 < float((ours[0] - theirs[0]).norm() / theirs[0].norm()) < 0.05
    # The weight's gradient is in full precision.
    torch.testing.assert_close(ours[1:], theirs[1:], atol=1e-4, rtol=1e-5)
    layer.weight.requires_grad_(False)
    [alone] = torch.autograd.grad((coded_linear(layer, states) * weights).sum(), [states])
    assert torch.equal(alone, ours[0])


def test_a_model_learns_nearly_the_same_and_is_itself_again_afterwards() -> None:
    model = small_model(size=TinySize(hidden=128, mlp=256, layers=2, vision_hidden=32, vision_mlp=48))
    model.hf.to(torch.bfloat16)
    layers = coded_layers(model)
    # Those of keys and values have 64 outputs.
    assert len(layers) == 2 * 5
    found = []
    for is_coded in (False, True):
        learner = Learner(model, OptimizerSettings(activation_checkpointing=True))
        learner._coded = Fp8Products(layers) if is_coded else None
        learner.optimizer.zero_grad()
        learner.accumulate(batch(model), negative_log_likelihood, temperature=1.0)
        gradients = [master.grad.flatten() for master in learner.optimizer.masters if master.grad is not None]
        found.append((torch.cat(gradients), torch.tensor(learner.logprobs(batch(model)[:1], temperature=1.0))))
    (slope, logprobs), (coded_slope, coded_logprobs) = found
    assert 0 < float((coded_slope - slope).norm() / slope.norm()) < 0.3
    assert 0 < float((coded_logprobs - logprobs).abs().mean()) < 0.1
    assert not any("forward" in layer.__dict__ for layer in layers)
    assert 0.01 < off_by(layers[0]) < 0.05


def test_where_there_is_no_such_gpu_it_is_said() -> None:
    with pytest.raises(UserError, match=r"fp8=true cannot be had: 8-bit floats .* the model is on cpu; leave it out"):
        Learner(small_model(), OptimizerSettings(fp8=True))
    assert "model.dtype=bfloat16" in missing_for(torch.device("cuda"), torch.float32)
    with pytest.raises(UserError, match="fp8=true does not reach into compiled parts"):
        OptimizerSettings(fp8=True, compile=True).check()
