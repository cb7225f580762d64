"""Tiny InternVL models with other language models than the family's usual one."""

from typing import Literal

import torch
from transformers import AutoConfig, InternVLConfig, InternVLForConditionalGeneration

from saccade.models.vlm import VisionLanguageModel

TextModel = Literal["llama", "qwen3"]


def with_text_model(model: VisionLanguageModel, kind: TextModel) -> VisionLanguageModel:
    """The model's sizes, tokenizer and pictures, with random weights in layers of that kind.

    Llama's have a bias wherever its configuration can ask for one.
    """
    given = model.hf.config
    names = ["vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads"]
    names += ["num_key_value_heads", "head_dim", "initializer_range", "tie_word_embeddings", "max_position_embeddings"]
    names += ["pad_token_id", "bos_token_id", "eos_token_id", "rope_parameters"]
    sizes = {name: getattr(given.text_config, name) for name in names if hasattr(given.text_config, name)}
    sizes.setdefault("head_dim", sizes["hidden_size"] // sizes["num_attention_heads"])
    if kind == "llama":
        sizes |= {"attention_bias": True, "mlp_bias": True}
    config = InternVLConfig(
        text_config=AutoConfig.for_model(kind, **sizes),
        vision_config=given.vision_config,
        image_token_id=given.image_token_id,
        image_seq_length=given.image_seq_length,
        downsample_ratio=given.downsample_ratio,
        tie_word_embeddings=given.tie_word_embeddings,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        hf = InternVLForConditionalGeneration(config).eval()
    return VisionLanguageModel(hf, model.tokenizer, model.image_processor, model.media)
