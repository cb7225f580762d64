"""Muon for the matrices inside the layers, AdamW for everything else."""

from pathlib import Path

import pytest
import torch
from learner_samples import imitate, loaded_model, same_bytes, small_model, weights

from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.muon import MuonOnCPU, inner_matrices
from saccade.learner.optimizer import MasterOptimizer

RATE = 1e-2


def test_inner_matrices_are_the_layers_matrices_without_embeddings_head_norms_and_patches() -> None:
    model = small_model().hf
    inner = inner_matrices(model)
    names = {name for name, weight in model.named_parameters() if weight in inner}
    assert any("self_attn.q_proj" in name for name in names)
    assert any("visual" in name and "attn.qkv" in name for name in names)
    assert not any(word in name for name in names for word in ("embed", "lm_head", "norm", "bias"))


def test_the_first_step_turns_a_gradient_into_an_orthogonal_one_of_adamws_size() -> None:
    """0.2 sqrt(longer side) times a matrix whose singular values are all about 1, whatever the gradient's were."""
    generator = torch.Generator().manual_seed(0)
    left = torch.linalg.qr(torch.randn(48, 16, generator=generator)).Q
    right = torch.linalg.qr(torch.randn(16, 16, generator=generator)).Q
    matrix = torch.nn.Parameter(torch.zeros(48, 16))
    settings = OptimizerSettings(muon=True, weight_decay=0.0, max_gradient_norm=float("inf"))
    optimizer = MasterOptimizer([matrix], settings, is_inner_matrix=lambda weight: weight is matrix)
    matrix.grad = left @ torch.diag(torch.logspace(0, -1, 16)) @ right.T
    optimizer.step(RATE)
    sizes = torch.linalg.svdvals(matrix.detach()) / (RATE * 0.2 * 48**0.5)
    # Five Newton-Schulz rounds bring singular values near 1, not to 1.
    assert sizes.min() > 0.6
    assert sizes.max() < 1.3


@pytest.mark.parametrize("shape", [(24, 8), (8, 24)])
@pytest.mark.parametrize("nesterov", [True, False])
def test_in_fp32_it_goes_where_torchs_own_goes_but_for_the_rounding_of_bfloat16(
    shape: tuple[int, int], nesterov: bool
) -> None:
    generator = torch.Generator().manual_seed(0)
    start, *gradients = torch.randn(4, *shape, generator=generator)
    ours, theirs = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.clone())
    both = [
        kind([weight], lr=RATE, weight_decay=0.1, nesterov=nesterov, adjust_lr_fn="match_rms_adamw")
        for kind, weight in ((MuonOnCPU, ours), (torch.optim.Muon, theirs))
    ]
    for gradient in gradients:
        ours.grad, theirs.grad = gradient.clone(), gradient.clone()
        for optimizer in both:
            optimizer.step()  # type: ignore[no-untyped-call]
    moved = (theirs.detach() - start).norm()
    assert (ours.detach() - theirs.detach()).norm() < 0.03 * moved
    assert moved > RATE
    assert torch.equal(*(one.state_dict()["state"][0]["momentum_buffer"] for one in both))


def test_embeddings_and_norms_move_as_they_do_without_muon_and_matrices_otherwise() -> None:
    plain, ours = small_model(), small_model()
    imitate(Learner(plain, OptimizerSettings()), steps=1)
    imitate(Learner(ours, OptimizerSettings(muon=True)), steps=1)
    inner = inner_matrices(ours.hf)
    others = dict(plain.hf.named_parameters())
    for name, weight in ours.hf.named_parameters():
        is_equal = torch.equal(weight, others[name])
        assert is_equal == (weight not in inner), name


def test_steps_with_muon_lower_the_loss() -> None:
    losses = imitate(Learner(small_model(), OptimizerSettings(muon=True)), steps=12)
    assert losses[-1] < 0.5 * losses[0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_state_with_momenta_goes_on_with_the_same_bytes(tmp_path: Path, dtype: str) -> None:
    settings = OptimizerSettings(muon=True, offload_optimizer=dtype == "bfloat16")
    straight, first, second = (loaded_model(tmp_path / "model", dtype=dtype) for _ in range(3))
    imitate(Learner(straight, settings), steps=2)
    before = Learner(first, settings)
    imitate(before, steps=1)
    torch.save(before.optimizer.state_dict(), tmp_path / "optimizer.pt")
    second.hf.load_state_dict(first.hf.state_dict())
    after = Learner(second, settings)
    after.optimizer.load_state_dict(torch.load(tmp_path / "optimizer.pt", weights_only=True))
    imitate(after, steps=1)
    assert same_bytes(weights(straight), weights(second))


@pytest.mark.parametrize("is_muon", [False, True])
def test_a_state_of_the_other_optimiser_is_refused(is_muon: bool) -> None:
    learner, other = (Learner(small_model(), OptimizerSettings(muon=muon)) for muon in (is_muon, not is_muon))
    with pytest.raises(ValueError, match="one was made with muon, the other without"):
        learner.optimizer.load_state_dict(other.optimizer.state_dict())


def test_state_bytes_count_one_momentum_for_a_matrix_of_muon() -> None:
    matrix, bias = torch.nn.Parameter(torch.ones(32, 16)), torch.nn.Parameter(torch.ones(32))
    optimizer = MasterOptimizer(
        [matrix, bias], OptimizerSettings(muon=True), is_inner_matrix=lambda weight: weight is matrix
    )
    matrix.grad, bias.grad = torch.ones(32, 16), torch.ones(32)
    optimizer.step(RATE)
    assert optimizer.state_bytes() == 4 * 32 * 16 + 8 * 32 + 4
