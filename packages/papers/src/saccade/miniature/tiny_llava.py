"""Tiny models of LLaVA-OneVision."""

from math import isqrt

from transformers import (
    LlavaOnevisionConfig,
    LlavaOnevisionForConditionalGeneration,
    PreTrainedTokenizerFast,
    Qwen2Config,
    SiglipVisionConfig,
)
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil

from saccade.miniature.tiny_size import TinySize
from saccade.models.pixels import ImageProcessor


def llava_onevision(
    size: TinySize, tokenizer: PreTrainedTokenizerFast, text: dict[str, object]
) -> LlavaOnevisionForConditionalGeneration:
    """The model, around a language model with the settings that all families call by the same names."""
    vision = SiglipVisionConfig(
        hidden_size=size.vision_hidden,
        num_hidden_layers=size.vision_depth,
        num_attention_heads=size.heads,
        intermediate_size=size.vision_mlp,
        image_size=size.view_px,
        patch_size=size.patch_px,
        vision_use_head=False,
    )
    config = LlavaOnevisionConfig(
        text_config=Qwen2Config(**text),
        vision_config=vision,
        image_token_index=int(tokenizer.convert_tokens_to_ids("<image>")),
        video_token_index=int(tokenizer.convert_tokens_to_ids("<video>")),
        image_grid_pinpoints=_grids(size),
        tie_word_embeddings=True,
    )
    return LlavaOnevisionForConditionalGeneration(config)


def fitted_tiles(size: TinySize, *, resample: int) -> ImageProcessor:
    """The image processor."""
    processor: ImageProcessor = LlavaOnevisionImageProcessorPil(
        size={"height": size.view_px, "width": size.view_px},
        image_grid_pinpoints=_grids(size),
        resample=resample,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return processor


def _grids(size: TinySize) -> list[list[int]]:
    sides = range(1, isqrt(size.max_tiles) + 1)
    return [[down * size.view_px, across * size.view_px] for down in sides for across in sides]
