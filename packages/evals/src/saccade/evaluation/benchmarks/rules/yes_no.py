"""Rules for yes and no."""

from collections.abc import Generator

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading
from saccade.evaluation.benchmarks.rules.judge_prompts import yes_no_prompt
from saccade.evaluation.benchmarks.rules.soft_accuracy import without_punctuation

UNKNOWN = "Unknown"
JUDGE_ATTEMPTS = 5


def yes_xor_no(reply: str) -> str:
    """VLMEvalKit: the word yes without no, or no without yes, among the words that punctuation leaves."""
    words = without_punctuation(reply.lower()).split()
    says_yes, says_no = "yes" in words, "no" in words
    return UNKNOWN if says_yes == says_no else "Yes" if says_yes else "No"


def word_or_unknown(row: BenchmarkRow, reply: str) -> Extracted:
    """Without a judge unknown is wrong. The published answers are ``Yes`` and ``No``, capitals and all."""
    found = yes_xor_no(reply)
    return Extracted(found, float(found == row.answer))


def judged_word(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """The judge is asked five times where the words do not say.

    A reply that it calls unknown to the end, a refusal or an empty one, is wrong, as in the harness: without a verdict
    it would raise the figure. A judge that never says any of the three words gives no verdict.
    """
    found, is_in_form = yes_xor_no(reply), False
    for _ in range(JUDGE_ATTEMPTS):
        if found != UNKNOWN:
            break
        said = yield yes_no_prompt(row, reply)
        found = yes_xor_no(said)
        is_in_form = is_in_form or UNKNOWN.lower() in without_punctuation(said.lower()).split()
    return Extracted(found, float(found == row.answer) if found != UNKNOWN or is_in_form else None)


def whole_reply(row: BenchmarkRow, reply: str) -> Extracted:
    """lmms-eval: the whole reply is the answer in any case; ``Yes.`` is wrong."""
    said = reply.lower().strip()
    return Extracted(said, float(said == row.answer.lower().strip()))


VLMEVALKIT_WORD = Reading(name="vlmevalkit", rule=word_or_unknown, judging=judged_word)
LMMS_WHOLE = Reading(name="lmms-eval", rule=whole_reply)
