"""VLMEvalKit's rules for options: a lone letter among words, else an option's text inside the reply, else a judge."""

import re
from collections.abc import Generator, Mapping

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading
from saccade.evaluation.benchmarks.rules.judge_prompts import option_prompt

FAILED = "Failed to obtain answer via API"
UNREADABLE = "Z"
JUDGE_ATTEMPTS = 3

REFUSALS = (
    "Sorry, I can't help with images of people yet.",
    "I can't process this file.",
    "I'm sorry, but without the image provided",
    "Cannot determine the answer",
)
MARKS = str.maketrans(dict.fromkeys(".()[],:;!*#{}", " "))


def lone_letter(reply: str, letters: list[str]) -> str:
    """The only option letter among the reply's words, if it is one of the last four; "Z" of a refusal; else "".

    Words are what is left between spaces when ``.()[],:;!*#{}`` are taken for spaces: tags, quotes and dashes stay
    parts of a word, so ``<answer>B</answer>`` has no letter.
    """
    if FAILED in reply:
        return ""
    if any(refusal in reply for refusal in REFUSALS):
        return UNREADABLE
    words = reply.translate(MARKS).split()
    named = [letter for letter in letters if letter in words]
    if len(named) == 1:
        # The letter's first place counts, though it may come again nearer to the end.
        return named[0] if words.index(named[0]) > len(words) - 5 else ""
    return UNREADABLE if not named and UNREADABLE in words else ""


def option_text_inside(reply: str, options: Mapping[str, str]) -> str:
    """The only option whose text stands anywhere in the reply, which is at most twice as long as all options."""
    said = reply.lower()
    if len(said) > 2 * sum(len(text) for text in options.values()):
        return ""
    named = [letter for letter, text in options.items() if text.lower() in said]
    return named[0] if len(named) == 1 else ""


def inferred_option(reply: str, options: Mapping[str, str]) -> str:
    """``can_infer``: the letter, or "" where neither rule finds one."""
    return lone_letter(reply, list(options)) or option_text_inside(reply, options)


def exact_matching(row: BenchmarkRow, reply: str) -> Extracted:
    """Without a judge what cannot be inferred is "Z", and wrong."""
    found = inferred_option(reply, row.options) or UNREADABLE
    return Extracted(found, float(found == row.answer))


def judged_option(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """The inferred option; where there is none the one that a judge names in three tries.

    VLMEvalKit then draws an option at random; here it is no verdict.
    """
    found = inferred_option(reply, row.options)
    for _ in range(JUDGE_ATTEMPTS):
        if found:
            break
        said = yield option_prompt(row, reply)
        found = inferred_option(said, row.options) if FAILED not in said else ""
    return Extracted(found, float(found == row.answer) if found else None)


OPTIONS = Reading(
    name="vlmevalkit",
    rule=exact_matching,
    judging=judged_option,
    differs="where the judge names no option in three tries VLMEvalKit draws one at random; here it is no verdict",
)

# Two commas are missing in the harness's list: these are its prefixes as it has them.
_PREFIXES = (
    "The best answer is",
    "The correct answer is",
    "The answer is",
    "The answer",
    "The best option isThe correct option is",
    "Best answer:Best option:",
)
_FIVE = re.compile("[ABCDE]")
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def first_of_five(reply: str) -> str:
    """The first capital A to E anywhere once some openings are taken out; "THE CORRECT..." is E.

    Without one, a reply that stands inside "(A)", "(B)", ... names it: "b" is B, and an empty reply A.
    """
    said = reply.strip()
    for prefix in _PREFIXES:
        said = said.replace(prefix, "")
    found = _FIVE.search(said)
    if found:
        return found[0]
    if len(said.split()) > 10:
        return ""
    return next((letter for letter in "ABCDE" if said.lower() in f"({letter.lower()})"), "")


def first_of_five_in_tag(row: BenchmarkRow, reply: str) -> Extracted:
    """MME-RealWorld's and TreeBench's rule: inside the first answer tag, in capitals, where there is one."""
    tag = _ANSWER.search(reply) if "</answer>" in reply else None
    found = first_of_five(tag[1].strip().upper() if tag else reply)
    return Extracted(found, float(found != "" and found == row.answer))


FIRST_OF_FIVE = Reading(name="vlmevalkit", rule=first_of_five_in_tag)


def open_or_option(row: BenchmarkRow, reply: str) -> Extracted:
    """MMMU's rule: a question without options gets two, its answer and "Other Answers", and the first is right."""
    options, gold = _mmmu_options(row)
    found = inferred_option(reply, options) or UNREADABLE
    return Extracted(found, float(found == gold))


def judged_open_or_option(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """As ``judged_option``, for MMMU."""
    options, gold = _mmmu_options(row)
    found = inferred_option(reply, options)
    for _ in range(JUDGE_ATTEMPTS):
        if found:
            break
        said = yield option_prompt(row, reply, options)
        found = inferred_option(said, options) if FAILED not in said else ""
    return Extracted(found, float(found == gold) if found else None)


def _mmmu_options(row: BenchmarkRow) -> tuple[dict[str, str], str]:
    options = row.options
    if "A" not in options:
        options = {**options, "A": row.answer, "B": "Other Answers"}
    return options, row.answer if len(row.answer) == 1 and row.answer.isascii() and row.answer.isupper() else "A"


MMMU_OPTIONS = Reading(name="vlmevalkit", rule=open_or_option, judging=judged_open_or_option, differs=OPTIONS.differs)

_WEMATH_MARKS = re.compile("[><:.]")


def after_answer(row: BenchmarkRow, reply: str) -> Extracted:
    """We-Math's rule without a judge: the first sign after the last "Answer", if it is A to H."""
    found = _WEMATH_MARKS.sub("", reply.split("Answer")[-1].strip()).strip()[:1]
    found = found if found and found in "ABCDEFGH" else ""
    return Extracted(found, float(found != "" and found == row.answer))


WEMATH_OPTIONS = Reading(name="vlmevalkit", rule=after_answer, judging=judged_option, differs=OPTIONS.differs)
