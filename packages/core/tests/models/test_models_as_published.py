"""Every published size by its own files, over random weights, and in the forms that versions of transformers wrote."""

import json
import logging
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import AutoConfig, AutoModelForImageTextToText, PreTrainedModel

from published_models import SIZES, Json, config_of, files_of, write_published, written_by_4_49, written_by_4_52
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.checkpoint import LoadSettings, instruction_style, is_half
from saccade.models.loading import check_model, load_model, write_merged
from saccade.models.lora import LoraSettings, adapter_parameters, add_adapter
from saccade.models.quiet import quiet_transformers
from saccade.models.shape import read_shape
from saccade.models.vlm import VisionLanguageModel
from saccade.types import ImageRef, Message

QWEN2_5, QWEN3, INTERNVL = "Qwen/Qwen2.5-VL-3B-Instruct", "Qwen/Qwen3-VL-8B-Instruct", "OpenGVLab/InternVL3-1B-hf"
Written = Callable[[Json], Json]


def as_it_was(config: Json) -> Json:
    return config


def as_transformers_5(config: Json) -> Json:
    """Nested, with ``rope_parameters`` and ``dtype``: what the installed version writes."""
    made = AutoConfig.for_model(**config)
    made.tie_word_embeddings = config.get("tie_word_embeddings", False)
    written: Json = json.loads(made.to_json_string())
    return written


FORMS: dict[str, tuple[str, Written, bool]] = {
    "Qwen2.5-VL as published": (QWEN2_5, as_it_was, False),
    "Qwen2.5-VL-7B, untied": ("Qwen/Qwen2.5-VL-7B-Instruct", as_it_was, False),
    "Qwen2.5-VL written by 4.49": (QWEN2_5, written_by_4_49, False),
    "Qwen2.5-VL written by 4.52": (QWEN2_5, written_by_4_52, False),
    "Qwen2.5-VL written by 5": (QWEN2_5, as_transformers_5, True),
    "Qwen3-VL-8B as published": (QWEN3, as_it_was, False),
    "Qwen3-VL-2B, tied": ("Qwen/Qwen3-VL-2B-Instruct", as_it_was, False),
    "InternVL3 as published": (INTERNVL, as_it_was, False),
    "InternVL3-38B with the large tower": ("OpenGVLab/InternVL3-38B-hf", as_it_was, False),
    "InternVL3 written by 5": (INTERNVL, as_transformers_5, True),
}


@pytest.fixture(scope="module", params=FORMS)
def opened(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, PreTrainedModel]:
    name, written, new_names = FORMS[request.param]
    path = tmp_path_factory.mktemp("published") / name.split("/")[1]
    return path, write_published(path, name, written=written, new_names=new_names)


def asked(model: VisionLanguageModel) -> tuple[tuple[int, ...], list[ImageRef]]:
    pixels = np.random.default_rng(0).integers(0, 255, (120, 180, 3), dtype=np.uint8)
    image = model.media.add(Image.fromarray(pixels))
    return model.chat.prompt([Message(role="user", parts=(image, "Which plate is red?"))]).ids, [image]


@torch.no_grad()
def our_logits(model: VisionLanguageModel) -> torch.Tensor:
    ids, images = asked(model)
    embedded = model.embed(torch.tensor([ids]), model.encode_images(images))
    return model.hf.lm_head(model.hidden(embedded, model.positions(ids, images)[:, None]))


@torch.no_grad()
def their_logits(model: VisionLanguageModel, hf: PreTrainedModel) -> torch.Tensor:
    """Of transformers' own model, for the same ids and pixels."""
    ids, images = asked(model)
    tokens, patches = torch.tensor([ids]), model.patches.get(images)
    if model.family.model_type == "internvl":
        return hf(input_ids=tokens, pixel_values=torch.cat([one.values for one in patches])).logits
    # A still picture stands in both frames of a patch.
    still = torch.cat([one.values for one in patches]).unflatten(-1, (3, 1, -1))
    return hf(
        input_ids=tokens,
        pixel_values=still.expand(-1, -1, 2, -1).flatten(1),
        image_grid_thw=torch.tensor([[1, one.rows, one.columns] for one in patches]),
        mm_token_type_ids=(tokens == model.image_token_id).int(),
    ).logits


def plainly(path: Path) -> PreTrainedModel:
    with quiet_transformers():
        hf, told = AutoModelForImageTextToText.from_pretrained(path, dtype=torch.float32, output_loading_info=True)
    assert not any(told.values()), told
    return hf.eval()


def test_it_says_what_transformers_says_and_what_is_saved_says_the_same(
    opened: tuple[Path, PreTrainedModel], tmp_path: Path
) -> None:
    path, hf = opened
    check_model(path)
    model = load_model(path, MediaStore())
    ours = our_logits(model)
    torch.testing.assert_close(ours, their_logits(model, hf), atol=2e-5, rtol=0)
    assert ours.std() > 0.1
    model.save(tmp_path / "saved")
    torch.testing.assert_close(their_logits(model, plainly(tmp_path / "saved")), ours, atol=2e-5, rtol=0)
    again = load_model(tmp_path / "saved", model.media)
    assert torch.equal(our_logits(again), ours)
    assert again.view == model.view
    assert is_half(json.loads((path / "config.json").read_text()))


def test_an_adapter_of_it_is_saved_and_merged(opened: tuple[Path, PreTrainedModel], tmp_path: Path) -> None:
    model = load_model(opened[0], MediaStore())
    before = our_logits(model)
    add_adapter(model, LoraSettings(rank=2))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        for weight in adapter_parameters(model).values():
            torch.nn.init.normal_(weight, std=0.1)
    after = our_logits(model)
    assert not torch.allclose(after, before, atol=1e-2)
    model.save(tmp_path / "adapter")
    check_model(tmp_path / "adapter")
    assert torch.equal(our_logits(load_model(tmp_path / "adapter", model.media)), after)
    write_merged(tmp_path / "adapter", tmp_path / "merged", dtype="float32")
    torch.testing.assert_close(their_logits(model, plainly(tmp_path / "merged")), after, atol=5e-4, rtol=0)


@pytest.mark.parametrize("name", SIZES)
def test_the_weights_of_each_size_are_those_that_its_publisher_counts(name: str, tmp_path: Path) -> None:
    config = config_of(name)
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "preprocessor_config.json").write_text(json.dumps(files_of(config)["preprocessor_config.json"]))
    shape = read_shape(tmp_path)
    billions = float(name.split("-")[2 if "Qwen" in name else 1].removesuffix("B"))
    assert shape.weights == SIZES[name].get("weights", shape.weights)
    # A name counts the language model alone, or rounds; the towers have 0.3 to 6 billion.
    assert 0.9 * billions < shape.weights / 1e9 < 1.3 * billions + 0.1
    assert shape.is_tied == bool(config.get("tie_word_embeddings"))
    assert shape.is_half
    assert shape.max_pixels == {"qwen2_5_vl": 12845056, "qwen3_vl": 16777216, "internvl": 448**2}[shape.model_type]
    assert instruction_style(tmp_path) == "full"


def test_a_token_without_weights_in_a_question_is_spelled(tmp_path: Path) -> None:
    """InternVL3's tokenizer has <video>, which its processor replaces, and the model no weights for it."""
    hf = write_published(tmp_path, INTERNVL)
    model = load_model(tmp_path, MediaStore())
    assert model.tokenizer.convert_tokens_to_ids("<video>") == model.vocab_size == hf.config.text_config.vocab_size
    ids = model.chat.prompt([Message(role="user", parts=("What is <video>?",))]).ids
    assert max(ids) < model.vocab_size
    assert "What is <video>?" in model.tokenizer.decode(list(ids))
    assert int(model.forbidden_ids.max()) < model.vocab_size


def changed(path: Path, file: str, **changes: object) -> None:
    found = {**json.loads((path / file).read_text()), **changes}
    (path / file).write_text(json.dumps({key: value for key, value in found.items() if value is not None}))


def test_an_image_processor_is_found_by_its_first_name_and_in_the_file_of_transformers_5(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    write_published(tmp_path, QWEN2_5)
    expected = load_model(tmp_path, MediaStore(), LoadSettings(max_pixels="checkpoint")).view
    changed(tmp_path, "preprocessor_config.json", image_processor_type="Qwen2_5_VLImageProcessor")
    assert load_model(tmp_path, MediaStore(), LoadSettings(max_pixels="checkpoint")).view == expected
    settings = json.loads((tmp_path / "preprocessor_config.json").read_text())
    (tmp_path / "preprocessor_config.json").unlink()
    nested = {"processor_class": "Qwen2_5_VLProcessor", "image_processor": settings}
    (tmp_path / "processor_config.json").write_text(json.dumps(nested))
    with caplog.at_level(logging.WARNING):
        assert load_model(tmp_path, MediaStore(), LoadSettings(max_pixels="checkpoint")).view == expected
    assert read_shape(tmp_path).max_pixels == 12845056
    nested["image_processor"] = {**settings, "min_pixels": 10**12}
    (tmp_path / "processor_config.json").write_text(json.dumps(nested))
    with pytest.raises(
        UserError, match=r"processor_config\.json says min_pixels=1,000,000,000,000, which no picture has"
    ):
        load_model(tmp_path, MediaStore())


@pytest.mark.parametrize(
    ("name", "changes", "message"),
    [
        (QWEN2_5, {"vision_config": None}, "has no 'vision_config', which says the model's sizes"),
        (QWEN2_5, {"hidden_size": None}, "has no 'text_config', which says the model's sizes"),
        (QWEN2_5, {"num_hidden_layers": 4000}, "describes a model of 24,576,000 weights or more, and its files have"),
        (QWEN2_5, {"num_hidden_layers": 10**6}, "num_hidden_layers=1,000,000, which no model has"),
        (QWEN2_5, {"model_type": "mllama"}, "model_type='mllama' is not a family"),
        (QWEN3, {"text_config": None, "hidden_size": 64, "vocab_size": 902}, "has no 'text_config', which says"),
        (INTERNVL, {"model_type": "internvl_chat", "auto_map": {}}, "is not a family .*; copies that need no code"),
        (QWEN2_5, {"hidden_act": "of_next_year"}, r"KeyError: .*; transformers [\d.]+ does not take it as it is$"),
    ],
)
def test_what_is_wrong_with_a_configuration_is_told(
    tmp_path: Path, name: str, changes: dict[str, object], message: str
) -> None:
    write_published(tmp_path, name)
    load_model(tmp_path, MediaStore())
    changed(tmp_path, "config.json", **changes)
    with pytest.raises(UserError, match=message) as caught:
        load_model(tmp_path, MediaStore())
    assert str(tmp_path) in str(caught.value)
    # Nothing is damaged here, and a copy would be the same.
    assert "which no model has" in message or "describes" in message or "copy the checkpoint" not in str(caught.value)
