"""Tiny models of real architectures: transformers' own classes with small configurations and random weights."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any, Literal

import torch
from tokenizers import AddedToken
from transformers import (
    Idefics3Config,
    Idefics3ForConditionalGeneration,
    Idefics3VisionConfig,
    InternVLConfig,
    InternVLForConditionalGeneration,
    InternVLVisionConfig,
    LlamaConfig,
    PreTrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2Config,
    Qwen2VLConfig,
    Qwen2VLForConditionalGeneration,
    Qwen3_5Config,
    Qwen3_5ForConditionalGeneration,
    Qwen3Config,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
    Qwen3VLMoeConfig,
    Qwen3VLMoeForConditionalGeneration,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
    SmolVLMVisionConfig,
)
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.smolvlm.image_processing_pil_smolvlm import SmolVLMImageProcessorPil

from saccade.media import MediaStore
from saccade.miniature.tiny_gemma import GEMMA3_LAYOUT, gemma3, gemma_images, gemma_tokenizer
from saccade.miniature.tiny_gemma4 import GEMMA4_LAYOUT, gemma4, gemma4_images
from saccade.miniature.tiny_glm import GLM4V_LAYOUT, GLM_LAYOUT, glm, glm_patches
from saccade.miniature.tiny_llava import fitted_tiles, llava_onevision
from saccade.models import LoadSettings, VisionLanguageModel, load_model
from saccade.models.pixels import ImageProcessor
from saccade.models.tokenizer import (
    IDEFICS3_LAYOUT,
    INTERNVL_LAYOUT,
    LLAVA_ONEVISION_LAYOUT,
    QWEN_LAYOUT,
    build_tokenizer,
)

__all__ = ["TinyFamily", "TinySize", "tiny_model", "tiny_or_given", "with_tokens"]


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


def _text_config(size: TinySize, tokenizer: PreTrainedTokenizerFast, **rope: object) -> dict[str, object]:
    return {
        "vocab_size": len(tokenizer),
        "hidden_size": size.hidden,
        "intermediate_size": size.mlp,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.kv_heads,
        "head_dim": _head_dim(size),
        "initializer_range": size.initializer_range,
        "tie_word_embeddings": True,
        "max_position_embeddings": 8192,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0, **rope},
    }


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


def _head_dim(size: TinySize) -> int:
    return size.hidden // size.heads


def _mrope_section(size: TinySize) -> list[int]:
    half = _head_dim(size) // 2
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
        "text_config": _text_config(size, tokenizer, **rope) | text,
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
        "linear_key_head_dim": _head_dim(size),
        "linear_value_head_dim": _head_dim(size),
    }
    config = Qwen3_5Config(
        text_config=_text_config(size, tokenizer, **rope) | net | {"layer_types": kinds},
        vision_config=_vision_config(size) | {"num_position_embeddings": (size.view_px // size.patch_px) ** 2},
        tie_word_embeddings=True,
        **_special_ids(tokenizer),
    )
    return Qwen3_5ForConditionalGeneration(config)


def qwen2_5_vl(size: TinySize, tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLForConditionalGeneration:
    config = Qwen2_5_VLConfig(
        text_config=_text_config(size, tokenizer, mrope_section=_mrope_section(size)),
        vision_config=_vision_config(size)
        | {"window_size": size.view_px, "fullatt_block_indexes": [size.vision_depth - 1]},
        tie_word_embeddings=True,
        **_special_ids(tokenizer),
    )
    return Qwen2_5_VLForConditionalGeneration(config)


def qwen2_vl(size: TinySize, tokenizer: PreTrainedTokenizerFast) -> Qwen2VLForConditionalGeneration:
    vision = {**_vision_config(size), "embed_dim": size.vision_hidden, "hidden_size": size.hidden}
    config = Qwen2VLConfig(
        text_config=_text_config(size, tokenizer, mrope_section=_mrope_section(size)),
        vision_config=vision | {"mlp_ratio": size.vision_mlp // size.vision_hidden},
        tie_word_embeddings=True,
        **_special_ids(tokenizer),
    )
    return Qwen2VLForConditionalGeneration(config)


def internvl(
    size: TinySize, tokenizer: PreTrainedTokenizerFast, language: type[PreTrainedConfig] = Qwen2Config
) -> InternVLForConditionalGeneration:
    vision = InternVLVisionConfig(
        hidden_size=size.vision_hidden,
        num_hidden_layers=size.vision_depth,
        num_attention_heads=size.heads,
        intermediate_size=size.vision_mlp,
        attention_bias=True,
        image_size=size.view_px,
        patch_size=size.patch_px,
        initializer_range=size.initializer_range,
    )
    config = InternVLConfig(
        text_config=language(**_text_config(size, tokenizer)),
        vision_config=vision,
        image_token_id=int(tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>")),
        image_seq_length=(size.view_px // size.patch_px // 2) ** 2,
        tie_word_embeddings=True,
    )
    model = InternVLForConditionalGeneration(config)
    # transformers begins with zeros, from which so small a model hardly learns where things are.
    torch.nn.init.normal_(model.model.vision_tower.embeddings.position_embeddings, std=size.initializer_range)
    return model


def _square_tower(size: TinySize) -> dict[str, object]:
    return {
        "hidden_size": size.vision_hidden,
        "num_hidden_layers": size.vision_depth,
        "num_attention_heads": size.heads,
        "intermediate_size": size.vision_mlp,
        "image_size": size.view_px,
        "patch_size": size.patch_px,
    }


def idefics3(size: TinySize, tokenizer: PreTrainedTokenizerFast, *, is_smol: bool) -> PreTrainedModel:
    """Idefics3, or SmolVLM, whose classes have names of their own."""
    config_of, tower_of, model_of = (
        (SmolVLMConfig, SmolVLMVisionConfig, SmolVLMForConditionalGeneration)
        if is_smol
        else (Idefics3Config, Idefics3VisionConfig, Idefics3ForConditionalGeneration)
    )
    vision = tower_of(**_square_tower(size), initializer_range=size.initializer_range)
    config = config_of(
        text_config=LlamaConfig(**_text_config(size, tokenizer)),
        vision_config=vision,
        image_token_id=int(tokenizer.convert_tokens_to_ids("<image>")),
        scale_factor=2,
        tie_word_embeddings=True,
    )
    model: PreTrainedModel = model_of(config)
    return model


TinyFamily = Literal[
    "qwen3_vl",
    "qwen2_5_vl",
    "internvl",
    "idefics3",
    "smolvlm",
    "glm4v",
    "glm4v_moe",
    "glm46v",
    "llava_onevision",
    "qwen2_vl",
    "internvl3_5",
    "gemma3",
    "gemma4",
    "gemma4_large",
    "qwen3_vl_moe",
    "qwen3_5",
]
_LAYOUTS = {
    "internvl": INTERNVL_LAYOUT,
    "idefics3": IDEFICS3_LAYOUT,
    "smolvlm": IDEFICS3_LAYOUT,
    "glm4v": GLM4V_LAYOUT,
    "glm4v_moe": GLM_LAYOUT,
    "glm46v": GLM_LAYOUT,
    "llava_onevision": LLAVA_ONEVISION_LAYOUT,
    "internvl3_5": INTERNVL_LAYOUT,
}

_BOX_FILTER = 4  # PIL.Image.Resampling.BOX: a view is the exact mean of the pixels under it.


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
    if family.startswith("gemma"):
        of_gemma = GEMMA3_LAYOUT if family == "gemma3" else GEMMA4_LAYOUT
        tokenizer = gemma_tokenizer(texts, numbers=numbers, phrases=phrases, vocab_size=vocab_size, layout=of_gemma)
    else:
        layout = _LAYOUTS.get(family, QWEN_LAYOUT)
        tokenizer = build_tokenizer(texts, numbers=numbers, phrases=phrases, vocab_size=vocab_size, layout=layout)
    image_processor = _image_processor(family, size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _build(family, size, tokenizer)
    return VisionLanguageModel(model.eval(), tokenizer, image_processor, media)


def tiny_or_given(
    given: Path | None,
    texts: Iterable[str],
    media: MediaStore,
    *,
    family: TinyFamily = "qwen3_vl",
    size: TinySize = TinySize(),
    numbers: Sequence[int] = (),
    phrases: Sequence[str] = (),
    seed: int = 0,
) -> VisionLanguageModel:
    """The checkpoint that is given, or else a ``tiny_model``. ``numbers`` and ``phrases`` are of the latter alone."""
    if given is not None:
        return load_model(given, media, LoadSettings(device="cpu"))
    return tiny_model(texts, media, family=family, size=size, numbers=numbers, phrases=phrases, seed=seed)


def with_tokens(model: VisionLanguageModel, texts: Sequence[str], *, seed: int) -> VisionLanguageModel:
    """The model with a token for each of the texts, their weights random; those that it has already stay.

    What a checkpoint was never to write, such as the call of a tool, it spells otherwise letter by letter.
    """
    tokenizer, hf = model.tokenizer, model.hf
    known = tokenizer.get_vocab()
    tokenizer.add_tokens([AddedToken(text, special=False, normalized=False) for text in texts if text not in known])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        # As the other rows began: the mean of all would tell new tokens apart by noise alone.
        hf.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    return VisionLanguageModel(hf, tokenizer, model.image_processor, model.media)


def _build(family: TinyFamily, size: TinySize, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    if family == "internvl":
        return internvl(size, tokenizer)
    if family == "internvl3_5":
        return internvl(size, tokenizer, Qwen3Config)
    if family == "llava_onevision":
        return llava_onevision(size, tokenizer, _text_config(size, tokenizer))
    if family in ("idefics3", "smolvlm"):
        return idefics3(size, tokenizer, is_smol=family == "smolvlm")
    if family in ("glm4v", "glm4v_moe", "glm46v"):
        return glm(size, tokenizer, _text_config(size, tokenizer), model_type=family)
    if family == "gemma3":
        return gemma3(_text_config(size, tokenizer), _square_tower(size), tokenizer)
    if family in ("gemma4", "gemma4_large"):
        large = family == "gemma4_large"
        return gemma4(_text_config(size, tokenizer), _square_tower(size), tokenizer, is_large=large)
    qwen: Callable[[TinySize, PreTrainedTokenizerFast], PreTrainedModel] = {
        "qwen2_vl": qwen2_vl,
        "qwen2_5_vl": qwen2_5_vl,
        "qwen3_vl": qwen3_vl,
        "qwen3_vl_moe": qwen3_vl_moe,
        "qwen3_5": qwen3_5,
    }[family]
    return qwen(size, tokenizer)


def _image_processor(family: TinyFamily, size: TinySize) -> ImageProcessor:
    if family in ("idefics3", "smolvlm"):
        return _edge_tiles(size, SmolVLMImageProcessorPil if family == "smolvlm" else Idefics3ImageProcessorPil)
    if family in ("glm4v", "glm4v_moe", "glm46v"):
        return glm_patches(size, model_type=family, resample=_BOX_FILTER)
    if family == "llava_onevision":
        return fitted_tiles(size, resample=_BOX_FILTER)
    if family == "gemma3":
        return gemma_images(size.view_px, _BOX_FILTER)
    if family in ("gemma4", "gemma4_large"):
        return gemma4_images(size.patch_px, _BOX_FILTER)
    return _tiles(size) if family.startswith("internvl") else _patches(size)


def _edge_tiles(size: TinySize, kind: type) -> ImageProcessor:
    processor: ImageProcessor = kind(
        size={"longest_edge": isqrt(size.max_tiles) * size.view_px},
        max_image_size={"longest_edge": size.view_px},
        resample=_BOX_FILTER,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return processor


def _patches(size: TinySize) -> ImageProcessor:
    processor: ImageProcessor = Qwen2VLImageProcessorPil(
        patch_size=size.patch_px,
        temporal_patch_size=size.joined_frames,
        merge_size=2,
        min_pixels=size.view_px**2,
        max_pixels=size.view_px**2,
        resample=_BOX_FILTER,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return processor


def _tiles(size: TinySize) -> ImageProcessor:
    processor: ImageProcessor = GotOcr2ImageProcessorPil(
        size={"height": size.view_px, "width": size.view_px},
        crop_to_patches=True,
        min_patches=1,
        max_patches=size.max_tiles,
        resample=_BOX_FILTER,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return processor
