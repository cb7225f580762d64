"""Gemma 4: layers of two sizes, keys that layers share, inputs of each layer, capped logits, and files as published."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.learner.logprobs import chosen_logprobs
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.checkpoint import LoadSettings
from saccade.models.loading import load_model
from saccade.models.shape import read_shape
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.engine_check import Said, gap_of
from saccade.testing.family_case import FamilyCase
from saccade.testing.family_inputs import forward, pixels, rendering
from saccade.testing.family_weights import saved
from saccade.types import ImageRef, Message, Observation
from saccade.waiting import run_to_end

SIZE = TinySize(hidden=32, layers=4, mlp=64, vision_hidden=32, vision_mlp=48)
BOTH: list[TinyFamily] = ["gemma4", "gemma4_large"]


def gemma(media: MediaStore, family: TinyFamily = "gemma4") -> VisionLanguageModel:
    """With scales, bounds and weights that change something, where new ones are 1 or have no bounds."""
    texts = ["Which plate is red? user model"] * 9
    model = tiny_model(texts, media, family=family, size=SIZE, vocab_size=600, seed=3)
    generator = torch.Generator().manual_seed(5)
    for name, value in model.hf.named_buffers():
        leaf = name.rpartition(".")[2]
        if leaf in ("layer_scalar", "std_scale", "std_bias"):
            value.uniform_(0.5, 1.5, generator=generator)
        elif leaf.endswith(("put_min", "put_max")):
            value.fill_(-2.0 if leaf.endswith("min") else 2.0)
    for name, weight in model.hf.named_parameters():
        if name.endswith(("norm.weight", "per_expert_scale", "router.scale")):
            nn.init.uniform_(weight, 0.5, 1.5, generator=generator)
    return model


@pytest.fixture(scope="module", params=BOTH)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp(request.param)
    gemma(MediaStore(), request.param).save(place)
    return place


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("small")
    gemma(MediaStore()).save(place)
    return place


def noise(media: MediaStore, seed: int) -> ImageRef:
    pixels = np.random.default_rng(seed).integers(0, 255, (70 + 40 * (seed % 3), 50, 3), dtype=np.uint8)
    return media.add(Image.fromarray(pixels))


def changed(path: Path, name: str, **settings: object) -> None:
    content = json.loads((path / name).read_text()) if (path / name).is_file() else {}
    (path / name).write_text(json.dumps(content | settings))


def copied(source: Path, target: Path) -> Path:
    for file in source.iterdir():
        (target / file.name).write_bytes(file.read_bytes())
    return target


def with_text(source: Path, target: Path, **settings: object) -> Path:
    config = json.loads((copied(source, target) / "config.json").read_text())
    changed(target, "config.json", text_config=config["text_config"] | settings)
    return target


@pytest.mark.parametrize("check", [pixels, forward, rendering, saved])
def test_scales_and_bounds_of_a_trained_model_are_kept(folder: Path, check: Callable[[FamilyCase], str]) -> None:
    assert check(FamilyCase(folder, MediaStore()))


@pytest.mark.parametrize(("window", "paged"), [(8, True), (110, False), (4096, False)])
def test_a_conversation_that_outgrows_its_window_is_sampled_as_one_forward_says(
    folder: Path, tmp_path: Path, window: int, paged: bool
) -> None:
    opened = load_model(with_text(folder, tmp_path, sliding_window=window), MediaStore())
    chat, media = opened.chat, opened.media
    asked = chat.prompt([Message(role="user", parts=(noise(media, 0), "Which plate", noise(media, 1), "is red?"))])
    engine = LocalEngine(opened, paged=paged)

    async def talk(seed: int, slots: list) -> Said:  # type: ignore[type-arg]
        ids, shown, turns = list(asked.ids), list(asked.images), []
        for turn in range(3):
            done = await slots[seed].sample(ids, shown, Sampling(seed=seed, max_tokens=6))
            turns.append((len(ids), done))
            ids += done.ids
            if turn < 2:
                look = Observation(text=f"Here {turn}", images=(noise(media, 2 + turn + seed),))
                seen = chat.observation(look, ends_with_eos=done.ids[-1] == chat.seen_end)
                ids, shown = [*ids, *seen.ids], [*shown, *seen.images]
        slots[seed].close()
        return Said(ids=tuple(ids), images=tuple(shown), turns=tuple(turns))

    async def group() -> list[Said]:
        async with engine.sequences([f"row/{seed}" for seed in range(3)]) as slots:
            return await asyncio.gather(*(talk(seed, list(slots)) for seed in range(3)))

    played = run_to_end(group())
    assert min(len(said.ids) for said in played) > 250
    assert max(gap_of(opened, said, 1.0) for said in played) < 1e-4


def without_cap(model: VisionLanguageModel) -> None:
    model.logit_cap = None


def with_pictures_seen(both_ways: bool, in_windows_alone: bool) -> Callable[[VisionLanguageModel], None]:
    def change(model: VisionLanguageModel) -> None:
        assert model.mask_rule is not None
        model.mask_rule = replace(model.mask_rule, both_ways=both_ways, in_windows_alone=in_windows_alone)

    return change


@pytest.mark.parametrize(
    ("family", "wrong"),
    [
        ("gemma4", without_cap),
        ("gemma4", with_pictures_seen(both_ways=True, in_windows_alone=True)),
        ("gemma4_large", with_pictures_seen(both_ways=False, in_windows_alone=True)),
        ("gemma4_large", with_pictures_seen(both_ways=True, in_windows_alone=False)),
    ],
    ids=["no cap", "small sees both ways", "large sees one way", "both ways without a window"],
)
def test_a_wrong_forward_is_noticed(tmp_path: Path, family: TinyFamily, wrong: object) -> None:
    gemma(MediaStore(), family).save(tmp_path)
    # A cap that a tiny model's logits come near.
    text = json.loads((tmp_path / "config.json").read_text())["text_config"]
    changed(tmp_path, "config.json", text_config=text | {"final_logit_softcapping": 1.0})
    case = FamilyCase(tmp_path, MediaStore())
    forward(case)
    assert callable(wrong)
    wrong(case.model)
    with pytest.raises(AssertionError, match="nats from transformers' own forward"):
        forward(case)


def test_a_picture_is_padding_to_the_inputs_of_layers(small: Path) -> None:
    model = load_model(small, MediaStore())
    ids = torch.tensor([[model.image_token_id, model.tokenizer.pad_token_id, model.eos_id]])
    found = model.embed(ids, ()).layer_inputs
    assert found is not None
    assert found.shape == (1, 3, 4, 8)
    assert torch.equal(found[0, 0], found[0, 1])
    assert not torch.equal(found[0, 0], found[0, 2])


@pytest.mark.parametrize("entropy_gradient", [False, True])
def test_capped_logits_are_scored_and_learned_as_a_plain_forward_says(small: Path, entropy_gradient: bool) -> None:
    model = load_model(small, MediaStore())
    model.logit_cap = 0.5
    states = torch.randn(7, 32, generator=torch.Generator().manual_seed(1), requires_grad=True)
    targets = torch.arange(300, 307)
    logprobs, entropy = chosen_logprobs(
        model, states, targets, temperature=0.7, entropy_gradient=entropy_gradient, max_logits=2000
    )
    plain = model.logprob_logits(states, 0.7).log_softmax(dim=-1)
    expected = -(plain.exp() * plain.nan_to_num(neginf=0.0)).sum(dim=-1)
    torch.testing.assert_close(logprobs, plain[torch.arange(7), targets])
    torch.testing.assert_close(entropy, expected)
    ours = logprobs.sum() + (entropy.sum() if entropy_gradient else 0.0)
    theirs = plain[torch.arange(7), targets].sum() + (expected.sum() if entropy_gradient else 0.0)
    [one], [other] = (torch.autograd.grad(value, states) for value in (ours, theirs))
    torch.testing.assert_close(one, other)


@pytest.mark.parametrize("name", ["gemma4", "gemma4_v2", "gemma4_v3", "gemma4_v4", "gemma4_v5"])
def test_each_published_template_is_taken(small: Path, tmp_path: Path, name: str) -> None:
    template = (files("trl") / "chat_templates" / f"{name}.jinja").read_text()
    (copied(small, tmp_path) / "chat_template.jinja").write_text(template)
    case = FamilyCase(tmp_path, MediaStore())
    rendering(case)
    chat, image = case.model.chat, noise(case.media, 1)
    assert (chat.observation_role, chat.opening) == ("user", "")
    asked = [Message(role="system", parts=("Be brief.",)), Message(role="user", parts=(image, "?"))]
    ids = [*chat.prompt(asked).ids, *chat.encode("yes"), chat.eos_id]
    ids += chat.observation(Observation(text="Here", images=(image,)), ends_with_eos=True).ids
    gap = "\n\n" if name == "gemma4_v2" else ""
    picture = f"{gap}<|image>{'<|image|>' * chat.token_count(image)}<image|>{gap}"
    written = chat.tokenizer.decode(ids).replace("Be brief. <turn|>", "Be brief.<turn|>")
    assert written == (
        f"<bos><|turn>system\nBe brief.<turn|>\n<|turn>user\n{picture}?<turn|>\n<|turn>model\nyes<turn|>\n"
        f"<|turn>user\n<tool_response>{picture}Here</tool_response><turn|>\n<|turn>model\n"
    )


def test_a_turn_ends_with_any_of_three_tokens_and_thoughts_may_be_said(small: Path) -> None:
    model = load_model(small, MediaStore())
    vocabulary = model.tokenizer.get_vocab()
    assert model.end_ids == {vocabulary[token] for token in ("<turn|>", "<eos>", "<|tool_response>")}
    forbidden = set(model.forbidden_ids.tolist())
    said = {vocabulary[token] for token in ("<|channel>", "<channel|>", "<|tool_call>", "<tool_call|>", '<|"|>')}
    assert not forbidden & (said | model.end_ids)
    shown = ("<|turn>", "<|image>", "<|image|>", "<image|>", "<|video|>", "<|audio|>", "<|think|>", "<bos>", "<pad>")
    assert forbidden >= {vocabulary[token] for token in shown}
    assert not model.chat.replaces([5, vocabulary["<turn|>"]])
    assert model.chat.replaces([5, vocabulary["<|tool_response>"]])


@pytest.mark.parametrize(
    ("bounds", "tokens"),
    [
        ({}, 280),
        ({"max_pixels": 150 * 256}, 140),
        ({"max_pixels": 1}, 70),
        ({"min_pixels": 71 * 256}, 280),
        ({"max_pixels": 9_999_999}, 280),
    ],
)
def test_bounds_of_views_choose_among_the_numbers_of_tokens(
    small: Path, tmp_path: Path, bounds: dict[str, int], tokens: int
) -> None:
    changed(copied(small, tmp_path), "preprocessor_config.json", max_soft_tokens=280)
    model = load_model(tmp_path, MediaStore(), LoadSettings(**bounds))  # type: ignore[arg-type]
    assert model.view.view_size(500, 500) == (int(tokens**0.5) * 16,) * 2
    assert model.image_processor.max_soft_tokens == tokens  # type: ignore[attr-defined]
    model.save(tmp_path / "again")
    assert load_model(tmp_path / "again", MediaStore()).view == model.view


def test_views_that_the_model_has_no_places_for_are_refused(small: Path) -> None:
    with pytest.raises(UserError, match="a view may be 1120 patches long, and the model has places for 560"):
        load_model(small, MediaStore(), LoadSettings(min_pixels=300 * 256))


def published(path: Path) -> None:
    """Rewrites the files around the weights in the way in which the family's authors wrote them."""
    config = json.loads((path / "config.json").read_text())
    config["text_config"].pop("per_layer_config")
    config["text_config"] |= {"global_head_dim": 16, "num_global_key_value_heads": None, "num_experts": None}
    config |= {"vision_soft_tokens_per_image": 70, "eoa_token_id": config["eoa_token_index"], "eos_token_id": [1, 13]}
    (path / "config.json").write_text(json.dumps(config))
    images = json.loads((path / "preprocessor_config.json").read_text())
    kind = {"image_processor_type": "Gemma4ImageProcessor", "image_seq_length": 70}
    changed(path, "processor_config.json", image_processor=images | kind, image_seq_length=70, audio_ms_per_token=40)
    (path / "preprocessor_config.json").unlink()


def test_a_loaded_checkpoint_is_saved_with_the_same_configuration(small: Path, tmp_path: Path) -> None:
    load_model(small, MediaStore(), LoadSettings(device="cpu", dtype="float32")).save(tmp_path)
    assert (tmp_path / "config.json").read_text() == (small / "config.json").read_text()


def test_a_gemma_in_the_published_layout_opens_and_is_saved_for_good(small: Path, tmp_path: Path) -> None:
    media, place = MediaStore(), tmp_path / "published"
    place.mkdir()
    published(copied(small, place))
    ours, opened = load_model(small, media), load_model(place, media)
    assert (opened.view, opened.mask_rule) == (ours.view, ours.mask_rule)
    assert opened.key_heads == ours.key_heads == ((2, 8), (2, 16))
    asked = [Message(role="user", parts=(noise(media, 1), "Which plate?"))]
    ids = torch.tensor([opened.chat.prompt(asked).ids])
    places = torch.arange(ids.shape[1]).expand(3, 1, -1)
    one, other = (
        model.hidden(model.embed(ids, model.encode_images([noise(media, 1)])), places) for model in (opened, ours)
    )
    assert torch.equal(one, other)
    opened.save(tmp_path / "first")
    load_model(tmp_path / "first", media).save(tmp_path / "second")
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("preprocessor_config.json", {"pooling_kernel_size": 3}, "says pooling_kernel_size=3, but the model has 2"),
        ("preprocessor_config.json", {"patch_size": 16}, "says patch_size=16, but the model has 8"),
        ("config.json", {"vision_config": None}, "vision_config"),
    ],
)
def test_parts_that_do_not_fit_are_told(
    small: Path, tmp_path: Path, name: str, settings: dict[str, object], said: str
) -> None:
    changed(copied(small, tmp_path), name, **settings)
    with pytest.raises(UserError, match=said):
        load_model(tmp_path, MediaStore())


def test_texts_that_see_both_ways_are_refused(small: Path, tmp_path: Path) -> None:
    with_text(small, tmp_path, use_bidirectional_attention="all")
    with pytest.raises(UserError, match="gemma4 has attention of texts in both directions, which Saccade cannot run"):
        load_model(tmp_path, MediaStore())


# By the published configurations: what their classes have by default is left out.
E2B: dict[str, object] = {
    "hidden_size": 1536,
    "intermediate_size": 6144,
    "num_hidden_layers": 35,
    "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
    "num_attention_heads": 8,
    "num_key_value_heads": 1,
    "num_kv_shared_layers": 20,
    "use_double_wide_mlp": True,
    "hidden_size_per_layer_input": 256,
    "vocab_size_per_layer_input": 262_144,
    "final_logit_softcapping": 30.0,
}
LARGE: dict[str, object] = {
    "hidden_size": 2816,
    "intermediate_size": 2112,
    "num_hidden_layers": 30,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "num_global_key_value_heads": 2,
    "attention_k_eq_v": True,
    "use_bidirectional_attention": "vision",
    "hidden_size_per_layer_input": 0,
    "enable_moe_block": True,
    "num_experts": 128,
    "moe_intermediate_size": 704,
    "top_k_experts": 8,
    "sliding_window": 1024,
    "final_logit_softcapping": 30.0,
}

WIDE = {
    "hidden_size": 1152,
    "intermediate_size": 4304,
    "num_hidden_layers": 27,
    "head_dim": 72,
    "standardize": True,
} | {
    "num_attention_heads": 16,
    "num_key_value_heads": 16,
}


@pytest.mark.parametrize(
    ("text", "hears", "billions", "idle", "keys"),
    [
        (E2B, True, 5.12, 0, 12 * 256 + 3 * 512),
        (LARGE, False, 25.8, 21.4, 25 * 2048 + 5 * 1024),
    ],
    ids=["E2B", "26B-A4B"],
)
def test_memory_of_the_published_sizes_is_planned_from_the_files_alone(
    tmp_path: Path, text: dict[str, object], hears: bool, billions: float, idle: float, keys: int
) -> None:
    config = {
        "architectures": ["Gemma4ForConditionalGeneration"],
        "model_type": "gemma4",
        "text_config": text | {"model_type": "gemma4_text", "vocab_size": 262_144},
        "vision_config": {"model_type": "gemma4_vision"} | ({"use_clipped_linears": True} if hears else WIDE),
        "audio_config": {"model_type": "gemma4_audio"} if hears else None,
        "dtype": "bfloat16",
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    images = {"image_processor_type": "Gemma4ImageProcessor", "patch_size": 16, "max_soft_tokens": 280}
    changed(tmp_path, "processor_config.json", image_processor=images | {"pooling_kernel_size": 3})
    shape = read_shape(tmp_path)
    assert (shape.is_half, shape.is_tied, shape.merge, shape.patch_px) == (True, True, 3, 16)
    assert shape.max_pixels == 280 * 48 * 48
    assert shape.cache_numbers == 2 * keys
    assert shape.weights / 1e9 == pytest.approx(billions, rel=0.01)
    assert shape.idle_weights / 1e9 == pytest.approx(idle, rel=0.01)
