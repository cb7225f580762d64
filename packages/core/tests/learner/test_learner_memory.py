"""Less memory: checkpointed activations, frozen images, compiled parts; and words for when there is none left."""

import os
import platform
import re
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from learner_samples import batch, same_bytes, small_model, weights
from torch import Tensor, nn

from saccade.algorithms.algorithm import Loss, PolicyTokens
from saccade.algorithms.losses import negative_log_likelihood
from saccade.errors import MachineError, UserError
from saccade.learner.host_activations import HostActivations
from saccade.learner.learner import Learner, OptimizerSettings
from saccade.learner.sequences import TrainingSequence
from saccade.miniature.tiny_model import TinyFamily, TinySize
from saccade.models.lora import LoraSettings
from saccade.models.memory import give_freed_memory_back
from saccade.models.vlm import VisionLanguageModel
from saccade.native import FeatureCache
from saccade.testing.ranks import FRESH

_RESET_PEAK = Path("/proc/self/clear_refs")


def gradients(model: VisionLanguageModel, settings: OptimizerSettings) -> dict[str, torch.Tensor]:
    learner = Learner(model, settings)
    learner.optimizer.zero_grad()
    learner.accumulate(batch(model), negative_log_likelihood, temperature=1.0)
    return {name: weight.grad for name, weight in model.hf.named_parameters() if weight.grad is not None}


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl", "qwen3_5", "internvl"])
def test_checkpointed_activations_give_the_same_gradient_to_the_bit(family: TinyFamily) -> None:
    plain = gradients(small_model(family), OptimizerSettings())
    recomputed = gradients(small_model(family), OptimizerSettings(activation_checkpointing=True))
    assert same_bytes(plain, recomputed)


@pytest.mark.parametrize("recomputes", [False, True], ids=["all", "inputs"])
@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl", "qwen3_5", "internvl", "gemma3"])
def test_activations_in_the_host_s_memory_give_the_same_gradient_to_the_bit(
    family: TinyFamily, recomputes: bool
) -> None:
    plain = gradients(small_model(family), OptimizerSettings(activation_checkpointing=recomputes))
    settings = OptimizerSettings(activation_checkpointing=recomputes, offload_activations=True)
    model = small_model(family)
    assert same_bytes(plain, gradients(model, settings))
    learner = Learner(model, settings)
    learner.accumulate(batch(model), negative_log_likelihood, temperature=1.0)
    assert learner.host_activations is not None
    assert learner.host_activations.moved_bytes > 0


def test_layers_find_what_they_kept_in_the_host_s_memory_and_nowhere_else() -> None:
    """The values on the device are overwritten meanwhile; weights stay, and one input of several products goes once."""
    layers = nn.ModuleList(nn.Linear(72, 72) for _ in range(4))
    given = torch.randn(200, 72, generator=torch.Generator().manual_seed(1))

    def loss(inputs: Tensor) -> Tensor:
        inside = layers[0](inputs) * layers[1](inputs)
        return (layers[2](inside.sin()) * layers[3](inside)).sum()

    weights = [*layers.parameters()]
    expected = dict(enumerate(torch.autograd.grad(loss(given), weights)))
    for ahead_bytes in (0, 1 << 20):
        moved = HostActivations([layers], torch.device("cpu"), ahead_bytes=ahead_bytes)
        inputs = given.clone()
        with moved.moving():
            value = loss(inputs)
        inputs.data.fill_(torch.nan)
        assert same_bytes(expected, dict(enumerate(torch.autograd.grad(value, weights))))
        # Two products keep the inputs, another and the sine what is inside; then the sine's result, and four factors.
        assert moved.moved_bytes == (7 if ahead_bytes else 9) * given.nbytes


def test_dropout_of_a_configuration_never_acts_in_training() -> None:
    model = small_model()
    plain = gradients(model, OptimizerSettings())
    for layer in model.hf.model.language_model.layers:
        layer.self_attn.attention_dropout = 0.5
    model.hf.zero_grad()
    assert same_bytes(plain, gradients(model, OptimizerSettings(activation_checkpointing=True)))


def test_after_an_update_and_after_an_error_the_model_samples_as_before() -> None:
    model = small_model()
    learner = Learner(model, OptimizerSettings(activation_checkpointing=True))

    def broken(tokens: PolicyTokens) -> Loss:
        raise ZeroDivisionError

    learner.update(batch(model), negative_log_likelihood, temperature=1.0, learning_rate=1e-3)
    with pytest.raises(ZeroDivisionError):
        learner.update(batch(model), broken, temperature=1.0, learning_rate=1e-3)
    assert not any(module.training for module in model.hf.modules())
    assert not any(getattr(module, "gradient_checkpointing", False) for module in model.hf.modules())


@pytest.mark.skipif(not _RESET_PEAK.exists(), reason="the peak of a process can be read on Linux only")
def test_checkpointed_activations_need_less_memory() -> None:
    """One layer's activations and the inputs of 16, instead of the activations of 16.

    In a process of its own: where earlier tests have left much free memory, no peak is seen.
    """
    with ProcessPoolExecutor(1, mp_context=FRESH) as fresh:
        checkpointed, plain = fresh.submit(_peaks).result(timeout=120)
    assert 0 < checkpointed < 0.6 * plain


def _peaks() -> list[int]:
    torch.set_num_threads(1)
    size = TinySize(hidden=64, mlp=256, layers=16, vision_hidden=32, vision_mlp=48)
    peaks = []
    for is_checkpointed in (True, False):
        model = small_model(size=size)
        learner = Learner(model, OptimizerSettings(activation_checkpointing=is_checkpointed))
        sequences = batch(model, 12)
        # What torch takes for itself at the first backward is not counted.
        learner.accumulate(sequences[:1], negative_log_likelihood, temperature=1.0)
        before = _peak_bytes()
        learner.accumulate(sequences, negative_log_likelihood, temperature=1.0)
        peaks.append(_peak_bytes(reset=False) - before)
    return peaks


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's free memory")
def test_after_an_update_of_a_model_that_is_not_tiny_no_freed_activations_stay() -> None:
    with ProcessPoolExecutor(1, mp_context=FRESH) as fresh:
        assert fresh.submit(_freed_by_hand).result(timeout=120) < 4 << 20


def _freed_by_hand() -> int:
    """Bytes that an update has left to give back."""
    torch.set_num_threads(1)
    model = small_model(size=TinySize(hidden=512, mlp=2048, layers=6, vision_hidden=32, vision_mlp=48))
    assert not model.is_tiny
    learner = Learner(model, OptimizerSettings())
    learner.update(batch(model), negative_log_likelihood, temperature=1.0, learning_rate=1e-3)
    before = _resident_bytes()
    give_freed_memory_back()
    return before - _resident_bytes()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="glibc's free memory")
def test_what_a_pack_frees_does_not_lie_between_the_activations_of_the_next() -> None:
    with ProcessPoolExecutor(1, mp_context=FRESH) as fresh:
        freed, taken = fresh.submit(_freed_before_the_third_backward).result(timeout=120)
    assert freed < 0.2 * taken


def _freed_before_the_third_backward() -> tuple[int, int]:
    """Bytes that lay free after the forward of a third pack, and those that activations and gradients took."""
    torch.set_num_threads(1)
    model = small_model(size=TinySize(hidden=256, mlp=1024, layers=24, vision_hidden=32, vision_mlp=48))
    assert not model.is_tiny
    one = max(batch(model, 12), key=lambda sequence: len(sequence.ids))
    settings = OptimizerSettings(lora=LoraSettings(rank=4), micro_batch_tokens=4 * len(one.ids))
    learner = Learner(model, settings)
    seen: list[tuple[int, int]] = []

    def loss(tokens: PolicyTokens) -> Loss:
        before = _resident_bytes()
        give_freed_memory_back()
        seen.append((before - _resident_bytes(), _resident_bytes() - begun))
        return negative_log_likelihood(tokens)

    give_freed_memory_back()
    begun = _resident_bytes()
    learner.accumulate(_apart(one, 24), loss, temperature=1.0)
    return seen[2]


def _apart(sequence: TrainingSequence, count: int) -> list[TrainingSequence]:
    """Copies that share no prompt."""
    return [replace(sequence, ids=(index, *sequence.ids[1:])) for index in range(count)]


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _peak_bytes(*, reset: bool = True) -> int:
    if reset:
        _RESET_PEAK.write_text("5")
    status = Path("/proc/self/status").read_text()
    [kib] = re.findall(r"VmHWM:\s+(\d+) kB", status)
    return int(kib) * 1024


def test_under_a_frozen_tower_each_image_is_encoded_once_for_all_steps() -> None:
    model = small_model()
    learner = Learner(model, OptimizerSettings(frozen_vision=True, micro_batch_tokens=200))
    sequences = batch(model)
    images = {image.hash for sequence in sequences for image in sequence.images}
    learner.logprobs(sequences, temperature=1.0)
    for _ in range(3):
        learner.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-3)
    assert learner.work.images == len(images)


def test_a_frozen_tower_changes_no_other_gradient() -> None:
    thawed = gradients(small_model(), OptimizerSettings())
    frozen = gradients(small_model(), OptimizerSettings(frozen_vision=True))
    assert frozen.keys() == {name for name in thawed if ".visual." not in name}
    for name, gradient in frozen.items():
        torch.testing.assert_close(gradient, thawed[name], atol=1e-6, rtol=1e-5)


def test_what_is_kept_of_frozen_images_does_not_change_the_bytes_of_a_step() -> None:
    """A resumed run begins with nothing kept."""
    fresh, resumed = small_model(), small_model()
    settings = OptimizerSettings(frozen_vision=True)
    [first, second] = (Learner(model, settings) for model in (fresh, resumed))
    first.logprobs(batch(fresh)[:1], temperature=1.0)
    for learner in (first, second):
        learner.update(batch(learner.model), negative_log_likelihood, temperature=1.0, learning_rate=1e-2)
    assert same_bytes(weights(fresh), weights(resumed))


def test_frozen_images_are_kept_within_a_bound() -> None:
    model = small_model()
    images = list({image.hash: image for sequence in batch(model) for image in sequence.images}.values())
    one = FeatureCache(model, capacity_bytes=1 << 30, one_by_one=True).get(images[:1])[0].tokens.nbytes
    kept = FeatureCache(model, capacity_bytes=2 * one, one_by_one=True)
    assert len(kept.get(images)) == len(images)
    assert kept.encoded == len(images)
    kept.get(images[-2:])
    assert kept.encoded == len(images)
    kept.get(images[:1])
    assert kept.encoded == len(images) + 1


def test_memory_that_runs_out_is_a_message_with_what_to_change() -> None:
    """The allocator of this machine refuses, as it would for a model too large for it."""

    def greedy(tokens: PolicyTokens) -> Loss:
        return Loss(value=tokens.logprobs.sum() * torch.empty(1 << 55).sum(), sums={})

    model = small_model()
    learner = Learner(model, OptimizerSettings(micro_batch_tokens=300, activation_checkpointing=True))
    with pytest.raises(MachineError) as caught:
        learner.update(batch(model), greedy, temperature=1.0, learning_rate=1e-3)
    message = str(caught.value)
    for advice in (
        "micro_batch_tokens (now 300)",
        "lora.rank=16",
        "offload_optimizer=true",
        "eight_bit_optimizer=true",
    ):
        assert advice in message
    # It is on already.
    assert "activation_checkpointing" not in message


def test_other_errors_of_torch_stay_as_they_are() -> None:
    model = small_model()

    def wrong(tokens: PolicyTokens) -> Loss:
        return Loss(value=tokens.logprobs @ torch.ones(1), sums={})

    with pytest.raises(RuntimeError, match="size"):
        Learner(model, OptimizerSettings()).update(batch(model), wrong, temperature=1.0, learning_rate=1e-3)


def test_a_micro_batch_smaller_than_an_image_is_refused_with_what_it_needs() -> None:
    model = small_model()
    sequences = batch(model)
    largest = max(model.view.token_count(image) for sequence in sequences for image in sequence.images)
    longest = max(len(sequence.ids) for sequence in sequences)
    learner = Learner(model, OptimizerSettings(micro_batch_tokens=largest - 1))
    with pytest.raises(UserError, match=rf"={largest - 1} is smaller than one image, which has {largest}.*{longest}"):
        learner.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-3)
    enough = Learner(model, OptimizerSettings(micro_batch_tokens=largest))
    assert enough.update(sequences, negative_log_likelihood, temperature=1.0, learning_rate=1e-3)["skipped"] == 0.0


def test_compiling_without_a_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "a-compiler-that-is-not-there")
    with pytest.raises(UserError, match=r"needs a C\+\+ compiler"):
        Learner(small_model(), OptimizerSettings(compile=True))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # torch compiles with parts of itself that it has deprecated.
def test_compiled_parts_give_the_same_gradient_up_to_rounding() -> None:
    size = TinySize(hidden=32, mlp=64, layers=1, vision_hidden=32, vision_mlp=48)
    plain = gradients(small_model(size=size), OptimizerSettings())
    model = small_model(size=size)
    compiled = gradients(model, OptimizerSettings(compile=True))
    for name, gradient in plain.items():
        torch.testing.assert_close(compiled[name], gradient, atol=1e-5, rtol=1e-4)
    assert not any("forward" in module.__dict__ for module in model.hf.modules())
