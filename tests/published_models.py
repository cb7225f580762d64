"""Random models of a few thousand weights in the files that publishers wrote: ``published_files.json`` has those files.

Only numbers are made smaller: keys, names of weights, shards and places of chat templates stay as they were.
"""

import copy
import importlib.util
import json
import re
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoConfig, AutoModelForImageTextToText, PreTrainedModel

from saccade.models.quiet import quiet_transformers

Json = dict[str, Any]
_FILES = json.loads(Path(__file__).with_name("published_files.json").read_text(encoding="utf-8"))
SIZES: Mapping[str, Json] = _FILES["configs"]
FIRST_ID = 151_643
"""Of the tokens that publishers added to the byte pairs of Qwen2."""
_MERGES = 600

NESTED, OLD_NAMES = "nested", "old names"
_OLD_NAMES = {
    # As Qwen2.5-VL was published, and as transformers wrote it up to 4.57.
    "qwen2_5_vl": ((r"^model\.language_model\.", "model."), (r"^model\.visual\.", "visual.")),
    "internvl": (
        (r"^model\.language_model\.", "language_model.model."),
        (r"^lm_head\.", "language_model.lm_head."),
        (r"^model\.", ""),
    ),
    "qwen3_vl": (),
}


def config_of(name: str) -> Json:
    """The published ``config.json`` of a size, in full numbers."""
    entry = SIZES[name]
    config = config_of(entry["like"]) if "like" in entry else copy.deepcopy(entry["config"])
    for path, value in entry.get("but", {}).items():
        *parts, last = path.split(".")
        inner = config
        for part in parts:
            inner = inner[part]
        inner[last] = value
    return written_by_4_49(config) if entry.get("written_by_4_49") else config


def written_by_4_49(config: Json) -> Json:
    """A flat configuration as transformers 4.49 saved it: of the tower only what differs from the class's defaults."""
    usual = {"depth": 32, "hidden_act": "silu", "intermediate_size": 3420, "num_heads": 16, "out_hidden_size": 3584}
    usual |= {"patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2, "window_size": 112}
    usual |= {"fullatt_block_indexes": [7, 15, 23, 31]}
    tower = {name: value for name, value in config["vision_config"].items() if value != usual.get(name)}
    rope = {**config["rope_scaling"], "type": "default", "rope_type": "default"}
    return {
        **config,
        "rope_scaling": rope,
        "vision_config": {**tower, "model_type": "qwen2_5_vl", "torch_dtype": "bfloat16"},
    }


def written_by_4_52(config: Json) -> Json:
    """A flat configuration as transformers 4.52 to 4.56 saved it: the same once more below ``text_config``."""
    flat = {**config, "rope_scaling": {**config["rope_scaling"], "type": "default", "rope_type": "default"}}
    ids = {"image_token_id": None, "video_token_id": None, "model_type": "qwen2_5_vl_text"}
    text = {key: value for key, value in flat.items() if key not in ("vision_config", "transformers_version")}
    tower = {**config["vision_config"], "model_type": "qwen2_5_vl", "in_channels": 3, "initializer_range": 0.02}
    return {**flat, "text_config": {**text, **ids}, "vision_config": tower}


def shrunk(config: Json) -> Json:
    """The same configuration with small numbers; ids are those of ``small_tokenizer``."""
    small = copy.deepcopy(config)
    for part in (small, small.get("text_config", {})):
        if "num_attention_heads" in part:
            _shrink_text(
                part, len(files_of(config)["tokenizer"]["added"]), is_internvl="vision_feature_layer" in config
            )
        for key, value in part.items():
            if key.endswith("token_id") and isinstance(value, int):
                part[key] = value - FIRST_ID + small_vocabulary()
    _shrink_tower(small["vision_config"])
    if "image_seq_length" in small:
        small["image_seq_length"] = 16
    return small


def _shrink_text(text: Json, added: int, *, is_internvl: bool) -> None:
    # InternVL3's <video> lies beyond its weights; Qwen's tables have rows to spare.
    size = small_vocabulary() + added + (-1 if is_internvl else 24)
    text |= {"hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 2, "vocab_size": size}
    text |= {"num_attention_heads": 2, "num_key_value_heads": 1, "initializer_range": 0.1}
    text |= {"max_window_layers": 2} if "max_window_layers" in text else {}
    text |= {"head_dim": 32} if "head_dim" in text else {}
    if "mrope_section" in text.get("rope_scaling", {}):
        halves = [one // 4 for one in text["rope_scaling"]["mrope_section"]]
        text["rope_scaling"] = {**text["rope_scaling"], "mrope_section": halves}


def _shrink_tower(tower: Json) -> None:
    small = {
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_heads": 2,
        "num_attention_heads": 2,
        "out_hidden_size": 64,
    }
    small |= {"depth": 2, "num_hidden_layers": 2, "fullatt_block_indexes": [1], "deepstack_visual_indexes": [0, 1]}
    small |= {"num_position_embeddings": 16, "image_size": [112, 112], "initializer_range": 0.1}
    tower |= {key: value for key, value in small.items() if key in tower}


def files_of(config: Json) -> Json:
    """The files beside the weights, of the configuration's family."""
    files: Json = _FILES["files"][config["model_type"]]
    return files


def small_vocabulary() -> int:
    return 256 + _MERGES


@cache
def _bytes_and_merges(texts: tuple[str, ...]) -> str:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=small_vocabulary(), initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    assert tokenizer.get_vocab_size() == small_vocabulary()
    return str(tokenizer.to_str())


def _write_tokenizer(path: Path, files: Json) -> None:
    here = tuple(file.read_text(encoding="utf-8") for file in sorted(Path(__file__).parent.glob("*.py")))
    tokenizer = Tokenizer.from_str(_bytes_and_merges(here))
    added, config = files["tokenizer"]["added"], dict(files["tokenizer"]["config"])
    # What looks like a tag is no special token in Qwen's own files.
    special = {"<|endoftext|>", "<video>", *config["additional_special_tokens"]}
    tokens = [AddedToken(token, special=token in special, normalized=False) for token in added]
    tokenizer.add_special_tokens([token for token in tokens if token.special])
    tokenizer.add_tokens([token for token in tokens if not token.special])
    written = json.loads(tokenizer.to_str())
    ids = {token: small_vocabulary() + index for index, token in enumerate(added)}
    for one in written["added_tokens"]:
        one["id"] = ids[one["content"]]
    written["added_tokens"].sort(key=lambda one: one["id"])
    (path / "tokenizer.json").write_text(json.dumps(written, ensure_ascii=False))
    decoder = {str(one["id"]): {k: v for k, v in one.items() if k != "id"} for one in written["added_tokens"]}
    config["added_tokens_decoder"] = decoder
    template = _template(files["chat_template"])
    for place in files["template_in"]:
        if place == "tokenizer_config.json":
            config["chat_template"] = template
        else:
            text = template if place.endswith(".jinja") else json.dumps({"chat_template": template}, indent=2)
            (path / place).write_text(text, encoding="utf-8")
    (path / "tokenizer_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")


def _template(source: str) -> str:
    """TRL keeps the templates of the Qwen families as they were published."""
    if not source.startswith("trl:"):
        return source
    found = importlib.util.find_spec("trl")
    assert found is not None
    assert found.origin is not None
    return (Path(found.origin).parent / "chat_templates" / source.removeprefix("trl:")).read_text(encoding="utf-8")


def write_published(
    path: Path, name: str, *, written: Callable[[Json], Json] = lambda config: config, new_names: bool = False
) -> PreTrainedModel:
    """A small random model of a published size and its files; the model as transformers opens it, in fp32.

    ``written`` rewrites the configuration as a version of transformers did. Qwen2.5-VL and InternVL3 have their weights
    under the names that they were published with, unless ``new_names``.
    """
    path.mkdir(parents=True, exist_ok=True)
    full = config_of(name)
    files, config = files_of(full), written(shrunk(full))
    (path / "config.json").write_text(json.dumps(config, indent=2))
    _write_tokenizer(path, files)
    for file, content in files.items():
        if file.endswith(".json"):
            (path / file).write_text(json.dumps(_small_file(content), indent=2))
    with quiet_transformers(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        made = AutoConfig.from_pretrained(path)
        # All InternVL3 have a head of their own, although transformers 5 takes their files to say otherwise.
        made.tie_word_embeddings = bool(config.get("tie_word_embeddings", False))
        model = AutoModelForImageTextToText.from_config(made).eval()
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.1) if weight.ndim > 1 else None
    _write_weights(path, model, () if new_names else _OLD_NAMES[config["model_type"]])
    with quiet_transformers():
        opened: PreTrainedModel = AutoModelForImageTextToText.from_pretrained(path, dtype=torch.float32)
    return opened.eval()


def _small_file(content: Json) -> Json:
    small = dict(content)
    if content.get("size", {}).get("height"):
        small["size"] = {"height": 112, "width": 112}
    for key, value in content.items():
        if key.endswith("token_id"):
            shift = small_vocabulary() - FIRST_ID
            small[key] = [one + shift for one in value] if isinstance(value, list) else value + shift
    if "image_seq_length" in content:
        small["image_seq_length"] = 16
    return small


def _write_weights(path: Path, model: PreTrainedModel, renames: tuple[tuple[str, str], ...]) -> None:
    """Two shards in bf16 and their index, without what is tied, as publishers write them."""
    named: dict[str, torch.Tensor] = {}
    for name, weight in model.state_dict().items():
        if name == "lm_head.weight" and model.config.tie_word_embeddings:
            continue
        for old, new in renames:
            if re.search(old, name):
                name = re.sub(old, new, name)
                break
        named[name] = weight.to(torch.bfloat16).contiguous()
    names = sorted(named)
    shards = {"model-00001-of-00002.safetensors": names[::2], "model-00002-of-00002.safetensors": names[1::2]}
    for file, held in shards.items():
        save_file({name: named[name] for name in held}, path / file, metadata={"format": "pt"})
    size = sum(weight.nbytes for weight in named.values())
    index = {"metadata": {"total_size": size}, "weight_map": {n: f for f, held in shards.items() for n in held}}
    (path / "model.safetensors.index.json").write_text(json.dumps(index, indent=2))
