"""Rules for Video-MME-v2, whose questions have eight options: its own script, VLMEvalKit's and lmms-eval's."""

import re

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import PREFIXES_2026_08, UNREADABLE

_PREFIXES = ("Final Answer:", *PREFIXES_2026_08, "Answer:", "Option:")
_EIGHT = re.compile("[A-H]")


def first_of_eight(row: BenchmarkRow, reply: str) -> Extracted:
    """The first capital A to H anywhere once some openings are taken out; "I am not sure. Half" is H."""
    said = reply.strip()
    for prefix in _PREFIXES:
        said = said.replace(prefix, "")
    found = _EIGHT.search(said)
    letter = found[0] if found else ""
    return Extracted(letter, float(letter != "" and letter == row.answer))


_STATED = "|".join(re.escape(one) for one in _PREFIXES)
_PLACES = (
    re.compile(r"(?:^|\n)[ \t]*(?:\*\*[ \t]*)?([A-H])(?:[ \t]*\*\*)?[ \t]*[.)]?[ \t]*$", re.IGNORECASE),
    re.compile(r"^[ \t]*(?:\*\*[ \t]*)?([A-H])(?:[ \t]*\*\*)?[ \t]*(?:[.)]|\r?\n|$)", re.IGNORECASE),
)
_AFTER_PHRASE = re.compile(
    rf"(?:{_STATED}|\b(?:answer|option)(?:\s+(?:is|would\s+be)|\s*:))[\s:*]*([A-H])\b", re.IGNORECASE
)
_BOLD = re.compile(r"\*\*\s*([A-H])(?=\s*\*\*|[.)])", re.IGNORECASE)


def placed_letter(reply: str) -> str:
    """A letter alone in the last line or at the start, the last one after a phrase, the only one in bold; else ""."""
    said = reply.strip()
    for place in _PLACES:
        if found := place.search(said):
            return found[1].upper()
    if stated := _AFTER_PHRASE.findall(said):
        return str(stated[-1]).upper()
    bold = {str(one).upper() for one in _BOLD.findall(said)}
    return bold.pop() if len(bold) == 1 else ""


def lmms_eight(row: BenchmarkRow, reply: str) -> Extracted:
    """lmms-eval 0.7.3: a letter in its place, else the only option whose text stands in the reply; else Z."""
    letter = placed_letter(reply)
    if not letter:
        said = reply.lower()
        named = [one for one, text in row.options.items() if text.strip(". \n").lower() in said]
        letter = named[0] if len(named) == 1 else UNREADABLE
    return Extracted(letter, float(letter == row.answer.upper()))
