"""How a run's policy reads, by its newest checkpoint: texts of tokens, and the size at which it sees a picture.

Nothing of torch is loaded for it.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from PIL import Image

from saccade.geometry import CoordinateConvention
from saccade.media.resize import FilledRule, ResizeRule, TileRule, ViewRule
from saccade.plain_files import plain_text
from saccade.types import Json

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Decode = Callable[[Sequence[int]], list[str]]
"""One text for each token."""

_MAX_BYTES = 64 << 20
_CONVENTION: CoordinateConvention = "relative_1000"
"""No size of a view depends on it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PolicyFiles:
    """Parts of a checkpoint that can be read without its weights."""

    decode: Decode
    text_of: Callable[[Sequence[int]], str]
    """The text of tokens together, special ones spelled out."""
    image_token: int | None = None
    """The placeholder of which a picture has as many as it takes tokens."""
    view: ViewRule | None = None
    resampling: Image.Resampling = Image.Resampling.BICUBIC


def policy_files_below(checkpoints: Path) -> PolicyFiles | None:
    """Those of the newest checkpoint that has a tokenizer; None where none has one that can be read."""
    try:
        files = sorted(checkpoints.glob("*/tokenizer.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return None
    inside = checkpoints.resolve()
    for file in files[:4]:
        if file.resolve().is_relative_to(inside) and (found := policy_files_in(file.parent)) is not None:
            return found
    return None


def policy_files_in(checkpoint: Path) -> PolicyFiles | None:
    """Those of one checkpoint; None where it has no tokenizer that can be read."""
    tokenizer = _tokenizer(checkpoint / "tokenizer.json")
    if tokenizer is None:
        return None
    config, pictures = (_values(checkpoint / name) for name in ("config.json", "preprocessor_config.json"))
    # Gemma has another name for it.
    token = config.get("image_token_id", config.get("image_token_index"))
    return PolicyFiles(
        decode=partial(_each, tokenizer),
        text_of=partial(_together, tokenizer),
        image_token=token if isinstance(token, int) else None,
        view=_view_rule(config, pictures),
        resampling=_resampling(pictures.get("resample")),
    )


def _view_rule(config: Mapping[str, Json], pictures: Mapping[str, Json]) -> ViewRule | None:
    """By the names of published files: edges are areas (Qwen-VL), a height is a tile's side (InternVL, Gemma)."""
    size = pictures.get("size")
    size = size if isinstance(size, Mapping) else {}
    try:
        if "height" in size:
            return TileRule(
                tile_px=_positive(size["height"]),
                tokens_per_tile=_positive(config.get("image_seq_length", config.get("mm_tokens_per_image"))),
                min_tiles=_positive(pictures.get("min_patches", 1)),
                max_tiles=min(_positive(pictures.get("max_patches", 1)), 64),
                convention=_CONVENTION,
            )
        if "max_soft_tokens" in pictures:
            side = _positive(pictures["patch_size"]) * _positive(pictures["pooling_kernel_size"])
            area = _positive(pictures["max_soft_tokens"]) * side**2
            return FilledRule(factor=side, min_pixels=area, max_pixels=area, convention=_CONVENTION)
        return ResizeRule(
            factor=_positive(pictures["patch_size"]) * _positive(pictures["merge_size"]),
            min_pixels=_positive(size.get("shortest_edge", pictures.get("min_pixels"))),
            max_pixels=_positive(size.get("longest_edge", pictures.get("max_pixels"))),
            convention=_CONVENTION,
        )
    except (KeyError, ValueError):
        return None


def _positive(value: Json) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value < 1 << 40:
        raise ValueError(f"{value!r} is no size")
    return int(value)


def _resampling(value: Json) -> Image.Resampling:
    return next((one for one in Image.Resampling if one == value), Image.Resampling.BICUBIC)


def _values(path: Path) -> Mapping[str, Json]:
    """The object of a file of JSON beside a tokenizer; empty where it cannot be read."""
    try:
        if path.resolve().parent != path.parent.resolve() or path.stat().st_size > _MAX_BYTES:
            return {}
        values = json.loads(plain_text(path))
    except (OSError, ValueError, RecursionError):  # A damaged file takes away what it would say, and nothing else.
        return {}
    return values if isinstance(values, dict) else {}


def _tokenizer(path: Path) -> "Tokenizer | None":
    from tokenizers import Tokenizer

    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        text = plain_text(path)
        json.loads(text)
        return Tokenizer.from_str(text)
    except Exception:  # The library raises bare exceptions for a file that it cannot read.
        return None


def _each(tokenizer: "Tokenizer", ids: Sequence[int]) -> list[str]:
    # Ids that the tokenizer does not have would end the process in some versions.
    known = tokenizer.get_vocab_size(with_added_tokens=True)
    return [tokenizer.decode([token], skip_special_tokens=False) if 0 <= token < known else "�" for token in ids]


def _together(tokenizer: "Tokenizer", ids: Sequence[int]) -> str:
    known = tokenizer.get_vocab_size(with_added_tokens=True)
    return str(tokenizer.decode([token for token in ids if 0 <= token < known], skip_special_tokens=False))
