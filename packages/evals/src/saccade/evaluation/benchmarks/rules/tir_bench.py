"""TIR-Bench's rule: GPT-4.1 takes the answer out of the reply, and a program compares it by the kind of the question.

The kinds of agents-x-project/TIR-Bench: jigsaw puzzles and differences are worth the share that is right.
"""

import re
from collections.abc import Generator

from rapidfuzz.distance import Levenshtein

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading
from saccade.evaluation.benchmarks.rules.judge_prompts import extract_prompt
from saccade.rewards.answers.rules import math_equal

LETTERS = "ABCDEFGHIJ"
_RENAMED = {"60.jpg": "mobi", "62.jpg": "aires"}
"""Two answers of rotated texts that the script puts right."""
_SIGNS = re.compile(r"[A-Za-z*:\s]+")
_FORMULA = re.compile(r"\\|\$|\d/\d")
_LAST = re.compile(r"(?:^|(?<=[\s\[,=]))-?\d(?:[\d,]*\d)?(?:\.\d+)?")
_PAIR = re.compile(r"\b(\d+)\s*,\s*(\d+)\b")


def tir_bench(row: BenchmarkRow, reply: str) -> Extracted:
    """Without a judge the reply itself is what is compared."""
    said, gold = reply.replace("*", "").strip(), row.answer
    match row.fields.get("category"):
        case "ocr":
            renamed = [text for name, text in _RENAMED.items() if name in row.fields.get("image_1", "")]
            return Extracted(reply, float((renamed or [gold])[-1] in reply))
        case "word_search" if not _is_whole(gold):
            there, wanted = _PAIR.search(said), _PAIR.search(gold)
            same = there is not None and wanted is not None and _numbers(there[0]) == _numbers(wanted[0])
            return Extracted(said, float(same))
        case "spot_difference" if not _is_whole(gold):
            return Extracted(said, _overlap(set(_numbers(said)), set(_numbers(gold))))
        case "jigsaw":
            return Extracted(said, _in_place(said, gold, row.fields.get("difficulty", "")))
    if gold.isalpha():
        return Extracted(said, float(_is_option(said, gold, row.question)))
    return Extracted(said, float(_is_number(said, gold)))


def tir_bench_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """The judge's extract instead of the reply; of rotated texts the whole reply is searched unasked."""
    return tir_bench(row, reply if row.fields.get("category") == "ocr" else (yield extract_prompt(row, reply)))


def _is_whole(text: str) -> bool:
    try:
        return not text.isalpha() and int(text) is not None
    except ValueError:
        return False


def _numbers(text: str) -> list[int]:
    return [int(one) for one in re.findall(r"\d+", text)]


def _overlap(said: set[int], gold: set[int]) -> float:
    """Intersection over union."""
    return len(said & gold) / len(said | gold) if said | gold else 1.0


def _in_place(said: str, gold: str, side: str) -> float:
    """The share of pieces in their place, of the first run of exactly side times side numbers."""
    pieces = int(side) ** 2 if side.isdecimal() else 0
    orders = [
        next((found for run in re.findall(r"[\d\s,，]+", text) if len(found := _numbers(run)) == pieces), [])
        for text in (said, gold)
    ]
    return sum(a == b for a, b in zip(*orders)) / pieces if pieces and all(orders) else 0.0


def _is_number(said: str, gold: str) -> bool:
    """Equal once letters, spaces, stars and colons are gone; else as a formula, or by the last number of the words."""
    bare = _SIGNS.sub("", said.replace("Extracted answer:", ""))
    try:
        if _is_whole(gold) and int(bare) == int(gold):
            return True
        if not _is_whole(gold) and float(bare) == float(gold):
            return True
    except ValueError:
        pass
    if _FORMULA.search(said):
        return math_equal(said, gold)
    numbers = _LAST.findall(said)
    return bool(numbers) and math_equal(numbers[-1], gold)


def _is_option(said: str, gold: str, question: str) -> bool:
    """Several letters in any order; one letter, or the letter whose option's text the reply is, or else the likest."""
    if len(gold) > 1:
        return sorted(said) == sorted(gold)
    bare = said.replace("Extracted answer:", "").strip()
    if bare not in LETTERS or len(bare) != 1:
        for letter in LETTERS:
            if any(f"{letter}{mark}{bare}" in question for mark in (". ", ".", " ", "")):
                bare = letter
        bare = min(LETTERS, key=lambda letter: Levenshtein.distance(bare, letter))
    return bare == gold


TIR_BENCH = Reading(
    name="official",
    rule=tir_bench,
    judging=tir_bench_judged,
    differs="without a judge the reply itself is compared; formulas are compared by our own calculator instead of "
    "math-verify",
)
