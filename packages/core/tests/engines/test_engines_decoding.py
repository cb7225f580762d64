"""The bare forward of single tokens: the modules' own numbers, and the modules themselves where it does not apply."""

import pytest
import torch
from torch import nn

from saccade.engines.forward import Chunk, forwards_for
from saccade.engines.slot import Prompt, PromptKey
from saccade.engines.slots import SlotCache
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import tiny_model
from saccade.models.lora import LoraSettings, add_adapter
from saccade.models.plain_forward import TokenDecoder
from saccade.native import FeatureCache, accelerated, decoding, products
from saccade.native.kernels import native_kernels
from saccade.native.library import SWITCH

PROMPT_TOKENS = 40
"""Enough for rows to share it."""


@pytest.fixture(scope="module", params=["qwen3_vl", "qwen2_5_vl", "internvl"])
def scattered(request):
    """A model whose biases and norms are not the zeros and ones that models begin with."""
    model = tiny_model(["some words to say"], MediaStore(), family=request.param, vocab_size=300)
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, weight in model.hf.named_parameters():
            if name.endswith("bias") or "norm" in name:
                weight += 0.3 * torch.randn(weight.shape, generator=generator)
    return model


@pytest.fixture
def small():
    return tiny_model(["some words to say"], MediaStore(), vocab_size=300)


def slots_for(model, rows, *, paged=False, merges=False):
    """Forwards on an empty slot for each row, and the slots."""
    (kv_heads, head_dim), *_ = model.key_heads
    cache = SlotCache(
        layer_count=model.layer_count,
        kv_heads=kv_heads,
        head_dim=head_dim,
        dtype=model.dtype,
        device=model.device,
        paged=paged,
    )
    slots = [cache.take(()) for _ in rows]
    features, decoded_rows = FeatureCache(model, capacity_bytes=1), len(rows) if merges else 0
    return forwards_for(model, features, cache, max_chunk_tokens=4096, decoded_rows=decoded_rows), slots


def decoded(model, rows, *, sharing, merges=False):
    """States of the last token of each row, which alone is decoded: the others are in the cache."""
    forwards, slots = slots_for(model, rows, merges=merges)
    forwards.extend([Chunk(ids=tuple(row[:-1]), images=(), cached=0, position=0) for row in rows], first=0)
    if sharing:
        prompt = Prompt(key=PromptKey(tuple(rows[0][:PROMPT_TOKENS]), ()), hidden=torch.empty(0), position=0)
        for slot in slots:
            slot.prompt = prompt
    lengths = [len(row) - 1 for row in rows]
    return forwards.decode([row[-1] for row in rows], lengths, lengths)


def begun(model, rows, cached):
    """Forwards on slots that hold the first tokens of rows."""
    forwards, _ = slots_for(model, rows)
    if cached:
        forwards.extend([Chunk(ids=tuple(row[:cached]), images=(), cached=0, position=0) for row in rows], first=0)
    return forwards


def plain_states(model, row):
    """Of all tokens by transformers' modules on the whole row at once."""
    positions = torch.arange(len(row)).expand(3, 1, -1)
    return model.hidden(model.embed(torch.tensor([row]), ()), positions)[0]


def plain(model, row):
    return plain_states(model, row)[-1]


def ragged_rows(model, count=5):
    """Rows with one beginning, longest first."""
    ids = torch.randint(len(model.tokenizer) - 40, (count, 90), generator=torch.Generator().manual_seed(2))
    ids[:, :PROMPT_TOKENS] = ids[0, :PROMPT_TOKENS]
    ids[ids == model.image_token_id] = 1
    return [row[: 90 - 7 * index].tolist() for index, row in enumerate(ids)]


@pytest.mark.parametrize("switch", ["", "0"], ids=["native", "torch"])
@pytest.mark.parametrize("sharing", [False, True])
@torch.inference_mode()
def test_a_decoded_token_has_the_states_of_the_modules_whatever_the_rows_share(scattered, sharing, switch, monkeypatch):
    monkeypatch.setenv(SWITCH, switch)
    assert TokenDecoder.of(scattered.hf) is not None
    assert (accelerated(scattered.hf) is None) == (native_kernels() is None)
    rows = ragged_rows(scattered)
    torch.testing.assert_close(
        decoded(scattered, rows, sharing=sharing),
        torch.stack([plain(scattered, row) for row in rows]),
        atol=2e-5,
        rtol=2e-5,
    )


@pytest.mark.parametrize("switch", ["", "0"], ids=["native", "torch"])
@torch.inference_mode()
def test_chunks_side_by_side_have_the_states_of_the_modules(scattered, switch, monkeypatch):
    """Of every token, and of the last one of each chunk alone."""
    monkeypatch.setenv(SWITCH, switch)
    rows = ragged_rows(scattered)
    expected = [plain_states(scattered, row) for row in rows]
    for cached in (0, 40, 54):
        chunks = [Chunk(ids=tuple(row[cached:]), images=(), cached=cached, position=cached) for row in rows]
        states = begun(scattered, rows, cached).states(chunks, first=0)
        for ours, whole in zip(states, expected):
            torch.testing.assert_close(ours, whole[cached:], atol=2e-5, rtol=2e-5)
        ends = begun(scattered, rows, cached).extend(chunks, first=0)
        torch.testing.assert_close(
            torch.stack([end.hidden for end in ends]),
            torch.stack([whole[-1] for whole in expected]),
            atol=2e-5,
            rtol=2e-5,
        )


@torch.inference_mode()
def test_tokens_decoded_one_after_the_other_have_the_states_of_the_modules(scattered):
    """Each step goes on from the one before, until a row leaves."""
    if native_kernels() is None:
        pytest.skip("no native kernels here")
    rows = ragged_rows(scattered)
    forwards = begun(scattered, [row[:40] for row in rows], 40)
    whole = [plain_states(scattered, row) for row in rows]
    for length in range(40, 54):
        states = forwards.decode([row[length] for row in rows], [length] * 5, [length] * 5)
        torch.testing.assert_close(states, torch.stack([one[length] for one in whole]), atol=2e-5, rtol=2e-5)
    states = forwards.decode([row[54] for row in rows[:3]], [54] * 3, [54] * 3)
    torch.testing.assert_close(states, torch.stack([one[54] for one in whole[:3]]), atol=2e-5, rtol=2e-5)


@torch.inference_mode()
def test_a_step_is_the_same_on_several_threads_and_layer_by_layer(scattered, monkeypatch):
    if native_kernels() is None:
        pytest.skip("no native kernels here")
    rows = [row[:60] for row in ragged_rows(scattered, count=37)[:4] * 10][:37]
    monkeypatch.setattr(products, "_WORTH_SPREADING", 0)
    alone = decoded(scattered, rows, sharing=True)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert accelerated(scattered.hf).cached().token_step.groups(len(rows)) == 3
        spread = decoded(scattered, rows, sharing=True)
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(spread, alone)
    monkeypatch.setattr(decoding, "SMALL", 0)
    monkeypatch.setattr(decoding, "_WORTH_A_THREAD", 100)
    assert accelerated(scattered.hf).cached().token_step.groups(len(rows)) == 0
    torch.testing.assert_close(decoded(scattered, rows, sharing=True), alone, atol=2e-5, rtol=2e-5)


@torch.inference_mode()
def test_weights_that_change_in_place_are_seen(scattered):
    decoder = TokenDecoder.of(scattered.hf)
    before = decoder._step.language.layers[0].gate.weight.clone()
    gate = scattered.hf.model.language_model.layers[0].mlp.gate_proj.weight
    gate.mul_(2.0)
    try:
        assert torch.equal(decoder._step.language.layers[0].gate.weight, 2.0 * before)
    finally:
        gate.mul_(0.5)


def copy_of(scattered):
    model = tiny_model(["some words to say"], MediaStore(), family=scattered.family.model_type, vocab_size=300)
    model.hf.load_state_dict(scattered.hf.state_dict())
    return model


@torch.inference_mode(mode=False)
def adapt(model, seed=3):
    """Gives the model an adapter, or the one that it has other values."""
    if model.adapter is None:
        add_adapter(model, LoraSettings(rank=2, alpha=3.0))
    for name, weight in model.hf.named_parameters():
        if "lora_B" in name:
            weight.data.normal_(generator=torch.Generator().manual_seed(seed), std=0.1)


@pytest.mark.parametrize("merges", [True, False], ids=["merged", "beside"])
@torch.inference_mode()
def test_kernels_with_an_adapter_have_the_states_of_the_modules(scattered, merges):
    if native_kernels() is None:
        pytest.skip("no native kernels here")
    model = copy_of(scattered)
    adapt(model)
    rows = ragged_rows(model)
    ours = decoded(model, rows, sharing=True, merges=merges)
    torch.testing.assert_close(ours, torch.stack([plain(model, row) for row in rows]), atol=2e-5, rtol=2e-5)
    assert not torch.allclose(ours, decoded(scattered, rows, sharing=True), atol=1e-2)


@torch.inference_mode()
def test_merged_weights_follow_those_of_the_model_when_they_are_told(scattered):
    if native_kernels() is None:
        pytest.skip("no native kernels here")
    model = copy_of(scattered)
    adapt(model)
    base = {name: weight.clone() for name, weight in model.hf.state_dict().items() if "lora_" not in name}
    rows = ragged_rows(model)
    forwards, _ = slots_for(model, rows, merges=True)
    adapt(model, seed=4)
    forwards.note_changed_weights()
    lengths = [len(row) - 1 for row in rows]
    forwards.extend([Chunk(ids=tuple(row[:-1]), images=(), cached=0, position=0) for row in rows], first=0)
    states = forwards.decode([row[-1] for row in rows], lengths, lengths)
    assert torch.equal(states, decoded(model, rows, sharing=False, merges=True))
    assert all(torch.equal(weight, model.hf.state_dict()[name]) for name, weight in base.items())


@pytest.mark.parametrize("paged", [True, False], ids=["pages", "rows"])
@pytest.mark.parametrize("kind", ["half", "adapter", "half with adapter"])
@torch.inference_mode()
def test_in_half_precision_or_with_an_adapter_the_states_are_the_modules_own_to_the_bit(
    scattered, kind, paged, monkeypatch
):
    """The modules round in places of their own, and a learner that runs them must see the same policy."""
    monkeypatch.setenv(SWITCH, "0")
    model = copy_of(scattered)
    if "half" in kind:
        model.hf.to(torch.bfloat16)
    if "adapter" in kind:
        adapt(model)
    rows, states = ragged_rows(model), []
    for is_bare in (True, False):
        forwards, _ = slots_for(model, rows, paged=paged)
        assert forwards._decoder is not None
        if not is_bare:
            forwards._decoder = None
        forwards.extend([Chunk(ids=tuple(row[:-2]), images=(), cached=0, position=0) for row in rows], first=0)
        for left in (2, 1):
            lengths = [len(row) - left for row in rows]
            states.append(forwards.decode([row[-left] for row in rows], lengths, lengths))
    assert torch.equal(states[0], states[2])
    assert torch.equal(states[1], states[3])


def test_a_model_with_a_hook_inside_a_layer_is_left_to_its_modules(small):
    hook = small.hf.model.language_model.layers[1].mlp.register_forward_hook(lambda *seen: None)
    assert TokenDecoder.of(small.hf) is None
    hook.remove()
    assert TokenDecoder.of(small.hf) is not None


def test_a_layer_of_an_unknown_kind_is_left_to_its_modules(small):
    layers = small.hf.model.language_model.layers

    class OtherNorm(type(layers[0].input_layernorm)):
        def forward(self, states: torch.Tensor) -> torch.Tensor:
            return nn.functional.layer_norm(states, states.shape[-1:])

    layers[0].input_layernorm.__class__ = OtherNorm
    assert TokenDecoder.of(small.hf) is None
