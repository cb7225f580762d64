"""VLMEvalKit's rules for options: a lone letter among words, else an option's text inside the reply, else a judge.

``vlmevalkit`` readings follow ms-vlmeval 0.0.20, ``vlmevalkit-2026-08`` the repository on 18 August 2026 (e8e78f05),
which takes the letter of ``answer is B`` anywhere before it looks for texts, and has all of MME-RealWorld's prefixes.
"""

import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import replace

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading, ReadingName
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


_STATED = re.compile(r"answer\s+is\s+\**([ABCD])\**", re.IGNORECASE)


def inferred_or_stated_option(reply: str, options: Mapping[str, str]) -> str:
    """``can_infer`` of August 2026: between its two rules the first ``answer is B``; "answer is an" states A."""
    found = lone_letter(reply, list(options))
    stated = _STATED.search(reply) if not found and FAILED not in reply else None
    letter = stated[1].upper() if stated else ""
    return found or (letter if letter in options else option_text_inside(reply, options))


Infer = Callable[[str, Mapping[str, str]], str]
OptionsOf = Callable[[BenchmarkRow], tuple[Mapping[str, str], str]]
"""The options of a row, and the letter of the right one."""

RANDOM = "where the judge names no option in three tries VLMEvalKit draws one at random; here it is no verdict"


def _option_reading(name: ReadingName, infer: Infer, options_of: OptionsOf) -> Reading:
    """Without a judge what cannot be inferred is "Z", and wrong; a judge may name an option in three tries."""

    def exact_matching(row: BenchmarkRow, reply: str) -> Extracted:
        options, gold = options_of(row)
        found = infer(reply, options) or UNREADABLE
        return Extracted(found, float(found == gold))

    def judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
        options, gold = options_of(row)
        found = infer(reply, options)
        for _ in range(JUDGE_ATTEMPTS):
            if found:
                break
            said = yield option_prompt(row, reply, options)
            found = infer(said, options) if FAILED not in said else ""
        return Extracted(found, float(found == gold) if found else None)

    return Reading(name=name, rule=exact_matching, judging=judged, differs=RANDOM)


def _own_options(row: BenchmarkRow) -> tuple[Mapping[str, str], str]:
    return row.options, row.answer


def _open_or_options(row: BenchmarkRow) -> tuple[Mapping[str, str], str]:
    """MMMU's: a question without options gets two, its answer and "Other Answers", and the first is right."""
    options = row.options
    if "A" not in options:
        options = {**options, "A": row.answer, "B": "Other Answers"}
    return options, row.answer if len(row.answer) == 1 and row.answer.isascii() and row.answer.isupper() else "A"


VERSIONS: tuple[tuple[ReadingName, Infer], ...] = (
    ("vlmevalkit", inferred_option),
    ("vlmevalkit-2026-08", inferred_or_stated_option),
)
OPTIONS = tuple(_option_reading(name, infer, _own_options) for name, infer in VERSIONS)
MMMU_OPTIONS = tuple(_option_reading(name, infer, _open_or_options) for name, infer in VERSIONS)

PREFIXES_2026_08 = (
    "The best answer is",
    "The correct answer is",
    "The answer is",
    "The answer",
    "The best option is",
    "The correct option is",
    "Best answer:",
    "Best option:",
)
# Two commas are missing in the harness's list of version 0.0.20.
_PREFIXES = (*PREFIXES_2026_08[:4], "".join(PREFIXES_2026_08[4:6]), "".join(PREFIXES_2026_08[6:]))
_FIVE = re.compile("[ABCDE]")
_ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


_NAMED_FIVE = tuple(f"({letter})" for letter in "ABCDE")


def first_of_five(reply: str, prefixes: tuple[str, ...] = _PREFIXES, named: tuple[str, ...] = _NAMED_FIVE) -> str:
    """The first capital A to E anywhere once some openings are taken out; "THE CORRECT..." is E.

    Without one, a reply that stands inside "(A)", "(B)", ... names it: "b" is B, and an empty reply A.
    """
    said = reply.strip()
    for prefix in prefixes:
        said = said.replace(prefix, "")
    found = _FIVE.search(said)
    if found:
        return found[0]
    if len(said.split()) > 10:
        return ""
    return next((option[1] for option in named if said.lower() in option.lower()), "")


def _five_reading(name: ReadingName, prefixes: tuple[str, ...]) -> Reading:
    """MME-RealWorld's and TreeBench's rule: inside the first answer tag, in capitals, where there is one."""

    def rule(row: BenchmarkRow, reply: str) -> Extracted:
        tag = _ANSWER.search(reply) if "</answer>" in reply else None
        found = first_of_five(tag[1].strip().upper() if tag else reply, prefixes)
        return Extracted(found, float(found != "" and found == row.answer))

    return Reading(name=name, rule=rule)


FIRST_OF_FIVE = (_five_reading("vlmevalkit", _PREFIXES), _five_reading("vlmevalkit-2026-08", PREFIXES_2026_08))


def _first_of_five_alone(row: BenchmarkRow, reply: str) -> Extracted:
    found = first_of_five(reply, named=tuple(f"({letter}) {text}" for letter, text in row.options.items()))
    return Extracted(found, float(found != "" and found == row.answer))


REAL_WORLD_OFFICIAL = Reading(name="official", rule=_first_of_five_alone)
"""MME-RealWorld's own script: VLMEvalKit's rule without answer tags, and a reply inside an option's text names it."""

_WEMATH_MARKS = re.compile("[><:.]")


def after_answer(row: BenchmarkRow, reply: str) -> Extracted:
    """We-Math's rule without a judge: the first sign after the last "Answer", if it is A to H."""
    found = _WEMATH_MARKS.sub("", reply.split("Answer")[-1].strip()).strip()[:1]
    found = found if found and found in "ABCDEFGH" else ""
    return Extracted(found, float(found != "" and found == row.answer))


WEMATH_OPTIONS = replace(OPTIONS[0], rule=after_answer)
