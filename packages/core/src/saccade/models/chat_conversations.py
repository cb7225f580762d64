"""Conversations of others in a checkpoint's own chat: each reply as the model would say it, after what it would see.

A reply is learned after exactly the text that the template gives the model before it. Where the template writes earlier
turns otherwise than they were said (Qwen3's leaves out thoughts once the next question is asked), the reply begins a
new context, and no reply is learned twice.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from saccade.errors import UserError
from saccade.models.chat import Chat
from saccade.models.chat_rendering import ConversationRenderer
from saccade.types import ImageRef, Json, Segment, SpokenConversation, SpokenMessage, Trajectory

SegmentRole = Literal["prompt", "action", "observation"]

_RESULT = re.compile(r"<(sandbox_output|tool_response|interpreter)>")
"""Opens a result inside a reply, as of models that go on in the same turn: it is shown and not learned."""


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

    @cached_property
    def _renderer(self) -> ConversationRenderer:
        return ConversationRenderer(self.chat)

    def write(self, conversation: SpokenConversation) -> WrittenConversation:
        """The conversation in tokens; UserError for one that the template or the model cannot say."""
        self._check_texts(conversation)
        messages, tools = self._renderer.as_known(conversation)
        segments: list[Segment] = []
        so_far, reached, turn, empty = "", 0, 0, 0
        for place, one in enumerate(messages):
            if one.role != "assistant" or not one.is_learned:
                continue
            head = self._renderer.render(messages[:place], tools, generation=True)
            reply = self._reply(head, messages[: place + 1], tools) + self._end_before(messages[place + 1 :])
            empty += "</think>" in reply and not _thought_of(one) and "</think>" not in one.text
            if segments and head.startswith(so_far):
                shown = head[len(so_far) :]
                segments.append(self._segment("observation", turn - 1, shown, _images(messages[reached + 1 : place])))
            else:
                segments.append(self._segment("prompt", turn, head, _images(messages[:place])))
            segments += self._reply_segments(reply, turn, _images([one]))
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

    def _reply_segments(self, reply: str, turn: int, images: Sequence[ImageRef]) -> Iterator[Segment]:
        """What is learned of a reply, and the results of tools inside it."""
        seen = 0
        for text, is_result in _pieces(reply):
            count = text.count(self.chat.image_token)
            if count and not is_result:
                raise UserError("the assistant's message shows a picture, which a model cannot say")
            if not is_result and (token := next((one for one in self.chat.unspoken if one in text), None)):
                raise UserError(f"the assistant says {token}, which models are kept from saying")
            own, seen = tuple(images[seen : seen + count]), seen + count
            yield self._segment("observation" if is_result else "action", turn, text, own)

    def _segment(self, role: SegmentRole, turn: int, text: str, images: Sequence[ImageRef]) -> Segment:
        tokens = self.chat.tokens_of(text, images)
        return Segment(role=role, turn=turn, ids=tokens.ids, images=tokens.images)

    def _reply(self, head: str, messages: Sequence[SpokenMessage], tools: Sequence[Mapping[str, Json]]) -> str:
        """The last message after ``head``, which ends where the assistant begins to speak; without its end of turn."""
        chat, thought = self.chat, _thought_of(messages[-1])
        whole = self._renderer.render(messages, tools, generation=False)
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
        return reply

    def _end_before(self, following: Sequence[SpokenMessage]) -> str:
        """The token that ends a reply: in some templates it is the head of what follows."""
        chat = self.chat
        if not following or not chat.other_ends:
            return chat.eos_token
        return chat.without_end(chat.suffix(self._renderer.as_template(following[0])))[0] or chat.eos_token

    def _check_texts(self, conversation: SpokenConversation) -> None:
        """UserError for texts that begin or end turns of their own."""
        for number, one in enumerate(conversation.messages, start=1):
            calls = [[call.name, call.arguments] for call in one.calls]
            texts = [one.text, one.thought, json.dumps(calls, default=str)]
            for token in self._renderer.reserved:
                if any(token in text for text in texts):
                    raise UserError(f"the text of message {number} holds {token}, which only the chat template writes")
        if any(token in json.dumps(conversation.tools, default=str) for token in self._renderer.reserved):
            raise UserError("the schemas of tools hold a token that only the chat template writes")


def _thought_of(one: SpokenMessage) -> str:
    inside, closed, _ = one.text.partition("<think>")[2].partition("</think>")
    return one.thought.strip() or (inside.strip() if closed else "")


def _images(messages: Sequence[SpokenMessage]) -> tuple[ImageRef, ...]:
    return tuple(part for one in messages for part in one.parts if isinstance(part, ImageRef))


def _pieces(reply: str) -> Iterator[tuple[str, bool]]:
    """The reply cut at results, and whether a piece is one; linear in the reply."""
    end, search = 0, 0
    unclosed: set[str] = set()
    while (opened := _RESULT.search(reply, search)) is not None:
        search = opened.end()
        closing = f"</{opened[1]}>"
        until = -1 if closing in unclosed else reply.find(closing, search)
        if until < 0:
            unclosed.add(closing)
            continue
        if opened.start() > end:
            yield reply[end : opened.start()], False
        end = search = until + len(closing)
        yield reply[opened.start() : end], True
    if end < len(reply):
        yield reply[end:], False
