"""Rules of both harnesses for VLMsAreBlind and ZeroBench: answers in braces, each kind of question by its own form."""

import re
from decimal import Decimal

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading

_BRACES = re.compile(r"\{(.*?)\}")
_GRID = "counting grid"
_NUMBERED = (
    "line plot intersections",
    "subway connections",
    "olympic counting - circles",
    "olympic counting - pentagons",
    "nested squares",
)
_LMMS_GRIDS = (r"\{(\d+)\}\s*\{(\d+)\}", r"\((\d+)\s*,\s*(\d+)\)", r"rows=\{(\d+)\}\scolumns=\{(\d+)\}")


def vlmevalkit_blind(row: BenchmarkRow, reply: str) -> Extracted:
    """What the first braces hold; rows and columns of a grid; of circles and rings the answer anywhere inside."""
    task, gold = row.fields.get("category", ""), row.answer
    if task == "Touching Circles":
        return Extracted(reply, float(gold.lower() in reply.lower()))
    if task.startswith("Olympic Counting"):
        return Extracted(reply, float(gold in reply))
    if task.lower().startswith(_GRID):
        said = _grid(reply)
        try:
            wanted = [int(one) for one in gold.split(",")]
        except ValueError:
            wanted = []
        return Extracted(",".join(map(str, said)), float(len(wanted) == 2 and said == wanted))
    found = _BRACES.search(reply)
    return Extracted(found[1] if found else "", float((found[1] if found else "") == gold))


def _grid(reply: str) -> list[int]:
    rows, columns = (re.search(rf"{name}s?(?:[^{{}}]*)\{{(\d+)\}}", reply) for name in ("[Rr]ow", "[Cc]olumn"))
    if rows and columns:
        return [int(rows[1]), int(columns[1])]
    pair = re.search(r"\((\d+),\s*(\d+)\)", reply)
    return [int(pair[1]), int(pair[2])] if pair else []


def lmms_blind(row: BenchmarkRow, reply: str) -> Extracted:
    """The first number, the first letter of any word, yes or no alone, or a grid in one of three forms."""
    said, task = reply.strip().lower(), row.fields.get("category", "").lower()
    found = ""
    if task == "touching circles":
        found = said if said in ("yes", "no") else ""
    elif task in _NUMBERED or task == "circled letter":
        match = re.search(r"[a-z]" if task == "circled letter" else r"\d+", said)
        found = match[0] if match else ""
    elif task.startswith(_GRID):
        pairs = (re.search(form, said) for form in _LMMS_GRIDS)
        found = next((f"{pair[1]},{pair[2]}" for pair in pairs if pair), "")
    return Extracted(found, float(found != "" and found == row.answer.strip().lower()))


def vlmevalkit_zero(row: BenchmarkRow, reply: str) -> Extracted:
    """ZeroBench: the answer inside what the last braces hold, in small letters: 12 is right for 2."""
    found = _BRACES.findall(reply.strip().lower())
    return Extracted(found[-1] if found else "", float(bool(found) and row.answer.strip().lower() in found[-1]))


def lmms_zero(row: BenchmarkRow, reply: str) -> Extracted:
    """ZeroBench: the whole reply, without quotes around it and its full stop; numbers by their value."""
    said, gold = _plain(reply), _plain(row.answer)
    numbers = [_decimal(said), _decimal(gold)]
    same = numbers[0] == numbers[1] if None not in numbers else said == gold
    return Extracted(said, float(same))


def _plain(text: str) -> str:
    plain = re.sub(r"\s+", " ", text.strip().lower().strip("\"'`"))
    return plain[:-1].rstrip() if plain.endswith(".") else plain


def _decimal(text: str) -> Decimal | None:
    digits = text.strip().replace(",", "")
    return Decimal(digits) if re.fullmatch(r"-?(?:\d+\.\d+|\d+|\.\d+)", digits) else None


VLMEVALKIT_BLIND = Reading(name="vlmevalkit", rule=vlmevalkit_blind)
LMMS_BLIND = Reading(name="lmms-eval", rule=lmms_blind)
VLMEVALKIT_ZERO = Reading(name="vlmevalkit", rule=vlmevalkit_zero)
LMMS_ZERO = Reading(name="lmms-eval", rule=lmms_zero)
