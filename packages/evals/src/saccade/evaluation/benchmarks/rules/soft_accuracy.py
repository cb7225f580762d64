"""VQA's soft accuracy, the published metric of TextVQA, VizWiz, OK-VQA and A-OKVQA: what ten annotators agree on."""

import re
from collections.abc import Callable

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading, ReadingName
from saccade.evaluation.benchmarks.rules.strict import strict_answer
from saccade.rewards.answers.metrics_by_set import SOFT_IS_RIGHT, credit, golds
from saccade.rewards.answers.replies import bare
from saccade.rewards.answers.rules import said_forms
from saccade.rewards.answers.vqa import MATCHES_FOR_FULL_CREDIT, left_out_in_turn, normalise_vqa, vqa_words

_SIGNS = ';/[]"{}()=+\\_->< @`,?!'.replace(" ", "")
_COMMA_IN_NUMBER = re.compile(r"\d,\d")
_LONE_PERIOD = re.compile(r"(?<!\d)\.(?!\d)")
_PERIOD = re.compile(r"\.(?!\d)")
MAX_PERIODS = 32
"""The harness hands a flag over where a count belongs: only so many periods are taken out."""


def soft(row: BenchmarkRow, reply: str) -> Extracted:
    """The strict answer's soft accuracy: each annotator is left out in turn."""
    said = strict_answer(reply)
    return Extracted(bare(said), credit(row.task, said) if said else 0.0, SOFT_IS_RIGHT)


def soft_of_all(row: BenchmarkRow, reply: str) -> Extracted:
    """A-OKVQA's: min(1, matches / 3) among all annotators."""
    said = strict_answer(reply)
    wanted = [normalise_vqa(gold) for gold in golds(row.task)]
    matches = max(wanted.count(normalise_vqa(form)) for form in said_forms(said)) if said else 0
    return Extracted(bare(said), min(1.0, matches / MATCHES_FOR_FULL_CREDIT), SOFT_IS_RIGHT)


def _vlmevalkit_form(text: str) -> str:
    return vqa_words(without_punctuation(_one_line(text)))


def _lmms_form(text: str) -> str:
    """Commas and question marks go first, so that no number has one; "'s" is a word of its own."""
    text = text.lower().replace(",", "").replace("?", "").replace("'s", " 's").strip()
    return vqa_words(without_punctuation(_one_line(text), periods_after_digits=False))


def _one_line(text: str) -> str:
    return text.replace("\n", " ").replace("\t", " ").strip()


def _whole(name: ReadingName, form: Callable[[str], str]) -> Reading:
    """The whole reply, in the harness's form."""

    def rule(row: BenchmarkRow, reply: str) -> Extracted:
        said = form(reply)
        matches = [said == form(gold) for gold in golds(row.task)]
        return Extracted(said, left_out_in_turn(matches), SOFT_IS_RIGHT)

    return Reading(name=name, rule=rule)


SOFT = Reading(name="strict", rule=soft)
SOFT_OF_ALL = Reading(name="strict", rule=soft_of_all)
VLMEVALKIT_SOFT = _whole("vlmevalkit", _vlmevalkit_form)
LMMS_SOFT = _whole("lmms-eval", _lmms_form)


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
