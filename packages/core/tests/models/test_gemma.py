"""Gemma 3: windows that are left behind, pictures that see both ways, a template with rules, and files as published."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from saccade.engines.engine import Sampling
from saccade.engines.local import LocalEngine
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.chat_rendering import ConversationRenderer
from saccade.models.loading import load_model
from saccade.models.masks import MaskRule
from saccade.models.shape import read_shape
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.engine_check import Said, gap_of
from saccade.testing.family_case import FamilyCase
from saccade.testing.family_inputs import forward
from saccade.types import ImageRef, Message, Observation, SpokenConversation, SpokenMessage, Task
from saccade.waiting import run_to_end

SIZE = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48)


def gemma(media: MediaStore, layers: int = 3) -> VisionLanguageModel:
    texts = ["Which plate is red? user model"] * 9
    return tiny_model(texts, media, family="gemma3", size=replace(SIZE, layers=layers), vocab_size=600, seed=3)


@pytest.fixture(scope="module")
def model() -> VisionLanguageModel:
    return gemma(MediaStore())


def noise(media: MediaStore, seed: int) -> ImageRef:
    pixels = np.random.default_rng(seed).integers(0, 255, (70, 50, 3), dtype=np.uint8)
    return media.add(Image.fromarray(pixels))


def changed(path: Path, name: str, **settings: object) -> None:
    content = json.loads((path / name).read_text()) if (path / name).is_file() else {}
    (path / name).write_text(json.dumps(content | settings))


def with_window(model: VisionLanguageModel, folder: Path, window: int) -> VisionLanguageModel:
    model.save(folder)
    config = json.loads((folder / "config.json").read_text())
    changed(folder, "config.json", text_config=config["text_config"] | {"sliding_window": window})
    return load_model(folder, model.media)


@pytest.mark.parametrize("paged", [False, True])
@pytest.mark.parametrize("window", [8, 110, 4096])
def test_a_conversation_that_outgrows_its_window_is_sampled_as_one_forward_says(
    model: VisionLanguageModel, tmp_path: Path, window: int, paged: bool
) -> None:
    """Rows that share a prompt of 71 tokens: the middle window holds it whole at first, and not in later turns."""
    opened = with_window(model, tmp_path, window)
    chat, media = opened.chat, opened.media
    asked = chat.prompt([Message(role="user", parts=(noise(media, 0), "Which plate", noise(media, 1), "is red?"))])
    engine = LocalEngine(opened, paged=paged)

    async def talk(seed: int, slots: list) -> Said:  # type: ignore[type-arg]
        ids, shown, turns = list(asked.ids), list(asked.images), []
        for turn in range(4):
            done = await slots[seed].sample(ids, shown, Sampling(seed=seed, max_tokens=12))
            turns.append((len(ids), done))
            ids += done.ids
            if turn < 3:
                look = Observation(text=f"Here {turn}", images=(noise(media, 2 + turn + seed),))
                seen = chat.observation(look, ends_with_eos=done.finish == "eos")
                ids, shown = [*ids, *seen.ids], [*shown, *seen.images]
        slots[seed].close()
        return Said(ids=tuple(ids), images=tuple(shown), turns=tuple(turns))

    async def group() -> list[Said]:
        async with engine.sequences([f"row/{seed}" for seed in range(4)]) as slots:
            return await asyncio.gather(*(talk(seed, list(slots)) for seed in range(4)))

    played = run_to_end(group())
    assert min(len(said.ids) for said in played) > 200
    assert max(gap_of(opened, said, 1.0) for said in played) < 1e-4


@pytest.mark.parametrize(
    "wrong",
    [
        MaskRule(kinds=("sliding_attention", "full_attention"), window=32, both_ways=False),
        MaskRule(kinds=("sliding_attention", "full_attention"), window=31, both_ways=True),
        MaskRule(kinds=("sliding_attention", "full_attention"), window=33, both_ways=True),
    ],
    ids=["pictures seen one way", "window short by one", "window long by one"],
)
def test_a_wrong_mask_is_noticed(tmp_path: Path, wrong: MaskRule) -> None:
    gemma(MediaStore()).save(tmp_path)
    case = FamilyCase(tmp_path, MediaStore())
    forward(case)
    case.model.mask_rule = wrong
    with pytest.raises(AssertionError, match="nats from transformers' own forward"):
        forward(case)


def test_a_prompt_begins_once_and_observations_do_not(model: VisionLanguageModel) -> None:
    chat, bos = model.chat, model.tokenizer.bos_token_id
    image = noise(model.media, 1)
    ids = [*chat.prompt([Message(role="system", parts=("Be brief.",)), Message(role="user", parts=(image, "?"))]).ids]
    ids += [*chat.encode(" yes"), *chat.observation(Observation(text="Here", images=(image,)), ends_with_eos=False).ids]
    assert ids.count(bos) == 1
    assert ids[0] == bos
    placeholders = "<image_soft_token>" * 16
    picture = f"\n\n<start_of_image>{placeholders}<end_of_image>\n\n"
    assert chat.tokenizer.decode(ids) == (
        f"<bos><start_of_turn>user\nBe brief.\n\n{picture}?<end_of_turn>\n<start_of_turn>model\n yes<end_of_turn>\n"
        f"<start_of_turn>user\n<tool_response>{picture}Here</tool_response><end_of_turn>\n<start_of_turn>model\n"
    )


@pytest.mark.parametrize("token", ["<start_of_image>", "<image_soft_token>"])
def test_a_text_that_names_a_picture_is_none(model: VisionLanguageModel, token: str) -> None:
    with pytest.raises(UserError, match="the text itself holds the image token"):
        model.chat.prompt([Message(role="user", parts=(f"What is {token}?",))])


def test_tools_reach_a_template_that_reads_one_part_of_the_system_message(model: VisionLanguageModel) -> None:
    schema = {"type": "function", "function": {"name": "zoom", "parameters": {"type": "object"}}}
    spoken = SpokenConversation(
        task=Task(id="a/0", family="a", question="?", answer="", answer_kind="exact", images=()),
        messages=(
            SpokenMessage(role="system", parts=("Be brief.",)),
            SpokenMessage(role="user", parts=("Which?",)),
            SpokenMessage(role="assistant", parts=("red",)),
        ),
        tools=(schema,),
    )
    renderer = ConversationRenderer(model.chat)
    messages, tools = renderer.as_known(spoken)
    written = renderer.render(messages, tools, generation=False)
    assert "Be brief.\n\n# Tools" in written
    assert '"name": "zoom"' in written


def published(path: Path) -> None:
    """Rewrites the files around the weights in the way in which the family's authors wrote them."""
    config = json.loads((path / "config.json").read_text())
    text = config["text_config"]
    for name in ("rope_parameters", "layer_types", "dtype"):
        text.pop(name)
    # Every second layer sees all, by a pattern in the place of names; the sizes of rotations apart.
    text |= {
        "sliding_window_pattern": 2,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
        "rope_theta": 1e6,
        "rope_local_base_freq": 1e4,
    }
    names = ("vision_config", "mm_tokens_per_image", "boi_token_index", "eoi_token_index", "image_token_index")
    kept = {name: config[name] for name in names}
    about = {"architectures": ["Gemma3ForConditionalGeneration"], "model_type": "gemma3", "eos_token_id": [1, 6]}
    (path / "config.json").write_text(json.dumps({**about, **kept, "text_config": text, "torch_dtype": "float32"}))
    changed(
        path,
        "preprocessor_config.json",
        image_processor_type="Gemma3ImageProcessor",
        processor_class="Gemma3Processor",
        image_seq_length=16,
        do_convert_rgb=None,
        do_pan_and_scan=None,
        pan_and_scan_max_num_crops=None,
    )
    template = path / "chat_template.jinja"
    (path / "chat_template.json").write_text(json.dumps({"chat_template": template.read_text()}))
    template.unlink()
    added = json.loads((path / "tokenizer.json").read_text())["added_tokens"]
    named = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
    (path / "tokenizer_config.json").write_text(
        json.dumps(
            {
                "tokenizer_class": "GemmaTokenizer",
                "processor_class": "Gemma3Processor",
                "added_tokens_decoder": {str(token.pop("id")): token for token in added},
                "add_bos_token": True,
                "bos_token": "<bos>",
                "eos_token": "<eos>",
                "pad_token": "<pad>",
                "unk_token": "<unk>",
                "extra_special_tokens": named,
                "sp_model_kwargs": None,
                "use_default_system_prompt": False,
                **named,
            }
        )
    )


def test_a_gemma_in_the_published_layout_opens_and_is_saved_for_good(tmp_path: Path) -> None:
    media, place = MediaStore(), tmp_path / "published"
    # Their pattern ends with a layer that sees all.
    ours = gemma(media, layers=2)
    ours.save(place)
    published(place)
    opened = load_model(place, media)
    assert opened.view == ours.view
    assert opened.mask_rule == ours.mask_rule
    asked = [Message(role="user", parts=(noise(media, 1), "Which plate?"))]
    assert opened.chat.prompt(asked) == ours.chat.prompt(asked)
    assert torch.equal(opened.forbidden_ids, ours.forbidden_ids)
    ids = torch.tensor([opened.chat.prompt(asked).ids])
    features = opened.encode_images([noise(media, 1)])
    places = torch.arange(ids.shape[1]).expand(3, 1, -1)
    assert torch.equal(
        opened.hidden(opened.embed(ids, features), places), ours.hidden(ours.embed(ids, features), places)
    )
    opened.save(tmp_path / "first")
    load_model(tmp_path / "first", media).save(tmp_path / "second")
    for file in (tmp_path / "first").iterdir():
        assert file.read_bytes() == (tmp_path / "second" / file.name).read_bytes(), file.name


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("preprocessor_config.json", {"do_pan_and_scan": True}, "do_pan_and_scan=true.*set it to false"),
        ("preprocessor_config.json", {"size": {"height": 32, "width": 64}}, "the model has pictures of 64 x 64"),
        ("config.json", {"mm_tokens_per_image": 15}, "does not divide the patches of a picture into squares"),
    ],
)
def test_parts_that_do_not_fit_are_told(
    model: VisionLanguageModel, tmp_path: Path, name: str, settings: dict[str, object], said: str
) -> None:
    model.save(tmp_path)
    changed(tmp_path, name, **settings)
    with pytest.raises(UserError, match=said):
        load_model(tmp_path, model.media)


def test_texts_that_see_both_ways_are_refused(model: VisionLanguageModel, tmp_path: Path) -> None:
    model.save(tmp_path)
    text = json.loads((tmp_path / "config.json").read_text())["text_config"]
    changed(tmp_path, "config.json", text_config=text | {"use_bidirectional_attention": True})
    with pytest.raises(UserError, match="gemma3 has attention of texts in both directions, which Saccade cannot run"):
        load_model(tmp_path, model.media)


def test_memory_of_the_published_sizes_is_planned_from_the_files_alone(tmp_path: Path) -> None:
    """The configuration of the model of 4 B weights, which leaves out what its class has by default."""
    text = {"hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34, "model_type": "gemma3_text"}
    tower = {"hidden_size": 1152, "image_size": 896, "intermediate_size": 4304, "num_attention_heads": 16}
    config = {
        "architectures": ["Gemma3ForConditionalGeneration"],
        "model_type": "gemma3",
        "mm_tokens_per_image": 256,
        "text_config": text | {"rope_scaling": {"factor": 8.0, "rope_type": "linear"}, "sliding_window": 1024},
        "vision_config": tower
        | {"num_hidden_layers": 27, "patch_size": 14, "vision_use_head": False, "model_type": "siglip_vision_model"},
        "torch_dtype": "bfloat16",
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    changed(tmp_path, "preprocessor_config.json", size={"height": 896, "width": 896})
    shape = read_shape(tmp_path)
    assert (shape.weights, shape.is_half, shape.is_tied) == (4_300_079_472, True, True)
    assert (shape.merge, shape.patch_px, shape.max_pixels) == (4, 14, 896 * 896)
    assert shape.cache_numbers == 2 * 34 * 4 * 256
