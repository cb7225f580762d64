"""Texts of tokens, by the tokenizer beside a run's newest checkpoint. Nothing of torch is loaded for it."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from saccade.plain_files import plain_text

Decode = Callable[[Sequence[int]], list[str]]
"""One text for each token."""

_MAX_BYTES = 64 << 20


def decoder_below(checkpoints: Path) -> Decode | None:
    """By the newest checkpoint that has a tokenizer; None where none has one that can be read."""
    try:
        files = sorted(checkpoints.glob("*/tokenizer.json"), key=lambda path: path.stat().st_mtime, reverse=True)
    except OSError:
        return None
    inside = checkpoints.resolve()
    for file in files[:4]:
        if file.resolve().is_relative_to(inside) and (decode := _decoder(file)) is not None:
            return decode
    return None


def _decoder(path: Path) -> Decode | None:
    from tokenizers import Tokenizer

    try:
        if path.stat().st_size > _MAX_BYTES:
            return None
        text = plain_text(path)
        json.loads(text)
        tokenizer = Tokenizer.from_str(text)
    except Exception:  # The library raises bare exceptions for a file that it cannot read.
        return None

    def decode(ids: Sequence[int]) -> list[str]:
        # Ids that the tokenizer does not have would end the process in some versions.
        known = tokenizer.get_vocab_size(with_added_tokens=True)
        return [tokenizer.decode([token], skip_special_tokens=False) if 0 <= token < known else "�" for token in ids]

    return decode
