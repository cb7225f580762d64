"""Words and signs by which a text denies, doubts or offers a choice: ``not``, ``or``, ``is wrong``, ``?``.

Beside a right answer they say something else than the answer does, however few letters they add to it.
"""

import re
import unicodedata

_DENIALS = """
not no nor never neither none without cannot except but unless instead rather wrong incorrect false untrue mistaken
denied unlikely impossible doubtful hardly isnt arent wasnt werent dont doesnt didnt cant couldnt wouldnt
"""
_DOUBTS = """
or either maybe perhaps possibly probably presumably guess unsure uncertain could might would seem seems if whether
about approximately around roughly almost nearly least alternatively otherwise else
"""
DOUBTS = frozenset(_DENIALS.split()) | frozenset(_DOUBTS.split())

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_SIGN = re.compile(r"[?|~<>±≠¬≈≤≥+]|[^\W\d_]\s*/\s*(?=[^\W\d_])")


def is_doubt(word: str) -> bool:
    """Whether a word in small letters denies, doubts or offers a choice; ``isn't`` does."""
    return word in DOUBTS or word.endswith(("n't", "n’t"))


def doubts_of(text: str) -> tuple[str, ...]:
    """All words of doubt and denial in a text, its signs of them, and its lone letters but for ``a`` and ``i``, sorted.

    A lone letter is a name: ``Section A`` is not ``Section B``.
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    words = _WORD.findall(plain)
    found = [word for word in words if is_doubt(word) or (len(word) == 1 and word not in "ai")]
    return tuple(sorted([*found, *(sign[-1] if len(sign) == 1 else "/" for sign in _SIGN.findall(plain))]))
