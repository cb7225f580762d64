"""A chat without a trained tokenizer: every character is a token, so a test can read ids by eye."""

import re
from collections.abc import Sequence

from saccade.media.resize import ViewRule
from saccade.models.chat import Chat

SPECIAL_TOKENS = ("<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>")

# Beyond the last code point, so that no character is ever taken for a special token.
_FIRST_SPECIAL_ID = 0x110000
_SPECIAL = re.compile("(" + "|".join(re.escape(token) for token in SPECIAL_TOKENS) + ")")


class LetterTokenizer:
    """Code points for ids, in the chat format of the Qwen-VL families."""

    def encode(self, text: str, *, add_special_tokens: bool = True) -> list[int]:
        ids: list[int] = []
        for piece in _SPECIAL.split(text):
            if piece in SPECIAL_TOKENS:
                ids.append(_FIRST_SPECIAL_ID + SPECIAL_TOKENS.index(piece))
            else:
                ids.extend(ord(letter) for letter in piece)
        return ids

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        return "".join(
            chr(token) if token < _FIRST_SPECIAL_ID else SPECIAL_TOKENS[token - _FIRST_SPECIAL_ID]
            for token in token_ids
            if token < _FIRST_SPECIAL_ID or not skip_special_tokens
        )

    def apply_chat_template(
        self, conversation: Sequence[dict[str, object]], *, tokenize: bool, add_generation_prompt: bool
    ) -> str:
        head = "<|im_start|>assistant\n" if add_generation_prompt else ""
        return "".join(_rendered(message) for message in conversation) + head


def letter_chat(view: ViewRule) -> Chat:
    """The real chat rendering over a letter tokenizer; images take as many tokens as the view gives them."""
    ids = {token: _FIRST_SPECIAL_ID + index for index, token in enumerate(SPECIAL_TOKENS)}
    return Chat.checked(
        tokenizer=LetterTokenizer(),
        image_token="<|image_pad|>",
        image_token_id=ids["<|image_pad|>"],
        eos_token="<|im_end|>",
        eos_id=ids["<|im_end|>"],
        token_count=view.token_count,
    )


def _rendered(message: dict[str, object]) -> str:
    if message["role"] not in ("system", "user", "assistant", "tool"):
        raise ValueError(f"the role is system, user, assistant or tool, not {message['role']}")
    content = message["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    text = "".join(
        "<|vision_start|><|image_pad|><|vision_end|>" if part["type"] == "image" else str(part["text"])
        for part in parts
    )
    return f"<|im_start|>{message['role']}\n{text}<|im_end|>\n"
