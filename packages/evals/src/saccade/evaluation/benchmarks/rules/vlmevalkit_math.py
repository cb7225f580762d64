"""VLMEvalKit's rules for mathematics: a judge takes the answer out of the reply, and a program compares it.

MathVista and MATH-Vision ask no judge where the reply itself is the answer. MathVerse asks two times, for the answer
and whether it agrees with the right one.
"""

import ast
from collections.abc import Callable, Generator

from saccade.evaluation.benchmarks.benchmark import LETTERS, NO_VERDICT, BenchmarkRow, Extracted, Reading, ReadingName
from saccade.evaluation.benchmarks.rules.judge_prompts import agreement_prompt, extract_prompt, is_extract
from saccade.evaluation.benchmarks.rules.vlmevalkit_options import FAILED, VERSIONS, Infer
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


def _extraction(row: BenchmarkRow, reply: str) -> Generator[str, str, str | None]:
    """What the judge takes out of the reply; None where its machine failed every time."""
    for _ in range(JUDGE_ATTEMPTS):
        said = yield extract_prompt(row, reply)
        if FAILED not in said:
            return said
    return None


def _mathvista_credit(row: BenchmarkRow, said: str, infer: Infer) -> Extracted:
    kind = row.fields.get("question_type"), row.fields.get("answer_type")
    if kind[0] == "multi_choice":
        found = infer(said, listed_options(row))
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


def _mathvista_decides(row: BenchmarkRow, reply: str, read: Extracted) -> bool:
    """No judge is asked where an option can be inferred, or the reply is the right number other than 0."""
    if row.fields.get("question_type") == "multi_choice":
        return bool(read.text)
    is_number = row.fields.get("answer_type") in ("integer", "float")
    return read.credit == 1.0 and not (is_number and float(read.text) == 0)


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


def _mathvision_credit(row: BenchmarkRow, said: str, infer: Infer) -> Extracted:
    options = listed_options(row)
    found = infer(said, options) if options else said
    # Without an option the harness compares the word False.
    return Extracted(found, float(same_value(found or ("False" if options else ""), row.answer)))


def _mathvision_decides(row: BenchmarkRow, reply: str, read: Extracted) -> bool:
    return bool(read.text) if listed_options(row) else read.credit == 1.0 and reply != ""


def _reading(
    version: tuple[ReadingName, Infer],
    credit: Callable[[BenchmarkRow, str, Infer], Extracted],
    decides: Callable[[BenchmarkRow, str, Extracted], bool],
    differs: str,
) -> Reading:
    """The credit of the reply where it decides alone, else that of what a judge takes out of it."""
    name, infer = version

    def rule(row: BenchmarkRow, reply: str) -> Extracted:
        read = credit(row, reply, infer)
        return read if decides(row, reply, read) else NO_VERDICT

    def judging(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
        read = rule(row, reply)
        if read is not NO_VERDICT:
            return read
        said = yield from _extraction(row, reply)
        return NO_VERDICT if said is None else credit(row, said, infer)

    return Reading(name=name, rule=rule, judging=judging, in_form=is_extract, needs_judge=True, differs=differs)


def always_judged(row: BenchmarkRow, reply: str) -> Extracted:
    """The harness's rule asks a judge about every reply."""
    return NO_VERDICT


def mathverse_judged(row: BenchmarkRow, reply: str) -> Generator[str, str, Extracted]:
    """Right where the extract is the answer to the letter, or a second prompt is answered by 1; 0 is wrong."""
    said = yield from _extraction(row, reply)
    if said is None:
        return NO_VERDICT
    if said.strip() == row.answer.strip():
        return Extracted(said, 1.0)
    for _ in range(JUDGE_ATTEMPTS):
        verdict = yield agreement_prompt(row, said)
        if verdict.strip() in ("0", "1"):
            return Extracted(said, float(verdict.strip()))
    return Extracted(said, None)


_CALCULATOR = (
    "values are read by Saccade's calculator; the harness runs the texts as Python and through a LaTeX parser; "
)
MATHVISTA = tuple(_reading(version, _mathvista_credit, _mathvista_decides, ANY_TEXT) for version in VERSIONS)
MATHVISION = tuple(
    _reading(version, _mathvision_credit, _mathvision_decides, _CALCULATOR + ANY_TEXT) for version in VERSIONS
)
MATHVERSE = Reading(
    name="vlmevalkit",
    rule=always_judged,
    judging=mathverse_judged,
    in_form=is_extract,
    needs_judge=True,
    differs=ANY_TEXT,
)
