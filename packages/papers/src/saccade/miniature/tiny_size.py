"""The size of a tiny model, and what configurations of several architectures take from it."""

from dataclasses import dataclass

from transformers import PreTrainedTokenizerFast


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
    """Side of the square view that a square image is resized to, in pixels; of one tile in the InternVL family."""
    max_tiles: int = 1
    """Tiles that an image is cut into at most, without the view of the whole, where a family has tiles; of Idefics3 and
    SmolVLM the root of it is how many lie along the longest edge."""
    initializer_range: float = 0.1
    """About 1 / sqrt(hidden): the usual 0.02 leaves so small a model on a plateau."""
    deepstack: bool = False
    joined_frames: int = 1
    """Frames of a video in a patch of Qwen's towers; 2 in those that were published."""


def text_config(size: TinySize, tokenizer: PreTrainedTokenizerFast, **rope: object) -> dict[str, object]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": size.hidden,
        "intermediate_size": size.mlp,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.kv_heads,
        "head_dim": head_dim(size),
        "initializer_range": size.initializer_range,
        "tie_word_embeddings": True,
        "max_position_embeddings": 8192,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, **rope},
    }


def square_tower(size: TinySize) -> dict[str, object]:
    return {
        "hidden_size": size.vision_hidden,
        "num_hidden_layers": size.vision_depth,
        "num_attention_heads": size.heads,
        "intermediate_size": size.vision_mlp,
        "image_size": size.view_px,
        "patch_size": size.patch_px,
    }


def head_dim(size: TinySize) -> int:
    return size.hidden // size.heads
