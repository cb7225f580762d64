"""Tiny models of Qwen's architectures: 2-VL, 2.5-VL, 3-VL with and without experts, 3.5."""

from collections.abc import Callable
from typing import Any

from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen3_5Config,
    Qwen3_5ForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLMoeConfig,
    Qwen3VLMoeForConditionalGeneration,
)

from saccade.miniature.tiny_size import TinySize, head_dim, text_config


def _vision_config(size: TinySize) -> dict[str, object]:
    """Settings that both Qwen families call by the same names."""
    return {
        "depth": size.vision_depth,
        "hidden_size": size.vision_hidden,
        "intermediate_size": size.vision_mlp,
        "num_heads": size.heads,
        "patch_size": size.patch_px,
        "spatial_merge_size": 2,
        "temporal_patch_size": size.joined_frames,
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


def _mrope_section(size: TinySize) -> list[int]:
    half = head_dim(size) // 2
    side = half // 4
    return [half - 2 * side, side, side]


def qwen3_vl(size: TinySize, tokenizer: PreTrainedTokenizerFast) -> Qwen3VLForConditionalGeneration:
    return Qwen3VLForConditionalGeneration(Qwen3VLConfig(**_qwen3_config(size, tokenizer)))


def qwen3_vl_moe(size: TinySize, tokenizer: PreTrainedTokenizerFast) -> Qwen3VLMoeForConditionalGeneration:
    """Experts of half the width of the dense model's MLP: a token meets as many weights as there."""
    experts = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": size.mlp // 2}
    return Qwen3VLMoeForConditionalGeneration(Qwen3VLMoeConfig(**_qwen3_config(size, tokenizer, **experts)))


def _qwen3_config(size: TinySize, tokenizer: PreTrainedTokenizerFast, **text: object) -> dict[str, Any]:
    rope = {"mrope_section": _mrope_section(size), "mrope_interleaved": True}
    return {
        "text_config": text_config(size, tokenizer, **rope) | text,
        "vision_config": _vision_config(size)
        | {
            "num_position_embeddings": (size.view_px // size.patch_px) ** 2,
            "deepstack_visual_indexes": [0] if size.deepstack else [],
        },
        "tie_word_embeddings": True,
        **_special_ids(tokenizer),
    }


def qwen3_5(size: TinySize, tokenizer: PreTrainedTokenizerFast) -> Qwen3_5ForConditionalGeneration:
    """Gated delta nets, and attention in each second layer."""
    kinds = ["full_attention" if layer % 2 else "linear_attention" for layer in range(size.layers)]
    rope = {"mrope_section": _mrope_section(size), "mrope_interleaved": True, "partial_rotary_factor": 1.0}
    net = {
        "linear_num_key_heads": size.kv_heads,
        "linear_num_value_heads": size.heads,
        "linear_key_head_dim": head_dim(size),
        "linear_value_head_dim": head_dim(size),
    }
    config = Qwen3_5Config(
        text_config=text_config(size, tokenizer, **rope) | net | {"layer_types": kinds},
        vision_config=_vision_config(size) | {"num_position_embeddings": (size.view_px // size.patch_px) ** 2},
        tie_word_embeddings=True,
        **_special_ids(tokenizer),
    )
    return Qwen3_5ForConditionalGeneration(config)


def qwen2_5_vl(size: TinySize, tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLForConditionalGeneration:
    config = Qwen2_5_VLConfig(
        text_config=text_config(size, tokenizer, mrope_section=_mrope_section(size)),
        vision_config=_vision_config(size)
        | {"window_size": size.view_px, "fullatt_block_indexes": [size.vision_depth - 1]},
        tie_word_embeddings=True,
        **_special_ids(tokenizer),
    )
    return Qwen2_5_VLForConditionalGeneration(config)


def qwen2_vl(size: TinySize, tokenizer: PreTrainedTokenizerFast) -> Qwen2VLForConditionalGeneration:
    vision = {**_vision_config(size), "embed_dim": size.vision_hidden, "hidden_size": size.hidden}
    config = Qwen2VLConfig(
        text_config=text_config(size, tokenizer, mrope_section=_mrope_section(size)),
        vision_config=vision | {"mlp_ratio": size.vision_mlp // size.vision_hidden},
        tie_word_embeddings=True,
        **_special_ids(tokenizer),
    )
    return Qwen2VLForConditionalGeneration(config)


QWEN_MODELS: dict[str, Callable[[TinySize, PreTrainedTokenizerFast], PreTrainedModel]] = {
    "qwen2_vl": qwen2_vl,
    "qwen2_5_vl": qwen2_5_vl,
    "qwen3_vl": qwen3_vl,
    "qwen3_vl_moe": qwen3_vl_moe,
    "qwen3_5": qwen3_5,
}
