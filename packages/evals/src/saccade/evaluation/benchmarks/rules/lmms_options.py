"""lmms-eval's rules for options: nearly every task has one of its own."""

import re
import string
from collections.abc import Callable, Generator, Mapping, Sequence

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading, ReadingName
from saccade.evaluation.benchmarks.rules.judge_prompts import option_prompt
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import FAILED, MARKS, REFUSALS, UNREADABLE

_VSTAR_PLACES = (
    r"^([A-D])\s*[\.)\]]*",
    r"(?:THE\s+)?(?:ANSWER|CHOICE|OPTION)(?:\s+IS)?[\s:]+([A-D])",
    r"\(([A-D])\)",
    r"([A-D])\s*(?:\.|\)|])",
    r"(?:^|\s)([A-D])(?:\s|$)",
)

_PHRASES = tuple(
    """the answer is|answer is|the correct answer is|correct answer is|the best answer is|best answer is|the correct
option is|correct option is|the best option is|best option is|the choice is|choice is|the correct choice is|correct
choice is|i choose|i select|i pick|my answer is|my choice is|옵션|정답은|답은|답:|答案是|答案为|选|答えは""".replace(
        "\n", " "
    ).split("|")
)


def vstar_letter(reply: str) -> str:
    """V*: in capitals, the first place that looks like an answer: at the start, so "Cannot tell" is C."""
    said = reply.strip().upper()
    for place in _VSTAR_PLACES:
        found = re.search(place, said, re.IGNORECASE)
        if found:
            return found[1].upper()
    alone = re.findall(r"[A-D]", said)
    return alone[0] if len(alone) == 1 else ""


def mcq_letter(reply: str, letters: Sequence[str] = "ABCD") -> str:
    """The shared extractor: the letter in the likeliest place, the last one among equals.

    Places by rank: at the start, at the end, after a phrase, (A), A., A:, A), "A ", and with none of them anywhere.
    After a phrase each letter's next place counts, however far, and even inside a word.
    """
    if not reply.strip():
        return ""
    text = reply.strip()
    for sign in ",.!?;:'\"":
        text = text.strip(sign)
    text = f" {text} "
    ranked: list[tuple[int, int, str]] = []
    for rank, form in ((6, "({})"), (5, "{}."), (4, "{}:"), (3, "{})"), (2, "{} ")):
        ranked += [(rank, place, one) for one in letters if (place := text.rfind(form.format(one))) >= 0]
    lower = text.lower()
    for phrase in _PHRASES:
        start = lower.find(phrase)
        if start >= 0:
            found = [(7, text.find(one, start + len(phrase)), one) for one in letters]
            ranked += [one for one in found if one[1] >= 0]
    bare = text.strip()
    ranked += [(10, 0, one) for one in letters if bare.startswith(one) and not bare[1:2].isalpha()]
    ranked += [(9, len(text) - 1, one) for one in letters if bare.endswith(one) and not bare[-2:-1].isalpha()]
    if not ranked:
        ranked = [(0, place, one) for one in letters if (place := text.rfind(one)) >= 0]
    # Sorting is stable: of equals the one found first stays first.
    return sorted(ranked, key=lambda one: (one[0], one[1]), reverse=True)[0][2] if ranked else ""


def leading_letter(reply: str) -> str:
    """CV-Bench: the first letter of the reply, whatever follows: "The answer is (B)" is T."""
    found = re.match(r"[\(\s]*([A-Z])[\)\.\s]*", reply.strip(), re.IGNORECASE)
    return found[1].upper() if found else ""


def blink_letter(reply: str, letters: str) -> str:
    """BLINK: a first line that is a letter, the last "answer is", the last (A), or a leading letter, of the row's."""
    said = reply.strip()
    first = said.split("\n", 1)[0].strip()
    if len(first) <= 4 and (found := re.match(rf"^\(?([{letters}])\)?[\.\s:,)]*$", first, re.IGNORECASE)):
        return found[1].upper()
    stated = re.findall(rf"answers?(?:\s+is)?\s*[:\-]?\s*\(?([{letters}])\)?(?![A-Za-z])", said, re.IGNORECASE)
    stated = stated or re.findall(rf"\(([{letters}])\)", said)
    if stated:
        return str(stated[-1]).upper()
    found = re.match(rf"[\(\s]*([{letters}])[\)\.\s]*", said, re.IGNORECASE)
    return found[1].upper() if found else ""


def _reading(letter_of: Callable[[BenchmarkRow, str], str], name: ReadingName = "lmms-eval") -> Reading:
    """Right where the letter is the answer's; a reply without one is wrong."""

    def rule(row: BenchmarkRow, reply: str) -> Extracted:
        found = letter_of(row, reply)
        return Extracted(found, float(found != "" and found == row.answer.strip().upper()))

    return Reading(name=name, rule=rule)


VSTAR = _reading(lambda row, reply: vstar_letter(reply))


def real_world(row: BenchmarkRow, reply: str) -> Extracted:
    """RealWorldQA: the shared extractor where the answer is A to D, else the whole reply without final full stops."""
    gold = row.answer.strip()
    if gold.upper() in ("A", "B", "C", "D"):
        found = mcq_letter(reply)
        return Extracted(found, float(found == gold.upper()))
    said = reply.lower().strip().rstrip(".")
    return Extracted(said, float(said == gold.lower()))


REAL_WORLD_QA = Reading(name="lmms-eval", rule=real_world)
MCQ = _reading(lambda row, reply: mcq_letter(reply))
CV_BENCH = _reading(lambda row, reply: leading_letter(reply))
BLINK = (
    _reading(lambda row, reply: blink_letter(reply, "".join(row.options) or "ABCDEFGHIJKLMNOPQRSTUVWXYZ")),
    _reading(lambda row, reply: leading_letter(reply), "lmms-eval-0.7.2"),
)


def hrbench_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """lmms-eval's HR-Bench: as VLMEvalKit's, the letter anywhere and the text in a reply of any length."""
    found = _hrbench_option(reply.strip(), row.options)
    if not found:
        found = _hrbench_option((yield option_prompt(row, reply)), row.options)
    return Extracted(found, float(found.lower() == row.answer.lower()) if found else None)


def hrbench(row: BenchmarkRow, reply: str) -> Extracted:
    """Without a judge what the rule cannot read is no verdict: the harness always has one."""
    found = _hrbench_option(reply.strip(), row.options)
    return Extracted(found, float(found.lower() == row.answer.lower()) if found else None)


def _hrbench_option(reply: str, options: Mapping[str, str]) -> str:
    if FAILED not in reply:
        if any(refusal in reply for refusal in REFUSALS):
            return UNREADABLE
        words = reply.translate(MARKS).split()
        named = [letter for letter in options if letter in words]
        if len(named) == 1:
            return named[0]
        if not named and UNREADABLE in words:
            return UNREADABLE
    inside = [letter for letter, text in options.items() if text.lower() in reply.lower()]
    return inside[0] if len(inside) == 1 else ""


LMMS_HRBENCH = Reading(name="lmms-eval", rule=hrbench, judging=hrbench_judged)


def letter_and_stop(row: BenchmarkRow, reply: str) -> Extracted:
    """lmms-eval's AI2D: a capital letter and a full stop at the start, else the whole reply, without punctuation."""
    found = re.match(r"^\s*([A-Z])\.", reply)
    said = (found[1] if found else reply).lower().translate(_NO_PUNCTUATION)
    return Extracted(said, float(said == row.answer.lower()))


_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)

LMMS_AI2D = Reading(name="lmms-eval", rule=letter_and_stop)
