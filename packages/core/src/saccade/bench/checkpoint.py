"""The model of a benchmark, which every framework loads: a random Qwen2.5-VL, written once, or a checkpoint."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import torch
from transformers import PreTrainedTokenizerFast, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from saccade.bench.workload import MAX_PIXELS, MIN_PIXELS, WORDS, BenchSpec, with_image
from saccade.errors import UserError
from saccade.models.checkpoint import LoadSettings
from saccade.models.loading import load_chat
from saccade.models.lora import ADAPTER_CONFIG
from saccade.models.quiet import quiet_transformers
from saccade.models.shape import read_shape
from saccade.models.tokenizer import build_tokenizer
from saccade.types import ImageRef

SizeName = Literal["tiny", "3b"]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSize:
    """The numbers of a Qwen2.5-VL; patches are always 14 pixels, merged 2 by 2."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    kv_heads: int
    mlp: int
    vision_hidden: int
    vision_depth: int
    vision_heads: int
    vision_mlp: int
    rope_theta: float = 10_000.0
    is_tied: bool = True
    """Whether the head of the language model is its table of embeddings."""


SIZES: Mapping[SizeName, ModelSize] = {
    "tiny": ModelSize(
        vocabulary=1024,
        hidden=128,
        layers=4,
        heads=4,
        kv_heads=2,
        mlp=356,
        vision_hidden=128,
        vision_depth=2,
        vision_heads=4,
        vision_mlp=192,
    ),
    "3b": ModelSize(
        vocabulary=151_936,
        hidden=2048,
        layers=36,
        heads=16,
        kv_heads=2,
        mlp=11_008,
        vision_hidden=1280,
        vision_depth=32,
        vision_heads=16,
        vision_mlp=3420,
        rope_theta=1_000_000.0,
    ),
}
"""``tiny`` has 1.64 M parameters; ``3b`` has the numbers of Qwen2.5-VL-3B."""

_CHAT_TEMPLATE = """\
{%- for message in messages -%}
{%- if message.role not in ('system', 'user', 'assistant', 'tool') -%}
{{ raise_exception('unknown role ' ~ message.role) }}
{%- endif -%}
<|im_start|>{{ message.role }}
{% if message.content is string -%}
{{ message.content }}
{%- else -%}
{%- for part in message.content -%}
{%- if part.type == 'image' -%}IMAGE{%- else -%}{{ part.text }}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{%- for call in message.tool_calls or [] -%}
<tool_call>{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}</tool_call>
{%- endfor -%}
<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}
"""
"""Shows images and text in every role, and tool calls where a framework keeps them apart from the text."""


QWEN_IMAGE = "<|vision_start|><|image_pad|><|vision_end|>"


def chat_template(image: str) -> str:
    """The benchmark's template, with what a family writes for an image."""
    return _CHAT_TEMPLATE.replace("IMAGE", image)


def write_checkpoint(
    directory: Path,
    size: ModelSize,
    *,
    seed: int = 0,
    device: torch.device | str = "cpu",
    dtype: torch.dtype = torch.float32,
) -> int:
    """Writes weights, tokenizer and image processor in the Hugging Face layout; the number of parameters.

    The random weights are made on ``device``, where billions take a second on a GPU and a minute on a CPU; their values
    depend on it.
    """
    tokenizer = build_tokenizer(
        [f" {word}" for word in WORDS for _ in range(8)]
        + [
            '{"name": "crop", "arguments": {"left": ',
            ', "top": ',
            ', "side": ',
            "}}",
            "yes",
            "user",
            "assistant",
            "tool",
        ]
        * 8,
        vocab_size=min(size.vocabulary, 1024),
    )
    tokenizer.chat_template = chat_template(QWEN_IMAGE)
    with torch.random.fork_rng(devices=[]), torch.device(device):
        torch.manual_seed(seed)
        model = Qwen2_5_VLForConditionalGeneration(_config(size, tokenizer)).to(dtype)
    image_processor = Qwen2VLImageProcessorPil(
        patch_size=14, temporal_patch_size=2, merge_size=2, min_pixels=MIN_PIXELS, max_pixels=MAX_PIXELS
    )
    with quiet_transformers():
        for part in (model, tokenizer, image_processor):
            part.save_pretrained(directory)
    weights: int = sum(parameter.numel() for parameter in model.parameters())
    del model
    if torch.device(device).type == "cuda":
        # What follows in this process, and others on the same GPU, need the memory.
        torch.cuda.empty_cache()
    return weights


def take_checkpoint(spec: BenchSpec) -> tuple[BenchSpec, int]:
    """The specification with the lengths that images have in its checkpoint, and the number of parameters.

    Writes the benchmark's chat template for it. UserError for a checkpoint that cannot be used.
    """
    if (spec.model / ADAPTER_CONFIG).is_file():
        raise UserError(f"{spec.model} is an adapter; merge it (saccade merge) and pass the merged checkpoint")
    shape = read_shape(spec.model)
    spec.chat_template.write_text(chat_template("<IMG_CONTEXT>" if shape.model_type == "internvl" else QWEN_IMAGE))
    chat = load_chat(spec.model, LoadSettings(chat_template=spec.chat_template, max_pixels="checkpoint"))

    def tokens_of(side_px: int) -> int:
        one = ImageRef(hash="", width=side_px, height=side_px)
        return len(chat.tokens_of(chat.image_token, (one,)).ids)

    return replace(spec, workload=with_image(spec.workload, spec.workload.image_px, tokens_of)), shape.weights


def _config(size: ModelSize, tokenizer: PreTrainedTokenizerFast) -> Qwen2_5_VLConfig:
    head_dim = size.hidden // size.heads
    text: dict[str, object] = {
        "vocab_size": size.vocabulary,
        "hidden_size": size.hidden,
        "intermediate_size": size.mlp,
        "num_hidden_layers": size.layers,
        "num_attention_heads": size.heads,
        "num_key_value_heads": size.kv_heads,
        "tie_word_embeddings": size.is_tied,
        "max_position_embeddings": 32_768,
        # Wide enough that the tiny model's gradients are far from rounding.
        "initializer_range": min(0.1, 1.0 / size.hidden**0.5),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
        "eos_token_id": tokenizer.eos_token_id,
        "rope_parameters": {
            "rope_type": "default",
            "rope_theta": size.rope_theta,
            "mrope_section": [head_dim // 8, 3 * head_dim // 16, 3 * head_dim // 16],
        },
    }
    vision: dict[str, object] = {
        "depth": size.vision_depth,
        "hidden_size": size.vision_hidden,
        "intermediate_size": size.vision_mlp,
        "num_heads": size.vision_heads,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "out_hidden_size": size.hidden,
        "window_size": 112,
        "fullatt_block_indexes": [
            layer for layer in range(size.vision_depth) if layer % 8 == 7 or layer == size.vision_depth - 1
        ],
    }
    special = {
        f"{name}_token_id": int(tokenizer.convert_tokens_to_ids(token))
        for name, token in (
            ("image", "<|image_pad|>"),
            ("video", "<|video_pad|>"),
            ("vision_start", "<|vision_start|>"),
            ("vision_end", "<|vision_end|>"),
        )
    }
    return Qwen2_5_VLConfig(text_config=text, vision_config=vision, tie_word_embeddings=size.is_tied, **special)
