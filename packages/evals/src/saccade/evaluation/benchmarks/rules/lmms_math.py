"""lmms-eval's rules for MathVista, MATH-Vision and Geometry3K."""

import re
from collections.abc import Generator

from rapidfuzz.distance import Levenshtein

from saccade.evaluation.benchmarks.benchmark import LETTERS, NO_VERDICT, BenchmarkRow, Extracted, Reading
from saccade.evaluation.benchmarks.rules.judge_prompts import extract_prompt, is_extract
from saccade.evaluation.benchmarks.rules.vlmevalkit_math import ANY_TEXT, listed_options
from saccade.rewards.answers.expressions import evaluate


def _mathvista_alone(row: BenchmarkRow, reply: str) -> str | None:
    """The reply as the answer: empty, an option's whole text, or a number of the asked kind; None asks a judge."""
    kind, said = row.fields.get("answer_type"), reply.strip()
    if not said or (row.fields.get("question_type") == "multi_choice" and said in listed_options(row).values()):
        return said
    try:
        if kind in ("integer", "float"):
            return str(int(said)) if kind == "integer" else str(float(said))
    except ValueError:
        return None
    return None


def _mathvista_credit(row: BenchmarkRow, extracted: str) -> Extracted:
    """Options: the letter in brackets or alone, else the option nearest by edit distance. Numbers: rounded."""
    kind = row.fields.get("answer_type")
    if row.fields.get("question_type") == "multi_choice":
        options = list(listed_options(row).values())
        said = extracted.strip()
        lettered = re.findall(r"\(([a-zA-Z])\)", said)
        said = lettered[0].upper() if lettered else said
        place = LETTERS.find(said) if len(said) == 1 else -1
        if not 0 <= place < len(options):
            place = min(range(len(options)), key=lambda one: Levenshtein.distance(said, options[one]))
        return Extracted(options[place], float(options[place].strip() == row.answer.strip()))
    try:
        if kind == "integer":
            extracted = str(int(float(extracted)))
        elif kind == "float":
            extracted = str(round(float(extracted), int(float(row.fields.get("precision", "0")))))
    except (ValueError, OverflowError):
        extracted = "None"
    return Extracted(extracted, float(extracted.strip() == row.answer.strip()))


def mathvista(row: BenchmarkRow, reply: str) -> Extracted:
    said = _mathvista_alone(row, reply)
    return NO_VERDICT if said is None else _mathvista_credit(row, said)


def mathvista_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    said = _mathvista_alone(row, reply)
    if said is None:
        said = yield extract_prompt(row, reply)
    return _mathvista_credit(row, said)


_STATED = ("the final answer is", "the answer is", "the correct answer is", "the answer should be")
_BRACKETED = tuple(f"{opening}{letter}{closing}" for opening, closing in ("()", "{}") for letter in "abcde")


def mathvision_answer(reply: str) -> str:
    """What MATH-Vision's script takes out of a reply: a letter at an end, what "is" a number, a box, a statement."""
    said = reply.strip()
    for letter in "ABCDE":
        if said.endswith((f" {letter}.", f" ({letter}).")) or said.startswith((f"{letter}\n", f"({letter})\n")):
            said = letter
    number = said.split("is ")[-1].rstrip(".")
    if _is_float(number):
        said = number
    if "oxed{" not in said:
        for phrase in _STATED:
            for form in (phrase, phrase.replace("the", "The")):
                if form in said:
                    said = said.split(form)[-1].strip().split("\n")[0].split(". ")[0]
                else:
                    said = said.strip()
    elif said.count("oxed{") > 1:
        said = "\\boxed{" + said.split("oxed{")[-1]
    said = _plain_latex(said)
    for mark in _BRACKETED:
        said = said.replace(mark, mark[1])
    return said.rstrip(".").lstrip(":").strip()


_DROPPED = (
    " ", "\\,", "\n", "\\text", "\\mbox", "\\left", "\\right", "^{\\circ}", "^\\circ", "{m}^3", "m^3", "{units}",
    "units", "{km}", "km", "\\!", "\\$", "$", "\\%",
)  # fmt: skip


def _plain_latex(text: str) -> str:
    """The content of the last box, or the text, in small letters, behind the last sign of equality, without units."""
    text = text.lower().replace("{}", "")
    boxed = re.findall(r"oxed{(.*)}", text, re.DOTALL)
    answer = str(boxed[-1]) if boxed else text
    closing = answer.find("}")
    if closing != -1 and (answer.find("{") == -1 or closing < answer.find("{")):
        answer = answer.split("}")[0]
    answer = answer.split("=")[-1].split("\\approx")[-1].replace("tfrac", "frac").replace("dfrac", "frac")
    for one in _DROPPED:
        answer = answer.replace(one, "")
    answer = f"0{answer}" if answer.startswith(".") else answer
    return "\\frac{1}{2}" if answer == "0.5" else answer


def _agree(said: str, gold: str) -> bool:
    """The same text, or values that are equal at two decimals."""
    said, gold = said.lower(), gold.lower()
    if not said.replace(" ", "") or not gold.replace(" ", ""):
        return False
    values = evaluate(said), evaluate(gold)
    known = [round(value.value, 2) for value in values if value is not None and value.unit == ""]
    return said.strip() == gold.strip() or (len(known) == 2 and known[0] == known[1])


def mathvision(row: BenchmarkRow, reply: str) -> Extracted:
    found = mathvision_answer(reply)
    text = listed_options(row).get(row.answer, "")
    return Extracted(found, float(_agree(found, row.answer) or _agree(found, text)))


def _is_float(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


_GEOMETRY = (
    r"[Aa]nswer\s*[:=]\s*\(?([A-Da-d])\)?",
    r"\b([A-Da-d])\s*[.)\]]",
    r"^\s*\(?([A-Da-d])\)?$",
    r"\b([A-Da-d])\b",
)


def geometry_letter(reply: str, choices: tuple[str, ...]) -> str:
    """The last letter of the first form that finds any, the article "a" too; else the first option inside."""
    said = reply.strip()
    for form in _GEOMETRY:
        if found := re.findall(form, said):
            return str(found[-1]).upper()
    inside = [letter for letter, text in zip("ABCD", choices) if text.lower() in said.lower()]
    return inside[0] if inside else ""


def geometry3k(row: BenchmarkRow, reply: str) -> Extracted:
    found = geometry_letter(reply, row.task.choices)
    return Extracted(found, float(found != "" and found == row.answer.strip().upper()))


LMMS_MATHVISTA = Reading(
    name="lmms-eval",
    rule=mathvista,
    judging=mathvista_judged,
    in_form=is_extract,
    needs_judge=True,
    differs=ANY_TEXT,
)
LMMS_MATHVISION = Reading(
    name="lmms-eval",
    rule=mathvision,
    differs="values are read by Saccade's calculator; the harness runs LaTeX through a parser and the result as Python",
)
LMMS_GEOMETRY3K = Reading(name="lmms-eval", rule=geometry3k)
