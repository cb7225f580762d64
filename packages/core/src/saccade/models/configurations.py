"""What the JSON files of a checkpoint may ask of whoever loads it, looked at before anything is built of them.

A configuration may name code of a repository as its attention, and numbers that take hours or more memory than there
is. Both are refused by its text and the size of the weight files. Nothing here needs torch.
"""

import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from saccade.errors import UserError
from saccade.models.checkpoint import image_settings

_IMPLEMENTATION = re.compile(r"_?(attn|experts)_implementation(_internal)?")
_IMPLEMENTATIONS = ("eager", "sdpa", "flex_attention", "batched_mm", "grouped_mm")
_OF_PACKAGES = {"flash_attention_2": "flash_attn", "flash_attention_3": "flash_attn_interface"}
"""Where the package is missing, transformers would download a kernel in its place."""
_QUANTISED = ("awq", "gptq", "bitsandbytes")
"""Those whose code is a package that the user has installed; others download kernels."""

_MOST = {
    re.compile(r"(?!vocab_size)(.*_)?(layers?|depths?|heads|experts|blocks|stages|queries)(_.*)?"): 1 << 12,
    re.compile(r"num_labels"): 1 << 16,
    re.compile(r"(.*_)?(sizes?|dims?|channels?|width|features|embeddings|positions)(_.*)?|d_model"): 1 << 24,
}
"""By the names of sizes; ten times and more what published models have."""
_HIDDEN, _WIDE = ("hidden_size", "d_model", "embed_dim"), ("hidden_size", "intermediate_size", "ffn_dim", "mlp_dim")
_BESIDE = ("vision_config", "quantization_config", "per_layer_config")
"""What may stand beside the sizes of a language model."""
_LAYERS = ("num_hidden_layers", "depth", "num_layers", "encoder_layers", "decoder_layers")

_SIDE, _AREA = 1 << 14, 1 << 26
"""Most pixels of a view along a side, and in all: as many as a picture may have."""


def check_configuration(directory: Path, config: Mapping[str, Any]) -> None:
    """UserError when ``config``, of the directory's ``config.json``, asks for foreign code or absurd sizes."""
    file = directory / "config.json"
    files = (path for kind in ("safetensors", "bin") for path in directory.rglob(f"*.{kind}"))
    weights = sum(path.stat().st_size for path in files if path.is_file())
    for part in _objects(config):
        for name, value in part.items():
            if _IMPLEMENTATION.fullmatch(name):
                _check_implementation(file, name, value)
            for number in value if isinstance(value, list) else [value]:
                if type(number) is int and number > _most(name):
                    raise UserError(f"{file} says {name}={number:,}, which no model has; copy the checkpoint again")
        _check_quantisation(file, part.get("quantization_config"))
        needed = _fewest_weights(part)
        # Weights of four bits are the smallest that there are.
        if weights and needed > 2 * weights:
            raise UserError(
                f"{file} describes a model of {needed:,} weights or more, and its files have {weights:,} bytes; copy "
                "the checkpoint again"
            )
    check_pixels(directory)


def check_pixels(directory: Path) -> None:
    """UserError when the directory's image processor would make views of more pixels than any picture may have."""
    file, found = image_settings(directory)
    # Those of the Qwen and GLM families have areas where others have sides.
    has_areas = any(name in str(found.get("image_processor_type")) for name in ("Qwen", "Glm"))
    for part in _objects(found):
        for name, value in part.items():
            most = _AREA if has_areas or "pixels" in name else _SIDE
            # Of an area only the least makes pictures larger.
            if type(value) is int and value > most and not (most == _AREA and name in ("longest_edge", "max_pixels")):
                raise UserError(f"{file} says {name}={value:,}, which no picture has; copy the checkpoint again")


def _objects(value: object) -> Iterator[Mapping[str, Any]]:
    """The object itself and all that lie in it."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
        if isinstance(one, dict | list):
            waiting += one.values() if isinstance(one, dict) else one


def _check_implementation(file: Path, name: str, value: object) -> None:
    for one in value.values() if isinstance(value, dict) else [value]:
        package = _OF_PACKAGES.get(str(one))
        if one is not None and one not in _IMPLEMENTATIONS and not (package and find_spec(package)):
            missing = f" (needs the package {package}, which is not installed)" if package else ""
            raise UserError(
                f"{file} asks for {name}={str(one)[:80]!a}{missing}: code that comes with no installed package is "
                "never run; remove that line"
            )


def _check_quantisation(file: Path, asked: object) -> None:
    method = asked.get("quant_method", "bitsandbytes") if isinstance(asked, dict) else None
    if asked is not None and method not in _QUANTISED:
        raise UserError(
            f"{file} asks for weights quantised by {str(method)[:80]!a}, which need code of others to be loaded; use "
            "the checkpoint in bfloat16 or float32"
        )


def _most(name: str) -> float:
    return min((most for pattern, most in _MOST.items() if pattern.fullmatch(name)), default=float("inf"))


def _fewest_weights(part: Mapping[str, Any]) -> int:
    """Weights that a model with these sizes has at least: the widest matrix of each layer, and the embedding."""
    if any(isinstance(part.get(name), dict) for name in part if name.endswith("_config") and name not in _BESIDE):
        # What stands beside the configurations of its parts is often left over from another model.
        return 0
    hidden = max(_number(part, name) for name in _HIDDEN)
    widest = max(_number(part, name) for name in _WIDE)
    layers = max(_number(part, name) for name in _LAYERS)
    return hidden * max(_number(part, "vocab_size"), max(1, layers) * widest)


def _number(part: Mapping[str, Any], name: str) -> int:
    value = part.get(name)
    return value if type(value) is int else 0
