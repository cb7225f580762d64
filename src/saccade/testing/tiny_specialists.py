"""Tiny checkpoints of the real classes of specialist models, with random weights, saved as published ones are.

They prove that loading and inference work. What detectors and segmenters find means nothing; the chart models know one
table by heart, which they tell of any chart.
"""

import string
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    BertTokenizerFast,
    CLIPTokenizerFast,
    DonutSwinConfig,
    DonutSwinModel,
    GroundingDinoConfig,
    GroundingDinoForObjectDetection,
    MBartConfig,
    MBartForCausalLM,
    Owlv2Config,
    Owlv2ForObjectDetection,
    Pix2StructConfig,
    Pix2StructForConditionalGeneration,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Sam2Config,
    Sam2Model,
    SamConfig,
    SamModel,
    VisionEncoderDecoderModel,
)
from transformers.models.donut.image_processing_pil_donut import DonutImageProcessorPil
from transformers.models.grounding_dino.image_processing_pil_grounding_dino import GroundingDinoImageProcessorPil
from transformers.models.owlv2.image_processing_pil_owlv2 import Owlv2ImageProcessorPil
from transformers.models.pix2struct.image_processing_pil_pix2struct import Pix2StructImageProcessorPil
from transformers.models.sam.image_processing_pil_sam import SamImageProcessorPil

LETTERS = string.ascii_lowercase + string.digits

STEPS = 60
"""Of learning by heart."""

# Each row is one token, so that the models need not learn to count.
DEPLOT_ROWS = ("TITLE | Sales <0x0A>", "Year | Apples | Pears <0x0A>", "2020 | 3 | 5 <0x0A>", "2021 | 4 | 2.5")
UNICHART_ROWS = ("Year | Apples | Pears &&", "2020 | 3 | 5 &&", "2021 | 4 | 2.5")
UNICHART_CAPTION = "Apples rise and pears fall."
UNICHART_ANSWER = "Pears"


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
    _save(folder, GroundingDinoForObjectDetection(config), pixels, tokenizer)


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
    _save(folder, Owlv2ForObjectDetection(config), pixels, tokenizer)


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
    _save(folder, SamModel(config), pixels)


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
    _save(folder, Sam2Model(config))
    # Written by hand: the class that writes it needs torchvision.
    (folder / "preprocessor_config.json").write_text(
        '{"image_processor_type": "Sam2ImageProcessorFast", "size": {"height": 128, "width": 128}, '
        '"image_mean": [0.485, 0.456, 0.406], "image_std": [0.229, 0.224, 0.225]}\n'
    )


def _deplot(folder: Path) -> None:
    tokenizer = _words(["<pad>", "</s>", "<unk>"], DEPLOT_ROWS)
    config = Pix2StructConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 32,
            "d_kv": 16,
            "d_ff": 32,
            "num_layers": 1,
            "num_heads": 2,
            "pad_token_id": 0,
            "eos_token_id": 1,
            "decoder_start_token_id": 0,
        },
        vision_config={
            "hidden_size": 32,
            "patch_embed_hidden_size": 768,
            "d_ff": 32,
            "d_kv": 16,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "seq_len": 64,
        },
        is_vqa=True,
    )
    model = Pix2StructForConditionalGeneration(config)
    pixels = Pix2StructImageProcessorPil(max_patches=64, is_vqa=False)
    _teach(model, _seen(pixels), [tokenizer.convert_tokens_to_ids(["<pad>", *DEPLOT_ROWS, "</s>"])])
    pixels.is_vqa = True
    _save(folder, model, pixels, tokenizer)


def _unichart(folder: Path) -> None:
    marks = ["<s_answer>", "<extract_data_table>", "<summarize_chart>", "<chartqa>"]
    words = (*UNICHART_ROWS, UNICHART_CAPTION, UNICHART_ANSWER)
    tokenizer = _words(["<s>", "<pad>", "</s>", "<unk>", *marks], words, bos_token="<s>")
    encoder = DonutSwinConfig(
        image_size=[64, 64], patch_size=4, embed_dim=16, depths=[1, 1], num_heads=[1, 2], window_size=4
    )
    decoder = MBartConfig(
        vocab_size=len(tokenizer),
        d_model=32,
        decoder_layers=1,
        decoder_attention_heads=2,
        decoder_ffn_dim=32,
        encoder_layers=1,
        max_position_embeddings=128,
        is_decoder=True,
        add_cross_attention=True,
        bos_token_id=0,
        pad_token_id=1,
        eos_token_id=2,
    )
    model = VisionEncoderDecoderModel(encoder=DonutSwinModel(encoder), decoder=MBartForCausalLM(decoder))
    model.config.pad_token_id, model.config.decoder_start_token_id = 1, 0
    pixels = DonutImageProcessorPil(size={"height": 64, "width": 64}, do_align_long_axis=False)
    texts = [
        ["<extract_data_table>", "<s_answer>", *UNICHART_ROWS, "</s>"],
        ["<summarize_chart>", "<s_answer>", UNICHART_CAPTION, "</s>"],
        # Questions of any length, in words that it does not know.
        *(["<chartqa>", *["<unk>"] * length, "<s_answer>", UNICHART_ANSWER, "</s>"] for length in (1, 3, 5, 8)),
    ]
    _teach(model, _seen(pixels), [tokenizer.convert_tokens_to_ids(text) for text in texts])
    _save(folder, model, pixels, tokenizer)


_KINDS: Mapping[str, Callable[[Path], None]] = {
    "grounding_dino": _grounding_dino,
    "owlv2": _owlv2,
    "sam": _sam,
    "sam2": _sam2,
    "deplot": _deplot,
    "unichart": _unichart,
}


def _seen(pixels: Callable[..., Mapping[str, torch.Tensor]]) -> list[Mapping[str, torch.Tensor]]:
    """What a model sees of a few pictures, flat and of noise."""
    generator = np.random.default_rng(0)
    colors = generator.integers(0, 256, (8, 1, 1, 3), dtype=np.uint8).repeat(48, axis=1).repeat(64, axis=2)
    colors[::2, :24] = generator.integers(0, 256, (4, 24, 64, 3), dtype=np.uint8)
    return [pixels([Image.fromarray(picture)], return_tensors="pt") for picture in colors]


def _teach(model: PreTrainedModel, seen: list[Mapping[str, torch.Tensor]], texts: list[list[int]]) -> None:
    """Learns by heart each text after its first token, whatever is seen."""
    model.eval()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(STEPS):
        for ids in texts:
            tokens = torch.tensor([ids])
            logits = model(**seen[step % len(seen)], decoder_input_ids=tokens[:, :-1]).logits
            torch.nn.functional.cross_entropy(logits[0], tokens[0, 1:]).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        optimizer.zero_grad()


def _save(folder: Path, model: PreTrainedModel, *parts: object) -> None:
    for part in (model.eval(), *parts):
        part.save_pretrained(folder)


def _letters(special: list[str], inside: str) -> dict[str, int]:
    """A vocabulary of special tokens and of letters, at the beginning of words and inside of them."""
    words = [*special, *LETTERS, *(f"{inside}{letter}" for letter in LETTERS)]
    return {word: index for index, word in enumerate(words)}


def _words(special: list[str], words: Sequence[str], bos_token: str | None = None) -> PreTrainedTokenizerFast:
    """A tokenizer of single words; what is parted by spaces must be one of them."""
    vocab = {word: index for index, word in enumerate(dict.fromkeys([*special, *words]))}
    core = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    core.normalizer = normalizers.NFKC()
    core.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    core.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", vocab["</s>"])])
    named = {} if bos_token is None else {"bos_token": bos_token}
    return PreTrainedTokenizerFast(
        tokenizer_object=core,
        unk_token="<unk>",
        pad_token="<pad>",
        eos_token="</s>",
        additional_special_tokens=[word for word in special if word not in ("<s>", "<pad>", "</s>", "<unk>")],
        **named,
    )
