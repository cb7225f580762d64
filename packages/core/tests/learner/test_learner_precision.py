"""Precision of training: fp32 masters of half-precision weights, offload, moments in 8 bits."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from learner_samples import batch, imitate, loaded_model, same_bytes, small_model, weights

from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner import eight_bit
from saccade.learner.eight_bit import EightBitAdamW, code_values, dequantize, quantize
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.optimizer import MasterOptimizer
from saccade.models.vlm import VisionLanguageModel
from warm import run_warm

RATE = 1e-5
"""A step of this size is below the rounding of a bf16 weight of 0.01 or more."""


@pytest.fixture(autouse=True)
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    yield
    torch.use_deterministic_algorithms(False)


def half(directory: Path) -> VisionLanguageModel:
    return loaded_model(directory / "model", dtype="bfloat16")


def test_small_steps_that_bf16_weights_lose_add_up_in_their_masters(tmp_path: Path) -> None:
    plain, ours = half(tmp_path), half(tmp_path)
    before = torch.cat([w.detach().float().flatten() for w in plain.hf.parameters()])
    gradients = Learner(plain, OptimizerSettings())
    settings = OptimizerSettings(learning_rate=RATE, weight_decay=0.0)
    adamw = torch.optim.AdamW(plain.hf.parameters(), lr=RATE, betas=settings.betas, weight_decay=0.0)
    learner = Learner(ours, settings)
    for _ in range(8):
        gradients.optimizer.zero_grad()
        gradients.accumulate(batch(plain), negative_log_likelihood, temperature=1.0)
        for weight, master in zip(gradients.parameters, gradients.optimizer.masters):
            weight.grad = None if master.grad is None else master.grad.bfloat16()
        adamw.step()
    imitate(learner, steps=8, rate=RATE)
    large = before.abs() > 0.02
    moved_plain = torch.cat([w.detach().float().flatten() for w in plain.hf.parameters()]) - before
    moved_ours = torch.cat([m.detach().flatten() for m in learner.optimizer.masters]) - before
    assert moved_plain[large].abs().max() == 0
    # AdamW's first steps have the size of the learning rate, and these gradients keep their direction.
    assert moved_ours[large].abs().median() > 4 * RATE
    rounded = torch.cat([w.detach().float().flatten() for w in ours.hf.parameters()])
    assert torch.equal(rounded, (before + moved_ours).bfloat16().float())


def test_bf16_weights_learn_as_fp32_weights_do(tmp_path: Path) -> None:
    in_half = imitate(Learner(half(tmp_path), OptimizerSettings()), steps=12, rate=3e-3)
    in_full = imitate(Learner(loaded_model(tmp_path / "model"), OptimizerSettings()), steps=12, rate=3e-3)
    assert in_half[-1] < 0.5 * in_half[0]
    assert in_half == pytest.approx(in_full, rel=0.05)


def test_half_precision_gradients_are_added_up_in_fp32_and_then_freed(tmp_path: Path) -> None:
    model = half(tmp_path)
    learner = Learner(model, OptimizerSettings(micro_batch_tokens=150))
    learner.accumulate(batch(model), negative_log_likelihood, temperature=1.0)
    assert all(weight.grad is None for weight in model.hf.parameters())
    gradients = [master.grad for master in learner.optimizer.masters]
    assert all(gradient is not None and gradient.dtype == torch.float32 for gradient in gradients)
    # Sums of bf16 numbers that bf16 itself could not hold.
    assert any(not torch.equal(gradient, gradient.bfloat16().float()) for gradient in gradients if gradient is not None)


def test_no_hook_stays_on_the_weights_after_a_step(tmp_path: Path) -> None:
    """The next stage makes a learner of its own for the same model."""
    model = half(tmp_path)
    imitate(Learner(model, OptimizerSettings()), steps=1, rate=RATE)
    weight = next(model.hf.parameters())
    weight.float().sum().backward()
    assert weight.grad is not None


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_offloaded_gradients_go_to_the_masters_once_and_not_for_each_micro_batch(dtype: torch.dtype) -> None:
    weight = torch.nn.Parameter(torch.ones(3, dtype=dtype))
    optimizer = MasterOptimizer([weight], OptimizerSettings(offload_optimizer=True))
    [master] = optimizer.masters
    for expected in (3.0, 6.0):
        with optimizer.collecting():
            before = None if master.grad is None else master.grad.tolist()
            for factor in (1.0, 2.0):
                (factor * weight).sum().backward()
                assert weight.grad is None
                assert (None if master.grad is None else master.grad.tolist()) == before
        assert master.grad is not None
        assert master.grad.tolist() == [expected] * 3


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_an_offloaded_optimizer_gives_the_same_bytes(tmp_path: Path, dtype: str) -> None:
    models = [loaded_model(tmp_path / "model", dtype=dtype) for _ in range(2)]
    for model, is_offloaded in zip(models, (False, True)):
        imitate(Learner(model, OptimizerSettings(offload_optimizer=is_offloaded)), steps=3, rate=1e-2)
    assert same_bytes(weights(models[0]), weights(models[1]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("options", [{}, {"offload_optimizer": True}, {"eight_bit_optimizer": True}])
def test_two_steps_are_the_bytes_of_one_step_a_restored_state_and_one_step(
    tmp_path: Path, dtype: str, options: dict[str, bool]
) -> None:
    settings = OptimizerSettings(**options)
    straight, first, second = (loaded_model(tmp_path / "model", dtype=dtype) for _ in range(3))
    imitate(Learner(straight, settings), steps=2, rate=1e-2)
    before = Learner(first, settings)
    imitate(before, steps=1, rate=1e-2)
    torch.save(before.optimizer.state_dict(), tmp_path / "optimizer.pt")
    second.hf.load_state_dict(first.hf.state_dict())
    after = Learner(second, settings)
    after.optimizer.load_state_dict(torch.load(tmp_path / "optimizer.pt", weights_only=True))
    imitate(after, steps=1, rate=1e-2)
    assert same_bytes(weights(straight), weights(second))


def test_a_state_of_other_precision_or_other_weights_is_refused(tmp_path: Path) -> None:
    full = Learner(loaded_model(tmp_path / "model"), OptimizerSettings())
    in_half = Learner(half(tmp_path), OptimizerSettings())
    for learner, other in ((full, in_half), (in_half, full)):
        with pytest.raises(ValueError, match="precision, offload"):
            learner.optimizer.load_state_dict(other.optimizer.state_dict())


def test_the_nearest_code_stands_for_each_value() -> None:
    for signed in (True, False):
        known = torch.tensor(code_values(signed=signed))
        assert len(known) == 256
        assert torch.equal(known, known.sort().values)
        # One block that has the largest value, so that its scale is 1.
        codes, scales = quantize(known, signed=signed)
        assert torch.equal(dequantize(codes, scales, signed=signed), known)
        values = torch.rand(1000, generator=torch.Generator().manual_seed(0))
        values = values * 2 - 1 if signed else values
        got = dequantize(*quantize(values, signed=signed), signed=signed)
        largest = torch.nn.functional.pad(values, (0, 24)).view(-1, 256).abs().amax(dim=1)
        nearest = known[(values[:, None] / largest.repeat_interleave(256)[:1000, None] - known).abs().argmin(dim=1)]
        torch.testing.assert_close(got, nearest * largest.repeat_interleave(256)[:1000])


def test_blocks_of_zeros_stay_zeros() -> None:
    for signed in (True, False):
        assert dequantize(*quantize(torch.zeros(300), signed=signed), signed=signed).abs().max() == 0


def test_eight_bit_moments_walk_where_fp32_moments_walk() -> None:
    """Noisy gradients of a quadratic with scales that lie far apart."""
    scales = torch.logspace(-3, 1, 8192)
    ends = []
    for kind in (torch.optim.AdamW, EightBitAdamW):
        generator = torch.Generator().manual_seed(0)
        weight = torch.nn.Parameter(torch.ones(8192))
        adamw = kind([weight], lr=0.02, betas=(0.9, 0.98), weight_decay=0.0)
        for _ in range(100):
            weight.grad = scales * (weight.detach() + 0.1 * torch.randn(8192, generator=generator))
            adamw.step()
        ends.append(weight.detach())
    exact, coarse = ends
    assert coarse.abs().mean() < 0.1
    torch.testing.assert_close(coarse.abs().mean(), exact.abs().mean(), rtol=0.25, atol=0)


def test_large_weights_are_updated_in_parts_as_if_in_one() -> None:
    whole = torch.linspace(-1, 1, (1 << 22) + 4096)
    ends = []
    for values in (whole, whole[1 << 22 :]):
        weight = torch.nn.Parameter(values.clone())
        weight.grad = values.clone()
        EightBitAdamW([weight], lr=0.1, betas=(0.9, 0.98), weight_decay=0.1).step()
        ends.append(weight.detach())
    assert torch.equal(ends[0][1 << 22 :], ends[1])


def test_bytes_of_the_optimizer_state() -> None:
    """fp32 moments 8 bytes a weight; 8-bit ones 2 and their scales; masters 4 more."""
    weight = torch.nn.Parameter(torch.ones(1 << 16))
    in_half = torch.nn.Parameter(torch.ones(1 << 16, dtype=torch.bfloat16))
    measured = []
    for options, trained in (({}, weight), ({"eight_bit_optimizer": True}, weight), ({}, in_half)):
        optimizer = MasterOptimizer([trained], OptimizerSettings(**options))
        optimizer.masters[0].grad = torch.ones(1 << 16)
        optimizer.step(1e-3)
        measured.append(optimizer.state_bytes())
    step = 4
    count = 1 << 16
    assert measured == [8 * count + step, 2 * count + 2 * 4 * count // 256 + step, 12 * count + step]


def test_steps_with_eight_bit_moments_lower_the_loss() -> None:
    losses = imitate(Learner(small_model(), OptimizerSettings(eight_bit_optimizer=True)), steps=12, rate=3e-3)
    assert losses[-1] < 0.5 * losses[0]


LOADED_STATE = """
import torch
from saccade.learner.eight_bit import EightBitAdamW

def kib(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name))

torch.set_num_threads(1)
weight = torch.nn.Parameter(torch.zeros(1 << 24))
optimizer = EightBitAdamW([weight], lr=0.1, betas=(0.9, 0.98), weight_decay=0.0)
weight.grad = torch.ones(1 << 24)
optimizer.step()
state = optimizer.state_dict()
codes = state["state"][0]["first"].clone()
fresh = EightBitAdamW([weight], lr=0.1, betas=(0.9, 0.98), weight_decay=0.0)
open("/proc/self/clear_refs", "w").write("5")
before = kib("VmHWM")
fresh.load_state_dict(state)
assert fresh.state[weight]["first"].dtype == torch.uint8 and torch.equal(fresh.state[weight]["first"], codes)
print((kib("VmHWM") - before) // 1024)
"""
"""Moments of 16 MiB each; in the precision of the weight they would take 64 MiB each."""


def test_restored_codes_are_never_as_large_as_the_weights() -> None:
    done = run_warm([sys.executable, "-c", LOADED_STATE], check=True)
    assert int(done.stdout) < 40


def test_the_step_that_a_gpu_compiles_is_the_step_of_all_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Run here as it is written; the compiler changes rounding alone."""

    def trained(*, at_once: bool) -> tuple[list[torch.Tensor], EightBitAdamW]:
        generator = torch.Generator().manual_seed(4)
        sizes = (256 * 33, 256 * 40, 300)
        made = [torch.nn.Parameter(torch.randn(size, generator=generator)) for size in sizes]
        optimizer = EightBitAdamW(made, lr=1e-2, betas=(0.9, 0.98), weight_decay=0.1)
        monkeypatch.setattr(eight_bit, "_steps_at_once", lambda weight: at_once)
        for _ in range(5):
            for weight in made:
                spread = torch.exp(2 * torch.randn(weight.shape, generator=generator))
                weight.grad = torch.randn(weight.shape, generator=generator) * spread
            optimizer.step()
        return [weight.detach() for weight in made], optimizer

    monkeypatch.setattr(eight_bit, "_compiled_step", lambda: eight_bit.step_of_blocks)
    (ours, ours_by), (theirs, theirs_by) = trained(at_once=True), trained(at_once=False)
    for one, other in zip(ours, theirs):
        gaps = (one - other).abs()
        # A moment between two codes may be rounded to either.
        assert (gaps > 1e-5).float().mean() < 1e-3
        assert gaps.max() < 1e-2
    for state, expected in zip(ours_by.state.values(), theirs_by.state.values()):
        assert state.keys() == expected.keys()
        for name in ("first", "second"):
            differing = (state[name] != expected[name]).float().mean()
            assert differing < 1e-3, name
