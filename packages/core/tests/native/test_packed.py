"""Packs by native kernels beside the same packs by transformers' modules."""

import copy

import numpy as np
import pytest
import torch
from native_samples import assert_same_gradients, kernels_or_skip
from peft import LoraConfig, inject_adapter_in_model
from torch import Tensor

from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.attention import Layout, Span, tree
from saccade.models.lora import LoraSettings, add_adapter
from saccade.models.vlm import VisionLanguageModel
from saccade.native import accelerated
from saccade.native.block_mask import pack_mask
from saccade.native.forwards import say_that_torch_does_it
from saccade.native.library import SWITCH
from text_models import with_text_model

APART: Layout = (tree(0, 20, (7, 7, 12)), tree(46, 9, ()), tree(55, 0, (3, 5)))
ROOTED: Layout = (tree(0, 20, ()), tree(20, 7, (7, 12), Span(0, 20)), tree(46, 9, (), Span(0, 20)), tree(55, 0, (3, 5)))
TOKENS = 63


def made_of(family: str, text: str) -> VisionLanguageModel:
    made = tiny_model(["some words to say"], MediaStore(), family=family, vocab_size=300)
    return made if made.hf.config.text_config.model_type == text else with_text_model(made, text)


KINDS = [
    ("qwen3_vl", "qwen3_vl_text"),
    ("qwen2_5_vl", "qwen2_5_vl_text"),
    ("internvl", "qwen2"),
    ("internvl", "qwen3"),
    ("internvl", "llama"),
]
"""Families and their language models."""


@pytest.fixture(scope="module", params=KINDS, ids=" of ".join)
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    """One whose biases and norms are not the zeros and ones that models begin with."""
    made = made_of(*request.param)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in made.hf.named_parameters():
            if name.endswith("bias") or "norm" in name:
                weight += 0.3 * torch.randn(weight.shape, generator=generator)
    return made


@pytest.fixture(autouse=True)
def _natively() -> None:
    kernels_or_skip()


def states(model: VisionLanguageModel, wanted: Tensor | None = None, layout: Layout = APART) -> Tensor:
    ids = torch.randint(200, (1, TOKENS), generator=torch.Generator().manual_seed(3))
    ids[ids == model.image_token_id] = 1
    positions = torch.arange(TOKENS).expand(3, 1, -1)
    embedded, native = model.embed(ids, ()), accelerated(model.hf)
    if native is None:
        return model.hidden(embedded, positions, packing=layout, wanted=wanted)[0]
    return native.packed(embedded.inputs[0], model.family.language_positions(positions), layout, wanted=wanted)


def gradients(model: VisionLanguageModel, wanted: Tensor | None = None, layout: Layout = APART) -> dict[str, Tensor]:
    model.hf.zero_grad()
    out = states(model, wanted, layout)
    weights = torch.randn(TOKENS, out.shape[1], generator=torch.Generator().manual_seed(4))
    (out * (weights if wanted is None else weights[wanted])).sum().backward()
    return {name: weight.grad for name, weight in model.hf.named_parameters() if weight.grad is not None}


WANTED = torch.tensor([30, 3, 19, 19, 62, 45, 31, 20, 19])
"""In no order, one of them again, ends and beginnings of spans, of two trees of three."""


@pytest.mark.parametrize("layout", [APART, ROOTED], ids=["trees apart", "one root"])
@pytest.mark.parametrize("wanted", [None, WANTED, WANTED[:0]], ids=["all", "some", "none"])
def test_states_and_gradients_are_those_of_the_modules(
    model: VisionLanguageModel, wanted: Tensor | None, layout: Layout, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert accelerated(model.hf) is not None
    ours, our_gradients = states(model, wanted, layout), gradients(model, wanted, layout)
    monkeypatch.setenv(SWITCH, "0")
    assert accelerated(model.hf) is None
    torch.testing.assert_close(ours, states(model, wanted, layout), atol=2e-5, rtol=2e-5)
    assert_same_gradients(our_gradients, gradients(model, wanted, layout))


def test_trees_of_one_root_are_one_group_since_threads_share_none() -> None:
    assert len(pack_mask(APART, np.arange(TOKENS)).groups) == 3
    assert pack_mask(ROOTED, np.arange(TOKENS)).groups.tolist() == [[0, TOKENS, 0, 10]]


def test_weights_that_are_frozen_get_no_gradient(model: VisionLanguageModel) -> None:
    trained = copy.deepcopy(model.hf.model.language_model.layers[1].mlp.up_proj.weight)
    whole = gradients(model, WANTED)
    name = "model.language_model.layers.1.mlp.up_proj.weight"
    model.hf.requires_grad_(False)
    model.hf.get_parameter(name).requires_grad_(True)
    try:
        alone = gradients(model, WANTED)
    finally:
        model.hf.requires_grad_(True)
    assert alone.keys() == {name}
    assert torch.equal(alone[name], whole[name])
    assert torch.equal(trained, model.hf.get_parameter(name))


def adapted(model: VisionLanguageModel, **odd: object) -> VisionLanguageModel:
    """The model with an adapter that does something, plain unless anything ``odd`` is asked of PEFT."""
    made = made_of(model.family.model_type, model.hf.config.text_config.model_type)
    made.hf.load_state_dict(model.hf.state_dict())
    if odd:
        config = LoraConfig(r=2, target_modules=r".*language_model\..*_proj", **odd)  # type: ignore[arg-type]
        inject_adapter_in_model(config, made.hf)
    else:
        add_adapter(made, LoraSettings(rank=2, alpha=3.0))
    generator = torch.Generator().manual_seed(5)
    for name, weight in made.hf.named_parameters():
        if "lora_B" in name:
            weight.data.normal_(generator=generator, std=0.1)
    return made


@pytest.mark.parametrize("wanted", [None, WANTED], ids=["all", "some"])
def test_states_and_gradients_of_an_adapter_are_those_of_the_modules(
    model: VisionLanguageModel, wanted: Tensor | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = adapted(model)
    assert accelerated(made.hf) is not None
    ours, our_gradients = states(made, wanted), gradients(made, wanted)
    assert all("lora_" in name for name in our_gradients)
    # Seven products in each of the layers.
    assert len(our_gradients) == 14 * made.layer_count
    monkeypatch.setenv(SWITCH, "0")
    torch.testing.assert_close(ours, states(made, wanted), atol=2e-5, rtol=2e-5)
    assert_same_gradients(our_gradients, gradients(made, wanted))


def test_an_adapter_that_does_nothing_leaves_the_states_as_they_are_to_the_bit(model: VisionLanguageModel) -> None:
    made = adapted(model)
    for name, weight in made.hf.named_parameters():
        if "lora_B" in name:
            weight.data.zero_()
    assert torch.equal(states(made, WANTED), states(model, WANTED))


@pytest.mark.filterwarnings("ignore:.lora_bias=True:UserWarning")  # Layers without a bias are among the targets.
@pytest.mark.parametrize("odd", ["use_dora", "lora_dropout", "lora_bias"])
def test_an_adapter_of_an_odd_kind_is_left_to_its_modules_which_is_said_once(
    model: VisionLanguageModel, odd: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = adapted(model, **{odd: 0.5 if odd == "lora_dropout" else True})
    say_that_torch_does_it.cache_clear()
    with caplog.at_level("INFO"):
        assert accelerated(made.hf) is None
        assert accelerated(made.hf) is None
    assert [record.levelname for record in caplog.records] == ["INFO"]
    assert "has an adapter that the native kernels do not know" in caplog.text


def test_an_adapter_that_is_switched_off_or_seen_by_a_hook_is_left_to_its_modules(model: VisionLanguageModel) -> None:
    made = adapted(model)
    layer = made.hf.model.language_model.layers[1].mlp.up_proj
    hook = layer.lora_A["default"].register_forward_hook(lambda *seen: None)
    assert accelerated(made.hf) is None
    hook.remove()
    assert accelerated(made.hf) is not None
    layer.enable_adapters(False)
    assert accelerated(made.hf) is None


def test_a_graph_is_gone_through_once(model: VisionLanguageModel) -> None:
    out = states(model).sum()
    out.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="a second time"):
        out.backward()


def test_a_model_in_half_precision_is_left_to_its_modules(model: VisionLanguageModel) -> None:
    assert accelerated(copy.deepcopy(model.hf).to(torch.bfloat16)) is None


def test_autocast_is_left_to_the_modules(model: VisionLanguageModel) -> None:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert accelerated(model.hf) is None
    assert accelerated(model.hf) is not None


def test_heads_of_an_odd_size_are_left_to_the_modules() -> None:
    narrow = tiny_model(["some words"], MediaStore(), size=TinySize(hidden=32), vocab_size=300)
    assert accelerated(narrow.hf) is None
