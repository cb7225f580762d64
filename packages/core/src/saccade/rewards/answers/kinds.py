"""Whether an answer is right by its task's ``answer_kind``.

==========  ===========================================================================================================
kind        an answer is right that
==========  ===========================================================================================================
exact       is the word, up to case, white space, quotes and a final full stop
choice      names the option, by its whole text or, where the question shows letters, by its letter
integer     is the whole number, in digits or words, alone or as a count
number      is the number within the task's relative tolerance
math        has the same value, or is the same formula: fractions, roots, pi, letters, tuples, in LaTeX or plain text
boxes       has as many boxes as the gold, each over one of them with the task's ``min_iou`` or more
click       is a point in the gold's box, ``[x, y]``, or a box whose middle is
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
from functools import lru_cache

from saccade.answer_boxes import boxes_in, clicks_on, matched_ious, point_in
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
_MARKS = (
    re.compile(r"(?:^|(?<=[\s,;:?？，；：。]))[(（]([A-Z]|[a-z])[)）]\s*"),
    re.compile(r"(?:^|(?<=[\s,;:?？，；：。]))([A-Z])(?:\.\s+|[．、]\s*)"),
    re.compile(r"(?:^|(?<=[\s,;:?？，；：。]))([A-Z])[:)：]\s*"),
)
MAX_OPTION_CHARACTERS = 500


def right_by_kind(task: Task, answer: str | None) -> bool:
    """Whether the answer is right by the rule of ``task.answer_kind`` alone; no answer is wrong.

    ``metrics_by_set.answer_is_right`` is what to ask: it knows the metrics of published sets besides.
    """
    return answer is not None and (_is_right(task, answer) or _names_same_option(task, answer))


def _names_same_option(task: Task, answer: str) -> bool:
    if task.answer_kind in ("choice", "boxes", "click", "list"):
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
            return exact_match(answer, task.answer, takes_article=True)
        case "choice":
            options = task.choices or options_in(task.question)
            return multiple_choice(answer, task.answer, options, has_letters=shows_letters(task))
        case "integer":
            return same_integer(answer, task.answer)
        case "number":
            return relative_numeric(answer, task.answer, task.tolerance)
        case "math":
            return math_equal(answer, task.answer)
        case "boxes":
            return same_boxes(answer, task.answer, task.min_iou)
        case "click":
            # The gold of what is not there to click is a word.
            gold = task.answer
            return exact_match(answer, gold) if point_in(gold) is None else clicks_on(answer, gold)
        case "list":
            return same_list(answer, task.answer)
        case "text":
            return any(same_words(said, gold) for said in said_forms(answer) for gold in said_forms(task.answer))
        case "sentence" | "judge":
            return any(same_statement(said, gold) for said in said_forms(answer) for gold in said_forms(task.answer))


def shows_letters(task: Task) -> bool:
    """Whether a letter means one of the task's options: they are listed below the question, or its words mark them."""
    asked = (task.question, *task.wordings.values())
    return not task.choices or any(task.lists_options(words) or task.marks_options(words) for words in asked)


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
    from saccade.rewards.answers.several_values import name_of

    names = {name_of(given).casefold(), name_of(wanted).casefold()} - {""}
    if len(names) > 1:  # x = 2 is not y = 2
        return False
    return exact_match(given, wanted) or math_equal(given, wanted) or same_words(given, wanted)


def box_credit(prediction: str, gold: str) -> float:
    """The sum of the matched IoUs over the number of boxes, of the side that has more; 0.0 where there is none.

    Both are in pixels of the original. Boxes beyond the right ones, copies too, lower the credit.
    """
    given, wanted = boxes_in(prediction) or boxes_in(bare(prediction)), boxes_in(gold)
    if not given or not wanted:
        return 0.0
    return sum(matched_ious(given, wanted)) / max(len(given), len(wanted))


def same_boxes(prediction: str, gold: str, min_iou: float) -> bool:
    """Whether each right box is met by a box of its own, at this IoU or better, and there is no other box."""
    given, wanted = boxes_in(prediction) or boxes_in(bare(prediction)), boxes_in(gold)
    if not given or not wanted or len(given) != len(wanted):
        return False
    overlaps = matched_ious(given, wanted)
    return len(overlaps) == len(wanted) and min(overlaps) >= min_iou


@lru_cache(maxsize=4096)
def options_in(question: str) -> tuple[str, ...]:
    """The texts of the options A, B, C, … in their order; empty where the question marks fewer than two."""
    marks = option_marks(question)
    ends = [*(match.start() for match in marks[1:]), len(question)]
    # What follows the last option, such as a request for the form of the answer, is none of it.
    texts = [question[match.end() : end].split("\n")[0].strip(" \t,;") for match, end in zip(marks, ends)]
    return tuple(texts) if all(0 < len(text) <= MAX_OPTION_CHARACTERS for text in texts) else ()


def option_marks(question: str) -> tuple[re.Match[str], ...]:
    """The marks A, B, C, … before the options, the letter as group 1; none where there are fewer than two.

    All marks have one form, letters come in order and once each; the last series of a form counts. Letters in brackets
    go before others, and of these the series that begins first: in ``A: Plan A. It is cheap, B: Plan B.`` the full
    stops mark nothing.
    """
    in_brackets, *others = (_last_series(mark, question) for mark in _MARKS)
    return in_brackets or min(filter(None, others), key=lambda series: series[0].start(), default=())


def _last_series(mark: re.Pattern[str], question: str) -> tuple[re.Match[str], ...]:
    marks = list(mark.finditer(question))
    start = max((place for place, match in enumerate(marks) if match[1].upper() == "A"), default=len(marks))
    series = tuple(marks[start:])
    in_order = [chr(ord("A") + place) for place in range(len(series))]
    return series if len(series) > 1 and [match[1].upper() for match in series] == in_order else ()
