"""Whether an answer is right by its task's ``answer_kind``.

==========  ===========================================================================================================
kind        an answer is right that
==========  ===========================================================================================================
exact       is the word, up to case, white space, quotes and a final full stop
choice      names the option, by its letter or its whole text
integer     is the whole number, in digits or words, alone or as a count
number      is the number within the task's relative tolerance
math        has the same value, or is the same formula: fractions, roots, pi, letters, tuples, in LaTeX or plain text
boxes       has as many boxes as the gold, each over one of them with the task's ``min_iou`` or more
list        has all the items and no other, in any order
text        has the same words in the same order, articles apart
sentence    has the same words with content in the same order; no number, direction, colour or denial may differ
judge       a judge finds right; without one, the same as ``sentence``
==========  ===========================================================================================================

Where the gold is one of the options that the question's own text marks, an answer is right too that names this option;
where it is several of their letters, ``ACD``, one that has the same letters.
"""

import re
from collections.abc import Sequence

from saccade.rewards.answers.boxes import same_boxes
from saccade.rewards.answers.options_in_text import options_in
from saccade.rewards.answers.replies import bare
from saccade.rewards.answers.rules import (
    exact_match,
    math_equal,
    multiple_choice,
    relative_numeric,
    said_forms,
    same_integer,
)
from saccade.rewards.answers.spans import list_items
from saccade.rewards.answers.statements import same_statement, same_words
from saccade.types import Task

MAX_ITEMS = 100
_BETWEEN = re.compile(r"\s*[,;]\s*|\s+and\s+|\n+")
_AROUND = "[](){} \t\n.\\$"


def right_by_kind(task: Task, answer: str | None) -> bool:
    """Whether the answer is right by the rule of ``task.answer_kind`` alone; no answer is wrong.

    ``metrics_by_set.answer_is_right`` is what to ask: it knows the metrics of published sets besides.
    """
    return answer is not None and (_is_right(task, answer) or _names_same_option(task, answer))


def _names_same_option(task: Task, answer: str) -> bool:
    if task.answer_kind in ("choice", "boxes", "list"):
        return False
    options = options_in(task.question)
    if options and (wanted := _several_letters(task.answer, len(options))):
        return _several_letters(bare(answer), len(options)) == wanted
    return bool(options) and multiple_choice(answer, task.answer, options)


_BETWEEN_LETTERS = re.compile(r"\band\b|[\s,;、，.()\[\]&]")


def _several_letters(text: str, options: int) -> frozenset[str]:
    """The letters of a text that is two or more different letters of options and nothing else; else none."""
    letters = _BETWEEN_LETTERS.sub("", text) if len(text) <= 200 else ""
    all_marked = all("A" <= letter < chr(ord("A") + options) for letter in letters)
    return frozenset(letters) if all_marked and len(letters) > 1 and len(set(letters)) == len(letters) else frozenset()


def _is_right(task: Task, answer: str) -> bool:
    match task.answer_kind:
        case "exact":
            return exact_match(answer, task.answer)
        case "choice":
            return multiple_choice(answer, task.answer, task.choices or options_in(task.question))
        case "integer":
            return same_integer(answer, task.answer)
        case "number":
            return relative_numeric(answer, task.answer, task.tolerance)
        case "math":
            return math_equal(answer, task.answer)
        case "boxes":
            return same_boxes(answer, task.answer, task.min_iou)
        case "list":
            return same_list(answer, task.answer)
        case "text":
            return any(same_words(said, gold) for said in said_forms(answer) for gold in said_forms(task.answer))
        case "sentence" | "judge":
            return any(same_statement(said, gold) for said in said_forms(answer) for gold in said_forms(task.answer))


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
