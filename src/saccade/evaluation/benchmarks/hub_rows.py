"""Rows of the hub's parquet put into the columns of VLMEvalKit's TSV."""

import ast
import re
from collections.abc import Mapping

from saccade.evaluation.benchmarks.benchmark import LETTERS

_OPTION = re.compile(r"\(([A-H])\)\s*(.+?)(?=\s*\([A-H]\)|$)|^\s*([A-H])[.:)]\s+(.+?)\s*$", re.MULTILINE)


def with_choices(row: Mapping[str, object], choices: object, **columns: object) -> dict[str, object]:
    """The row with its options under their letters, none where they are no list, and columns set or renamed."""
    listed = choices if isinstance(choices, list) else []
    return {**row, **{letter: str(choice) for letter, choice in zip(LETTERS, listed)}, **columns}


_IN_A_LINE = re.compile(r"\b([A-H])[:.]\s*(.+?)(?=,?\s+[A-H][:.]\s|\s*$)", re.DOTALL)


def lettered(text: str, row: Mapping[str, object], **columns: object) -> dict[str, object]:
    """The row of a text with its options as ``(A) ... (B) ...``, lines ``A. ...``, or ``Options: A: ...``."""
    question, mark, rest = text.partition("Options:")
    if mark and (listed := _IN_A_LINE.findall(rest)):
        return with_choices(row, [choice for _, choice in listed], question=question.strip(), **columns)
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
