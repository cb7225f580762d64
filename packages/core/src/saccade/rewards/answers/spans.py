"""Answers in the words of a document: overlap of words, and lists of items."""

import ast
import re
import string
from collections import Counter
from collections.abc import Sequence

from saccade.quantities import NUMBER_WORDS
from saccade.rewards.answers.rules import anls, is_nearly, said_forms

_ARTICLES = frozenset(["a", "an", "the"])
_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NO_WORD = re.compile(r"[^\w\s.]|(?<!\d)\.|\.(?!\d)")
_UNIT = re.compile(r"\b(?:how many|which) (\w+)")
_BETWEEN_ITEMS = re.compile(r",\s+and\s+|,\s+|;\s*|\s+and\s+|\n+")


def span_words(text: str) -> list[str]:
    """The words that SQuAD's rule compares: without case, punctuation and articles."""
    return [word for word in text.lower().translate(_PUNCTUATION).split() if word not in _ARTICLES]


def span_f1(prediction: str, gold: str) -> float:
    """F1 of the words of two texts, each as often as it is there; 0.0 when they share none."""
    return words_f1(span_words(prediction), span_words(gold))


def words_f1(given: Sequence[str], wanted: Sequence[str]) -> float:
    """Harmonic mean of precision and recall of words: Rajpurkar et al. 2016."""
    shared = sum((Counter(given) & Counter(wanted)).values())
    return 2 * shared / (len(given) + len(wanted)) if shared else 0.0


def slide_words(text: str, question: str) -> list[str]:
    """Words after SlideVQA's rule: numbers as digits, without percent and without the unit that the question names.

    Unlike its script this leaves decimal points where they are: 5.4 is not 54.
    """
    left_out = {"percent", *_ARTICLES, *_UNIT.findall(question.lower())}
    words = (word for word in _NO_WORD.sub("", text.lower()).split() if word not in left_out)
    return [str(NUMBER_WORDS.index(word)) if word in NUMBER_WORDS else word for word in words]


def list_items(text: str) -> list[str]:
    """The items of a list: of a Python or JSON list, or between commas, semicolons, lines or "and"."""
    text = text.strip()
    is_bracketed = text.startswith("[")
    try:
        found = ast.literal_eval(text) if is_bracketed else None
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found = None
    items = (
        found
        if isinstance(found, list)
        else _BETWEEN_ITEMS.split(text[1:-1] if is_bracketed and text.endswith("]") else text)
    )
    return [" ".join(str(item).casefold().split()) for item in items if str(item).strip()]


def list_anls(prediction: str, gold: str) -> float:
    """ANLS of the worst pair of two lists in the order of the alphabet; 0.0 unless they are of one length."""
    wanted = sorted(list_items(gold))
    return max(_worst(sorted(list_items(said)), wanted) for said in said_forms(prediction))


def same_items(prediction: str, gold: str) -> bool:
    """As many items, each right as a text against the gold's, in any order."""
    wanted = sorted(list_items(gold))
    return any(
        len(given) == len(wanted) and all(map(is_nearly, given, wanted))
        for given in (sorted(list_items(said)) for said in said_forms(prediction))
    )


def _worst(given: Sequence[str], wanted: Sequence[str]) -> float:
    if len(given) != len(wanted) or not wanted:
        return 0.0
    return min(anls(one, [other]) for one, other in zip(given, wanted))
