"""A tokenizer built on the spot, in the layout and with the special tokens of a model family."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

TAGS = (
    "<think>",
    "</think>",
    "<tool_call>",
    "</tool_call>",
    "<tool_response>",
    "</tool_response>",
    "<answer>",
    "</answer>",
)

_TEMPLATE = """\
{%- macro said(content) -%}
{%- if content is string -%}
{{ content }}
{%- elif content -%}
{%- for part in content -%}
{%- if part.type == 'image' -%}IMAGE{%- else -%}{{ part.text }}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
{%- if tools -%}<|im_start|>system
{% if messages[0].role == 'system' -%}{{ said(messages[0].content) }}
{% endif -%}
Tools:
{% for tool in tools -%}
{{ tool | tojson }}
{% endfor -%}
Call one by <tool_call>{"name": ..., "arguments": {...}}</tool_call><|im_end|>
{% endif -%}
{%- for message in messages -%}
{%- if message.role not in ('system', 'user', 'assistant', 'tool') -%}
{{ raise_exception('the role is system, user, assistant or tool, not ' ~ message.role) }}
{%- endif -%}
{%- if not (tools and loop.first and message.role == 'system') -%}
<|im_start|>{{ message.role }}
{% if message.content -%}{{ said(message.content) }}{%- endif -%}
{%- for call in message.tool_calls or [] -%}
{%- set function = call.function or call -%}
<tool_call>{"name": {{ function.name | tojson }}, "arguments": {{ function.arguments | tojson }}}</tool_call>
{%- endfor -%}
<|im_end|>
{% endif -%}
{% endfor -%}
{%- if add_generation_prompt -%}<|im_start|>assistant
{% endif -%}
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenLayout:
    """Special tokens and layout of a family's tokenizer."""

    scaffolding: tuple[str, ...]
    """Tokens that transformers treats as special; nearly all are for the environment alone."""
    chat_template: str
    named: dict[str, str] = field(default_factory=dict)
    """Special tokens by the names under which the family's processor looks for them."""
    end: str = "<|im_end|>"
    """Ends a turn."""


QWEN_LAYOUT = TokenLayout(
    scaffolding=(
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
        "<|vision_start|>",
        "<|vision_end|>",
        "<|vision_pad|>",
        "<|image_pad|>",
        "<|video_pad|>",
    ),
    chat_template=_TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>"),
)

INTERNVL_LAYOUT = TokenLayout(
    scaffolding=(
        "<|endoftext|>",
        "<|im_start|>",
        "<|im_end|>",
        "<img>",
        "</img>",
        "<IMG_CONTEXT>",
        "<video>",
        "<ref>",
        "</ref>",
        "<box>",
        "</box>",
    ),
    # A line break after each image; the processor puts <img> and </img> around it.
    chat_template=_TEMPLATE.replace("IMAGE", "{{ '<IMG_CONTEXT>\\n' }}"),
    named={
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    },
)

IDEFICS3_LAYOUT = TokenLayout(
    scaffolding=(
        "<|endoftext|>",
        "<|im_start|>",
        "<end_of_utterance>",
        "<fake_token_around_image>",
        "<image>",
        "<global-img>",
        *(f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)),
    ),
    # As published: contents in parts alone, and a space between the role and a turn that begins with a text.
    chat_template=(
        "<|im_start|>{% for message in messages %}{{message['role'] | capitalize}}"
        "{% if message['content'][0]['type'] == 'image' %}{{':'}}{% else %}{{': '}}{% endif %}"
        "{% for line in message['content'] %}{% if line['type'] == 'text' %}{{line['text']}}"
        "{% elif line['type'] == 'image' %}{{ '<image>' }}{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
        "{% if add_generation_prompt %}{{ 'Assistant:' }}{% endif %}"
    ),
    end="<end_of_utterance>",
)

# Numbers never merge with punctuation, so a coordinate is the same token wherever it stands.
_SPLIT_NUMBERS = r"\d+| ?[A-Za-z]+|\n|[^A-Za-z\d\n]+"
_SPLIT_DIGITS = r"\d| ?[A-Za-z]+|\n|[^A-Za-z\d\n]+"
_NUMBER_WEIGHT = 60


def build_tokenizer(
    texts: Iterable[str],
    *,
    numbers: Sequence[int] = (),
    phrases: Sequence[str] = (),
    vocab_size: int = 1024,
    layout: TokenLayout = QWEN_LAYOUT,
) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer trained on ``texts``; any text can be encoded, whatever was in them.

    Each of ``numbers`` becomes one token; without any, numbers are written digit by digit, as Qwen's tokenizers do.
    Each of ``phrases`` (such as the head of a JSON call) is added whole, which shortens what a tiny model has to write.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_SPLIT_NUMBERS if numbers else _SPLIT_DIGITS), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size - len(layout.scaffolding) - len(TAGS) - len(phrases),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
        min_frequency=2,
    )
    weighted_numbers = [str(number) for number in numbers for _ in range(_NUMBER_WEIGHT)]
    tokenizer.train_from_iterator([*texts, *weighted_numbers], trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in layout.scaffolding])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in (*TAGS, *phrases)])
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=layout.end,
        pad_token="<|endoftext|>",
        clean_up_tokenization_spaces=False,
        model_max_length=32_768,
        **({"extra_special_tokens": dict(layout.named)} if layout.named else {}),
    )
    fast.chat_template = layout.chat_template
    return fast
