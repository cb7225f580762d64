"""Tokens that a language model was never trained on: their rows of the embedding are those of tokens for nothing.

Published tables have rows to spare, and entries that no text of the training had. In Qwen2.5-Coder-Instruct of 0.5 B
``<tool_call>`` and ``</tool_call>`` are such: a model cannot tell them from three hundred other tokens, so it does not
read them, and an adapter never learns to write them, since all of these have one logit. Spelled in pieces they are a
text like any other.
"""

import logging
from collections.abc import Collection
from pathlib import Path

from safetensors import SafetensorError, safe_open
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from saccade.models.unused_tokens import unused_tokens
from saccade.plain_files import check_plain

SAME = 0.01
"""Rows that lie no farther apart, as a share of their length, are one: new tokens are often put at a common mean."""
SPARE = 4
"""Rows beyond the tokenizer's tokens that are looked at."""

logger = logging.getLogger(__name__)


def untrained_tokens(checkpoint: Path, tokenizer: PreTrainedTokenizerFast, end: str) -> dict[str, int]:
    """Tokens that a model may write whose rows of the embedding are another's; none where the rows cannot be read.

    Of special tokens, which only templates and environments write, ``end``, the end of a turn, is looked at alone;
    those for nothing are left out.
    """
    unused = set(unused_tokens(tokenizer, tokenizer.get_vocab()).values())
    added = {
        int(index): str(token)
        for index, token in tokenizer.added_tokens_decoder.items()
        if not token.special or str(token) == end
    }
    spoken = {index: token for index, token in added.items() if index not in unused}
    if not spoken:
        return {}
    rows = _rows(checkpoint, spoken, len(tokenizer))
    return {
        token: index
        for index, token in spoken.items()
        if index in rows and any(_are_one(rows[index], row) for other, row in rows.items() if other != index)
    }


def say_untrained(checkpoint: Path, tokens: Collection[str], *, end: str, are_spelled: bool) -> None:
    """Warns of them, and of what is done."""
    if end in tokens:
        logger.warning(
            "%s was never trained on %s, which ends a turn: an adapter cannot learn to end one; train all weights, or "
            "take the instruct model",
            checkpoint,
            end,
        )
    if not (spoken := [one for one in tokens if one != end]):
        return
    names = ", ".join(spoken[:6]) + (f" and {len(spoken) - 6} more" if len(spoken) > 6 else "")
    done = (
        "they are written in pieces, in prompts too (model.untrained_tokens=kept leaves them whole, for who trains all "
        "weights)"
        if are_spelled
        else "an adapter cannot learn to write them (model.untrained_tokens=spelled writes them in pieces)"
    )
    logger.warning("%s was never trained on %s, whose weights are those of other tokens: %s", checkpoint, names, done)


def _rows(checkpoint: Path, spoken: dict[int, str], known: int) -> dict[int, Tensor]:
    """Rows of the language model's embedding: of these tokens, and of some that no token has."""
    try:
        for file in sorted(checkpoint.glob("*.safetensors")):
            with safe_open(check_plain(file), framework="pt") as weights:
                for name in weights.keys():  # noqa: SIM118
                    if name.endswith("embed_tokens.weight"):
                        table = weights.get_slice(name)
                        count = int(table.get_shape()[0])
                        wanted = [*spoken, *range(known, min(count, known + SPARE))]
                        return {one: table[one : one + 1][0].float() for one in wanted if one < count}
    except (OSError, SafetensorError):
        # What is wrong with the file is said where it is loaded.
        return {}
    return {}


def _are_one(row: Tensor, other: Tensor) -> bool:
    return bool((row - other).norm() <= SAME * row.norm())
