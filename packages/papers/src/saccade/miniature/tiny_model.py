"""Tiny models of real architectures: transformers' own classes with small configurations and random weights."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

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
    Qwen2Config,
    Qwen3Config,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
    SmolVLMVisionConfig,
)

from saccade.media import MediaStore
from saccade.miniature.tiny_gemma import GEMMA3_LAYOUT, gemma3, gemma_tokenizer
from saccade.miniature.tiny_gemma4 import GEMMA4_LAYOUT, gemma4
from saccade.miniature.tiny_glm import GLM4V_LAYOUT, GLM_LAYOUT, glm
from saccade.miniature.tiny_llava import llava_onevision
from saccade.miniature.tiny_qwen import QWEN_MODELS
from saccade.miniature.tiny_size import TinySize, square_tower, text_config
from saccade.miniature.tiny_views import image_processor
from saccade.models import LoadSettings, VisionLanguageModel, load_model
from saccade.models.tokenizer import (
    IDEFICS3_LAYOUT,
    INTERNVL_LAYOUT,
    LLAVA_ONEVISION_LAYOUT,
    QWEN_LAYOUT,
    build_tokenizer,
)

__all__ = ["TinyFamily", "TinySize", "tiny_model", "tiny_or_given", "with_tokens"]


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
        text_config=language(**text_config(size, tokenizer)),
        vision_config=vision,
        image_token_id=int(tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>")),
        image_seq_length=(size.view_px // size.patch_px // 2) ** 2,
        tie_word_embeddings=True,
    )
    model = InternVLForConditionalGeneration(config)
    # transformers begins with zeros, from which so small a model hardly learns where things are.
    torch.nn.init.normal_(model.model.vision_tower.embeddings.position_embeddings, std=size.initializer_range)
    return model


def idefics3(size: TinySize, tokenizer: PreTrainedTokenizerFast, *, is_smol: bool) -> PreTrainedModel:
    """Idefics3, or SmolVLM, whose classes have names of their own."""
    config_of, tower_of, model_of = (
        (SmolVLMConfig, SmolVLMVisionConfig, SmolVLMForConditionalGeneration)
        if is_smol
        else (Idefics3Config, Idefics3VisionConfig, Idefics3ForConditionalGeneration)
    )
    vision = tower_of(**square_tower(size), initializer_range=size.initializer_range)
    config = config_of(
        text_config=LlamaConfig(**text_config(size, tokenizer)),
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
    views = image_processor(family, size)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _build(family, size, tokenizer)
    return VisionLanguageModel(model.eval(), tokenizer, views, media)


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
        return llava_onevision(size, tokenizer, text_config(size, tokenizer))
    if family in ("idefics3", "smolvlm"):
        return idefics3(size, tokenizer, is_smol=family == "smolvlm")
    if family in ("glm4v", "glm4v_moe", "glm46v"):
        return glm(size, tokenizer, text_config(size, tokenizer), model_type=family)
    if family == "gemma3":
        return gemma3(text_config(size, tokenizer), square_tower(size), tokenizer)
    if family in ("gemma4", "gemma4_large"):
        large = family == "gemma4_large"
        return gemma4(text_config(size, tokenizer), square_tower(size), tokenizer, is_large=large)
    return QWEN_MODELS[family](size, tokenizer)
