"""Rows of the hub's parquet put into the columns of VLMEvalKit's TSV."""

import ast
import re

from saccade.evaluation.benchmarks.benchmark import LETTERS
from saccade.tasks.datasets.dataset import options_after
from saccade.tasks.rows.fields import Row, RowValue

PADDING = "nan"
"""What pandas made of an empty cell, and of the word None, before some sets were put on the hub."""
_FIRST_OPTIONS = (
    re.compile(r"(?P<open>\()A(?P<close>\))\s*"),
    re.compile(r"^[ \t]*(?P<open>)A(?P<close>[.:)])[ \t]+", re.MULTILINE),
)
_FIRST_IN_A_LINE = re.compile(r"\s*(?P<open>)A(?P<close>[:.])\s+")
MAX_STARTS = 16
"""So many places at which a text's options might begin are tried, the last ones."""


def with_choices(row: Row, choices: RowValue, **columns: RowValue) -> dict[str, RowValue]:
    """The row with its options under their letters, none where they are no list, and columns set or renamed.

    Nulls at the end of the list fill it up and are no options.
    """
    listed = list(choices) if isinstance(choices, list) else []
    while listed and listed[-1] is None:
        listed.pop()
    return {**row, **{letter: str(choice) for letter, choice in zip(LETTERS, listed)}, **columns}


def column_text(value: object) -> str:
    """A column as text, empty where it is null."""
    return "" if value is None else str(value)


def lettered_row(text: str, row: Row, **columns: RowValue) -> dict[str, RowValue]:
    """The row of a text with its options as ``(A) ... (B) ...``, lines ``A. ...``, or ``Options: A: ..., B: ...``.

    The letters follow one another, all marked alike; a letter marked otherwise inside a text begins no option. An
    option ``nan`` at the end fills the row up, unless it is the answer; any other was the word None.
    """
    question, mark, rest = text.partition("Options:")
    first = _FIRST_IN_A_LINE.match(rest) if mark else None
    if first:
        choices = options_after(first, r"(?:,\s|\n)[ \t]*")
    else:
        starts = [match for form in _FIRST_OPTIONS for match in [*form.finditer(text)][-MAX_STARTS:]]
        found = [(match, options) for match in starts if len(options := _options_to_line_end(match)) > 1]
        # Where the question names options too, the last list of the longest is theirs.
        first, choices = max(found, key=lambda one: (len(one[1]), one[0].start()), default=(None, []))
        question = text[: first.start()] if first else text
    return with_choices(
        row, _without_padding(choices, column_text(row.get("answer"))), question=question.strip(), **columns
    )


def _options_to_line_end(first: re.Match[str]) -> list[str]:
    *options, last = options_after(first, "" if first["open"] else r"\n[ \t]*")
    return [*options, last.partition("\n")[0].strip()]


def _without_padding(choices: list[str], answer: str) -> list[str]:
    while choices and choices[-1] == PADDING and answer != LETTERS[len(choices) - 1]:
        choices = choices[:-1]
    return ["None" if choice == PADDING else choice for choice in choices]


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
