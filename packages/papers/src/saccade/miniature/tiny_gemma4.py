"""A tiny Gemma 4: transformers' own classes, with all that its published sizes have of their own."""

import torch
from transformers import (
    Gemma4AudioConfig,
    Gemma4Config,
    Gemma4ForConditionalGeneration,
    Gemma4TextConfig,
    Gemma4VisionConfig,
    PreTrainedTokenizerFast,
)
from transformers.models.gemma4.image_processing_pil_gemma4 import Gemma4ImageProcessorPil

from saccade.miniature.tiny_gemma import WINDOW, GemmaLayout
from saccade.models.pixels import ImageProcessor

_POOLED = 2
"""Patches along a side of an image token."""
_FEWEST = 70
"""Tokens of a picture, the smallest number that the image processor takes."""
_MOST_PATCHES = 560
"""Along a side of a picture."""

# As published: thoughts stand in a channel and are left out of earlier turns; without tools' turns and descriptions.
_TEMPLATE = """\
{%- macro shown(content, is_said) -%}
{%- if is_said -%}
{%- set kept = namespace(text='') -%}
{%- for part in content.split('<channel|>') -%}
{%- set kept.text = kept.text ~ part.split('<|channel>')[0] -%}
{%- endfor -%}
{{ kept.text | trim }}
{%- else -%}
{{ content | trim }}
{%- endif -%}
{%- endmacro -%}
{{ bos_token }}
{%- set thinks = enable_thinking | default(false) -%}
{%- set has_system = messages[0].role == 'system' -%}
{%- if thinks or has_system -%}
{{ '<|turn>system\\n' }}
{%- if thinks -%}{{ '<|think|>\\n' }}{%- endif -%}
{%- if has_system -%}{{ messages[0].content | trim }}{%- endif -%}
{{ '<turn|>\\n' }}
{%- endif -%}
{%- for message in (messages[1:] if has_system else messages) if message.role != 'tool' -%}
{%- set role = 'model' if message.role == 'assistant' else message.role -%}
{{ '<|turn>' ~ role ~ '\\n' }}
{%- if message.content is string -%}
{{ shown(message.content, role == 'model') }}
{%- else -%}
{%- for part in message.content -%}
{%- if part.type == 'text' -%}{{ shown(part.text, role == 'model') }}
{%- elif part.type == 'image' -%}{{ '<|image|>' }}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{{ '<turn|>\\n' }}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|turn>model\\n' }}{%- endif -%}
"""

GEMMA4_LAYOUT = GemmaLayout(
    named={
        "image_token": "<|image|>",
        "boi_token": "<|image>",
        "eoi_token": "<image|>",
        "audio_token": "<|audio|>",
        "boa_token": "<|audio>",
        "eoa_token": "<audio|>",
        "sot_token": "<|turn>",
        "eot_token": "<turn|>",
        "soc_token": "<|channel>",
        "eoc_token": "<channel|>",
        "think_token": "<|think|>",
        "escape_token": '<|"|>',
        "str_token": "<|tool_response>",
        "etr_token": "<tool_response|>",
        "stc_token": "<|tool_call>",
        "etc_token": "<tool_call|>",
        "std_token": "<|tool>",
        "etd_token": "<tool|>",
    },
    beside=("<|video|>",),
    template=_TEMPLATE,
)


def gemma4(
    text: dict[str, object], vision: dict[str, object], tokenizer: PreTrainedTokenizerFast, *, is_large: bool = False
) -> Gemma4ForConditionalGeneration:
    """The model with random weights, by the sizes of its parts; every second layer slides.

    A small one (E2B, E4B) has inputs of each layer, last layers on the keys of earlier ones, and a tower for sounds. A
    large one (31B, 26B-A4B) sees pictures both ways and has values that are keys, and experts.
    """
    layers, dim = int(str(text["num_hidden_layers"])), int(str(text["head_dim"]))
    vocabulary, heads = int(str(text["vocab_size"])), int(str(text["num_key_value_heads"]))
    own = (
        {
            "attention_k_eq_v": True,
            "num_global_key_value_heads": max(1, heads // 2),
            "use_bidirectional_attention": "vision",
            "hidden_size_per_layer_input": 0,
            "enable_moe_block": True,
            "num_experts": 4,
            "top_k_experts": 2,
            "moe_intermediate_size": int(str(text["intermediate_size"])) // 2,
        }
        if is_large
        else {
            "hidden_size_per_layer_input": dim,
            "vocab_size_per_layer_input": vocabulary,
            "num_kv_shared_layers": layers // 2 if layers > 3 else 0,
            "use_double_wide_mlp": True,
        }
    )
    rope = {
        "full_attention": {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    }
    kinds = ["full_attention" if place % 2 else "sliding_attention" for place in range(layers)]
    kinds[-1] = "full_attention"
    shapes = {"sliding_window": WINDOW, "global_head_dim": 2 * dim, "final_logit_softcapping": 30.0}
    about = {"bos_token_id": tokenizer.bos_token_id, "layer_types": kinds, "rope_parameters": rope}
    model = Gemma4ForConditionalGeneration(
        Gemma4Config(
            text_config=Gemma4TextConfig(**text | about | shapes | own),
            vision_config=_tower(vision, is_large),
            audio_config=None if is_large else _hearing(),
            tie_word_embeddings=True,
            **{name: int(tokenizer.convert_tokens_to_ids(token)) for name, token in _IDS.items()},
        )
    )
    # transformers begins with ones, by which patches would have no place.
    torch.nn.init.normal_(model.model.vision_tower.patch_embedder.position_embedding_table, std=0.1)
    # Nor does anything but these scale the scores of attention, which ones make so sharp that rounding grows threefold
    # from layer to layer.
    for name, module in model.named_modules():
        if name.endswith("q_norm"):
            torch.nn.init.constant_(module.weight, module.weight.numel() ** -0.5)
    return model


_IDS = {
    "image_token_id": "<|image|>",
    "boi_token_id": "<|image>",
    "eoi_token_id": "<image|>",
    "audio_token_id": "<|audio|>",
    "boa_token_id": "<|audio>",
    "eoa_token_index": "<audio|>",
    "video_token_id": "<|video|>",
}


def _tower(vision: dict[str, object], is_large: bool) -> Gemma4VisionConfig:
    heads = int(str(vision["num_attention_heads"]))
    return Gemma4VisionConfig(
        **{name: size for name, size in vision.items() if name != "image_size"},
        num_key_value_heads=heads,
        head_dim=int(str(vision["hidden_size"])) // heads,
        pooling_kernel_size=_POOLED,
        position_embedding_size=_MOST_PATCHES,
        use_clipped_linears=not is_large,
        standardize=is_large,
        initializer_range=0.1,
    )


def _hearing() -> Gemma4AudioConfig:
    return Gemma4AudioConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        subsampling_conv_channels=[4, 2],
        output_proj_dims=16,
        conv_kernel_size=3,
        # transformers names it of the parts that a model is made of, and of this one when it is loaded.
        dtype="float32",
    )


def gemma4_images(patch_px: int, resample: int) -> ImageProcessor:
    """Makes pictures of any shape, of the fewest tokens that there may be."""
    processor: ImageProcessor = Gemma4ImageProcessorPil(
        patch_size=patch_px, pooling_kernel_size=_POOLED, max_soft_tokens=_FEWEST, resample=resample
    )
    return processor
