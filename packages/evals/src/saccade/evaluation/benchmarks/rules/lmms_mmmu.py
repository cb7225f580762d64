"""lmms-eval's rule for MMMU, after the set's authors: options by brackets, letters or text; open answers by parts."""

import re

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading
from saccade.evaluation.benchmarks.hub_rows import literal_list

_NUMBERS = (
    r"-?\b\d{1,3}(?:,\d{3})+\b",
    # The harness's have no look behind, which changes nothing but the time that a long run of digits takes.
    r"-?(?<!\d)\d+(?:\.\d+)?[eE][+-]?\d+",
    r"-?(?:(?<!\d)\d+\.\d+|\.\d+|(?<!\d)\d+\b)(?![eE][+-]?\d+)(?![,\d])",
)
_KEYS = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_TRIVIAL = frozenset(":,.!?;'")


def mmmu_option(reply: str, options: dict[str, str]) -> str:
    """The letter that comes last in the best form; "" where the harness draws one at random."""
    text = reply
    for sign in ",.!?;:'":
        text = text.strip(sign)
    text = f" {text} "
    for form, place in (("({})", "({})"), ("{} ", " {} "), ("{}.", " {} ")):
        named = [letter for letter in options if form.format(letter) in text]
        if named:
            # Of equal places the first letter counts: where no letter stands alone, all places are -1.
            return max(named, key=lambda letter: text.rfind(place.format(letter)))
    if len(text.split()) > 5:
        lower = text.lower()
        named = [letter for letter, option in options.items() if option.lower() in lower]
        if named:
            return max(named, key=lambda letter: lower.rfind(options[letter].lower()))
    return ""


def comparable_values(text: str) -> list[str | float]:
    """A number at two decimals, else small letters; a single letter with a space beside it."""
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        text = text.lower()
        return [f" {text}", f"{text} "] if len(text) == 1 else [text]


def open_parts(reply: str) -> list[str | float]:
    """What a free reply may mean: the shortest text after a key word of each line, and the numbers in it."""
    whole = reply.strip().strip(".").lower()
    lines = re.split(r"\.\s(?=[A-Z])|\n", whole)
    parts: list[str] = []
    for place, line in enumerate(lines):
        keys = (*_KEYS, "=") if place == len(lines) - 1 else _KEYS
        ends = [line.split(key)[-1].strip() for key in keys if key in line]
        shortest = _shortest(ends)
        if shortest and shortest not in _TRIVIAL:
            parts.append(shortest)
    parts = parts or [whole]
    numbers = [number for part in parts for form in _NUMBERS for number in re.findall(form, part)]
    return [value for part in (*parts, *numbers) for value in comparable_values(part)]


def _shortest(ends: list[str]) -> str:
    """The shortest; an empty one is replaced by whatever comes after it."""
    found = ""
    for end in ends:
        if not found or len(end) < len(found):
            found = end
    return found


def open_is_right(reply: str, golds: list[str]) -> bool:
    """A gold number among the parts, or a gold text inside one of them."""
    wanted = [value for gold in golds for value in comparable_values(gold)]
    for part in open_parts(reply):
        if isinstance(part, float) and part in wanted:
            return True
        if isinstance(part, str) and any(isinstance(gold, str) and gold in part for gold in wanted):
            return True
    return False


def mmmu(row: BenchmarkRow, reply: str) -> Extracted:
    if row.options:
        found = mmmu_option(reply, row.options)
        return Extracted(found, float(found == row.answer) if found else None)
    golds = literal_list(row.answer) if row.answer.startswith("[") else [row.answer]
    return Extracted(reply.strip(), float(open_is_right(reply, golds)))


def mmmu_before(row: BenchmarkRow, reply: str) -> Extracted:
    """Version 0.7.2 looked for open answers in each sign of one part of the reply, so that none was ever right."""
    return mmmu(row, reply) if row.options else Extracted(reply.strip(), 0.0)


_RANDOM = "the harness draws a letter at random where it can read none; here that is no verdict"
LMMS_MMMU = (
    Reading(name="lmms-eval", rule=mmmu, differs=_RANDOM),
    Reading(name="lmms-eval-0.7.2", rule=mmmu_before, differs=_RANDOM),
)
