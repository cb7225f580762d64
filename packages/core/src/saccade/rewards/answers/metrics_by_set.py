"""Answer metrics by data set: a credit between 0 and 1, and right or wrong.

=============================================  ====================================================================
data set (``Task.metric``)                     answers that are not an option
=============================================  ====================================================================
chartqa, plotqa                                numbers within 5 %, anything else exactly; years exactly, unless the
                                               task allows a tolerance (``read_data_set``'s ``published_rules``)
docvqa, infographicvqa, stvqa, opendocvqa,     ANLS at 0.5, the best of the spellings (a judge grades vidoseek and
vidoseek, lang2act                             lang2act where they are published)
slidevqa                                       F1 of words, right with the same ones in order
fetatab, papertab                              F1 of words, right as ANLS is
mmlongbench-doc                                a whole number; a number within 1 %; ANLS, of a list its worst item
vizwiz, okvqa, aokvqa-direct, textvqa          VQA's soft accuracy over the annotators
figureqa                                       the words yes and no
clevr, super-clevr, clevr-math, dvqa           a whole number in digits or words, else the word
mapqa                                          a word, a range of numbers, or a list in any order
mathvista                                      a number rounded as the answer is; a list; a word
geometry3k, geoqa, unigeo, mathvision,         the same value: fractions, roots, pi, degrees
mathv360k, tabmwp, iconqa
scienceqa, aokvqa, ai2d, tqa, arxivqa, wemath  have options only
any of them, where the answer is a list        all of its items, in any order
thinkvl and whatever is no set of the table    by the kind of the answer (``answers.kinds``)
=============================================  ====================================================================

Options are named by their whole text or, where they are shown with letters, by letter; in the mathematical sets also
by their value. No metric looks for an answer inside a longer text: an answer counts as it was given, or as ``replies``
strips it.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from saccade.quantities import parse_integer
from saccade.rewards.answers.expressions import evaluate
from saccade.rewards.answers.kinds import box_credit, right_by_kind, shows_letters
from saccade.rewards.answers.rules import (
    anls,
    exact_match,
    is_nearly,
    math_equal,
    multiple_choice,
    options_named,
    relaxed_accuracy,
    said_forms,
    value_of,
)
from saccade.rewards.answers.spans import list_anls, same_items, slide_words, span_f1, words_f1
from saccade.rewards.answers.vqa import vqa_soft_accuracy
from saccade.types import Task

Metric = Callable[[Task, str], float]
"""The credit of an answer to a task without options."""

SOFT_IS_RIGHT = 0.5
"""From this soft accuracy on an answer counts as right: of ten annotators at least two said it."""

MAX_ANSWER_CHARACTERS = 1000

_DASH = re.compile(r"\s*[-‐-―−]\s*|\s+to\s+")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_BETWEEN_ITEMS = re.compile(r",\s+and\s+|,\s+|;\s*|\s+and\s+|\n+")
_DECIMALS = re.compile(r"-?\d*\.(\d+)")


def credit(task: Task, answer: str | None) -> float:
    """The credit that the task's data set gives for the answer, between 0 and 1; no answer is worth nothing.

    Boxes are worth their IoU, whatever the task's ``min_iou``.
    """
    if answer is not None and task.answer_kind == "boxes":
        return max(box_credit(answer, gold) for gold in golds(task))
    if answer is None or len(answer) > max(MAX_ANSWER_CHARACTERS, 2 * len(task.answer)):
        return 0.0
    metric = _metric(task)
    if task.answer_kind == "choice":
        is_named = value_choice if metric is _same_value else multiple_choice
        return float(is_named(answer, task.answer, task.choices, has_letters=shows_letters(task)))
    return metric(task, answer) if metric else float(_right_by_kind_of_any(task, answer))


def answer_is_right(task: Task, answer: str | None) -> bool:
    """Whether the answer counts as right: the one rule of rewards, environments, evaluations and curation.

    A task from a published set is judged by the set's metric, any other by the kind of its answer and by every
    answer that counts. Right is full
    credit; of soft accuracy ``SOFT_IS_RIGHT``; and where ANLS gives the credit, the stricter rule for free text
    (similarity 0.8 and the same digits), since at ANLS's own 0.5 "male" would be right for "female".
    """
    if answer is None:
        return False
    metric = _metric(task)
    if metric is None:
        return _right_by_kind_of_any(task, answer)
    if metric in (_anls, _span):
        return any(_right_text(gold, answer) for gold in golds(task))
    if metric is _slide_words:
        return any(_same_slide_words(task, gold, said) for gold in golds(task) for said in said_forms(answer))
    if metric is _long_document:
        if task.answer_kind != "text":
            return _right_by_kind_of_any(task, answer)
        is_list = task.answer.startswith("[")
        return same_items(answer, task.answer) if is_list else any(_right_text(gold, answer) for gold in golds(task))
    return credit(task, answer) >= (SOFT_IS_RIGHT if metric is _soft else 1.0)


def _metric(task: Task) -> Metric | None:
    """The set's metric; boxes and lists are answers of their own kind in every set."""
    return None if task.answer_kind in ("boxes", "click", "list") else METRICS.get(task.metric)


def _right_by_kind_of_any(task: Task, answer: str) -> bool:
    """Right by the rule of the task's kind, for any of the answers that count."""
    one_each = (task if gold == task.answer else replace(task, answer=gold) for gold in dict.fromkeys(golds(task)))
    return any(right_by_kind(one, answer) for one in one_each)


def golds(task: Task) -> Sequence[str]:
    """All answers that count."""
    return task.accepted or (task.answer,)


def value_choice(prediction: str, gold: str, choices: Sequence[str], *, has_letters: bool = True) -> bool:
    """``multiple_choice``, or no option but the value of the right one and of no other: ``60`` names ``60°``."""
    if not choices or options_named(prediction, choices, has_letters=has_letters):
        return multiple_choice(prediction, gold, choices, has_letters=has_letters)
    same_value = [choice for choice in choices if math_equal(prediction, choice)]
    return len(same_value) == 1 and multiple_choice(same_value[0], gold, choices, has_letters=has_letters)


def same_words_in_list(prediction: str, gold: str) -> bool:
    """The same items in any order, items between commas, semicolons, lines or "and"."""
    wanted = _items(gold)
    return wanted != frozenset() and wanted in map(_items, said_forms(prediction))


def same_range(prediction: str, gold: str) -> bool:
    """The same range of numbers, whatever the dash, the spaces and the thousands separators: ``1,000 - 2,000``."""
    return any(exact_match(_plain_range(said), _plain_range(gold)) for said in said_forms(prediction))


def rounds_to(prediction: str, gold: str) -> bool:
    """A number that rounds to the gold at the gold's own decimals: 1.22 and 1.2, not 1.26, for ``1.2``."""
    wanted = evaluate(gold)
    given = value_of(prediction, wanted) if wanted is not None else None
    if wanted is None or given is None or (wanted.unit and given.unit and wanted.unit != given.unit):
        return False
    decimals = _DECIMALS.fullmatch(gold.strip())
    half = 0.5 * 10.0 ** -(len(decimals[1]) if decimals else 0)
    # Without decimals the gold is a count, and 3.4 is no count.
    slack = half * (1 + 1e-9) if decimals else 0.0
    return abs(given.value - wanted.value) <= slack


def _relaxed_score(task: Task, answer: str) -> float:
    years_are_exact = not (task.answer_kind == "number" and task.tolerance > 0)
    return float(any(relaxed_accuracy(answer, gold, years_are_exact=years_are_exact) for gold in golds(task)))


def _anls(task: Task, answer: str) -> float:
    return anls(answer, golds(task))


def _span(task: Task, answer: str) -> float:
    return max(span_f1(said, gold) for gold in golds(task) for said in said_forms(answer))


def _slide_words(task: Task, answer: str) -> float:
    asked = task.question
    return max(
        words_f1(slide_words(said, asked), slide_words(gold, asked))
        for gold in golds(task)
        for said in said_forms(answer)
    )


def _same_slide_words(task: Task, gold: str, said: str) -> bool:
    wanted = slide_words(gold, task.question)
    return slide_words(said, task.question) == wanted != []


def _long_document(task: Task, answer: str) -> float:
    if task.answer_kind != "text":
        return float(_right_by_kind_of_any(task, answer))
    return list_anls(answer, task.answer) if task.answer.startswith("[") else anls(answer, golds(task))


def _right_text(gold: str, answer: str) -> bool:
    """Nearly the gold, or in a sentence the yes or no that it is."""
    return exact_match(answer, gold) or any(is_nearly(said, gold) for said in said_forms(answer))


def _soft(task: Task, answer: str) -> float:
    return max(vqa_soft_accuracy(said, golds(task)) for said in said_forms(answer))


def _exact(task: Task, answer: str) -> float:
    return float(any(exact_match(answer, gold) for gold in golds(task)))


def _word_or_count(task: Task, answer: str) -> float:
    if parse_integer(task.answer) is None:
        return _exact(task, answer)
    return float(right_by_kind(replace(task, answer_kind="integer"), answer))


def _same_value(task: Task, answer: str) -> float:
    return float(any(exact_match(answer, gold) or math_equal(answer, gold) for gold in golds(task)))


def _map_answer(task: Task, answer: str) -> float:
    return float(any(same_range(answer, gold) or same_words_in_list(answer, gold) for gold in golds(task)))


def _rounded_score(task: Task, answer: str) -> float:
    is_right = exact_match(answer, task.answer) or rounds_to(answer, task.answer)
    wanted = "".join(task.answer.split())
    return float(is_right or wanted in ("".join(said.split()) for said in said_forms(answer)))


def _items(text: str) -> frozenset[str]:
    plain = (" ".join(item.casefold().split()).strip("\"'.[]()") for item in _BETWEEN_ITEMS.split(text))
    return frozenset(item for item in plain if item)


def _plain_range(text: str) -> str:
    return _DASH.sub("-", _THOUSANDS.sub("", text.strip()))


METRICS: Mapping[str, Metric] = MappingProxyType(
    {
        "chartqa": _relaxed_score,
        "plotqa": _relaxed_score,
        "docvqa": _anls,
        "infographicvqa": _anls,
        "stvqa": _anls,
        "vizwiz": _soft,
        "aokvqa-direct": _soft,
        "okvqa": _soft,
        "textvqa": _soft,
        "figureqa": _exact,
        "clevr": _word_or_count,
        "clevr-math": _word_or_count,
        "super-clevr": _word_or_count,
        "dvqa": _word_or_count,
        "mapqa": _map_answer,
        "mathvista": _rounded_score,
        "geometry3k": _same_value,
        "geoqa": _same_value,
        "unigeo": _same_value,
        "mathvision": _same_value,
        "mathv360k": _same_value,
        "tabmwp": _same_value,
        "iconqa": _same_value,
        "scienceqa": _exact,
        "aokvqa": _exact,
        "ai2d": _exact,
        "tqa": _exact,
        "arxivqa": _exact,
        "wemath": _same_value,
        "slidevqa": _slide_words,
        "mmlongbench-doc": _long_document,
        "vidoseek": _anls,
        "opendocvqa": _anls,
        "lang2act": _anls,
        "fetatab": _span,
        "papertab": _span,
    }
)
