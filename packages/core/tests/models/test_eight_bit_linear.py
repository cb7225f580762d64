"""Frozen weights in 8 bits: how far they are off, what gradients see of them, what they take, and what is refused."""

import logging
from pathlib import Path

import pytest
import torch
from torch import nn

from saccade.algorithms.algorithm import Aggregation
from saccade.algorithms.losses import negative_log_likelihood
from saccade.errors import UserError
from saccade.learner.learner import Learner
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import training_sequence, weighted
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.checkpoint import LoadSettings
from saccade.models.eight_bit_linear import BLOCK, EightBitLinear, eight_bit_codes
from saccade.models.loading import load_model, write_merged
from saccade.models.lora import LoraSettings, add_adapter, merge_adapter, merged_state
from saccade.models.shape import read_shape
from saccade.models.vlm import VisionLanguageModel
from saccade.models.weights_by_name import load_weights, named_weights
from saccade.train.memory_plan import memory_plan
from saccade.train.memory_process import Load
from saccade.types import Segment, Trajectory

EIGHT = LoadSettings(device="cpu", frozen_weights="int8")
FULL = LoadSettings(device="cpu")
LORA = OptimizerSettings(learning_rate=1e-3, lora=LoraSettings(rank=2))


def drawn(outputs: int, inputs: int, seed: int = 0) -> nn.Linear:
    layer = nn.Linear(inputs, outputs)
    with torch.no_grad():
        layer.weight.normal_(generator=torch.Generator().manual_seed(seed))
    return layer.requires_grad_(False)


@pytest.mark.parametrize("inputs", [BLOCK, 3 * BLOCK, 100, 1])
def test_no_weight_is_off_by_more_than_half_a_step_of_its_block(inputs: int) -> None:
    layer = drawn(7, inputs)
    # An outlier costs only its block, and a block of zeros stays zero.
    layer.weight[0, 0] = 300.0
    layer.weight[1] = 0.0
    off = (EightBitLinear(layer).weight - layer.weight).abs()
    size = BLOCK if inputs % BLOCK == 0 else inputs
    largest = layer.weight.abs().view(7, -1, size).amax(dim=2, keepdim=True)
    assert bool((off.view(7, -1, size) <= largest / 254 * (1 + 1e-5)).all())
    assert off[1].max() == 0


def test_codes_are_worked_out_by_hand() -> None:
    codes, scales = eight_bit_codes(torch.tensor([[1.27, -0.64, 0.004], [0.0, 0.0, 0.0]]))
    assert codes.tolist() == [[127, -64, 0], [0, 0, 0]]
    assert scales.tolist() == [[pytest.approx(0.01)], [1.0]]


def test_product_and_gradient_are_those_of_the_weights_that_it_stands_for() -> None:
    layer = EightBitLinear(drawn(3000, 2 * BLOCK))
    x = torch.randn(2, 5, 2 * BLOCK, generator=torch.Generator().manual_seed(1), requires_grad=True)
    x_too = x.detach().clone().requires_grad_()
    given = torch.randn(2, 5, 3000, generator=torch.Generator().manual_seed(2))
    layer(x).backward(given)
    nn.functional.linear(x_too, layer.weight, layer.bias).backward(given)
    torch.testing.assert_close(layer(x), nn.functional.linear(x_too, layer.weight, layer.bias), rtol=1e-5, atol=1e-4)
    assert x.grad is not None
    torch.testing.assert_close(x.grad, x_too.grad, rtol=1e-5, atol=1e-3)


def test_a_large_layer_is_made_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = drawn(64, BLOCK)
    expected = EightBitLinear(whole).weight
    monkeypatch.setattr("saccade.models.eight_bit_linear._AT_ONCE", 10 * BLOCK)
    layer = EightBitLinear(whole)
    assert [len(rows) for rows in layer.rows(torch.float32)] == [10] * 6 + [4]
    assert torch.equal(layer.weight, expected)


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("model")
    size = TinySize(hidden=128, heads=2, kv_heads=1, mlp=256, vision_hidden=32, vision_mlp=48)
    tiny_model(["Which plate is red?"] * 9, MediaStore(), size=size, vocab_size=300, seed=3).save(folder)
    return folder


def bytes_of(model: VisionLanguageModel) -> int:
    held = {id(one): one for one in (*model.hf.parameters(), *model.hf.buffers())}
    return sum(one.numel() * one.element_size() for one in held.values())


def test_a_model_takes_less_and_says_how_far_off_it_is(checkpoint: Path, caplog: pytest.LogCaptureFixture) -> None:
    full = load_model(checkpoint, MediaStore(), FULL)
    with caplog.at_level(logging.INFO):
        small = load_model(checkpoint, MediaStore(), EIGHT)
    coded = [one for one in small.hf.modules() if isinstance(one, EightBitLinear)]
    weights = sum(one.out_features * one.in_features for one in coded)
    assert len(coded) == 7 * small.hf.config.text_config.num_hidden_layers
    assert bytes_of(full) - bytes_of(small) == round(weights * (4 - 1 - 4 / BLOCK))
    (said,) = [line for line in caplog.messages if "in 8 bits" in line]
    assert f"{len(coded)} frozen linear layers are in 8 bits" in said
    ids = torch.tensor([small.chat.encode("Which plate is red?")])
    with torch.no_grad():
        before, after = (one.hf(input_ids=ids).logits.log_softmax(dim=-1) for one in (full, small))
    assert 0 < float((before.exp() * (before - after)).sum(dim=-1).mean()) < 1e-3
    # Its weights by name are those of any model of its kind.
    assert {name: w.shape for name, w in named_weights(small)} == {name: w.shape for name, w in named_weights(full)}


def test_the_memory_plan_counts_what_is_saved(checkpoint: Path) -> None:
    load = Load(pack_tokens=64, pack_image_tokens=0, rows=1, row_tokens=64)

    def planned(settings: LoadSettings) -> int:
        plan = memory_plan(read_shape(checkpoint), model=settings, optimizer=LORA, load=load)
        return sum(one.bytes for one in plan.parts if one.name in ("weights", "frozen weights in 8 bits"))

    full, small = (load_model(checkpoint, MediaStore(), one) for one in (FULL, EIGHT))
    assert planned(FULL) - planned(EIGHT) == bytes_of(full) - bytes_of(small) > 0


def learned(model: VisionLanguageModel) -> tuple[Learner, torch.Tensor]:
    """A learner and its gradient of some tokens."""
    said = model.chat.encode("The red plate is here")
    one = Trajectory(
        task_id="t",
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(
            Segment(role="prompt", turn=0, ids=model.chat.encode("Which plate is red?")),
            Segment(role="action", turn=0, ids=said),
        ),
        turns=(),
        status="answered",
    )
    learner = Learner(model, LORA)
    # B begins at zero, and A has no gradient while it is.
    with torch.no_grad():
        for place, weight in enumerate(learner.parameters):
            weight.normal_(std=0.05, generator=torch.Generator().manual_seed(place))
    learner.accumulate(weighted([training_sequence(one)], Aggregation()), negative_log_likelihood, temperature=1.0)
    gradients = [one.grad for one in learner.optimizer.masters]
    return learner, torch.cat([one.flatten() for one in gradients if one is not None])


def test_the_adapter_s_gradient_is_near_that_on_weights_in_full(checkpoint: Path) -> None:
    _, expected = learned(load_model(checkpoint, MediaStore(), FULL))
    learner, found = learned(load_model(checkpoint, MediaStore(), EIGHT))
    assert len(found) == len(expected) > 1000
    assert 0 < float((found - expected).norm() / expected.norm()) < 0.05
    assert [name for name in learner.names if ".lora_" not in name] == []


def test_an_adapter_is_saved_without_its_base_and_merged_into_the_weights_as_they_were(
    checkpoint: Path, tmp_path: Path
) -> None:
    model = load_model(checkpoint, MediaStore(), EIGHT)
    add_adapter(model, LoraSettings(rank=2))
    with torch.no_grad():
        for name, weight in model.hf.named_parameters():
            if ".lora_B" in name:
                weight.fill_(0.1)
    model.save(tmp_path / "adapter")
    assert not (tmp_path / "adapter/model.safetensors").exists()
    again = load_model(tmp_path / "adapter", MediaStore(), EIGHT)
    assert all(torch.equal(one, merged_state(again.hf)[name]) for name, one in merged_state(model.hf).items())
    write_merged(tmp_path / "adapter", tmp_path / "merged")
    merged = dict(named_weights(load_model(tmp_path / "merged", MediaStore(), FULL)))
    full = load_model(tmp_path / "adapter", MediaStore(), FULL)
    assert all(torch.equal(merged[name], one) for name, one in named_weights(full))
    # What is played in training is the base in 8 bits with the adapter, which is not the same.
    assert any(not torch.equal(merged[name], one) for name, one in named_weights(again))


def test_a_copy_for_an_engine_has_the_weights_that_8_bits_stand_for(checkpoint: Path, tmp_path: Path) -> None:
    model = load_model(checkpoint, MediaStore(), EIGHT)
    model.save_base(tmp_path / "plain")
    add_adapter(model, LoraSettings(rank=2))
    model.save_base(tmp_path / "below")
    expected = {name: one.clone() for name, one in named_weights(model)}
    for name in ("plain", "below"):
        copied = dict(named_weights(load_model(tmp_path / name, MediaStore(), FULL)))
        assert copied.keys() == expected.keys()
        assert all(torch.equal(copied[key], one) for key, one in expected.items())


def test_what_needs_the_weights_themselves_is_refused(checkpoint: Path) -> None:
    model = load_model(checkpoint, MediaStore(), EIGHT)
    with pytest.raises(UserError, match="a stage without LoRA trains the weights themselves"):
        Learner(model, OptimizerSettings())
    add_adapter(model, LoraSettings(rank=2))
    with pytest.raises(UserError, match="an adapter cannot be merged into them"):
        merge_adapter(model)
    plain = load_model(checkpoint, MediaStore(), EIGHT)
    with pytest.raises(UserError, match="an engine with weights of its own is given them in full"):
        load_weights(plain, named_weights(plain))
