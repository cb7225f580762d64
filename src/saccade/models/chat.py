"""Chat messages to token ids, rendered so that what was sampled is never encoded again.

A prompt is rendered once. An observation is rendered as a suffix against a dummy conversation, so the ids of the
turns before it stay as they were sampled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Protocol

from saccade.errors import UserError
from saccade.types import ImageRef, Message, Observation, Tokens

_SENTINEL = "SACCADESENTINEL"
_PROBE = "SACCADEPROBE"


class Tokenizer(Protocol):
    """The part of a transformers tokenizer that rendering needs."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]: ...

    def decode(self, token_ids: list[int], *, skip_special_tokens: bool = False) -> str: ...

    def apply_chat_template(
        self, conversation: list[dict[str, object]], *, tokenize: bool, add_generation_prompt: bool
    ) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Chat:
    """Renders messages for one checkpoint; made by ``Chat.checked``, which proves the template usable first."""

    tokenizer: Tokenizer
    image_token: str
    image_token_id: int
    eos_token: str
    eos_id: int
    token_count: Callable[[ImageRef], int]
    """Placeholder tokens that an image takes."""
    observation_role: str
    """``tool`` where the template renders images there, else ``user`` with ``<tool_response>`` written around."""
    before_image: tuple[int, ...] = ()
    """Ids before the placeholders of an image, where the template leaves it to the family's processor to add them."""
    after_image: tuple[int, ...] = ()

    @classmethod
    def checked(
        cls,
        *,
        tokenizer: Tokenizer,
        image_token: str,
        image_token_id: int,
        eos_token: str,
        eos_id: int,
        token_count: Callable[[ImageRef], int],
        before_image: tuple[int, ...] = (),
        after_image: tuple[int, ...] = (),
    ) -> "Chat":
        """A chat whose template is prefix-preserving and shows images in observations; UserError otherwise."""
        for role in ("tool", "user"):
            chat = cls(
                tokenizer=tokenizer,
                image_token=image_token,
                image_token_id=image_token_id,
                eos_token=eos_token,
                eos_id=eos_id,
                token_count=token_count,
                observation_role=role,
                before_image=before_image,
                after_image=after_image,
            )
            if chat._shows_images_in_observations():
                break
        else:
            # A template that loses what the assistant said shows no observation after it either: say that first.
            chat._check_prefix_preserving()
            raise UserError(
                "the checkpoint's chat template shows images neither in the tool role nor in the user role (an image "
                f"must be rendered as one {image_token}); use the template of the instruct model of this family"
            )
        chat._check_prefix_preserving()
        return chat

    def prompt(self, messages: Sequence[Message]) -> Tokens:
        """The whole conversation so far, up to where the assistant begins to speak."""
        text = self._render([_as_template_message(message) for message in messages], generation=True)
        images = tuple(part for message in messages for part in message.parts if isinstance(part, ImageRef))
        return self._tokens(self.tokenizer.encode(text, add_special_tokens=False), images)

    def observation(self, observation: Observation, *, ends_with_eos: bool) -> Tokens:
        """The suffix after an assistant turn: its end token unless sampled, the observation, the next turn's head."""
        return self._tokens(
            self._suffix_ids(observation.text, len(observation.images), ends_with_eos), observation.images
        )

    def encode(self, text: str) -> tuple[int, ...]:
        """Ids of what an assistant turn says; used for demonstrations and scripted engines, never for samples."""
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))

    def decode(self, ids: Sequence[int]) -> str:
        """The text of sampled ids, verbatim but for the end-of-turn token at its end."""
        spoken = list(ids[:-1]) if ids and ids[-1] == self.eos_id else list(ids)
        return self.tokenizer.decode(spoken, skip_special_tokens=False)

    @cached_property
    def _suffix_ids(self) -> Callable[[str, int, bool], Sequence[int]]:
        """Ids of an observation by its text and number of images; rendering takes longer than most tools do.

        What a tool says is often the same, above all nothing beside its picture.
        """

        @lru_cache(maxsize=256)
        def suffix_ids(text: str, image_count: int, ends_with_eos: bool) -> Sequence[int]:
            suffix = self._observation_suffix(text, image_count)
            if ends_with_eos and suffix.startswith(self.eos_token):
                suffix = suffix[len(self.eos_token) :]
            return tuple(self.tokenizer.encode(suffix, add_special_tokens=False))

        return suffix_ids

    def _tokens(self, rendered: Sequence[int], images: tuple[ImageRef, ...]) -> Tokens:
        """``rendered`` has one placeholder for each image."""
        ids: list[int] = []
        remaining = iter(images)
        for token in rendered:
            if token != self.image_token_id:
                ids.append(token)
                continue
            image = next(remaining, None)
            if image is None:
                raise UserError(
                    f"the text itself holds the image token {self.image_token}; remove it from the question"
                )
            ids += [*self.before_image, *[token] * self.token_count(image), *self.after_image]
        if next(remaining, None) is not None:
            raise UserError("the chat template dropped an image; use the template of the instruct model")
        return Tokens(ids=tuple(ids), images=images)

    def _render(self, conversation: list[dict[str, object]], *, generation: bool) -> str:
        return self.tokenizer.apply_chat_template(conversation, tokenize=False, add_generation_prompt=generation)

    def _observation_message(self, text: str, image_count: int) -> dict[str, object]:
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
        spoken: list[dict[str, object]] = [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": _SENTINEL},
        ]
        rendered = self._render([*spoken, self._observation_message(text, image_count)], generation=True)
        return rendered[rendered.index(_SENTINEL) + len(_SENTINEL) :]

    def _shows_images_in_observations(self) -> bool:
        try:
            suffix = self._observation_suffix(_PROBE, image_count=1)
        except Exception:  # A template may raise anything of its own for a role that it does not know.
            return False
        return suffix.count(self.image_token) == 1 and suffix.count(_PROBE) == 1

    def _check_prefix_preserving(self) -> None:
        question: list[dict[str, object]] = [{"role": "user", "content": [{"type": "text", "text": "?"}]}]
        answered: list[dict[str, object]] = [*question, {"role": "assistant", "content": _SENTINEL}]
        continued = [*answered, self._observation_message(_PROBE, image_count=0)]
        try:
            head = self._render(question, generation=True)
            longer = (self._render(answered, generation=False), self._render(continued, generation=True))
        except Exception as error:  # The template is a program of others.
            reason = str(error).strip().partition("\n")[0]
            raise UserError(
                f"the checkpoint's chat template cannot be used ({type(error).__name__}: {reason}); use the template "
                "of the instruct model of this family"
            ) from error
        if not all(text.startswith(head + _SENTINEL) for text in longer):
            raise UserError(
                "the checkpoint's chat template changes earlier turns when a turn is added (it is not "
                "prefix-preserving), so sampled tokens would not be the trained ones; use another template"
            )


def _as_template_message(message: Message) -> dict[str, object]:
    content: list[Mapping[str, object]] = [
        {"type": "image"} if isinstance(part, ImageRef) else {"type": "text", "text": part} for part in message.parts
    ]
    return {"role": message.role, "content": content}
