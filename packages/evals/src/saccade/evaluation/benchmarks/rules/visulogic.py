"""Rules for VisuLogic: a letter in a box or after a phrase; its own repository then asks a judge."""

import re
from collections.abc import Generator

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading
from saccade.evaluation.benchmarks.rules.judge_prompts import option_prompt
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import UNREADABLE

LETTERS = ("A", "B", "C", "D")
_BOXES = re.compile(r"\\boxed\{|[^\\]\}")
_LATEX = ("\\text{", "\\rm{", "\\mathbf{", "$", "}")
_FLAGS = tuple(
    """answer:|the final answer is:|the answer is option:|the answer is:|the correct answer is option:|the correct
answer is:|the answer should be:|the final answer is|the answer is option|the answer is|the correct answer is
option|the correct answer is|the answer should be""".replace("\n", " ").split("|")
)
_LMMS_PLACES = tuple(
    re.compile(place, re.IGNORECASE | re.DOTALL)
    for place in (
        r"<answer>\s*\(?([A-D])\)?\s*</answer>",
        r"\\boxed\{\s*([A-D])\s*\}",
        r"answer\s*(?:is|:|-)\s*\(?([A-D])\)?\b",
        r"option\s*([A-D])\b",
        r"\(([A-D])\)",
    )
)


def own_letter(reply: str) -> str:
    """The letter of the last box, or one at an end of the reply, or after a phrase; else ""."""
    boxed = _last_boxed(reply).strip()
    return boxed if boxed in LETTERS else _worded(reply)


def _last_boxed(text: str) -> str:
    """The last outer box without LaTeX around it; a short reply itself; the whole of it where the box says too much."""
    if len(text) < 3:
        return text
    starts: list[int] = []
    found: str | None = None
    for match in _BOXES.finditer(text):
        if match[0].endswith("\\boxed{"):
            starts.append(match.end())
        elif starts:
            start = starts.pop()
            found = text[start : match.start() + 1] if not starts else found
    if found is None:
        return text
    for part in _LATEX:
        found = found.replace(part, "")
    return text if "letter" in found.lower() or "or" in found or len(found) > 2 else found


def _worded(reply: str) -> str:
    said = reply.replace("<|endoftext|>", "")
    for letter in LETTERS:
        starts = (f"{letter}\n", f"({letter})\n", f"({letter}) {letter}\n")
        if said.endswith((f" {letter}.", f" ({letter}).")) or said.startswith(starts):
            return letter
    rest = said.lower()
    for flag in _FLAGS:
        if flag in rest:
            rest = rest.split(flag)[-1].strip().split("\n")[0].split(".")[0]
            if rest.upper() in LETTERS:
                return rest.upper()
    return said if said in LETTERS else ""


def exact_matching(row: BenchmarkRow, reply: str) -> Extracted:
    """VLMEvalKit's rule, and the repository's own before it asks: without a letter the reply is wrong."""
    found = own_letter(reply) or UNREADABLE
    return Extracted(found, float(found == row.answer))


def judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """The repository's own rule: a reply without a letter is read by the judge, whose first line counts."""
    found = own_letter(reply)
    if not found:
        said = (yield option_prompt(row, reply)).strip()
        found = "N" if "none" in said.lower() else said.split("\n")[0].split(".")[0]
    return Extracted(found, float(found.lower() == row.answer.lower()))


def lmms_letter(row: BenchmarkRow, reply: str) -> Extracted:
    """lmms-eval: the last letter in the likeliest place, or the first sign of a reply of at most three."""
    said = reply.strip()
    found = next((matches[-1].upper() for place in _LMMS_PLACES if (matches := place.findall(said))), "")
    if not found and 0 < len(said) <= 3 and said[0].upper() in LETTERS:
        found = said[0].upper()
    return Extracted(found, float(found == row.answer))


VISULOGIC = (
    Reading(name="official", rule=exact_matching, judging=judged),
    Reading(name="vlmevalkit", rule=exact_matching),
    Reading(name="lmms-eval", rule=lmms_letter),
)
