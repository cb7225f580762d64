"""VLMEvalKit's rules for mathematics: a judge takes the answer out of the reply, and a program compares it.

MathVista and MATH-Vision ask no judge where the reply itself is the answer. MathVerse asks two times, for the answer
and whether it agrees with the right one.
"""

import ast
from collections.abc import Generator

from saccade.evaluation.benchmarks.benchmark import LETTERS, NO_VERDICT, BenchmarkRow, Extracted, Reading
from saccade.evaluation.benchmarks.rules.judge_prompts import agreement_prompt, extract_prompt, is_extract
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import FAILED, inferred_option
from saccade.rewards.answers.expressions import evaluate

JUDGE_ATTEMPTS = 5
SAME_VALUE = 1e-6
ANY_TEXT = "the harness takes any text of the judge for an answer; here one that is no short line is no verdict"


def listed_options(row: BenchmarkRow) -> dict[str, str]:
    """The options in the column ``choices``, the text of a list; none where it holds no list."""
    try:
        found = ast.literal_eval(row.fields.get("choices", "[]"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return {letter: str(text) for letter, text in zip(LETTERS, found)} if isinstance(found, list) else {}


def _extracted(row: BenchmarkRow, reply: str) -> Generator[str, str, str | None]:
    """What the judge takes out of the reply; None where its machine failed every time."""
    for _ in range(JUDGE_ATTEMPTS):
        said = yield extract_prompt(row, reply)
        if FAILED not in said:
            return said
    return None


def _mathvista_credit(row: BenchmarkRow, said: str) -> Extracted:
    kind = row.fields.get("question_type"), row.fields.get("answer_type")
    if kind[0] == "multi_choice":
        found = inferred_option(said, listed_options(row))
        return Extracted(found, float(found != "" and found == row.column("answer_option")))
    try:
        if kind[1] == "integer":
            return Extracted(str(int(said)), float(int(said) == int(row.answer)))
        if kind[1] == "float":
            return Extracted(str(float(said)), float(float(said) == float(row.answer)))
    except ValueError:
        return Extracted("", 0.0)
    # A slip of the harness: of any other answer it compares the word None.
    return Extracted("None", float(row.answer == "None"))


def _mathvista_decided(row: BenchmarkRow, reply: str) -> Extracted | None:
    """The extract where no judge is asked: an option that can be inferred, or the right number other than 0."""
    read = _mathvista_credit(row, reply)
    if row.fields.get("question_type") == "multi_choice":
        return read if read.text else None
    if row.fields.get("answer_type") not in ("integer", "float"):
        return read if read.credit == 1.0 else None
    return read if read.credit == 1.0 and float(read.text) != 0 else None


def mathvista(row: BenchmarkRow, reply: str) -> Extracted:
    return _mathvista_decided(row, reply) or NO_VERDICT


def mathvista_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    decided = _mathvista_decided(row, reply)
    if decided:
        return decided
    said = yield from _extracted(row, reply)
    return NO_VERDICT if said is None else _mathvista_credit(row, said)


def same_value(said: str, gold: str) -> bool:
    """Equal in small letters, or two expressions whose values differ by less than a millionth.

    The harness runs both as Python and as LaTeX; ours are read by a calculator that runs nothing.
    """
    said, gold = said.lower().strip(), gold.lower().strip()
    if said == gold:
        return True
    # Neither reads an equation as a value, which our calculator does.
    values = [None if "=" in text else evaluate(text) for text in (said, gold)]
    known = [value for value in values if value is not None and value.unit == ""]
    return len(known) == 2 and abs(known[0].value - known[1].value) < SAME_VALUE


def _mathvision_credit(row: BenchmarkRow, said: str) -> Extracted:
    options = listed_options(row)
    found = inferred_option(said, options) if options else said
    # Without an option the harness compares the word False.
    return Extracted(found, float(same_value(found or ("False" if options else ""), row.answer)))


def _mathvision_decided(row: BenchmarkRow, reply: str) -> Extracted | None:
    read = _mathvision_credit(row, reply)
    is_decided = bool(read.text) if listed_options(row) else read.credit == 1.0 and reply != ""
    return read if is_decided else None


def mathvision(row: BenchmarkRow, reply: str) -> Extracted:
    return _mathvision_decided(row, reply) or NO_VERDICT


def mathvision_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    decided = _mathvision_decided(row, reply)
    if decided:
        return decided
    said = yield from _extracted(row, reply)
    return NO_VERDICT if said is None else _mathvision_credit(row, said)


def always_judged(row: BenchmarkRow, reply: str) -> Extracted:
    """The harness's rule asks a judge about every reply."""
    return NO_VERDICT


def mathverse_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """Right where the extract is the answer to the letter, or a second prompt is answered by 1; 0 is wrong."""
    said = yield from _extracted(row, reply)
    if said is None:
        return NO_VERDICT
    if said.strip() == row.answer.strip():
        return Extracted(said, 1.0)
    for _ in range(JUDGE_ATTEMPTS):
        verdict = yield agreement_prompt(row, said)
        if verdict.strip() in ("0", "1"):
            return Extracted(said, float(verdict.strip()))
    return Extracted(said, None)


MATHVISTA = Reading(
    name="vlmevalkit",
    rule=mathvista,
    judging=mathvista_judged,
    in_form=is_extract,
    needs_judge=True,
    differs=ANY_TEXT,
)
MATHVISION = Reading(
    name="vlmevalkit",
    rule=mathvision,
    judging=mathvision_judged,
    in_form=is_extract,
    needs_judge=True,
    differs="values are read by Saccade's calculator; the harness runs the texts as Python and through a LaTeX parser; "
    + ANY_TEXT,
)
MATHVERSE = Reading(
    name="vlmevalkit",
    rule=always_judged,
    judging=mathverse_judged,
    in_form=is_extract,
    needs_judge=True,
    differs=ANY_TEXT,
)
