"""Tiny checkpoints of the real classes of specialist models, with random weights, saved as published ones are.

They prove that loading and inference work; what these detectors and segmenters find means nothing.
"""

import string
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from transformers import (
    BertTokenizerFast,
    CLIPTokenizerFast,
    GroundingDinoConfig,
    GroundingDinoForObjectDetection,
    Owlv2Config,
    Owlv2ForObjectDetection,
    Sam2Config,
    Sam2Model,
    SamConfig,
    SamModel,
)
from transformers.models.grounding_dino.image_processing_pil_grounding_dino import GroundingDinoImageProcessorPil
from transformers.models.owlv2.image_processing_pil_owlv2 import Owlv2ImageProcessorPil
from transformers.models.sam.image_processing_pil_sam import SamImageProcessorPil

from saccade.testing.tiny_chart_models import deplot, save_parts, unichart

LETTERS = string.ascii_lowercase + string.digits


def save_tiny(kind: str, folder: Path, seed: int = 0) -> Path:
    """Builds the model of this kind in ``folder`` and gives the folder; the same seed gives the same weights."""
    folder.mkdir(parents=True, exist_ok=True)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        _KINDS[kind](folder)
    return folder


def _grounding_dino(folder: Path) -> None:
    tokenizer = BertTokenizerFast(vocab=_letters(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", "?"], "##"))
    config = GroundingDinoConfig(
        backbone_config={
            "model_type": "swin",
            "image_size": 64,
            "patch_size": 4,
            "embed_dim": 16,
            "depths": [1, 1, 1, 1],
            "num_heads": [1, 2, 2, 2],
            "window_size": 4,
            "out_indices": [2, 3, 4],
        },
        text_config={
            "model_type": "bert",
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "intermediate_size": 32,
        },
        d_model=32,
        encoder_layers=1,
        # The boxes of the first decoder layer are shared with those after it.
        decoder_layers=2,
        encoder_ffn_dim=32,
        decoder_ffn_dim=32,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        num_queries=20,
        num_feature_levels=3,
    )
    pixels = GroundingDinoImageProcessorPil(size={"shortest_edge": 64, "longest_edge": 128})
    save_parts(folder, GroundingDinoForObjectDetection(config), pixels, tokenizer)


def _owlv2(folder: Path) -> None:
    # The token 0 must be an ordinary one: a phrase that begins with it counts as filling.
    vocab = {"!": 0, "<|startoftext|>": 1, "<|endoftext|>": 2}
    for letter in LETTERS:
        vocab |= {letter: len(vocab), f"{letter}</w>": len(vocab) + 1}
    tokenizer = CLIPTokenizerFast(vocab=vocab, merges=[], pad_token="!")
    config = Owlv2Config(
        text_config={
            "vocab_size": len(vocab),
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "max_position_embeddings": 16,
            "bos_token_id": 1,
            "eos_token_id": 2,
            "pad_token_id": 0,
        },
        vision_config={
            "hidden_size": 16,
            "intermediate_size": 32,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 96,
            "patch_size": 16,
        },
        projection_dim=16,
    )
    pixels = Owlv2ImageProcessorPil(size={"height": 96, "width": 96})
    save_parts(folder, Owlv2ForObjectDetection(config), pixels, tokenizer)


def _sam(folder: Path) -> None:
    config = SamConfig(
        vision_config={
            "hidden_size": 16,
            "output_channels": 16,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "image_size": 128,
            "patch_size": 16,
            "mlp_dim": 32,
            "window_size": 4,
            "global_attn_indexes": [1],
            "num_pos_feats": 8,
        },
        prompt_encoder_config={"hidden_size": 16, "image_size": 128, "patch_size": 16, "mask_input_channels": 4},
        mask_decoder_config={
            "hidden_size": 16,
            "mlp_dim": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "iou_head_hidden_dim": 16,
        },
    )
    pixels = SamImageProcessorPil(
        size={"longest_edge": 128}, pad_size={"height": 128, "width": 128}, mask_pad_size={"height": 32, "width": 32}
    )
    save_parts(folder, SamModel(config), pixels)


def _sam2(folder: Path) -> None:
    config = Sam2Config(
        vision_config={
            "backbone_config": {
                "model_type": "sam2_hiera_det_model",
                "hidden_size": 8,
                "num_attention_heads": 1,
                "image_size": [128, 128],
                "embed_dim_per_stage": [8, 16, 32, 64],
                "num_attention_heads_per_stage": [1, 2, 2, 2],
                "blocks_per_stage": [1, 2, 7, 2],
            },
            "backbone_channel_list": [64, 32, 16, 8],
            "backbone_feature_sizes": [[32, 32], [16, 16], [8, 8]],
            "fpn_hidden_size": 16,
        },
        prompt_encoder_config={"hidden_size": 16, "image_size": 128, "patch_size": 16, "mask_input_channels": 4},
        mask_decoder_config={
            "hidden_size": 16,
            "mlp_dim": 32,
            "num_hidden_layers": 2,
            "num_attention_heads": 2,
            "iou_head_hidden_dim": 16,
        },
    )
    save_parts(folder, Sam2Model(config))
    # Written by hand: the class that writes it needs torchvision.
    (folder / "preprocessor_config.json").write_text(
        '{"image_processor_type": "Sam2ImageProcessorFast", "size": {"height": 128, "width": 128}, '
        '"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}\n'
    )


_KINDS: Mapping[str, Callable[[Path], None]] = {
    "grounding_dino": _grounding_dino,
    "owlv2": _owlv2,
    "sam": _sam,
    "sam2": _sam2,
    "deplot": deplot,
    "unichart": unichart,
}


def _letters(special: list[str], inside: str) -> dict[str, int]:
    """A vocabulary of special tokens and of letters, at the beginning of words and inside of them."""
    words = [*special, *LETTERS, *(f"{inside}{letter}" for letter in LETTERS)]
    return {word: index for index, word in enumerate(words)}
