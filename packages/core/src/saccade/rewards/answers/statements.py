"""Free text against a right answer: the same words, and none that changes what is said.

Edit distance cannot tell ``left`` from ``right`` in a sentence: one word of many is a few letters. Here every word,
number, sign and denial must be the same, in the same order; only case, punctuation and a few words without content are
passed over.
"""

import re
import unicodedata

from saccade.characters import SPACELESS, half_width
from saccade.quantities import number_in_words

MAX_TEXT_CHARACTERS = 1000

_ARTICLES = frozenset(["a", "an", "the"])
_FORMS_OF_BE = frozenset(["is", "are", "was", "were", "be", "been", "being", "am"])
_PRONOUNS = frozenset(["it", "its", "there", "this", "that", "these", "those", "which", "who"])
_WITHOUT_CONTENT = _ARTICLES | _FORMS_OF_BE | _PRONOUNS | {"of"}
_APOSTROPHES = str.maketrans({"’": "'", "‘": "'", "`": "'"})
_CONTRACTED = (
    (re.compile(r"\bcan't\b|\bcannot\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\b(\w+)n't\b"), r"\1 not"),
    (re.compile(r"\b(\w+)'(?:s|re|m)\b"), r"\1"),
)
_WORD = re.compile(
    r"(?<![\w.)\]])[+-]?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?|[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?|[^\W\d_]+(?:'[^\W\d_]+)*"
    r"|[\u200b-\u200f\u2060\ufeff<>=≤≥≠±%°$€£¥\\^_√×÷*/+~?|]"
)
_SIGN = re.compile(f"[{SPACELESS}]")
"""A word of its own: where words end is not written."""


def same_words(given: str, wanted: str) -> bool:
    """The same words in the same order but for articles, case and punctuation; numbers in digits or words."""
    return _same(given, wanted, _ARTICLES)


def same_statement(given: str, wanted: str) -> bool:
    """The same words with content in the same order.

    Forms of *be*, articles and pronouns such as *it* and *there* do not count: ``A dog is on the left`` and
    ``There is a dog on the left``. A word more or less, another number, direction, colour or sign, and a denial do.
    """
    return _same(given, wanted, _WITHOUT_CONTENT)


def has_content(word: str) -> bool:
    """Whether ``same_statement`` needs the word: it is no article, form of *be* or pronoun."""
    return word.casefold().strip(".,;:!?") not in _WITHOUT_CONTENT


def _same(given: str, wanted: str, passed_over: frozenset[str]) -> bool:
    if len(given) > max(MAX_TEXT_CHARACTERS, 2 * len(wanted)):
        return False
    # "615,226" is a pair or a number: both texts are read the same way, either way.
    for is_pair in (False, True):
        words = _words(wanted, passed_over, is_pair)
        if words != [] and _words(given, passed_over, is_pair) == words:
            return True
    return False


def _words(text: str, passed_over: frozenset[str], is_pair: bool) -> list[str]:
    plain = unicodedata.normalize("NFC", half_width(text)).casefold().translate(_APOSTROPHES).replace("−", "-")
    plain = plain if plain.isascii() else _SIGN.sub(r" \g<0> ", plain)
    for pattern, full in _CONTRACTED:
        plain = pattern.sub(full, plain)
    found = _WORD.findall(plain.replace(",", " ") if is_pair else plain)
    kept = [word for word in found if word not in passed_over]
    # An answer that is such a word alone, as "there", is compared with all it has.
    return [_as_digits(word) for word in kept or found]


def _as_digits(word: str) -> str:
    number = number_in_words(word)
    if number is not None:
        return str(number)
    return word.replace(",", "").removeprefix("+") if word[-1].isdigit() else word
