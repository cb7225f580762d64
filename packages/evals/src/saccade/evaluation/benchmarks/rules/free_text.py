"""Rules of both harnesses for short free answers: charts, counts, ANLS."""

import re
from collections.abc import Callable

from rapidfuzz.distance import Levenshtein

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading, ReadingName
from saccade.evaluation.benchmarks.hub_rows import literal_list

MAX_RELATIVE_CHANGE = 0.05
ANLS_THRESHOLD = 0.5


def is_relaxed_match(said: str, gold: str) -> bool:
    """ChartQA: floats within 5 %, ``%`` divides by 100, a gold of 0 and all else equal in small letters."""
    value, wanted = _float(said), _float(gold)
    if value is not None and wanted:
        return abs(value - wanted) / abs(wanted) <= MAX_RELATIVE_CHANGE
    return said.lower() == gold.lower()


def _float(text: str) -> float | None:
    try:
        return float(text.rstrip("%")) / 100.0 if text.endswith("%") else float(text)
    except ValueError:
        return None


def golds(row: BenchmarkRow) -> list[str]:
    """The answers that count: the items of the text of a list, or the answer."""
    return list(row.task.accepted) or (literal_list(row.answer) if row.answer.startswith("[") else [row.answer])


def vlmevalkit_relaxed(row: BenchmarkRow, reply: str) -> Extracted:
    said = reply.strip()
    return Extracted(said, float(any(is_relaxed_match(said, gold) for gold in golds(row))))


def lmms_relaxed(row: BenchmarkRow, reply: str) -> Extracted:
    """lmms-eval takes no white space off, which float() forgives and words do not."""
    return Extracted(reply, float(is_relaxed_match(reply, row.answer)))


def anls_distance(said: str, gold: str) -> float:
    """Edit distance of the squeezed small letters over the length of the longer text as it came."""
    longest = max(len(gold.upper()), len(said.upper()))
    plain = [" ".join(text.strip().lower().split()) for text in (gold, said)]
    return Levenshtein.distance(plain[0], plain[1]) / longest if longest else 0.0


def anls_of_golds(row: BenchmarkRow, reply: str) -> Extracted:
    """DocVQA's and InfographicVQA's: the best of the answers; below a half it is nothing."""
    best = 1.0 - min(anls_distance(reply, gold) for gold in golds(row))
    return Extracted(reply, 0.0 if best < ANLS_THRESHOLD else best)


def answer_inside(row: BenchmarkRow, reply: str) -> Extracted:
    """CountBenchQA: right where the digits stand anywhere in the reply; 12 is right for 2."""
    return Extracted(reply, float(row.answer in reply))


def whole_count(row: BenchmarkRow, reply: str) -> Extracted:
    """lmms-eval's ``countbenchqa``: the whole reply."""
    return Extracted(reply.strip(), float(reply.strip() == row.answer))


def first_number(row: BenchmarkRow, reply: str) -> Extracted:
    """lmms-eval's ``pixmo_count``: the first digits of the reply and of the answer."""
    gold, said = re.search(r"\d+", row.answer.strip()), re.search(r"\d+", reply.strip())
    found = said[0] if said else reply.strip()
    return Extracted(found, float(found == (gold[0] if gold else row.answer.strip())))


_FINAL = tuple(
    re.compile(phrase)
    for phrase in (
        r"therefore[,\s]+(?:the\s+)?answer\s+is\s+([^\.\n]+)",
        r"(?:the\s+)?answer\s+is\s+([^\.\n]+)",
        r"answer:\s*([^\.\n]+)",
        r"final\s+answer:\s*([^\.\n]+)",
    )
)


def agentic_mme(row: BenchmarkRow, reply: str) -> Extracted:
    """Agentic-MME's final accuracy: the answer anywhere in the reply; one of one or two digits as a word of its own."""
    said, gold = reply.strip(), row.answer.strip()
    kind, tolerance = row.fields.get("match_type", "contains"), row.fields.get("tolerance", "0")
    if kind == "exact":
        return Extracted(said, float(said == gold))
    if kind == "numeric":
        try:
            return Extracted(said, float(abs(float(said) - float(gold)) <= float(tolerance)))
        except ValueError:
            return Extracted(said, 0.0)
    if kind == "contains" and len(gold) <= 2 and re.sub("[.+-]", "", gold).isdigit():
        word = re.compile(rf"\b{re.escape(gold)}\b")
        stated = (found[1] for phrase in _FINAL if (found := phrase.search(said.lower())))
        return Extracted(said, float(any(map(word.search, stated)) or word.search(said) is not None))
    return Extracted(said, float(gold.lower() in said.lower()))


def whole_reply(row: BenchmarkRow, reply: str) -> Extracted:
    """VLMEvalKit's ERQA: the whole reply, in small letters."""
    said = reply.strip().lower()
    return Extracted(said, float(said == row.answer.strip().lower()))


def _reading(name: ReadingName, rule: Callable[[BenchmarkRow, str], Extracted]) -> Reading:
    return Reading(name=name, rule=rule)


VLMEVALKIT_RELAXED = _reading("vlmevalkit", vlmevalkit_relaxed)
LMMS_RELAXED = _reading("lmms-eval", lmms_relaxed)
VLMEVALKIT_ANLS = _reading("vlmevalkit", anls_of_golds)
LMMS_ANLS = _reading("lmms-eval", anls_of_golds)
ANSWER_INSIDE = _reading("vlmevalkit", answer_inside)
WHOLE_COUNT = _reading("lmms-eval", whole_count)
FIRST_NUMBER = _reading("lmms-eval", first_number)
AGENTIC_MME = _reading("official", agentic_mme)
WHOLE_REPLY = _reading("vlmevalkit", whole_reply)
