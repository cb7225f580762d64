"""Conversations of others in a checkpoint's own chat: each reply as the model would say it, after what it would see.

A reply is learned after exactly the text that the template gives the model before it. Where the template writes earlier
turns otherwise than they were said (Qwen3's leaves out thoughts once the next question is asked), the reply begins a
new context, and no reply is learned twice.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from saccade.errors import UserError
from saccade.models.chat import Chat, TemplateLimitError
from saccade.types import ImageRef, Json, Segment, SpokenConversation, SpokenMessage, Trajectory

_RESULT = re.compile(r"<(sandbox_output|tool_response|interpreter)>.*?</\1>", re.DOTALL)
"""A result inside a reply, as of models that go on in the same turn: it is shown and not learned."""
_THOUGHT = re.compile(r"<think>(.*?)</think>", re.DOTALL)
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


@dataclass(frozen=True, kw_only=True, slots=True)
class WrittenConversation:
    """A conversation in tokens; of its segments actions are learned."""

    trajectory: Trajectory
    replies: int
    """Replies that are learned."""
    empty_thoughts: int
    """Replies without a thought before which the template writes an empty one."""

    @property
    def context_tokens(self) -> tuple[int, ...]:
        """Length of each context."""
        return tuple(sum(len(one.ids) for one in context) for context in self.trajectory.contexts)

    @property
    def learned_tokens(self) -> int:
        return sum(self.trajectory.action_mask)


@dataclass(frozen=True)
class ConversationWriter:
    """Writes conversations in the chat of one checkpoint."""

    chat: Chat

    def written(self, conversation: SpokenConversation) -> WrittenConversation:
        """The conversation in tokens; UserError for one that the template or the model cannot say."""
        self._check_texts(conversation)
        messages, tools = self._as_known(conversation)
        segments: list[Segment] = []
        so_far, reached, turn, empty = "", 0, 0, 0
        for place, one in enumerate(messages):
            if one.role != "assistant" or not one.is_learned:
                continue
            head = self._render(messages[:place], tools, generation=True)
            reply = self._reply(head, messages[: place + 1], tools)
            empty += "</think>" in reply and not _thought_of(one) and "</think>" not in one.text
            if segments and head.startswith(so_far):
                shown = head[len(so_far) :]
                segments.append(self._segment("observation", turn - 1, shown, _images(messages[reached + 1 : place])))
            else:
                segments.append(self._segment("prompt", turn, head, _images(messages[:place])))
            segments += self._said(reply, turn, _images([one]))
            so_far, reached, turn = head + reply, place, turn + 1
        trajectory = Trajectory(
            task_id=conversation.task.id,
            family=conversation.task.family,
            stream="conversation",
            sample=0,
            seed=0,
            policy_version=0,
            segments=tuple(segments),
            turns=(),
            status="answered",
        )
        return WrittenConversation(trajectory=trajectory, replies=turn, empty_thoughts=empty)

    def _said(self, reply: str, turn: int, images: Sequence[ImageRef]) -> Iterator[Segment]:
        """What is learned of a reply, and the results of tools inside it."""
        seen = 0
        for text, is_result in _pieces(reply):
            count = text.count(self.chat.image_token)
            if count and not is_result:
                raise UserError("the assistant's message shows a picture, which a model cannot say")
            own, seen = tuple(images[seen : seen + count]), seen + count
            yield self._segment("observation" if is_result else "action", turn, text, own)

    def _segment(self, role: str, turn: int, text: str, images: Sequence[ImageRef]) -> Segment:
        tokens = self.chat.tokens_of(text, images)
        match role:
            case "prompt":
                return Segment(role="prompt", turn=turn, ids=tokens.ids, images=tokens.images)
            case "action":
                return Segment(role="action", turn=turn, ids=tokens.ids)
            case _:
                return Segment(role="observation", turn=turn, ids=tokens.ids, images=tokens.images)

    def _reply(self, head: str, messages: Sequence[SpokenMessage], tools: Sequence[Mapping[str, Json]]) -> str:
        """The last message after ``head``, which ends where the assistant begins to speak; with its end of turn."""
        chat, thought = self.chat, _thought_of(messages[-1])
        whole = self._render(messages, tools, generation=False)
        begins = head if whole.startswith(head) else head.removesuffix(chat.opening)
        if not whole.startswith(begins):
            raise UserError(
                "the chat template does not begin a reply as it writes this one, so that the model would never say it; "
                "for thoughts take the template of a model that thinks (model.chat_template)"
            )
        reply, _, _ = whole[len(begins) :].partition(chat.eos_token)
        if thought not in reply:
            opened = "" if chat.opening else "<think>\n"
            reply = f"{opened}{thought}\n</think>\n\n{reply.lstrip()}"
        elif begins != head:
            raise UserError("the chat template opens each reply with a thought, and this one has none")
        return reply + chat.eos_token

    def _as_known(self, conversation: SpokenConversation) -> tuple[list[SpokenMessage], Sequence[Mapping[str, Json]]]:
        """Messages and tools with what the template does not know written into the text."""
        messages, tools = list(conversation.messages), conversation.tools
        if self.chat.observation_role == "user":
            messages = _results_as_questions(messages)
        if not self._knows({"reasoning_content": _PROBE}):
            messages = [_with_thought(one) for one in messages]
        if not self._knows({"tool_calls": [_as_template_call(_PROBE, {})]}):
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

    def _knows(self, fields: Mapping[str, object]) -> bool:
        """Whether the template shows these fields of an assistant's message."""
        key = next(iter(fields))
        if key not in self._known:
            said: dict[str, object] = {"role": "assistant", "content": "!", **fields}
            self._known[key] = self._shows([{"role": "user", "content": "?"}, said], None)
        return self._known[key]

    @cached_property
    def _known(self) -> dict[str, bool]:
        return {}

    @cached_property
    def _knows_tools(self) -> bool:
        schema: dict[str, object] = {"name": _PROBE, "description": "", "parameters": {"type": "object"}}
        return self._shows([{"role": "user", "content": "?"}], [{"type": "function", "function": schema}])

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
    def _reserved(self) -> frozenset[str]:
        """Tokens by which the template begins and ends turns."""
        asked: list[dict[str, object]] = [{"role": "user", "content": [{"type": "text", "text": "?"}]}]
        head = self._render_raw(asked, None, generation=True)
        before = self._render_raw(asked, None, generation=False)
        return frozenset([self.chat.eos_token, self.chat.image_token, *_SPECIAL.findall(head[len(before) :])])

    def _check_texts(self, conversation: SpokenConversation) -> None:
        """UserError for texts that begin or end turns of their own."""
        for number, one in enumerate(conversation.messages, start=1):
            texts = [one.text, one.thought, *(json.dumps(call.arguments, default=str) for call in one.calls)]
            for token in self._reserved:
                if any(token in text for text in texts):
                    raise UserError(f"the text of message {number} holds {token}, which only the chat template writes")
        if any(token in json.dumps(conversation.tools, default=str) for token in self._reserved):
            raise UserError("the schemas of tools hold a token that only the chat template writes")

    def _render(
        self, messages: Sequence[SpokenMessage], tools: Sequence[Mapping[str, Json]], *, generation: bool
    ) -> str:
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
            content = [{"type": "image"} if isinstance(part, ImageRef) else _text_part(part) for part in one.parts]
            return {"role": one.role, "content": content or [_text_part("")]}
        text = "".join(self._picture if isinstance(part, ImageRef) else part for part in one.parts)
        fields: dict[str, object] = {"role": one.role, "content": text}
        if one.thought:
            fields["reasoning_content"] = one.thought
        if one.calls:
            fields["tool_calls"] = [_as_template_call(call.name, call.arguments) for call in one.calls]
        return fields


def _text_part(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}


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


def _thought_of(one: SpokenMessage) -> str:
    return one.thought.strip() or "".join(_THOUGHT.findall(one.text)[:1]).strip()


def _images(messages: Sequence[SpokenMessage]) -> tuple[ImageRef, ...]:
    return tuple(part for one in messages for part in one.parts if isinstance(part, ImageRef))


def _pieces(reply: str) -> Iterator[tuple[str, bool]]:
    """The reply cut at results, and whether a piece is one."""
    end = 0
    for match in _RESULT.finditer(reply):
        yield from [(reply[end : match.start()], False)] * (match.start() > end)
        yield match[0], True
        end = match.end()
    yield from [(reply[end:], False)] * (end < len(reply))
