"""Tiny checkpoints of the chart models' real classes, which know one table by heart and tell it of any chart."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import (
    DonutSwinConfig,
    DonutSwinModel,
    MBartConfig,
    MBartForCausalLM,
    Pix2StructConfig,
    Pix2StructForConditionalGeneration,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    VisionEncoderDecoderModel,
)
from transformers.models.donut.image_processing_pil_donut import DonutImageProcessorPil
from transformers.models.pix2struct.image_processing_pil_pix2struct import Pix2StructImageProcessorPil

STEPS = 60
"""Steps of learning by heart."""

# Each row is one token, so that the models need not learn to count.
DEPLOT_ROWS = ("TITLE | Sales <0x0A>", "Year | Apples | Pears <0x0A>", "2020 | 3 | 5 <0x0A>", "2021 | 4 | 2.5")
UNICHART_ROWS = ("Year | Apples | Pears &&", "2020 | 3 | 5 &&", "2021 | 4 | 2.5")
UNICHART_CAPTION = "Apples rise and pears fall."
UNICHART_ANSWER = "Pears"


def deplot(folder: Path) -> None:
    """A Pix2Struct that tells ``DEPLOT_ROWS``."""
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
    _teach(model, _model_inputs(pixels), [tokenizer.convert_tokens_to_ids(["<pad>", *DEPLOT_ROWS, "</s>"])])
    pixels.is_vqa = True
    save_parts(folder, model, pixels, tokenizer)


def unichart(folder: Path) -> None:
    """A Donut that tells ``UNICHART_ROWS``, its caption and its answer, as it is prompted."""
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
    _teach(model, _model_inputs(pixels), [tokenizer.convert_tokens_to_ids(text) for text in texts])
    save_parts(folder, model, pixels, tokenizer)


def save_parts(folder: Path, model: PreTrainedModel, *parts: object) -> None:
    """The model and its processors, as ``from_pretrained`` reads them."""
    for part in (model.eval(), *parts):
        part.save_pretrained(folder)


def _model_inputs(pixels: Callable[..., Mapping[str, torch.Tensor]]) -> list[Mapping[str, torch.Tensor]]:
    """Model inputs of a few pictures, flat and of noise."""
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
