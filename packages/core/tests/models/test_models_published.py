"""Checkpoints as they are published: other file contents than ours, other language models inside a family."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file
from transformers import InternVLConfig, InternVLForConditionalGeneration, MistralConfig, Qwen3Config

from saccade.errors import UserError
from saccade.media.resize import ResizeRule, TileRule
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.checkpoint import LoadSettings
from saccade.models.families import family_of
from saccade.models.loading import load_model
from saccade.models.vlm import VisionLanguageModel
from saccade.testing import family_inputs, family_runs
from saccade.testing.family_case import FamilyCase
from saccade.types import ImageRef, Message, Observation

NAMED = {
    "start_image_token": "<img>",
    "end_image_token": "</img>",
    "context_image_token": "<IMG_CONTEXT>",
    "video_token": "<video>",
}
SPECIAL = ["<|im_start|>", "<|im_end|>", "<img>", "</img>", "<IMG_CONTEXT>", "<ref>", "</ref>", "<box>", "</box>"]


def tiles(media: MediaStore) -> VisionLanguageModel:
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48, max_tiles=12)
    return tiny_model(["Which plate?"] * 9, media, family="internvl", size=size, vocab_size=300, seed=3)


def noise(media: MediaStore, width: int, height: int) -> ImageRef:
    pixels = np.random.default_rng(width).integers(0, 255, (height, width, 3), dtype=np.uint8)
    return media.add(Image.fromarray(pixels))


def as_published(path: Path) -> None:
    """Rewrites the files around the weights in the way in which the family's authors wrote them."""

    def rewrite(name: str, **changes: object) -> None:
        before = json.loads((path / name).read_text()) if (path / name).exists() else {}
        (path / name).write_text(json.dumps(before | changes))

    rewrite(
        "preprocessor_config.json",
        image_processor_type="GotOcr2ImageProcessorFast",
        processor_class="InternVLProcessor",
        crop_to_patches=False,
        data_format="channels_first",
        default_to_square=True,
        device=None,
    )
    added = json.loads((path / "tokenizer.json").read_text())["added_tokens"]
    (path / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "Qwen2Tokenizer",
                "processor_class": "InternVLProcessor",
                "added_tokens_decoder": {str(token.pop("id")): token for token in added},
                "additional_special_tokens": SPECIAL,
                "extra_special_tokens": NAMED,
                "eos_token": "<|im_end|>",
                "pad_token": "<|endoftext|>",
                "bos_token": None,
                "unk_token": None,
                "errors": "replace",
                "return_token_type_ids": False,
                "model_max_length": 8192,
                **NAMED,
            }
        )
    )


def test_an_internvl_in_the_published_layout_opens_and_is_saved_for_good(tmp_path: Path) -> None:
    media = MediaStore()
    ours = tiles(media)
    ours.save(tmp_path / "published")
    as_published(tmp_path / "published")
    opened = load_model(tmp_path / "published", media)
    assert opened.view == TileRule(
        tile_px=64, tokens_per_tile=16, min_tiles=1, max_tiles=12, convention="relative_1000"
    )
    asked = [Message(role="user", parts=(noise(media, 200, 100), "Which plate?"))]
    assert opened.chat.prompt(asked) == ours.chat.prompt(asked)
    assert torch.equal(opened.forbidden_ids, ours.forbidden_ids)
    opened.save(tmp_path / "first")
    load_model(tmp_path / "first", media).save(tmp_path / "second")
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"layer_types": ["chunked_attention", "full_attention"]}, "chunked_attention"),
        ({"final_logit_softcapping": 30.0, "num_kv_shared_layers": 2}, "capped logits, layers that share keys"),
        ({"attn_logit_softcapping": 30.0}, "capped scores of attention"),
    ],
)
def test_what_the_engine_cannot_run_is_refused_before_it_gives_other_answers(
    tmp_path: Path, settings: dict[str, object], said: str
) -> None:
    tiles(MediaStore()).save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["text_config"] |= {"layer_types": None, **settings}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=f"internvl has {said}.*, which Saccade cannot run yet"):
        load_model(tmp_path, MediaStore())


def test_windows_run_in_any_family_whose_layers_have_names(tmp_path: Path) -> None:
    """Qwen2's, which no published InternVL has."""
    tiles(MediaStore()).save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["text_config"] |= {
        "layer_types": ["sliding_attention", "full_attention"],
        "use_sliding_window": True,
        "sliding_window": 24,
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    case = FamilyCase(tmp_path, MediaStore())
    rule = case.model.mask_rule
    assert rule is not None
    assert rule.window == 24
    for check in (family_inputs.forward, family_runs.engine, family_runs.packs):
        assert "nats" in check(case)


def test_windows_of_layers_without_names_are_refused() -> None:
    text = MistralConfig(sliding_window=8)
    assert family_of("internvl").missing(InternVLConfig(text_config=text)) == "sliding windows without layer_types"
    text.sliding_window = None
    assert family_of("internvl").missing(InternVLConfig(text_config=text)) == ""


SMOL = {
    "end_of_utterance_token": "<end_of_utterance>",
    "fake_image_token": "<fake_token_around_image>",
    "global_image_token": "<global-img>",
    "image_token": "<image>",
}


def test_a_smolvlm_in_the_published_layout_opens_and_is_saved_for_good(tmp_path: Path) -> None:
    media, published = MediaStore(), tmp_path / "published"
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48, max_tiles=9)
    ours = tiny_model(["Which plate?"] * 9, media, family="smolvlm", size=size, vocab_size=360, seed=3)
    ours.save(published)
    pixels = {
        "image_processor_type": "SmolVLMImageProcessor",
        "processor_class": "SmolVLMProcessor",
        "video_sampling": {"fps": 1, "max_frames": 64, "video_size": {"longest_edge": 64}},
    }
    for name, changes in (
        ("preprocessor_config.json", pixels),
        ("config.json", {"use_reentrant_checkpointing": False}),
    ):
        (published / name).write_text(json.dumps(json.loads((published / name).read_text()) | changes))
    template = published / "chat_template.jinja"
    (published / "chat_template.json").write_text(json.dumps({"chat_template": template.read_text()}))
    template.unlink()
    added = json.loads((published / "tokenizer.json").read_text())["added_tokens"]
    about = {
        "tokenizer_class": "GPT2Tokenizer",
        "processor_class": "SmolVLMProcessor",
        "added_tokens_decoder": {str(token.pop("id")): token for token in added},
        "additional_special_tokens": ["<fake_token_around_image>", "<image>", "<end_of_utterance>"],
        "bos_token": "<|im_start|>",
        "eos_token": "<end_of_utterance>",
        "pad_token": "<|endoftext|>",
        "unk_token": "<|endoftext|>",
        "extra_special_tokens": SMOL,
        "legacy": False,
        "truncation_side": "left",
        **SMOL,
    }
    (published / "tokenizer_config.json").write_text(json.dumps(about))
    opened = load_model(published, media)
    assert opened.view == ours.view
    asked = [Message(role="user", parts=(noise(media, 200, 100), "Which plate?"))]
    assert opened.chat.prompt(asked) == ours.chat.prompt(asked)
    opened.save(tmp_path / "first")
    load_model(tmp_path / "first", media).save(tmp_path / "second")
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name


def test_a_qwen3_5_in_the_published_layout_opens_without_the_heads_that_predict_ahead(tmp_path: Path) -> None:
    media, size = MediaStore(), TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48)
    ours = tiny_model(["Which plate?"] * 9, media, family="qwen3_5", size=size, vocab_size=300, seed=3)
    ours.save(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config["text_config"] |= {
        "attn_output_gate": True,
        "full_attention_interval": 2,
        "mamba_ssm_dtype": "float32",
        "mlp_only_layers": [],
        "mtp_num_hidden_layers": 1,
        "mtp_use_dedicated_embeddings": False,
    }
    config["vision_config"] |= {"model_type": "qwen3_5", "deepstack_visual_indexes": []}
    config["vision_config"].pop("rope_parameters")
    (tmp_path / "config.json").write_text(json.dumps(config))
    weights = load_file(tmp_path / "model.safetensors")
    ahead = {"mtp.fc.weight": torch.ones(32, 64), "mtp.norm.weight": torch.ones(32)}
    save_file(weights | ahead, tmp_path / "model.safetensors", metadata={"format": "pt"})
    opened = load_model(tmp_path, media)
    assert opened.view == ours.view
    for name, weight in ours.hf.state_dict().items():
        assert torch.equal(weight, opened.hf.state_dict()[name]), name
    asked = [Message(role="user", parts=("Which of 1234 plates é?",))]
    assert opened.chat.prompt(asked) == ours.chat.prompt(asked)
    about = json.loads((tmp_path / "tokenizer_config.json").read_text()) | {"tokenizer_class": "Qwen2Tokenizer"}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(about))
    load_model(tmp_path, media).save(tmp_path / "first")
    load_model(tmp_path / "first", media).save(tmp_path / "second")
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name
    assert opened.family.missing(opened.hf.config) == ""
    assert family_of("qwen3_vl").missing(opened.hf.config) == "linear_attention"


def test_an_internvl_around_another_language_model_is_the_same_family(tmp_path: Path) -> None:
    """InternVL3.5 has the layers of Qwen3 inside, with a head size of its own."""
    media = MediaStore()
    ours = tiles(media)
    text = Qwen3Config(
        vocab_size=len(ours.tokenizer),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        initializer_range=0.1,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=ours.eos_id,
    )
    config = InternVLConfig(
        text_config=text,
        vision_config=ours.hf.config.vision_config,
        image_token_id=ours.image_token_id,
        image_seq_length=16,
        tie_word_embeddings=False,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        hf = InternVLForConditionalGeneration(config).eval()
    VisionLanguageModel(hf, ours.tokenizer, ours.image_processor, media).save(tmp_path)
    model = load_model(tmp_path, media)
    assert model.key_heads == ((2, 16),) * 2
    image = noise(media, 90, 60)
    ids = model.chat.prompt([Message(role="user", parts=(image, "Which?"))]).ids
    ids += (
        model.chat.encode("look")
        + model.chat.observation(Observation(text="Here", images=(image,)), ends_with_eos=False).ids
    )
    with torch.no_grad():
        embedded = model.embed(torch.tensor([ids]), model.encode_images([image, image]))
        logits = model.hf.lm_head(model.hidden(embedded, model.positions(ids, [image, image])[:, None]))
        pixels = torch.cat([patch.values for patch in model.patches.get([image, image])])
        expected = hf(input_ids=torch.tensor([ids]), pixel_values=pixels).logits
    torch.testing.assert_close(logits, expected, atol=1e-5, rtol=0)


GLM_4_1V = """[gMASK]<sop>
{%- for msg in messages %}
    {%- if msg.role == 'system' %}
<|system|>
{{ msg.content }}
    {%- elif msg.role == 'user' %}
<|user|>{{ '\\n' }}

        {%- if msg.content is string %}
{{ msg.content }}
        {%- else %}
            {%- for item in msg.content %}
                {%- if item.type == 'video' or 'video' in item %}
<|begin_of_video|><|video|><|end_of_video|>
                {%- elif item.type == 'image' or 'image' in item %}
<|begin_of_image|><|image|><|end_of_image|>
                {%- elif item.type == 'text' %}
{{ item.text }}
                {%- endif %}
            {%- endfor %}
        {%- endif %}
    {%- elif msg.role == 'assistant' %}
        {%- if msg.metadata %}
<|assistant|>{{ msg.metadata }}
{{ msg.content }}
        {%- else %}
<|assistant|>
{{ msg.content }}
        {%- endif %}
    {%- endif %}
{%- endfor %}
{% if add_generation_prompt %}<|assistant|>
{% endif %}"""
"""Of GLM-4.1V-9B-Thinking (MIT)."""


def test_a_glm_in_the_published_layout_opens_and_is_saved_for_good(tmp_path: Path) -> None:
    media, published = MediaStore(), tmp_path / "published"
    ours = tiny_model(["Which plate?"] * 9, media, family="glm4v", vocab_size=400, seed=3)
    ours.save(published)
    pixels = json.loads((published / "preprocessor_config.json").read_text())
    pixels |= {"image_processor_type": "Glm4vImageProcessor", "processor_class": "Glm4vProcessor"}
    pixels["size"] = {"shortest_edge": 12544, "longest_edge": 9633792}
    (published / "preprocessor_config.json").write_text(json.dumps(pixels))
    (published / "chat_template.jinja").write_text(GLM_4_1V)
    ends = [ours.tokenizer.convert_tokens_to_ids(token) for token in ("<|endoftext|>", "<|user|>", "<|observation|>")]
    (published / "generation_config.json").write_text(json.dumps({"eos_token_id": ends, "pad_token_id": ends[0]}))
    opened = load_model(published, media)
    # Both frames of a still picture count against the published bounds, and the default's are of the view alone.
    assert isinstance(opened.view, ResizeRule)
    assert (opened.view.min_pixels, opened.view.max_pixels) == (12544 // 2, 1 << 20)
    assert load_model(published, media, LoadSettings(max_pixels="checkpoint")).view.largest_pixels > 9633792 // 2
    assert opened.end_ids == {*ends}
    image = noise(media, 200, 100)
    asked = [Message(role="system", parts=("Look.",)), Message(role="user", parts=(image, "Which plate?"))]
    text = opened.chat.tokenizer.decode([one for one in opened.chat.prompt(asked).ids if one != opened.image_token_id])
    assert text == (
        "[gMASK]<sop><|system|>\nLook.<|user|>\n<|begin_of_image|><|end_of_image|>Which plate?<|assistant|>\n"
    )
    opened.save(tmp_path / "first")
    load_model(tmp_path / "first", media).save(tmp_path / "second")
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name


def test_bounds_of_a_llava_onevision_leave_grids_out_in_both_of_its_files(tmp_path: Path) -> None:
    media, size = MediaStore(), TinySize(max_tiles=9)
    tiny_model(["Which plate?"] * 9, media, family="llava_onevision", size=size, vocab_size=400).save(tmp_path)
    large = noise(media, 900, 700)
    tokens = {}
    for bound in (None, 6 * 64**2, 1000):
        opened = load_model(tmp_path, media, LoadSettings(max_pixels=bound))
        opened.save(tmp_path / "again")
        again = load_model(tmp_path / "again", media)
        assert again.view == opened.view
        [features] = again.encode_images([large])
        tokens[bound] = len(features.tokens)
        assert tokens[bound] == again.view.token_count(large)
    # A square of nine tiles without its padding, one of two by three, and the least that there is: a single tile.
    assert tokens == {None: 64 + 18 * 25, 6 * 64**2: 64 + 16 * 21, 1000: 64 + 6 * 9}


def test_a_llava_onevision_whose_files_disagree_is_refused(tmp_path: Path) -> None:
    tiny_model(["Which plate?"] * 9, MediaStore(), family="llava_onevision", vocab_size=400).save(tmp_path)
    pixels = json.loads((tmp_path / "preprocessor_config.json").read_text())
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(pixels | {"image_grid_pinpoints": [[64, 128]]}))
    with pytest.raises(UserError, match=r"image_grid_pinpoints .* must be the same, and whole tiles of 64 px"):
        load_model(tmp_path, MediaStore())
