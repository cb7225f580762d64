"""Checkpoint directories that are damaged, mixed or no checkpoints at all: one message each."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.tiny import TinyFamily, TinySize, tiny_model
from saccade.models.vlm import load_model

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


def test_the_directory_of_a_run_is_told_from_a_checkpoint(sound: Path) -> None:
    for directory in (sound.parent, sound.parent.parent):
        with pytest.raises(
            UserError, match=rf"holds no config.json; pass one of the checkpoints inside, such as {sound}$"
        ):
            load_model(directory, MediaStore())
    with pytest.raises(UserError, match="is a file; pass the checkpoint directory"):
        load_model(sound / "config.json", MediaStore())


@pytest.mark.parametrize("family", ["qwen3_vl", "qwen2_5_vl"])
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
