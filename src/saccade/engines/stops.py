"""Where a turn ends: stop strings found in bytes, so that neither tokens nor characters can hide them."""

from collections.abc import Mapping, Sequence
from typing import Protocol


class ByteLevelTokenizer(Protocol):
    """The part of a transformers tokenizer that tells which bytes a token stands for."""

    def convert_ids_to_tokens(self, ids: int) -> str | None: ...

    def get_added_vocab(self) -> Mapping[str, int]: ...


def _byte_of_character() -> dict[str, int]:
    """Byte-level BPE writes printable bytes as themselves and the others as characters from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    hidden = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(0x100 + order): byte for order, byte in enumerate(hidden)}


class TokenBytes:
    """The bytes that each token of a byte-level BPE tokenizer stands for; part of a character is allowed."""

    def __init__(self, tokenizer: ByteLevelTokenizer) -> None:
        self._tokenizer = tokenizer
        self._added = {index: token.encode() for token, index in tokenizer.get_added_vocab().items()}
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
        token = self._tokenizer.convert_ids_to_tokens(token_id)
        return bytes(self._byte_of_character[character] for character in token or "")


class StopFinder:
    """Reads one turn's bytes and says when a stop string is complete."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = tuple(stop.encode() for stop in stops)
        self._tail_length = max((len(stop) for stop in self._stops), default=1) - 1
        self._tail = b""

    def completes(self, token: bytes) -> bool:
        """True when this token completes a stop string, whatever it holds after it."""
        seen = self._tail + token
        self._tail = seen[len(seen) - self._tail_length :] if self._tail_length < len(seen) else seen
        return any(stop in seen for stop in self._stops)
