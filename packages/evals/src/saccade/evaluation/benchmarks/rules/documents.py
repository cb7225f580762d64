"""Rules for documents of many pages: SlideVQA and MMLongBench-Doc, by both harnesses."""

import ast
import math
import re
from collections.abc import Callable, Generator

from rapidfuzz.distance import Levenshtein

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading
from saccade.evaluation.benchmarks.rules.judge_prompts import document_prompt
from saccade.evaluation.benchmarks.rules.vlmevalkit_math import always_judged
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import FAILED

JUDGE_ATTEMPTS = 5
NOT_ANSWERABLE = "not answerable"
ANLS_THRESHOLD = 0.5

_NUMBER = re.compile(r"[-+]?\d*\.?\d+")
_EXACT = (
    re.compile(r"\b\d+(-\d+|\s\d+)?\b"),
    re.compile(r"\b\d{4}[-\s]\d{2}[-\s]\d{2}\b"),
    re.compile(r"\b\d{4}[-\s]\d{2}\b"),
    re.compile(r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}"),
)


def anls(gold: str, said: str) -> float:
    """Both harnesses': as the texts are, nothing at a half or below."""
    longest = max(len(gold.upper()), len(said.upper()))
    similarity = 1.0 - Levenshtein.distance(gold, said) / longest if longest else 1.0
    return similarity if similarity > ANLS_THRESHOLD else 0.0


def judged_answer(row: BenchmarkRow, reply: str) -> Generator[str, str, str | None]:
    """What stands between the judge's two headings, "" where it keeps no form; None where its machine failed."""
    for _ in range(JUDGE_ATTEMPTS):
        said = yield document_prompt(row, reply)
        if FAILED not in said:
            before = said.split("Answer format:")[0].split("Extracted answer:")
            return before[1].strip() if len(before) > 1 else ""
    return None


def slide_gold(row: BenchmarkRow) -> str:
    return row.answer.replace("\n", "").lower()


def slides_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """SlideVQA of VLMEvalKit: ANLS of the extracted answer in small letters."""
    said = yield from judged_answer(row, reply)
    return Extracted("", None) if not said else Extracted(said.lower(), anls(slide_gold(row), said.lower()))


def slides_whole(row: BenchmarkRow, reply: str) -> Extracted:
    """SlideVQA of lmms-eval: ANLS of the whole reply."""
    said = reply.lower()
    return Extracted(said, 0.0 if not said and not slide_gold(row) else anls(slide_gold(row), said))


def is_exact(text: str, *, plain_http: bool = False) -> bool:
    """Answers that must be equal: addresses, files, pages, clock times, dates, numbers as of telephones."""
    return (
        "https://" in text
        or (plain_http and "http://" in text)
        or text.endswith((".py", ".ipynb" if plain_http else "ipynb"))
        or text.startswith("page")
        or "a.m." in text
        or "p.m." in text
        or any(form.fullmatch(text) for form in _EXACT)
    )


def clean(text: str) -> str:
    """VLMEvalKit's: small letters, no parentheses, quotes, dollar and percent signs; units stay, by a slip."""
    text = re.sub(r"\s*\([^)]*\)", "", text.lower().strip()).strip()
    text = re.sub(r"^['\"]|['\"]$", "", text).strip()
    return text.lstrip("$").strip().rstrip("%").strip()


def lmms_clean(text: str) -> str:
    """lmms-eval's: the same, without a unit of miles or millions at the end, white space squeezed."""
    text = clean(text)
    for unit in (" miles", " mile", " million"):
        text = text.removesuffix(unit).strip()
    return " ".join(text.split())


def same_float(gold: float, said: float) -> bool:
    """Within 1 %, or equal at the coarser one's decimals, 2 at least; gold may be a share, a percentage, or both."""
    for wanted in (gold / 100, gold, gold * 100):
        decimals = max(min(_decimals(said), _decimals(wanted)), 2)
        if math.isclose(wanted, said, rel_tol=0.01) or round(said, decimals) == round(wanted, decimals):
            return True
    return False


def _decimals(value: float) -> int:
    text = str(value)
    return len(text.rsplit(".", 1)[-1]) if "." in text else 3


def document_score(gold: str, said: str, kind: str) -> float:
    """VLMEvalKit's MMLongBench-Doc: by the answer's format, nothing where the format does not fit."""
    try:
        if kind == "Int":
            return float(int(gold) == int(float(said)))
        if kind == "Float":
            return float(same_float(float(clean(gold)), float(clean(said))))
    except (ValueError, OverflowError):
        return 0.0
    if kind == "Str":
        wanted, given = clean(gold), clean(said)
        return float(wanted == given) if is_exact(wanted) else anls(wanted, given)
    wanted_items, given_items = _items(gold), _items(said)
    if wanted_items is None or given_items is None or len(wanted_items) != len(given_items) or not wanted_items:
        return 0.0
    return _same_items(sorted(map(clean, wanted_items)), sorted(map(clean, given_items)), _is_float)


def _same_items(wanted: list[str], given: list[str], is_number: Callable[[str], bool], http: bool = False) -> float:
    if is_number(wanted[0]) or is_exact(wanted[0], plain_http=http):
        return float(wanted == given)
    return min(anls(one, other) for one, other in zip(wanted, given))


def _items(text: str) -> list[str] | None:
    """Items of the text of a list; the text where it begins none, None where it begins one that cannot be read."""
    if not text.startswith("["):
        return [text]
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return [str(one) for one in found] if isinstance(found, list) else [str(found)]


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def document_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """MMLongBench-Doc of VLMEvalKit; a judge outside its form is no verdict."""
    said = yield from judged_answer(row, reply)
    if not said:
        return Extracted("", None)
    return Extracted(said, document_score(row.answer, said, row.column("answer_format")))


def lmms_document(row: BenchmarkRow, reply: str) -> Extracted:
    """MMLongBench-Doc of lmms-eval: the whole reply; of numbers the first one in it."""
    said, gold = reply.strip(), row.answer
    kind = row.fields.get("answer_format", "Str").strip().lower()
    if kind in ("int", "integer", "float"):
        wanted, given = _first_number(gold), _first_number(said)
        if wanted is None or given is None:
            return Extracted("", 0.0)
        is_same = int(wanted) == int(given) if kind != "float" else same_float(wanted, given)
        return Extracted(str(given), float(is_same))
    if kind == "list":
        return Extracted(said, _lmms_list(gold, said))
    if kind == "none":
        return Extracted(said, float(lmms_clean(said) == NOT_ANSWERABLE))
    wanted_text, given_text = lmms_clean(gold), lmms_clean(said)
    if is_exact(wanted_text, plain_http=True):
        return Extracted(said, float(wanted_text == given_text))
    is_empty = not wanted_text or not given_text
    return Extracted(said, float(wanted_text == given_text) if is_empty else anls(wanted_text, given_text))


def _lmms_list(gold: str, said: str) -> float:
    wanted, given = (sorted(map(lmms_clean, _lmms_items(text))) for text in (gold, said))
    if len(wanted) != len(given):
        return 0.0
    if not wanted:
        return 1.0
    if _first_number(wanted[0]) is not None or is_exact(wanted[0], plain_http=True):
        return float(wanted == given)
    return min(float(one == other) if not one or not other else anls(one, other) for one, other in zip(wanted, given))


def _lmms_items(text: str) -> list[str]:
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [text]
    if found is None:
        return []
    return [str(one) for one in found] if isinstance(found, list) else [str(found)]


def _first_number(text: str) -> float | None:
    found = _NUMBER.search(text.replace(",", ""))
    return float(found[0]) if found else None


SLIDES_JUDGED = Reading(name="vlmevalkit", rule=always_judged, judging=slides_judged, needs_judge=True)
SLIDES_WHOLE = Reading(name="lmms-eval", rule=slides_whole)
DOCUMENT_JUDGED = Reading(name="vlmevalkit", rule=always_judged, judging=document_judged, needs_judge=True)
DOCUMENT_WHOLE = Reading(name="lmms-eval", rule=lmms_document)
