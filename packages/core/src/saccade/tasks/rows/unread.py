"""Keys of rows that nothing reads: they are named, and so is one that may hold options nobody would be shown."""

import logging
import re
from collections.abc import Mapping, Sequence

from saccade.tasks.rows.fields import Row, RowValue
from saccade.types import Task

logger = logging.getLogger(__name__)

_MOST_NAMED = 12
_LETTER = re.compile(r"\(?[A-H]\)?\.?")
_LISTED = re.compile(r"""\s*(?:\[|\(?A[.):]\s)""")


def say_what_is_unread(unread: Mapping[str, Mapping[str, int]], letters: Mapping[str, Mapping[str, int]]) -> None:
    """A line for each file about the keys that nothing reads, and a warning where they may hold options.

    ``unread`` counts rows by file and key, ``letters`` those whose right answer is a letter beside such a key.
    """
    for file, counts in unread.items():
        if counts:
            logger.info("%s: keys that are not read: %s", file, unread_words(counts))
    for file, counts in letters.items():
        for key, rows in counts.items():
            logger.warning(
                "%s: %d right answers are letters of options that are not read, and nobody is shown them: if they are "
                "under `%s`, rename it to `choices`",
                *(file, rows, key),
            )


def unread_words(counts: Mapping[str, int]) -> str:
    """The keys, and in how many rows each stands, the most frequent first."""
    names = [f"{key} ({rows} rows)" for key, rows in sorted(counts.items(), key=lambda one: -one[1])]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def lists_beside_a_letter(row: Row | None, unread: Sequence[str], task: Task) -> list[str]:
    """The unread keys of a row with lists of texts, where its right answer is a letter and it has no options."""
    if row is None or task.choices or not _LETTER.fullmatch(task.answer.strip()):
        return []
    return [key for key in unread if _is_list_of_texts(row[key])]


def _is_list_of_texts(value: RowValue) -> bool:
    if isinstance(value, str):
        return bool(_LISTED.match(value))
    if isinstance(value, Mapping):
        return len(value) > 1 and all(isinstance(one, str) for one in value.values())
    return isinstance(value, Sequence) and len(value) > 1 and all(isinstance(one, str) for one in value)
