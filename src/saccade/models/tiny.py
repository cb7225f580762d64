"""Tiny models of real architectures: transformers' own classes with small configurations and random weights."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from transformers import (
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from saccade.media.store import MediaStore
from saccade.models.tokenizer import build_tokenizer
from saccade.models.vlm import VisionLanguageModel

TinyFamily = Literal["qwen3_vl", "qwen2_5_vl"]

_BOX_FILTER = 4  # PIL.Image.Resampling.BOX: a view is the exact mean of the pixels under it.


@dataclass(frozen=True, kw_only=True, slots=True)
class TinySize:
    """The size of a tiny model and of its views. The default has 0.26 M parameters."""

    hidden: int = 64
    layers: int = 2
    heads: int = 4
    kv_heads: int = 2
    mlp: int = 192
    vision_depth: int = 1
    vision_hidden: int = 64
    vision_mlp: int = 128
    patch_px: int = 8
    view_px: int = 64
    """Side of the square view that a square image is resized to, in pixels."""
    initializer_range: float = 0.1
    """About 1 / sqrt(hidden): the usual 0.02 leaves so small a model on a plateau."""
    deepstack: bool = False


def tiny_model(
    texts: Iterable[str],
    media: MediaStore,
    *,
    family: TinyFamily = "qwen3_vl",
    size: TinySize = TinySize(),
    numbers: Sequence[int] = (),
    phrases: Sequence[str] = (),
    vocab_size: int = 1024,
    seed: int = 0,
) -> VisionLanguageModel:
    """A randomly initialised model with a tokenizer trained on ``texts``; the same seed gives the same weights."""
    tokenizer = build_tokenizer(texts, numbers=numbers, phrases=phrases, vocab_size=vocab_size)
    image_processor = Qwen2VLImageProcessorPil(
        patch_size=size.patch_px,
        temporal_patch_size=1,
        merge_size=2,
        min_pixels=size.view_px**2,
        max_pixels=size.view_px**2,
        resample=_BOX_FILTER,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        build = _qwen3_vl if family == "qwen3_vl" else _qwen2_5_vl
        model = build(size, tokenizer)
    return VisionLanguageModel(model.eval(), tokenizer, image_processor, media)


def _text_config(size: TinySize, tokenizer: PreTrainedTokenizerFast, **rope: bool) -> dict[str, object]:
    head_dim = size.hidden // size.heads
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": size.hidden,
        "intermediate_size": size.mlp,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.kv_heads,
        "head_dim": head_dim,
        "initializer_range": size.initializer_range,
        "tie_word_embeddings": True,
        "max_position_embeddings": 8192,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": 10_000.0,
            "mrope_section": _mrope_section(head_dim),
            **rope,
        },
    }


def _vision_config(size: TinySize) -> dict[str, object]:
    """What both families call by the same names."""
    return {
        "depth": size.vision_depth,
        "hidden_size": size.vision_hidden,
        "intermediate_size": size.vision_mlp,
        "num_heads": size.heads,
        "patch_size": size.patch_px,
        "spatial_merge_size": 2,
        "temporal_patch_size": 1,
        "out_hidden_size": size.hidden,
        "initializer_range": size.initializer_range,
    }


def _special_ids(tokenizer: PreTrainedTokenizerFast) -> dict[str, int]:
    return {
        f"{name}_token_id": int(tokenizer.convert_tokens_to_ids(token))
        for name, token in (
            ("image", "<|image_pad|>"),
            ("video", "<|video_pad|>"),
            ("vision_start", "<|vision_start|>"),
            ("vision_end", "<|vision_end|>"),
        )
    }


def _mrope_section(head_dim: int) -> list[int]:
    half = head_dim // 2
    side = half // 4
    return [half - 2 * side, side, side]


def _qwen3_vl(size: TinySize, tokenizer: PreTrainedTokenizerFast) -> Qwen3VLForConditionalGeneration:
    config = Qwen3VLConfig(
        text_config=_text_config(size, tokenizer, mrope_interleaved=True),
        vision_config=_vision_config(size)
        | {
            "num_position_embeddings": (size.view_px // size.patch_px) ** 2,
            "deepstack_visual_indexes": [0] if size.deepstack else [],
        },
        tie_word_embeddings=True,
        **_special_ids(tokenizer),
    )
    return Qwen3VLForConditionalGeneration(config)


def _qwen2_5_vl(size: TinySize, tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLForConditionalGeneration:
    config = Qwen2_5_VLConfig(
        text_config=_text_config(size, tokenizer),
        vision_config=_vision_config(size)
        | {
            "window_size": size.view_px,
            "fullatt_block_indexes": [size.vision_depth - 1],
        },
        tie_word_embeddings=True,
        **_special_ids(tokenizer),
    )
    return Qwen2_5_VLForConditionalGeneration(config)
