"""The bytes that tokens stand for, of the two kinds of BPE tokenizers that can write any text."""

import re
from collections.abc import Mapping
from typing import Protocol

_BYTE = re.compile("<0x([0-9A-F]{2})>")
_SPACE = "\u2581"


class SpellingTokenizer(Protocol):
    """The part of a transformers tokenizer that tells which bytes a token stands for."""

    def convert_ids_to_tokens(self, ids: int) -> str | None: ...

    def convert_tokens_to_ids(self, tokens: str) -> int | None: ...

    def get_added_vocab(self) -> Mapping[str, int]: ...


def _byte_of_character() -> dict[str, int]:
    """Byte-level BPE writes printable bytes as themselves and the others as characters from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + order): byte for order, byte in enumerate(hidden)}


class TokenBytes:
    """The bytes that each token of a BPE tokenizer stands for; part of a character is allowed.

    The tokenizer is byte-level (Qwen), or falls back to bytes and writes spaces as U+2581 (Gemma).
    """

    def __init__(self, tokenizer: SpellingTokenizer) -> None:
        self.is_byte_level = not _has_all_bytes(tokenizer)
        self._tokenizer = tokenizer
        self._added = {index: self._plain(token) for token, index in tokenizer.get_added_vocab().items()}
        self._byte_of_character = _byte_of_character()
        self._known: dict[int, bytes] = {}

    def __getitem__(self, token_id: int) -> bytes:
        """Empty for an id that the tokenizer does not know."""
        if token_id not in self._known:
            self._known[token_id] = self._spell(token_id)
        return self._known[token_id]

    def _spell(self, token_id: int) -> bytes:
        if token_id in self._added:
            return self._added[token_id]
        token = self._tokenizer.convert_ids_to_tokens(token_id) or ""
        if self.is_byte_level:
            return bytes(self._byte_of_character[character] for character in token)
        found = _BYTE.fullmatch(token)
        return self._plain(token) if found is None else bytes.fromhex(found[1])

    def _plain(self, token: str) -> bytes:
        return (token if self.is_byte_level else token.replace(_SPACE, " ")).encode()


def _has_all_bytes(tokenizer: SpellingTokenizer) -> bool:
    names = (f"<0x{byte:02X}>" for byte in range(256))
    return all(tokenizer.convert_ids_to_tokens(tokenizer.convert_tokens_to_ids(name) or 0) == name for name in names)
