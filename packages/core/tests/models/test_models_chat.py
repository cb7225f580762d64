"""Chat templates of real shapes and broken ones: what observations look like, and what is refused at the start."""

from dataclasses import replace
from importlib.resources import files

import pytest
from transformers import AutoTokenizer
from trl.chat_template_utils import supports_tool_calling

from saccade.errors import UserError
from saccade.models.chat import Chat, ObservationRole
from saccade.models.checkpoint import base_checkpoint
from saccade.models.tokenizer import build_tokenizer
from saccade.types import ImageRef, Message, Observation

CROP = ImageRef(hash="c" * 64, width=64, height=64)
PARTS = """
{%- macro parts(content) -%}
{%- if content is string -%}{{ content }}{%- else -%}
{%- for part in content -%}
{%- if part.type == 'image' -%}<|vision_start|><|image_pad|><|vision_end|>{%- else -%}{{ part.text }}{%- endif -%}
{%- endfor -%}
{%- endif -%}
{%- endmacro -%}
"""
END = "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n' }}{%- endif -%}"

ROLES_AS_THEY_ARE = (
    PARTS
    + """
{%- for message in messages -%}
{%- if loop.first and message.role != 'system' -%}{{ '<|im_start|>system\nYou help.<|im_end|>\n' }}{%- endif -%}
{{- '<|im_start|>' + message.role + '\n' + parts(message.content) + '<|im_end|>\n' -}}
{%- endfor -%}
"""
    + END
)
"""As in the Qwen2.5-VL family: a system message of its own, and any role's name as it comes."""

TOOLS_SPEAK_AS_USERS = (
    PARTS
    + """
{%- for message in messages -%}
{%- if message.role == 'tool' -%}
{%- if loop.first or messages[loop.index0 - 1].role != 'tool' -%}{{ '<|im_start|>user' }}{%- endif -%}
{{- '\n<tool_response>\n' + parts(message.content) + '\n</tool_response>' -}}
{%- if loop.last or messages[loop.index0 + 1].role != 'tool' -%}{{ '<|im_end|>\n' }}{%- endif -%}
{%- else -%}
{{- '<|im_start|>' + message.role + '\n' + parts(message.content) + '<|im_end|>\n' -}}
{%- endif -%}
{%- endfor -%}
"""
    + END
)
"""As in the Qwen3-VL family: a tool's answers stand in tags inside a user's turn."""


def with_tool_branch(branch: str) -> str:
    """A template that treats every role alike but for what ``branch`` does with a tool's message."""
    return (
        PARTS
        + "{%- for message in messages -%}{%- if message.role == 'tool' -%}"
        + branch
        + "{%- else -%}{{- '<|im_start|>' + message.role + '\n' + parts(message.content) + '<|im_end|>\n' -}}"
        + "{%- endif -%}{%- endfor -%}"
        + END
    )


def chat_of(template: str, *, image_tokens: int = 4, observation_role: ObservationRole | None = None) -> Chat:
    tokenizer = build_tokenizer(["Which plate is red? Look closer."] * 9, vocab_size=400)
    tokenizer.chat_template = template
    image_token_id, eos_id = tokenizer.convert_tokens_to_ids(["<|image_pad|>", "<|im_end|>"])
    return Chat.checked(
        tokenizer=tokenizer,
        image_token="<|image_pad|>",
        image_token_id=image_token_id,
        eos_token="<|im_end|>",
        eos_id=eos_id,
        observation_role=observation_role,
        image_layout=lambda image: (image_tokens,),
    )


def shown(chat: Chat, observation: Observation, *, ends_with_eos: bool = False) -> str:
    ids = chat.observation(observation, ends_with_eos=ends_with_eos).ids
    return chat.tokenizer.decode(list(ids), skip_special_tokens=False)


PICTURE = "<|vision_start|>" + "<|image_pad|>" * 4 + "<|vision_end|>"
NEXT = "<|im_end|>\n<|im_start|>assistant\n"


def test_a_template_that_prints_any_role_knows_no_tools_and_a_user_speaks_for_them() -> None:
    chat = chat_of(ROLES_AS_THEY_ARE)
    expected = f"\n<|im_start|>user\n<tool_response>\n{PICTURE}Image 2.\n</tool_response>{NEXT}"
    assert shown(chat, Observation(text="Image 2.", images=(CROP,))) == "<|im_end|>" + expected
    assert shown(chat, Observation(text="Image 2.", images=(CROP,)), ends_with_eos=True) == expected
    prompt = chat.prompt([Message(role="user", parts=(CROP, "Which?"))])
    assert chat.tokenizer.decode(list(prompt.ids), skip_special_tokens=False) == (
        f"<|im_start|>system\nYou help.<|im_end|>\n<|im_start|>user\n{PICTURE}Which?{NEXT}"
    )


def test_a_template_that_answers_tools_inside_a_user_turn_is_taken_as_it_is() -> None:
    chat = chat_of(TOOLS_SPEAK_AS_USERS)
    assert shown(chat, Observation(text="Two crops.", images=(CROP, CROP))) == (
        f"<|im_end|>\n<|im_start|>user\n<tool_response>\n{PICTURE}{PICTURE}Two crops.\n</tool_response>{NEXT}"
    )


def test_the_same_words_are_rendered_once_and_each_picture_takes_its_own_tokens() -> None:
    small, large = (ImageRef(hash=letter * 64, width=side, height=side) for letter, side in (("a", 32), ("b", 64)))
    usual = chat_of(ROLES_AS_THEY_ARE)
    chat = replace(usual, image_layout=lambda image: (image.width // 32,))
    first, second = (
        chat.observation(Observation(text="Here", images=(one,)), ends_with_eos=True) for one in (small, large)
    )
    assert [one.ids.count(chat.image_token_id) for one in (first, second)] == [1, 2]
    assert (first.images, second.images) == ((small,), (large,))
    usual.tokenizer.chat_template = "{{ raise_exception('rendered again') }}"
    assert chat.observation(Observation(text="Here", images=(small,)), ends_with_eos=True) == first
    with pytest.raises(Exception, match="rendered again"):
        chat.observation(Observation(text="There", images=(small,)), ends_with_eos=True)


@pytest.mark.parametrize("template", [ROLES_AS_THEY_ARE, TOOLS_SPEAK_AS_USERS])
def test_turn_after_turn_the_pieces_join_to_the_whole_rendering(template: str) -> None:
    chat = chat_of(template)
    asked, seen = Message(role="user", parts=(CROP, "Which?")), Observation(text="Here", images=(CROP,))
    pieces, messages = list(chat.prompt([asked]).ids), [asked]
    answer = Message(role="tool", parts=(CROP, "Here"))
    if chat.observation_role == "user":
        answer = Message(role="user", parts=("<tool_response>\n", CROP, "Here", "\n</tool_response>"))
    for said in ("<think>look</think>", "again", "<answer>red"):
        pieces += [*chat.encode(said), *chat.observation(seen, ends_with_eos=False).ids]
        messages += [Message(role="assistant", parts=(said,)), answer]
        assert tuple(pieces) == chat.prompt(messages).ids


@pytest.mark.parametrize(
    "branch",
    [
        "{% for part in message.content if part.type == 'text' %}{{ '<|im_start|>tool\n' + part.text }}{% endfor %}",
        "{{- raise_exception('no tools here') -}}",
        "",
    ],
    ids=["drops images", "refuses the role", "drops the message"],
)
def test_a_tool_role_that_shows_no_images_is_replaced_by_a_user_turn(branch: str) -> None:
    chat = chat_of(with_tool_branch(branch))
    assert chat.observation_role == "user"
    assert shown(chat, Observation(text="Here", images=(CROP,))) == (
        f"<|im_end|>\n<|im_start|>user\n<tool_response>\n{PICTURE}Here\n</tool_response>{NEXT}"
    )


def test_a_template_that_shows_no_images_at_all_is_refused() -> None:
    template = (
        "{%- for message in messages -%}<|im_start|>{{ message.role }}\n"
        "{% if message.content is string %}{{ message.content }}{% else %}"
        "{% for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %}{% endif %}<|im_end|>\n"
        "{% endfor -%}" + END
    )
    with pytest.raises(UserError, match="shows images neither in the tool role nor in the user role"):
        chat_of(template)


REWRITING = {
    "forgets what the assistant said before": "'' if not loop.last else parts(message.content)",
    "shortens what the assistant said before": "parts(message.content) if loop.last else parts(message.content)[8:]",
    "adds to what the assistant said before": "('' if loop.last else 'Earlier: ') + parts(message.content)",
}


@pytest.mark.parametrize("how", REWRITING)
def test_a_template_that_rewrites_earlier_turns_is_refused(how: str) -> None:
    template = (
        PARTS
        + "{%- for message in messages -%}{{- '<|im_start|>' + message.role + '\n' -}}"
        + "{%- if message.role == 'assistant' -%}{{- "
        + REWRITING[how]
        + " -}}{%- else -%}{{- parts(message.content) -}}{%- endif -%}{{- '<|im_end|>\n' -}}{%- endfor -%}"
        + END
    )
    with pytest.raises(UserError, match="changes earlier turns when a turn is added"):
        chat_of(template)


THINKING_HEAD = "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n<think>\n' }}{%- endif -%}"


def test_a_template_that_opens_a_thought_begins_the_text_of_each_turn() -> None:
    chat = chat_of(TOOLS_SPEAK_AS_USERS.replace(END, THINKING_HEAD))
    assert chat.opening == "<think>\n"
    assert chat.decode(chat.encode("<think>look</think><answer>red</answer>")) == (
        "<think>\nlook</think><answer>red</answer>"
    )
    assert shown(chat, Observation(text="Here", images=())).endswith("<|im_start|>assistant\n<think>\n")
    with pytest.raises(
        UserError, match=r"opens each turn with <think>, and this turn does not begin with it: '<answer>"
    ):
        chat.encode("<answer>red</answer>")


def test_a_template_whose_next_turn_begins_otherwise_than_it_is_kept_is_refused() -> None:
    head = "{%- if add_generation_prompt -%}{{ '<|im_start|>assistant\n<plan>\n' }}{%- endif -%}"
    with pytest.raises(UserError, match="not prefix-preserving"):
        chat_of(ROLES_AS_THEY_ARE.replace(END, head))


@pytest.mark.parametrize(
    ("name", "role", "opening"),
    [
        ("qwen2_5_vl", "user", ""),
        ("qwen3_vl", "tool", ""),
        ("qwen3_5_think", "tool", "<think>\n"),
        ("qwen3_5_nothink", "tool", ""),
    ],
)
def test_published_templates_speak_for_tools_as_their_models_were_trained(name: str, role: str, opening: str) -> None:
    template = (files("trl") / "chat_templates" / f"{name}.jinja").read_text()
    chat = chat_of(template)
    assert (chat.observation_role, chat.opening) == (role, opening)
    suffix = shown(chat, Observation(text="Here", images=(CROP,)))
    assert suffix.startswith("<|im_end|>\n<|im_start|>user\n<tool_response>\n")
    assert suffix.count(PICTURE) == 1
    assert f"<|im_start|>assistant\n{opening}" in suffix


def test_the_role_that_is_asked_for_is_taken() -> None:
    assert chat_of(ROLES_AS_THEY_ARE, observation_role="tool").observation_role == "tool"
    assert chat_of(TOOLS_SPEAK_AS_USERS, observation_role="user").observation_role == "user"
    with pytest.raises(UserError, match="shows images neither"):
        chat_of(with_tool_branch(""), observation_role="tool")


def test_trl_takes_the_shipped_base_for_a_model_that_calls_tools() -> None:
    tokenizer = AutoTokenizer.from_pretrained(base_checkpoint())
    assert supports_tool_calling(tokenizer)
    call = {"type": "function", "function": {"name": "crop", "arguments": {"label": 'a "b"'}}}
    messages = [
        {"role": "system", "content": "Look."},
        {"role": "user", "content": "Which?"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "done"},
    ]
    assert tokenizer.apply_chat_template(messages, tools=[{"name": "crop"}], tokenize=False) == (
        '<|im_start|>system\nLook.\nTools:\n{"name": "crop"}\n'
        'Call one by <tool_call>{"name": ..., "arguments": {...}}</tool_call><|im_end|>\n'
        "<|im_start|>user\nWhich?<|im_end|>\n"
        "<|im_start|>assistant\n"
        '<tool_call>{"name": "crop", "arguments": {"label": "a \\"b\\""}}</tool_call><|im_end|>\n'
        "<|im_start|>tool\ndone<|im_end|>\n"
    )
