"""The messages of a conversation as a chat template takes them, with what it does not know written into the texts."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from saccade.errors import UserError
from saccade.models.chat import TOOL_RESPONSE, Chat, TemplateLimitError, template_parts, text_part
from saccade.types import ImageRef, Json, SpokenConversation, SpokenMessage

_SPECIAL = re.compile(r"<\|[^<>|\s]+\|>")
_PROBE = "SACCADEPROBE"
_TOOLS = """# Tools

You may call one or more functions to assist with the user query.

You are provided with function signatures within <tools></tools> XML tags:
<tools>
{schemas}
</tools>

For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:
<tool_call>
{{"name": <function-name>, "arguments": <args-json-object>}}
</tool_call>"""
"""Of Qwen2.5, for templates that know no tools."""


@dataclass(frozen=True)
class ConversationRenderer:
    """Renders conversations by the chat template of one checkpoint."""

    chat: Chat

    def as_known(self, conversation: SpokenConversation) -> tuple[list[SpokenMessage], Sequence[Mapping[str, Json]]]:
        """Messages and tools with what the template does not know written into the text."""
        messages, tools = list(conversation.messages), conversation.tools
        if self.chat.observation_role == "user":
            messages = _results_as_questions(messages)
        if not self._knows_thoughts:
            messages = [_with_thought(one) for one in messages]
        if not self._knows_calls:
            messages = [_with_calls(one) for one in messages]
        if tools and not self._knows_tools:
            schemas = "\n".join(json.dumps(one, ensure_ascii=False) for one in tools)
            text = _TOOLS.format(schemas=schemas)
            if messages[0].role == "system":
                messages[0] = replace(messages[0], parts=(*messages[0].parts, f"\n\n{text}"))
            else:
                messages.insert(0, SpokenMessage(role="system", parts=(text,)))
            tools = ()
        return messages, tools

    @cached_property
    def _knows_thoughts(self) -> bool:
        return self._shows_in_reply("reasoning_content", _PROBE)

    @cached_property
    def _knows_calls(self) -> bool:
        return self._shows_in_reply("tool_calls", [_as_template_call(_PROBE, {})])

    @cached_property
    def _knows_tools(self) -> bool:
        schema: dict[str, object] = {"name": _PROBE, "description": "", "parameters": {"type": "object"}}
        return self._shows([self.chat.as_content("user", "?")], [{"type": "function", "function": schema}])

    def _shows_in_reply(self, field: str, value: object) -> bool:
        said = {**self.chat.as_content("assistant", "!"), field: value}
        return self._shows([self.chat.as_content("user", "?"), said], None)

    def _shows(self, messages: list[dict[str, object]], tools: list[dict[str, object]] | None) -> bool:
        try:
            return _PROBE in self._render_raw(messages, tools, generation=False)
        except TemplateLimitError:
            raise
        except Exception:  # A template raises what it likes for what it does not know.
            return False

    @cached_property
    def _picture(self) -> str:
        """How the template writes a picture."""
        parts = [{"type": "text", "text": _PROBE}, {"type": "image"}, {"type": "text", "text": _PROBE}]
        return self._render_raw([{"role": "user", "content": parts}], None, generation=False).split(_PROBE)[1]

    @cached_property
    def reserved(self) -> frozenset[str]:
        """Tokens that no text may hold: those by which the template begins and ends turns, and shows pictures."""
        asked: list[dict[str, object]] = [{"role": "user", "content": [{"type": "text", "text": "?"}]}]
        head = self._render_raw(asked, None, generation=True)
        before = self._render_raw(asked, None, generation=False)
        found = {self.chat.eos_token, self.chat.image_token, *_SPECIAL.findall(head[len(before) :])}
        return frozenset(found | (self.chat.unspoken - {*TOOL_RESPONSE}))

    def render(
        self, messages: Sequence[SpokenMessage], tools: Sequence[Mapping[str, Json]], *, generation: bool
    ) -> str:
        """The text of the messages; with ``generation`` up to where the assistant begins to speak."""
        given = [dict[str, object](one) for one in tools] or None
        try:
            return self._render_raw([self._as_template(one) for one in messages], given, generation=generation)
        except TemplateLimitError:
            raise
        except Exception as error:  # The template is a program of others.
            reason = str(error).strip().partition("\n")[0][:200]
            raise UserError(f"the chat template refuses it ({type(error).__name__}: {reason})") from error

    def _render_raw(
        self, messages: list[dict[str, object]], tools: list[dict[str, object]] | None, *, generation: bool
    ) -> str:
        return self.chat.tokenizer.apply_chat_template(
            messages, tools=tools, tokenize=False, add_generation_prompt=generation
        )

    def _as_template(self, one: SpokenMessage) -> dict[str, object]:
        if one.role != "assistant":
            return {"role": one.role, "content": template_parts(one.role, one.parts) or [text_part("")]}
        text = "".join(self._picture if isinstance(part, ImageRef) else part for part in one.parts)
        fields = self.chat.as_content(one.role, text)
        if one.thought:
            fields["reasoning_content"] = one.thought
        if one.calls:
            fields["tool_calls"] = [_as_template_call(call.name, call.arguments) for call in one.calls]
        return fields


def _as_template_call(name: str, arguments: Mapping[str, Json]) -> dict[str, object]:
    return {"type": "function", "function": {"name": name, "arguments": dict(arguments)}}


def _with_thought(one: SpokenMessage) -> SpokenMessage:
    if not one.thought:
        return one
    gap = "\n\n" if one.text else ""
    return replace(one, parts=(f"<think>\n{one.thought.strip()}\n</think>{gap}", *one.parts), thought="")


def _with_calls(one: SpokenMessage) -> SpokenMessage:
    if not one.calls:
        return one
    calls = [json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False) for call in one.calls]
    text = "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in calls)
    lead = "\n" if one.text and not one.text.endswith("\n") else ""
    return replace(one, parts=(*one.parts, lead + text), calls=())


def _results_as_questions(messages: Sequence[SpokenMessage]) -> list[SpokenMessage]:
    """Results of tools that follow each other as one message of the user, each in ``<tool_response>``."""
    found: list[SpokenMessage] = []
    is_open = False
    for one in messages:
        if one.role != "tool":
            found, is_open = [*found, one], False
            continue
        parts = ("<tool_response>\n", *one.parts, "\n</tool_response>")
        if is_open:
            found[-1] = replace(found[-1], parts=(*found[-1].parts, "\n", *parts))
        else:
            found, is_open = [*found, SpokenMessage(role="user", parts=parts)], True
    return found
