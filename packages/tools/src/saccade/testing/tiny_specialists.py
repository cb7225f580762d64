"""Tiny checkpoints of specialist models' real classes, with random weights, and a configuration of all tools with them.

They prove that loading and inference work and that tools keep their contract. What random models find means nothing.
"""

import json
import string
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
from PIL import Image
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

from saccade.media.store import MediaStore
from saccade.models.checkpoint import base_checkpoint
from saccade.retrieval.building import build_index
from saccade.tasks.procedural import generate
from saccade.testing.tasks import tiny_example
from saccade.testing.tiny_chart_models import deplot, save_parts, unichart
from saccade.testing.tiny_page_encoders import colmodernvbert, colpali, colqwen2
from saccade.tools.catalogue.catalogue import CATALOGUE
from saccade.tools.catalogue.entries import Entry
from saccade.types import Json
from saccade.vision_models.page_encoders import load_page_encoder

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
    "colpali": colpali,
    "colqwen2": colqwen2,
    "colmodernvbert": colmodernvbert,
}


def _letters(special: list[str], inside: str) -> dict[str, int]:
    """A vocabulary of special tokens and of letters, at the beginning of words and inside of them."""
    words = [*special, *LETTERS, *(f"{inside}{letter}" for letter in LETTERS)]
    return {word: index for index, word in enumerate(words)}


def write_tools_file(folder: Path, url: str) -> Path:
    """``tools.toml`` in the folder, beside the checkpoints that it names; ``url`` is that of a ``ChatServer``."""
    server: dict[str, Json] = {"backend": "openai", "url": url, "model": "expert", "timeout_s": 20.0, "retries": 1}
    local: dict[str, Json] = {"backend": "transformers", "model": str(base_checkpoint()), "max_tokens": 8}
    configured: Mapping[str, Mapping[str, Json]] = {
        "detect_objects": {"backend": "transformers", "model": save_tiny("grounding_dino", folder / "dino").name},
        "segment": {"backend": "transformers", "model": save_tiny("sam2", folder / "sam2").name},
        "g_llava": server,
        "multimath": {**local, "max_pixels": 64 * 64},
        "execute_python_code": {"timeout_s": 5.0},
        "search_pages": {"index": _tiny_index(folder).name},
        **{name: {"recording": tiny_recording(folder / "searches").name} for name in ("search_web", "read_web_page")},
    }
    sections = [
        "\n".join([f"[tools.{entry.name}]", *(f"{key} = {json.dumps(value)}" for key, value in options.items())])
        for entry in CATALOGUE
        for options in [configured.get(entry.name, {})]
    ]
    path = folder / "tools.toml"
    path.write_text("\n\n".join(sections) + "\n", encoding="utf-8")
    return path


def tiny_recording(folder: Path) -> Path:
    """A search that was recorded for the question 0009, and a page that it found."""
    found = {"title": "The final", "link": "https://example.org/final", "snippet": "It is on 11 August."}
    recorded: Mapping[str, Json] = {
        "serper_search_1": {"request": {"q": "When is the final"}, "response": {"organic": [found]}},
        "webpage_1": {"request": {"url": found["link"]}, "response": {"text": "The final is on 11 August 2024."}},
    }
    (folder / "0009").mkdir(parents=True, exist_ok=True)
    for name, told in recorded.items():
        (folder / "0009" / f"{name}.json").write_text(json.dumps(told), encoding="utf-8")
    return folder


def _tiny_index(folder: Path) -> Path:
    """An index of three drawn pages, made by a tiny ColQwen2 beside it."""
    media = MediaStore()
    (folder / "deck").mkdir()
    for number in range(1, 4):
        picture = media.get(tiny_example(media, number).task.images[0])
        picture.save(folder / "deck" / f"page{number}.png")
    encoder = load_page_encoder(save_tiny("colqwen2", folder / "colqwen2"))
    build_index(folder / "deck", encoder, folder / "index", where=str(folder / "colqwen2"))
    return folder / "index"


def example_picture(entry: Entry) -> Image.Image:
    """Picture that the entry's example may be called on: a chart, a figure, a text or a scene."""
    media = MediaStore()
    family = {"charts": "chart_bars", "diagrams": "geometry_problem"}.get(entry.family)
    if entry.name in ("read_text", "read_region"):
        family = "document_text"
    if family is None:
        return media.get(tiny_example(media).task.images[0])
    example = generate(family, split="train", index=0, seed=7, media=media)
    return media.get(example.task.images[0])
