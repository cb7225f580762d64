"""A tiny Gemma 3: transformers' own classes, and a tokenizer of its kind, which is not byte-level."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers
from transformers import (
    Gemma3Config,
    Gemma3ForConditionalGeneration,
    Gemma3TextConfig,
    GemmaTokenizer,
    PreTrainedTokenizerFast,
    SiglipVisionConfig,
)
from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

from saccade.models.pixels import ImageProcessor
from saccade.models.tokenizer import TAGS

WINDOW = 32
"""Tokens that a sliding layer sees: two pictures of the default size."""

_NAMED = {"boi_token": "<start_of_image>", "eoi_token": "<end_of_image>", "image_token": "<image_soft_token>"}
_FIRST = ("<pad>", "<eos>", "<bos>", "<unk>", "<mask>")
_BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
_NUMBER_WEIGHT = 60

# As published it lets user and model alternate, puts the system's text before the first question, and trims each text.
_TEMPLATE = """\
{%- macro shown(content) -%}
{%- if content is string -%}
{{ content | trim }}
{%- else -%}
{%- for part in content -%}
{%- if part.type == 'image' -%}<start_of_image>{%- elif part.type == 'text' -%}{{ part.text | trim }}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- set first = messages[0] -%}
{%- set has_system = first.role == 'system' -%}
{{ bos_token }}
{%- for message in (messages[1:] if has_system else messages) -%}
{%- if (message.role == 'user') == (loop.index0 % 2 == 1) -%}
{{ raise_exception('user and assistant must alternate') }}
{%- endif -%}
{{ '<start_of_turn>' ~ ('model' if message.role == 'assistant' else message.role) ~ '\n' }}
{%- if loop.first and has_system -%}
{{ (first.content if first.content is string else first.content[0].text) ~ '\n\n' }}
{%- endif -%}
{{ shown(message.content) }}
{{- '<end_of_turn>\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}
{{ '<start_of_turn>model\n' }}
{%- endif -%}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class GemmaLayout:
    """Special tokens and turns of a generation."""

    named: Mapping[str, str]
    """By the names that the tokenizer has for them."""
    beside: tuple[str, ...]
    """Those without a name."""
    template: str


GEMMA3_LAYOUT = GemmaLayout(named=_NAMED, beside=("<start_of_turn>", "<end_of_turn>"), template=_TEMPLATE)


def gemma_tokenizer(
    texts: Iterable[str],
    *,
    numbers: Sequence[int],
    phrases: Sequence[str],
    vocab_size: int,
    layout: GemmaLayout = GEMMA3_LAYOUT,
) -> PreTrainedTokenizerFast:
    """BPE that falls back to bytes and writes spaces as U+2581; otherwise as ``build_tokenizer``."""
    kept = (*_FIRST, *layout.beside, *layout.named.values(), *_BYTES)
    trained = Tokenizer(models.BPE())
    trained.normalizer = normalizers.Replace(" ", "▁")
    digits = r"\d+" if numbers else r"\d"
    trained.pre_tokenizer = pre_tokenizers.Split(Regex(digits + r"|▁?[A-Za-z]+|\n|[^A-Za-z\d\n]+"), behavior="isolated")
    trainer = trainers.BpeTrainer(
        vocab_size=max(vocab_size - len(TAGS) - len(phrases), len(kept) + 100),
        special_tokens=list(kept),
        show_progress=False,
        min_frequency=2,
    )
    trained.train_from_iterator([*texts, *(str(one) for one in numbers for _ in range(_NUMBER_WEIGHT))], trainer)
    model = json.loads(trained.to_str())["model"]
    tokenizer: PreTrainedTokenizerFast = GemmaTokenizer(
        vocab=model["vocab"],
        merges=[tuple(pair) for pair in model["merges"]],
        extra_special_tokens=dict(layout.named),
        clean_up_tokenization_spaces=False,
        model_max_length=32_768,
    )
    beside = [AddedToken(token, special=True, normalized=False) for token in layout.beside]
    tokenizer.add_tokens(beside, special_tokens=True)
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in (*TAGS, *phrases)])
    tokenizer.chat_template = layout.template
    return tokenizer


def gemma3(
    text: dict[str, object], vision: dict[str, object], tokenizer: PreTrainedTokenizerFast
) -> Gemma3ForConditionalGeneration:
    """The model with random weights, by the sizes of its parts; every second layer slides."""
    layers = int(str(text["num_hidden_layers"]))
    ids = {f"{name}_index": int(tokenizer.convert_tokens_to_ids(token)) for name, token in _NAMED.items()}
    config = Gemma3Config(
        text_config=Gemma3TextConfig(
            **text
            | {
                "bos_token_id": tokenizer.bos_token_id,
                "layer_types": ["full_attention" if place % 2 else "sliding_attention" for place in range(layers)],
                "sliding_window": WINDOW,
                "query_pre_attn_scalar": text["head_dim"],
                "rope_parameters": {
                    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
                    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
                },
            }
        ),
        vision_config=SiglipVisionConfig(**vision, vision_use_head=False),
        mm_tokens_per_image=(int(str(vision["image_size"])) // int(str(vision["patch_size"])) // 2) ** 2,
        tie_word_embeddings=True,
        **ids,
    )
    model = Gemma3ForConditionalGeneration(config)
    # transformers begins with zeros, by which the model would see nothing.
    projection = model.model.multi_modal_projector.mm_input_projection_weight
    torch.nn.init.normal_(projection, std=float(str(text["initializer_range"])))
    return model


def gemma_images(side: int, resample: int) -> ImageProcessor:
    """Makes pictures of ``side`` pixels square."""
    processor: ImageProcessor = Gemma3ImageProcessorPil(
        size={"height": side, "width": side}, resample=resample, image_mean=[0.5] * 3, image_std=[0.5] * 3
    )
    return processor
