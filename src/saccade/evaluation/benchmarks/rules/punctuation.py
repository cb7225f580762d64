"""VLMEvalKit's way to take punctuation out of a text, as VQA's evaluation began it."""

import re

_SIGNS = ';/[]"{}()=+\\_->< @`,?!'.replace(" ", "")
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_LONE_PERIOD = re.compile(r"(?<!\d)\.(?!\d)")
_PERIOD = re.compile(r"\.(?!\d)")
MAX_PERIODS = 32
"""The harness hands a flag over where a count belongs: only so many periods are taken out."""


def without_punctuation(text: str, *, periods_after_digits: bool = True) -> str:
    """Each sign is taken out where it stands beside a space, or the text has a number such as 1,000; else a space.

    Whether it is taken out or becomes a space is decided for all its places together, in the text as it came.
    A period after a digit is kept, or goes too.
    """
    has_thousands = _COMMA_IN_NUMBER.search(text) is not None
    clean = text
    for sign in _SIGNS:
        beside_space = f"{sign} " in text or f" {sign}" in text
        clean = clean.replace(sign, "" if beside_space or has_thousands else " ")
    return (_LONE_PERIOD if periods_after_digits else _PERIOD).sub("", clean, count=MAX_PERIODS)
