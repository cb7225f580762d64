"""Tiny checkpoints of the page encoders' real classes, with random weights."""

import string
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    ColModernVBertConfig,
    ColModernVBertForRetrieval,
    ColModernVBertProcessor,
    ColPaliConfig,
    ColPaliForRetrieval,
    ColPaliProcessor,
    ColQwen2Config,
    ColQwen2ForRetrieval,
    ColQwen2Processor,
    PreTrainedTokenizerFast,
)
from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil
from transformers.models.siglip.image_processing_pil_siglip import SiglipImageProcessorPil

DIMENSION = 16

_TEXT = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2}
_VISION = {**_TEXT, "model_type": "siglip_vision_model", "num_hidden_layers": 1}


def colqwen2(folder: Path) -> None:
    """Pages of at most 36 patches."""
    names = ["<|image_pad|>", "<|video_pad|>", "<|vision_start|>", "<|vision_end|>"]
    tokenizer = _tokenizer(["<|endoftext|>", "<|im_start|>", "<|im_end|>", *names], pad_token="<|endoftext|>")
    image, video, start, end = tokenizer.convert_tokens_to_ids(names)
    pixels = Qwen2VLImageProcessorPil(min_pixels=56 * 56, max_pixels=28 * 28 * 36)
    vision_config = {"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2}
    rotation = {"type": "mrope", "mrope_section": [2, 3, 3]}
    ends = {"bos_token_id": None, "eos_token_id": None}
    text_config = {**_TEXT, **ends, "num_key_value_heads": 1, "rope_scaling": rotation, "vocab_size": len(tokenizer)}
    config = ColQwen2Config(
        vlm_config={
            "model_type": "qwen2_vl",
            "text_config": text_config,
            "vision_config": vision_config,
            "image_token_id": image,
            "video_token_id": video,
            "vision_start_token_id": start,
            "vision_end_token_id": end,
        },
        embedding_dim=DIMENSION,
    )
    ColQwen2Processor(pixels, tokenizer).save_pretrained(folder)
    ColQwen2ForRetrieval(config).save_pretrained(folder)


def colpali(folder: Path) -> None:
    """Pages of 4 x 4 patches."""
    tokenizer = _tokenizer(
        ["<pad>", "<bos>", "<eos>", "<image>"], pad_token="<pad>", bos_token="<bos>", eos_token="<eos>"
    )
    tokenizer.image_token, tokenizer.image_token_id = "<image>", tokenizer.convert_tokens_to_ids("<image>")
    pixels = SiglipImageProcessorPil(size={"height": 56, "width": 56})
    pixels.image_seq_length = 16
    # The processor adds words of its own to the tokenizer.
    processor = ColPaliProcessor(pixels, tokenizer)
    text_config = {**_TEXT, "model_type": "gemma", "num_key_value_heads": 1, "head_dim": 16}
    config = ColPaliConfig(
        vlm_config={
            "model_type": "paligemma",
            "text_config": {**text_config, "vocab_size": len(tokenizer)},
            "vision_config": {**_VISION, "image_size": 56, "patch_size": 14, "projection_dim": 32},
            "image_token_id": tokenizer.image_token_id,
            "projection_dim": 32,
        },
        embedding_dim=DIMENSION,
    )
    processor.save_pretrained(folder)
    ColPaliForRetrieval(config).save_pretrained(folder)


def colmodernvbert(folder: Path) -> None:
    """Pages as tiles of 4 tokens each and one tile of the whole."""
    special = ["<pad>", "<bos>", "<eos>", "<fake_token_around_image>", "<image>", "<end_of_utterance>", "<global-img>"]
    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    tokenizer = _tokenizer(
        [*special, *tiles, "<|begin_of_text|>"], pad_token="<pad>", bos_token="<bos>", eos_token="<eos>"
    )
    pixels = Idefics3ImageProcessorPil(size={"longest_edge": 112}, max_image_size={"longest_edge": 56})
    processor = ColModernVBertProcessor(pixels, tokenizer, image_seq_len=4)
    ids = {f"{name}_token_id": tokenizer.convert_tokens_to_ids(f"<{name}>") for name in ("pad", "bos", "eos")}
    ids |= {"cls_token_id": ids["bos_token_id"], "sep_token_id": ids["eos_token_id"]}
    config = ColModernVBertConfig(
        vlm_config={
            "model_type": "modernvbert",
            "text_config": {**_TEXT, **ids, "model_type": "modernbert", "vocab_size": len(tokenizer)},
            "vision_config": {**_VISION, "image_size": 56, "patch_size": 14},
            "image_token_id": tokenizer.convert_tokens_to_ids("<image>"),
            "pixel_shuffle_factor": 2,
        },
        embedding_dim=DIMENSION,
    )
    processor.save_pretrained(folder)
    ColModernVBertForRetrieval(config).save_pretrained(folder)


def _tokenizer(special: list[str], **roles: str) -> Any:
    """A token for each letter."""
    words = {word: index for index, word in enumerate([*special, "[UNK]", *string.printable])}
    letters = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    letters.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    return PreTrainedTokenizerFast(
        tokenizer_object=letters, unk_token="[UNK]", additional_special_tokens=special, **roles
    )
