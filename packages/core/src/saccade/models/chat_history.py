"""Earlier turns as a chat template writes them again: some leave out what was thought in them.

Templates of models that always think keep the thoughts of turns that follow the user's last message (Qwen3, GLM) and
leave out those before it. A turn that only tools have answered so keeps its thought, unless tools speak as users.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from saccade.models.chat import Chat
from saccade.types import ImageRef, Message, Tokens

_THOUGHT, _SAID = "SACCADETHOUGHT", "SACCADESAID"


@dataclass(frozen=True)
class TemplateHistory:
    """Conversations as the template of one checkpoint writes them; a message of the role ``tool`` is an observation."""

    chat: Chat

    def prompt(self, messages: Sequence[Message]) -> Tokens:
        """The whole conversation, up to where the assistant begins to speak."""
        text = self.chat.rendered([self._as_template(one) for one in messages], generation=True)
        return self.chat.tokens_of(text, [part for one in messages for part in one.parts if isinstance(part, ImageRef)])

    def kept_thoughts(self, messages: Sequence[Message]) -> tuple[bool, ...]:
        """Whether the template writes what was thought in each of the assistant's turns, if it is asked for the next.

        It is asked with other words in the same roles.
        """
        return self._kept_in(tuple(one.role for one in messages))

    @property
    def forgets_after_tools(self) -> bool:
        """Whether a turn loses its thought once it has been answered by an observation."""
        return self._kept_in(("user", "assistant", "tool")) == (False,)

    @property
    def forgets_after_questions(self) -> bool:
        """Whether a turn loses its thought once the user has asked again."""
        return self._kept_in(("user", "assistant", "user")) == (False,)

    @cached_property
    def _kept_in(self) -> Callable[[tuple[str, ...]], tuple[bool, ...]]:
        @lru_cache(maxsize=256)
        def kept_in(roles: tuple[str, ...]) -> tuple[bool, ...]:
            text = self.chat.rendered([self._probe(role, place) for place, role in enumerate(roles)], generation=True)
            return tuple(f"{_THOUGHT}{place}." in text for place, role in enumerate(roles) if role == "assistant")

        return kept_in

    def _probe(self, role: str, place: int) -> dict[str, object]:
        if role == "tool":
            return self.chat.observation_message("?", image_count=0)
        thought = f"<think>\n{_THOUGHT}{place}.\n</think>\n\n{_SAID}"
        return self.chat.as_content(role, thought if role == "assistant" else "?")

    def _as_template(self, one: Message) -> dict[str, object]:
        text = "".join(part for part in one.parts if isinstance(part, str))
        if one.role == "assistant":
            return self.chat.as_content(one.role, self._unspoken.sub(_defused, text))
        if one.role == "tool":
            return self.chat.observation_message(text, image_count=len(one.parts) - sum(map(_is_text, one.parts)))
        return self.chat.as_parts(one.role, one.parts)

    @cached_property
    def _unspoken(self) -> re.Pattern[str]:
        """Finds tokens of the template in the words of a turn: letter by letter a model can say what it is kept from
        saying as a token, and what it said is encoded again here."""
        tokens = {self.chat.eos_token, self.chat.image_token, *self.chat.ends, *self.chat.unspoken}
        return re.compile("|".join(map(re.escape, sorted(tokens, key=len, reverse=True))))


def _is_text(part: object) -> bool:
    return isinstance(part, str)


def _defused(token: re.Match[str]) -> str:
    return f"{token[0][0]} {token[0][1:]}"
