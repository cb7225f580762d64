"""Chat messages to token ids, rendered so that what was sampled is never encoded again.

A prompt is rendered once. An observation is rendered as a suffix against a dummy conversation, so the ids of the
turns before it stay as they were sampled.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, Protocol

from saccade.errors import UserError
from saccade.types import ImageRef, Message, Observation, Tokens

if TYPE_CHECKING:
    from saccade.models.chat_history import TemplateHistory

ObservationRole = Literal["tool", "user"]

ImageLayout = tuple[str | int, ...]
"""What stands for an image in the prompt: texts, and counts of placeholders in a row."""

TOOL_RESPONSE = ("<tool_response>", "</tool_response>")
"""Around what a tool says, in the user's role."""

_SENTINEL = "SACCADESENTINEL"
_PROBE = "SACCADEPROBE"
_NO_ROLE = "saccaderole"
_OPENED_THOUGHT = re.compile(r"<think>\s*\Z")
_BEFORE_TEXT = re.compile(rf"(?P<lead>\s*)(?:<think>\s*</think>\s*)?{_SENTINEL}")
"""Between the head of an assistant's turn and its text: space, and perhaps an empty thought of a turn without one."""


class TemplateLimitError(UserError):
    """The checkpoint's chat template is a program that takes too much time or memory."""


class Tokenizer(Protocol):
    """The part of a transformers tokenizer that rendering needs."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]: ...

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str: ...

    def apply_chat_template(
        self,
        conversation: list[dict[str, object]],
        *,
        tools: list[dict[str, object]] | None = None,
        tokenize: bool,
        add_generation_prompt: bool,
    ) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Chat:
    """Renders messages for one checkpoint; made by ``Chat.checked``, which proves the template usable first."""

    tokenizer: Tokenizer
    image_token: str
    image_token_id: int
    eos_token: str
    eos_id: int
    image_layout: Callable[[ImageRef], ImageLayout]
    """What the family's processor writes for an image, where the template leaves its token alone."""
    observation_role: ObservationRole
    """``tool`` where the template knows that role and renders images there; else ``user``, with ``<tool_response>``
    written around. A template that prints whatever role it is given (Qwen2.5-VL's) belongs to a model that never saw
    a turn of a tool."""
    opening: str = ""
    """Beginning of an assistant's turn in the template: ``<think>`` of a model that always thinks. It is part of the
    prompt's ids and of each turn's text."""
    lead: str = ""
    """Space that the template writes between the head of an assistant's turn and its text: the model says it."""
    takes_text: bool = True
    """Whether the template takes a message's content as a text; else in parts alone."""
    unspoken: frozenset[str] = frozenset()
    """Tokens that a model is kept from saying."""
    other_ends: Mapping[str, int] = field(default_factory=dict)
    """Tokens besides ``eos_token`` that end a turn where the model says them, with their ids."""

    @classmethod
    def checked(
        cls,
        *,
        tokenizer: Tokenizer,
        image_token: str,
        image_token_id: int,
        eos_token: str,
        eos_id: int,
        image_layout: Callable[[ImageRef], ImageLayout],
        observation_role: ObservationRole | None = None,
        unspoken: frozenset[str] = frozenset(),
        other_ends: Mapping[str, int] = MappingProxyType({}),
    ) -> "Chat":
        """A chat whose template is prefix-preserving and shows images in observations; UserError otherwise.

        ``observation_role`` is taken as it is given; None chooses by the template.
        """
        roles: tuple[ObservationRole, ...] = ("tool", "user") if observation_role is None else (observation_role,)
        for role in roles:
            chat = cls(
                tokenizer=tokenizer,
                image_token=image_token,
                image_token_id=image_token_id,
                eos_token=eos_token,
                eos_id=eos_id,
                image_layout=image_layout,
                observation_role=role,
                unspoken=unspoken,
                other_ends=other_ends,
            )
            chat = replace(chat, takes_text=chat._shows_text())
            if chat._shows_images_in_observations() and (role in roles[-1:] or chat._knows_tools()):
                break
        else:
            # A template that loses what the assistant said shows no observation after it either: say that first.
            chat._opening_checked()
            raise UserError(
                "the checkpoint's chat template shows images neither in the tool role nor in the user role (an image "
                f"must be rendered as one {image_token}); use the template of the instruct model of this family"
            )
        opening, lead = chat._opening_checked()
        return replace(chat, opening=opening, lead=lead)

    def prompt(self, messages: Sequence[Message]) -> Tokens:
        """The whole conversation so far, up to where the assistant begins to speak."""
        text = self.rendered([self.as_parts(message.role, message.parts) for message in messages], generation=True)
        images = tuple(part for message in messages for part in message.parts if isinstance(part, ImageRef))
        return self.tokens_of(text, images)

    def conversation(self, messages: Sequence[Message]) -> Tokens:
        """``prompt``, but turns of the assistant in it, and what follows them, are the ids that they have in an
        episode; a message of the role ``tool`` is an observation."""
        first = next((place for place, one in enumerate(messages) if one.role == "assistant"), len(messages))
        head = self.prompt(messages[:first])
        ids, images = list(head.ids), list(head.images)
        for one in messages[first:]:
            text = "".join(part for part in one.parts if isinstance(part, str))
            shown = tuple(part for part in one.parts if isinstance(part, ImageRef))
            if one.role == "assistant":
                ids += (*self.encode(text), self.eos_id)
                continue
            if one.role == "tool":
                end, tokens = self.seen_end, self.observation(Observation(text=text, images=shown), ends_with_eos=True)
            else:
                token, suffix = self.without_end(self.suffix(self.as_parts(one.role, one.parts)))
                end, tokens = self.ends.get(token), self.tokens_of(suffix, shown)
            if end is not None and ids[-1] == self.eos_id:
                ids[-1] = end
            ids += tokens.ids
            images += tokens.images
        return Tokens(ids=tuple(ids), images=tuple(images))

    def tokens_of(self, text: str, images: Sequence[ImageRef]) -> Tokens:
        """The ids of rendered text, and of the images that it has placeholders for; UserError where they differ."""
        layouts = [self.image_layout(image) for image in images]
        written = self._with_image_texts(text, layouts)
        return self._tokens(self.tokenizer.encode(written, add_special_tokens=False), tuple(images), layouts)

    def token_count(self, image: ImageRef) -> int:
        """Placeholder tokens that an image takes."""
        return sum(part for part in self.image_layout(image) if isinstance(part, int))

    def observation(self, observation: Observation, *, ends_with_eos: bool) -> Tokens:
        """The suffix after an assistant turn: its end token unless sampled, the observation, the next turn's head.

        ``ends_with_eos`` says that the turn has the token by which the template ends it; see ``replaces``.
        """
        layouts = [self.image_layout(image) for image in observation.images]
        # Those of the same texts are rendered once, whatever the counts.
        written = tuple(tuple(part if isinstance(part, str) else 1 for part in layout) for layout in layouts)
        return self._tokens(self._suffix_ids(observation.text, written, ends_with_eos), observation.images, layouts)

    @cached_property
    def history(self) -> "TemplateHistory":
        """Earlier turns as the template writes them again, perhaps without what was thought in them."""
        from saccade.models.chat_history import TemplateHistory

        return TemplateHistory(self)

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of what an assistant turn says; used for demonstrations and scripted engines, never for samples.

        UserError for a turn without a thought where the template opens one.
        """
        if self.opening:
            tag = self.opening.strip()
            if not text.startswith(tag):
                raise UserError(
                    f"the checkpoint's chat template opens each turn with {tag}, and this turn does not begin with it: "
                    f"{text[:60]!r}; choose a protocol with thoughts, or a template of your own (model.chat_template)"
                )
            text = text.removeprefix(tag).lstrip("\n")
        return tuple(self.tokenizer.encode(self.lead + text, add_special_tokens=False))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of a turn: the template's opening, then sampled ids verbatim but for the end-of-turn token."""
        spoken = list(ids[:-1]) if ids and ids[-1] in self.end_ids else list(ids)
        return self.opening + self.tokenizer.decode(spoken, skip_special_tokens=False).removeprefix(self.lead)

    @cached_property
    def ends(self) -> Mapping[str, int]:
        """The tokens that end a turn, with their ids."""
        return {self.eos_token: self.eos_id, **self.other_ends}

    @cached_property
    def end_ids(self) -> frozenset[int]:
        """Each of these ends a turn."""
        return frozenset(self.ends.values())

    @cached_property
    def seen_end(self) -> int | None:
        """The token by which the template ends a turn that an observation follows: GLM's is the head of what follows.

        None for a template that writes something before it.
        """
        return self.ends.get(self.without_end(self._observation_suffix(_PROBE, image_count=0))[0])

    def replaces(self, ids: Sequence[int]) -> bool:
        """Whether a turn of these ids, before an observation, ends with another token than the template's own.

        A model may end a call with the token that it should end an answer with. What follows is then to be seen after
        the template's token, and not after both: a new context begins, with all before the token that was said.
        """
        return bool(ids) and ids[-1] in self.end_ids and self.seen_end not in (None, ids[-1])

    def without_end(self, suffix: str) -> tuple[str, str]:
        """The token with which the template ends a turn, and what follows it; "" where it begins with another text."""
        end = next((token for token in self.ends if suffix.startswith(token)), "")
        return end, suffix.removeprefix(end)

    @cached_property
    def _suffix_ids(self) -> Callable[[str, tuple[ImageLayout, ...], bool], Sequence[int]]:
        """Ids of an observation by its text and what stands for images; rendering takes longer than most tools do.

        What a tool says is often the same, above all nothing beside its picture.
        """

        @lru_cache(maxsize=256)
        def suffix_ids(text: str, layouts: tuple[ImageLayout, ...], ends_with_eos: bool) -> Sequence[int]:
            suffix = self._observation_suffix(text, len(layouts))
            if ends_with_eos:
                _, suffix = self.without_end(suffix)
            written = self._with_image_texts(suffix, layouts)
            return tuple(self.tokenizer.encode(written, add_special_tokens=False))

        return suffix_ids

    def _with_image_texts(self, text: str, layouts: Sequence[ImageLayout]) -> str:
        """The text with what is written for each image: one placeholder stands for those in a row.

        Before it is encoded, as the family's processor does it: texts at the ends join what stands beside them.
        """
        if all(len(layout) == 1 for layout in layouts):
            return text
        between = text.split(self.image_token)
        if len(between) != len(layouts) + 1:
            raise self._uneven(is_short=len(between) <= len(layouts))
        images = ["".join(one if isinstance(one, str) else self.image_token for one in each) for each in layouts]
        return "".join(piece for pair in zip(between, [*images, ""]) for piece in pair)

    def _tokens(self, rendered: Sequence[int], images: tuple[ImageRef, ...], layouts: Sequence[ImageLayout]) -> Tokens:
        """``rendered`` has one placeholder for each row of them."""
        ids: list[int] = []
        counts = iter([part for layout in layouts for part in layout if isinstance(part, int)])
        for token in rendered:
            if token != self.image_token_id:
                ids.append(token)
                continue
            count = next(counts, None)
            if count is None:
                raise self._uneven(is_short=False)
            ids += [token] * count
        if next(counts, None) is not None:
            raise self._uneven(is_short=True)
        return Tokens(ids=tuple(ids), images=images)

    def _uneven(self, *, is_short: bool) -> UserError:
        if is_short:
            return UserError("the chat template dropped an image; use the template of the instruct model")
        return UserError(f"the text itself holds the image token {self.image_token}; remove it from the question")

    def rendered(self, conversation: list[dict[str, object]], *, generation: bool) -> str:
        """The template's text of messages as it takes them."""
        return self.tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=generation)

    def observation_message(self, text: str, image_count: int) -> dict[str, object]:
        """An observation as the template takes it."""
        content: list[dict[str, object]] = [{"type": "image"}] * image_count
        if text:
            content.append({"type": "text", "text": text})
        if self.observation_role == "user":
            content = [
                {"type": "text", "text": "<tool_response>\n"},
                *content,
                {"type": "text", "text": "\n</tool_response>"},
            ]
        return {"role": self.observation_role, "content": content}

    def _observation_suffix(self, text: str, image_count: int) -> str:
        return self.suffix(self.observation_message(text, image_count))

    def suffix(self, message: dict[str, object]) -> str:
        """What the template writes after an assistant's turn that this message follows."""
        spoken = [self.as_content("user", "?"), self.as_content("assistant", _SENTINEL)]
        rendered = self.rendered([*spoken, message], generation=True)
        return rendered[rendered.index(_SENTINEL) + len(_SENTINEL) :]

    def as_content(self, role: str, text: str) -> dict[str, object]:
        """A message of a text alone as the template takes it."""
        return {"role": role, "content": text if self.takes_text else [{"type": "text", "text": text}]}

    def as_parts(self, role: str, parts: Sequence[str | ImageRef]) -> dict[str, object]:
        """A message of texts and pictures as the template takes it."""
        if role == "system" and all(isinstance(part, str) for part in parts):
            text = "".join(map(str, parts))
            if self._quotes_system:
                return {"role": role, "content": text}
            # In one part: some templates read the first alone (Gemma 3's).
            parts = [text] if parts else []
        content: list[Mapping[str, object]] = [
            {"type": "image"} if isinstance(part, ImageRef) else {"type": "text", "text": part} for part in parts
        ]
        return {"role": role, "content": content}

    @cached_property
    def _quotes_system(self) -> bool:
        """Whether the template prints a system's message in parts as Python does, as GLM-4.1V's."""
        told: dict[str, object] = {"role": "system", "content": [{"type": "text", "text": _PROBE}]}
        asked = [told, self.as_content("user", "?")]
        try:
            return f"'{_PROBE}'" in self.rendered(asked, generation=True)
        except TemplateLimitError:
            raise
        except Exception:  # A template without a system's message says so where one is given.
            return False

    def _shows_text(self) -> bool:
        """False for a template that loses a content which is a text, and shows one in parts."""
        shown = []
        for content in (_PROBE, [{"type": "text", "text": _PROBE}]):
            try:
                shown.append(_PROBE in self.rendered([{"role": "user", "content": content}], generation=False))
            except TemplateLimitError:
                raise
            except Exception:  # A template may raise anything of its own for what it does not take.
                shown.append(False)
        return shown != [False, True]

    def _shows_images_in_observations(self) -> bool:
        try:
            suffix = self._observation_suffix(_PROBE, image_count=1)
        except TemplateLimitError:
            raise
        except Exception:  # A template may raise anything of its own for a role that it does not know.
            return False
        return suffix.count(self.image_token) == 1 and suffix.count(_PROBE) == 1

    def _knows_tools(self) -> bool:
        """False for a template that renders the tool role as it renders an unknown role."""
        spoken = [self.as_content("user", "?"), self.as_content("assistant", "!")]
        content = [{"type": "text", "text": _PROBE}]
        try:
            unknown = self.rendered([*spoken, {"role": _NO_ROLE, "content": content}], generation=True)
        except TemplateLimitError:
            raise
        except Exception:  # As it should be: a template raises what it likes.
            return True
        known = self.rendered([*spoken, {"role": "tool", "content": content}], generation=True)
        # Some write a role with a capital.
        return unknown.lower().replace(_NO_ROLE, "tool") != known.lower()

    @cached_property
    def has_empty_thoughts(self) -> bool:
        """Whether the template writes an empty thought for a turn of the assistant without one."""
        said = [self.as_content("user", "?"), self.as_content("assistant", _SENTINEL)]
        before = self.rendered(said, generation=False).partition(_SENTINEL)[0]
        return re.search(r"<think>\s*</think>\s*\Z", before) is not None

    def _opening_checked(self) -> tuple[str, str]:
        """Opening and lead of a turn in the template; UserError for one that is not prefix-preserving.

        Earlier thoughts may be dropped where a whole conversation is rendered anew, as templates of models that always
        think do: turns are kept as ids here and never rendered again.
        """
        question: list[dict[str, object]] = [{"role": "user", "content": [{"type": "text", "text": "?"}]}]
        answered = [*question, self.as_content("assistant", _SENTINEL)]
        continued = [*answered, self.observation_message(_PROBE, image_count=0)]
        try:
            head = self.rendered(question, generation=True)
            longer = (self.rendered(answered, generation=False), self.rendered(continued, generation=True))
        except TemplateLimitError:
            raise
        except Exception as error:  # The template is a program of others.
            reason = "".join(letter if letter.isprintable() else " " for letter in str(error).strip()[:300])
            reason = reason.partition("\n")[0]
            raise UserError(
                f"the checkpoint's chat template cannot be used ({type(error).__name__}: {reason}); use the template "
                "of the instruct model of this family, or one of your own (model.chat_template)"
            ) from error
        opened = _OPENED_THOUGHT.search(head)
        opening = opened.group() if opened else ""
        begins = head.removesuffix(opening)
        if opening and all(text.startswith(begins) and text.count(_SENTINEL) == 1 for text in longer):
            return opening, ""
        # LLaVA-OneVision's template has a space between a role and its line break for a turn that was said alone.
        before = begins if longer[0].startswith(begins) else begins.rstrip()
        found = [_BEFORE_TEXT.match(text, len(before)) for text in longer if text.startswith(before)]
        if not opening and len(found) == 2 and all(found) and all(text.count(_SENTINEL) == 1 for text in longer):
            return "", found[0]["lead"] if found[0] and before == begins else ""
        raise UserError(
            "the checkpoint's chat template changes earlier turns when a turn is added (it is not "
            "prefix-preserving), so sampled tokens would not be the trained ones; use another template "
            "(model.chat_template)"
        )
