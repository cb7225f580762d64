"""Checkpoint directories that are damaged, mixed or no checkpoints at all: one message each."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinyFamily, TinySize, tiny_model
from saccade.models.loading import load_model

Damage = Callable[[Path], object]


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("sound") / "run" / "checkpoints" / "sft-000002"
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48)
    tiny_model(["Which plate?"] * 9, MediaStore(), size=size, vocab_size=300, seed=3).save(path)
    return path


def with_json(name: str, *keys: str, value: object) -> Damage:
    def change(path: Path) -> None:
        content = json.loads((path / name).read_text())
        inner = content
        for key in keys[:-1]:
            inner = inner[key]
        inner[keys[-1]] = value
        (path / name).write_text(json.dumps(content))

    return change


def with_bytes(name: str, content: bytes) -> Damage:
    return lambda path: (path / name).write_bytes(content)


def with_nan(path: Path) -> None:
    weights = load_file(path / "model.safetensors")
    weights["model.language_model.norm.weight"].fill_(torch.nan)
    save_file(weights, path / "model.safetensors", metadata={"format": "pt"})


def without_eos(path: Path) -> None:
    text = (path / "tokenizer.json").read_text()
    (path / "tokenizer.json").write_text(text.replace("<|im_end|>", "<|other|>"))


def cut(path: Path) -> None:
    weights = (path / "model.safetensors").read_bytes()
    (path / "model.safetensors").write_bytes(weights[: len(weights) // 2])


DAMAGES: dict[str, Damage] = {
    r"config\.json cannot be read: .*; copy the checkpoint again": with_bytes("config.json", b""),
    r"config\.json must hold a JSON object, not list": with_bytes("config.json", b"[1]"),
    "model_type='llama' is not a family that Saccade knows": with_json("config.json", "model_type", value="llama"),
    "has no 'text_config'": with_json("config.json", "text_config", value=None),
    "has no 'vision_config'": with_json("config.json", "vision_config", value={}),
    "cannot be loaded as a vision-language model: Strict": with_json(
        "config.json", "text_config", "num_hidden_layers", value="many"
    ),
    "the shapes of its weights are not those that config.json gives": with_json(
        "config.json", "text_config", "hidden_size", value=16
    ),
    "image_token_id=99999 is no token": with_json("config.json", "image_token_id", value=99999),
    "patch_size=7 in preprocessor_config.json": with_json("preprocessor_config.json", "patch_size", value=7),
    "must give a positive shortest_edge": with_json(
        "preprocessor_config.json", "size", value={"shortest_edge": 0, "longest_edge": 0}
    ),
    "temporal_patch_size=1000000 in preprocessor_config.json": with_json(
        "preprocessor_config.json", "temporal_patch_size", value=1_000_000
    ),
    "says shortest_edge=1,000,000,000,000, which no picture has": with_json(
        "preprocessor_config.json", "size", "shortest_edge", value=10**12
    ),
    "says num_hidden_layers=1,000,000, which no model has": with_json(
        "config.json", "text_config", "num_hidden_layers", value=1_000_000
    ),
    "says depth=1,000,000,000, which no model has": with_json("config.json", "vision_config", "depth", value=10**9),
    "says num_labels=1,000,000,000, which no model has": with_json("config.json", "num_labels", value=10**9),
    "says vocab_size=1,000,000,000, which no model has": with_json(
        "config.json", "text_config", "vocab_size", value=10**9
    ),
    "describes a model of 512,000,000 weights or more, and its files have": with_json(
        "config.json", "text_config", "vocab_size", value=16_000_000
    ),
    "describes a model of 8,192,000 weights or more": with_json(
        "config.json", "text_config", "num_hidden_layers", value=4_000
    ),
    "says num_position_embeddings=100,000,000,000, which no model has": with_json(
        "config.json", "vision_config", "num_position_embeddings", value=10**11
    ),
    "cannot be loaded as a vision-language model: SafetensorError": cut,
    "vision-language model: SafetensorError: .*header": with_bytes("model.safetensors", b""),
    r"chat template cannot be used \(TemplateSyntaxError: ": with_bytes(
        "chat_template.jinja", b"{% for m in messages %}"
    ),
    r"chat template cannot be used \(ValueError: ": lambda path: (path / "chat_template.jinja").unlink(),
    r"chat template cannot be used \(TemplateError: no\)": with_bytes(
        "chat_template.jinja", b"{{ raise_exception('no') }}"
    ),
    "1 of the model's weights are not finite": with_nan,
    r"the tokenizer has \d+ tokens, the model \d+": without_eos,
}


@pytest.mark.parametrize("message", DAMAGES)
def test_a_damaged_checkpoint_is_one_message_with_its_path(sound: Path, tmp_path: Path, message: str) -> None:
    path = tmp_path / "checkpoint"
    shutil.copytree(sound, path)
    load_model(path, MediaStore())
    DAMAGES[message](path)
    with pytest.raises(UserError, match=message) as caught:
        load_model(path, MediaStore())
    assert str(path) in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


FAMILIES: tuple[TinyFamily, ...] = ("qwen3_vl", "qwen2_5_vl", "internvl")


@pytest.fixture(scope="module")
def of_family(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48, max_tiles=4)
    paths = {family: tmp_path_factory.mktemp(family) for family in FAMILIES}
    for family, path in paths.items():
        tiny_model(["Which plate?"] * 9, MediaStore(), family=family, size=size, vocab_size=300, seed=3).save(path)
    return paths


def with_text(name: str, old: str, new: str) -> Damage:
    def change(path: Path) -> None:
        text = (path / name).read_text()
        assert old in text
        (path / name).write_text(text.replace(old, new))

    return change


def without_image_end(path: Path) -> None:
    for name in ("tokenizer.json", "tokenizer_config.json"):
        with_text(name, "</img>", "</other>")(path)


TILE_DAMAGES: dict[str, Damage] = {
    "the tokenizer has no </img>, which stands beside every image": without_image_end,
    "size={'height': 32, 'width': 64} in preprocessor_config.json, but the model has tiles of 64 x 64": with_json(
        "preprocessor_config.json", "size", "height", value=32
    ),
    "image_seq_length=256 in config.json, but a tile of 64 x 64 px gives 16 tokens": with_json(
        "config.json", "image_seq_length", value=256
    ),
    "image_token_id=9999 is no token of its tokenizer": with_json("config.json", "image_token_id", value=9999),
}


@pytest.mark.parametrize("message", TILE_DAMAGES)
def test_tiles_that_do_not_fit_are_one_message_with_the_path(
    of_family: dict[str, Path], tmp_path: Path, message: str
) -> None:
    path = tmp_path / "checkpoint"
    shutil.copytree(of_family["internvl"], path)
    TILE_DAMAGES[message](path)
    with pytest.raises(UserError, match=re.escape(f"{path}: {message}")):
        load_model(path, MediaStore())


@pytest.mark.parametrize("other", FAMILIES)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_checkpoint_that_says_it_is_of_another_family_is_refused(
    of_family: dict[str, Path], tmp_path: Path, family: TinyFamily, other: TinyFamily
) -> None:
    path = tmp_path / "checkpoint"
    shutil.copytree(of_family[family], path)
    with_json("config.json", "model_type", value=other)(path)
    if family == other:
        load_model(path, MediaStore())
        return
    message = rf"^{path}/config.json says model_type='{other}', but .*: the weights are of another family"
    with pytest.raises(UserError, match=message):
        load_model(path, MediaStore())
    with_json("config.json", "architectures", value=None)(path)
    with pytest.raises(UserError, match=f"^{path}") as caught:
        load_model(path, MediaStore())
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(("family", "other"), [("qwen3_vl", "internvl"), ("internvl", "qwen3_vl")])
def test_an_image_processor_of_another_family_is_refused(
    of_family: dict[str, Path], tmp_path: Path, family: TinyFamily, other: TinyFamily
) -> None:
    path = tmp_path / "checkpoint"
    shutil.copytree(of_family[family], path)
    shutil.copy(of_family[other] / "preprocessor_config.json", path)
    with pytest.raises(UserError, match=f"{path}: preprocessor_config.json gives a .* which is not for {family}; copy"):
        load_model(path, MediaStore())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_tokenizer_that_cannot_spell_the_tags_is_refused(
    of_family: dict[str, Path], tmp_path: Path, family: TinyFamily
) -> None:
    """A word-level vocabulary knows neither tags nor bytes: everything is one unknown token."""
    path = tmp_path / "checkpoint"
    shutil.copytree(of_family[family], path)
    special = json.loads((path / "tokenizer.json").read_text())["added_tokens"]
    words = Tokenizer(WordLevel({"plate": 0, "?": 1}, unk_token="?"))
    words.add_special_tokens([token["content"] for token in special if token["special"]])
    words.save(str(path / "tokenizer.json"))
    vocabulary = words.get_vocab()
    placeholder = {"internvl": "<IMG_CONTEXT>"}.get(family, "<|image_pad|>")
    with_json("config.json", "image_token_id", value=vocabulary[placeholder])(path)
    with pytest.raises(UserError, match=f"{path}: the tokenizer cannot write '<answer>.*only byte-level BPE"):
        load_model(path, MediaStore())


def test_the_directory_of_a_run_is_told_from_a_checkpoint(sound: Path) -> None:
    for directory in (sound.parent, sound.parent.parent):
        with pytest.raises(
            UserError, match=rf"holds no config.json; pass one of the checkpoints inside, such as {sound}$"
        ):
            load_model(directory, MediaStore())
    with pytest.raises(UserError, match="is a file; pass the checkpoint directory"):
        load_model(sound / "config.json", MediaStore())


@pytest.mark.parametrize("family", FAMILIES)
def test_a_loaded_checkpoint_saves_the_same_bytes_again(tmp_path: Path, family: TinyFamily) -> None:
    """Every file of it: a resumed run starts from a loaded model and must end like one that was never killed."""
    size = TinySize(hidden=32, mlp=64, vision_hidden=32, vision_mlp=48)
    model = tiny_model(["Which plate?"] * 9, MediaStore(), family=family, size=size, vocab_size=300, seed=3)
    model.save(tmp_path / "first")
    load_model(tmp_path / "first", MediaStore()).save(tmp_path / "second")
    first, second = (
        {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("first", "second")
    )
    assert {"config.json", "model.safetensors", "preprocessor_config.json", "tokenizer.json"} <= set(first)
    assert [name for name in first if first[name] != second.get(name)] == []
    assert set(first) == set(second)


def test_an_index_names_no_weights_outside_the_checkpoint(sound: Path, tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(sound, checkpoint)
    weights = (checkpoint / "model.safetensors").rename(tmp_path / "elsewhere.safetensors")
    names = dict.fromkeys(load_file(weights), "../elsewhere.safetensors")
    (checkpoint / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": names}))
    with pytest.raises(UserError, match=r"names the weights \.\./elsewhere\.safetensors, outside the checkpoint"):
        load_model(checkpoint, MediaStore())
