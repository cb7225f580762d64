"""Tiny models of real architectures: transformers' own classes with small configurations and random weights."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerFast
from transformers.models.got_ocr2.image_processing_pil_got_ocr2 import GotOcr2ImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from saccade.media import MediaStore
from saccade.miniature.tiny_configs import TinySize, internvl, qwen2_5_vl, qwen3_vl
from saccade.models import LoadSettings, VisionLanguageModel, load_model
from saccade.models.pixels import ImageProcessor
from saccade.models.tokenizer import INTERNVL_LAYOUT, QWEN_LAYOUT, build_tokenizer

__all__ = ["TinyFamily", "TinySize", "tiny_model"]

TinyFamily = Literal["qwen3_vl", "qwen2_5_vl", "internvl"]

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
    layout = INTERNVL_LAYOUT if family == "internvl" else QWEN_LAYOUT
    tokenizer = build_tokenizer(texts, numbers=numbers, phrases=phrases, vocab_size=vocab_size, layout=layout)
    image_processor = _tiles(size) if family == "internvl" else _patches(size)
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
    """The checkpoint that is given, or else a ``tiny_model``."""
    if given is not None:
        return load_model(given, media, LoadSettings(device="cpu"))
    return tiny_model(texts, media, family=family, size=size, numbers=numbers, phrases=phrases, seed=seed)


def _build(family: TinyFamily, size: TinySize, tokenizer: PreTrainedTokenizerFast) -> PreTrainedModel:
    if family == "internvl":
        return internvl(size, tokenizer)
    return qwen3_vl(size, tokenizer) if family == "qwen3_vl" else qwen2_5_vl(size, tokenizer)


def _patches(size: TinySize) -> ImageProcessor:
    processor: ImageProcessor = Qwen2VLImageProcessorPil(
        patch_size=size.patch_px,
        temporal_patch_size=1,
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
