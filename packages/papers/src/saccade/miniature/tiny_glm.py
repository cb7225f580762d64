"""Tiny models of GLM-4.1V, 4.5V and 4.6V, with the special tokens and the form of chat that were published."""

from transformers import (
    Glm4vConfig,
    Glm4vForConditionalGeneration,
    Glm4vMoeConfig,
    Glm4vMoeForConditionalGeneration,
    Glm46VConfig,
    Glm46VForConditionalGeneration,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)
from transformers.models.glm4v.image_processing_pil_glm4v import Glm4vImageProcessorPil
from transformers.models.glm46v.image_processing_pil_glm46v import Glm46VImageProcessorPil

from saccade.miniature.tiny_size import TinySize
from saccade.models.pixels import ImageProcessor
from saccade.models.tokenizer import TokenLayout

_FRAMES = 2
_SPECIAL = (
    "<|endoftext|>",
    "[gMASK]",
    "<sop>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|observation|>",
    "<|begin_of_image|>",
    "<|end_of_image|>",
    "<|begin_of_video|>",
    "<|end_of_video|>",
    "<|begin_of_box|>",
    "<|end_of_box|>",
    "<|image|>",
    "<|video|>",
)

# No token ends a turn. Thoughts before the last question are left out, and a turn without one has an empty one.
_TEMPLATE = """\
{%- macro said(content) -%}
{%- if content is string -%}{{ content }}
{%- else -%}{%- for part in content -%}
{%- if part.type == 'image' -%}<|begin_of_image|><|image|><|end_of_image|>{%- else -%}{{ part.text }}{%- endif -%}
{%- endfor -%}{%- endif -%}
{%- endmacro -%}
[gMASK]<sop>
{%- if tools -%}<|system|>
# Tools
<tools>
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}</tools>
{%- endif -%}
{%- set last = namespace(question=-1) -%}
{%- for message in messages -%}
{%- if message.role == 'user' -%}{%- set last.question = loop.index0 -%}{%- endif -%}
{%- endfor -%}
{%- for message in messages -%}
{%- if message.role in ('system', 'user') -%}
{{ '<|' ~ message.role ~ '|>\\n' ~ said(message.content) }}
{%- elif message.role == 'tool' -%}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' -%}<|observation|>{%- endif -%}
{{ '\\n<tool_response>\\n' ~ said(message.content) ~ '\\n</tool_response>' }}
{%- elif message.role == 'assistant' -%}
{%- set text = said(message.content) -%}
{%- set thought = message.reasoning_content or '' -%}
{%- if not thought and '</think>' in text -%}
{%- set thought = text.split('</think>')[0].split('<think>')[-1].strip('\\n') -%}
{%- set text = text.split('</think>')[-1].lstrip('\\n') -%}
{%- endif -%}
{{ '<|assistant|>\\n<think>' ~ (thought.strip() if loop.index0 > last.question) ~ '</think>' }}
{%- if text.strip() -%}{{ '\\n' ~ text.strip() }}{%- endif -%}
{%- for call in message.tool_calls or [] -%}
{%- set call = call.function or call -%}
{{ '\\n<tool_call>' ~ call.name ~ '\\n' }}
{%- for name, value in call.arguments.items() -%}
{{ '<arg_key>' ~ name ~ '</arg_key>\\n<arg_value>' ~ (value if value is string else value | tojson) }}
{{- '</arg_value>\\n' }}
{%- endfor -%}
</tool_call>
{%- endfor -%}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{ '<|assistant|>\\n' }}{%- endif -%}
"""

# GLM-4.1V's knows neither tools nor thoughts, and takes a system's message as a text alone.
_FIRST_TEMPLATE = """\
[gMASK]<sop>
{%- for msg in messages %}
{%- if msg.role == 'system' %}{{ '<|system|>\\n' ~ msg.content }}
{%- elif msg.role == 'user' %}{{ '<|user|>\\n' }}
{%- if msg.content is string %}{{ msg.content }}
{%- else %}
{%- for item in msg.content %}
{%- if item.type == 'image' %}<|begin_of_image|><|image|><|end_of_image|>
{%- elif item.type == 'text' %}{{ item.text }}
{%- endif %}
{%- endfor %}
{%- endif %}
{%- elif msg.role == 'assistant' %}{{ '<|assistant|>' ~ (msg.metadata or '') ~ '\\n' ~ msg.content }}
{%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% endif %}"""

GLM4V_LAYOUT = TokenLayout(scaffolding=_SPECIAL, chat_template=_FIRST_TEMPLATE, end="<|endoftext|>")
GLM_LAYOUT = TokenLayout(scaffolding=_SPECIAL, chat_template=_TEMPLATE, end="<|endoftext|>")


def glm(
    size: TinySize, tokenizer: PreTrainedTokenizerFast, text: dict[str, object], *, model_type: str
) -> PreTrainedModel:
    """The model, around a language model with the settings that all families call by the same names."""
    config_of, model_of = {
        "glm4v": (Glm4vConfig, Glm4vForConditionalGeneration),
        "glm4v_moe": (Glm4vMoeConfig, Glm4vMoeForConditionalGeneration),
        "glm46v": (Glm46VConfig, Glm46VForConditionalGeneration),
    }[model_type]
    half = size.hidden // size.heads // 4
    rope = {"partial_rotary_factor": 0.5, "mrope_section": [half - 2 * (half // 3), half // 3, half // 3]}
    experts = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_shared_experts": 1, "first_k_dense_replace": 1}
    # GLM-4.1V works the size of a head out by itself.
    moe = {**experts, "moe_intermediate_size": size.mlp // 2, "attention_bias": True}
    vision = {
        "depth": size.vision_depth,
        "hidden_size": size.vision_hidden,
        "num_heads": size.heads,
        "image_size": size.view_px,
        "patch_size": size.patch_px,
        "temporal_patch_size": _FRAMES,
        "out_hidden_size": size.hidden,
        "intermediate_size": size.vision_mlp,
        "initializer_range": size.initializer_range,
    }
    ids = {
        f"{name}_token_id": int(tokenizer.convert_tokens_to_ids(token))
        for name, token in (
            ("image", "<|image|>"),
            ("video", "<|video|>"),
            ("image_start", "<|begin_of_image|>"),
            ("image_end", "<|end_of_image|>"),
            ("video_start", "<|begin_of_video|>"),
            ("video_end", "<|end_of_video|>"),
        )
    }
    given = dict(text["rope_parameters"]) | rope  # type: ignore[call-overload]
    model: PreTrainedModel = model_of(
        config_of(
            text_config=text | {"rope_parameters": given} | (moe if model_type == "glm4v_moe" else {}),
            vision_config=vision,
            tie_word_embeddings=True,
            **ids,
        )
    )
    return model


def glm_patches(size: TinySize, *, model_type: str, resample: int) -> ImageProcessor:
    """The image processor of a generation."""
    kind = Glm4vImageProcessorPil if model_type == "glm4v" else Glm46VImageProcessorPil
    area = _FRAMES * size.view_px**2
    processor: ImageProcessor = kind(
        patch_size=size.patch_px,
        temporal_patch_size=_FRAMES,
        merge_size=2,
        size={"shortest_edge": area, "longest_edge": area},
        resample=resample,
        image_mean=[0.5, 0.5, 0.5],
        image_std=[0.5, 0.5, 0.5],
    )
    return processor
