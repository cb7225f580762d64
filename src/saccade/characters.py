"""Texts in whole characters: JSON can spell halves of surrogate pairs, which no UTF-8 file could hold.

And words as a shell takes them.
"""

import shlex


def whole_characters(text: str) -> str:
    """The text with a question mark for each half of a surrogate pair."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def shell_words(*words: object) -> str:
    """Words of a command that is printed to be pasted into a shell: paths with blanks or quotes stay one word each."""
    return shlex.join(map(str, words))
