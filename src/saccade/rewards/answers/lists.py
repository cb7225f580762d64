"""Answers that are several items, all of which must be said."""

import re
from collections.abc import Sequence

from saccade.rewards.answers.rules import exact_match, math_equal, said_forms
from saccade.rewards.answers.spans import list_items
from saccade.rewards.answers.statements import same_words

MAX_ITEMS = 100
_BETWEEN = re.compile(r"\s*[,;]\s*|\s+and\s+|\n+")
_AROUND = "[](){} \t\n.\\$"


def same_list(prediction: str, gold: str) -> bool:
    """All items of the gold and no other, in any order; each by its value, or else by its words.

    Items stand in a JSON or Python list, or between commas, semicolons, lines or "and".
    """
    wanted = list_items(gold)
    return any(
        _same_items(given, wanted)
        for said in said_forms(prediction)
        for given in (list_items(said), [item for item in _BETWEEN.split(said.strip(_AROUND)) if item])
    )


def _same_items(given: Sequence[str], wanted: Sequence[str]) -> bool:
    if len(given) != len(wanted) or not 0 < len(wanted) <= MAX_ITEMS:
        return False
    left = list(wanted)
    for item in given:
        found = next((place for place, one in enumerate(left) if _same_item(item.strip(_AROUND), one)), None)
        if found is None:
            return False
        del left[found]
    return True


def _same_item(given: str, wanted: str) -> bool:
    return exact_match(given, wanted) or math_equal(given, wanted) or same_words(given, wanted)
