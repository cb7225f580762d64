"""Entries of a vocabulary that stand for nothing: they fill a table of embeddings, and no text is made of them."""

import re
from collections.abc import Mapping

from transformers import PreTrainedTokenizerFast

_NAMES = re.compile(
    r"\[PAD(?P<own>[0-9]{1,9})\]"  # conversions from GGUF; the number is the entry's own
    r"|<unused[0-9]{1,6}>|\[unused[0-9]{1,6}\]|\[UNUSED_TOKEN_[0-9]{1,6}\]"  # Gemma, BERT, InternLM2
    r"|<\|reserved_special_token_[0-9]{1,6}\|>"  # Llama 3
    r"|<\|placeholder_?[0-9]{1,6}\|>|<\|dummy_[0-9]{1,6}\|>"  # Phi 3 and 4
)


def unused_tokens(tokenizer: PreTrainedTokenizerFast, vocabulary: Mapping[str, int]) -> dict[str, int]:
    """Unused entries of the tokenizer's ``vocabulary`` with their ids, known by their whole names.

    ``[PAD151665]`` where 151665 is its own id, ``<unused3>``, ``[unused3]``, ``[UNUSED_TOKEN_3]``,
    ``<|reserved_special_token_3|>``, ``<|placeholder3|>`` and ``<|dummy_3|>``.

    One that the chat template names, or that the tokenizer has a role for (its end, its padding), is in use.
    """
    template = str(tokenizer.chat_template or "")
    roles = {str(token) for token in tokenizer.special_tokens_map.values()}
    return {
        token: number
        for token, number in vocabulary.items()
        # Most entries of a large vocabulary are told by their first letter.
        if token.startswith(("[", "<"))
        and (name := _NAMES.fullmatch(token)) is not None
        and name["own"] in (None, str(number))
        and token not in template
        and token not in roles
    }
