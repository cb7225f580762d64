"""Rows of the hub's parquet put into the columns of VLMEvalKit's TSV."""

import ast
import re
from collections.abc import Mapping

from saccade.evaluation.benchmarks.benchmark import LETTERS
from saccade.rewards.answers.options_in_text import option_marks

_OPTION = re.compile(r"\(([A-H])\)\s*(.+?)(?=\s*\([A-H]\)|$)|^\s*([A-H])[.:)]\s+(.+?)\s*$", re.MULTILINE)


def with_choices(row: Mapping[str, object], choices: object, **columns: object) -> dict[str, object]:
    """The row with its options under their letters, none where they are no list, and columns set or renamed.

    What pads a table at the end, such as ``nan``, is no option.
    """
    listed = list(choices) if isinstance(choices, list) else []
    while listed and (listed[-1] is None or str(listed[-1]).strip().casefold() == "nan"):
        listed.pop()
    return {**row, **{letter: str(choice) for letter, choice in zip(LETTERS, listed)}, **columns}


def lettered(text: str, row: Mapping[str, object], **columns: object) -> dict[str, object]:
    """The row of a text with its options as ``(A) ... (B) ...``, lines ``A. ...``, or ``Options: A: ...``."""
    question, mark, rest = text.partition("Options:")
    if mark and (marks := option_marks(rest)):
        ends = [*(one.start() for one in marks[1:]), len(rest)]
        listed = [rest[one.end() : end].strip(" \t\r\n,") for one, end in zip(marks, ends)]
        return with_choices(row, listed, question=question.strip(), **columns)
    found = list(_OPTION.finditer(text))
    choices = [(match[2] or match[4]).strip() for match in found]
    question = text[: found[0].start()].strip() if found else text.strip()
    return with_choices(row, choices, question=question, **columns)


def literal_list(text: str) -> list[str]:
    """The items of the text of a Python list, as text; the text itself where it is none."""
    try:
        found = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return [text]
    return [str(one) for one in found] if isinstance(found, list) else [text]


def list_of(text: str) -> list[str]:
    """The items of the text of a list; none where it is none."""
    return literal_list(text) if text.startswith("[") else []
