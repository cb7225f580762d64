"""Keys of rows that nothing reads: they are named, and so is one that may hold options nobody would be shown."""

import logging
import re
from collections.abc import Mapping, Sequence

from saccade.tasks.rows.fields import Row, RowValue
from saccade.types import Task

logger = logging.getLogger(__name__)

_MOST_NAMED = 12
_LETTER = re.compile(r"\(?[A-H]\)?\.?")
_MARKED = re.compile(r"\(?\b[A-H][.):]\s+([^()\n]*?)(?=\s*\(?\b[A-H][.):]\s|\s*$)")
_QUOTED = re.compile(r"""(["'])(.*?)\1""")


def say_what_is_unread(unread: Mapping[str, Mapping[str, int]], options: Mapping[str, Mapping[str, int]]) -> None:
    """A line for each file about the keys that nothing reads, and a warning where they may hold options.

    ``unread`` counts rows by file and key, ``options`` those whose right answer is one of the key's texts.
    """
    for file, counts in unread.items():
        if counts:
            logger.info("%s: keys that are not read: %s", file, unread_words(counts))
    for file, counts in options.items():
        for key, rows in counts.items():
            logger.warning(
                "%s: %d right answers are letters or items of `%s`, which is not read and not shown; if it holds "
                "options, rename it to `choices`",
                *(file, rows, key),
            )


def unread_words(counts: Mapping[str, int]) -> str:
    """The keys, and in how many rows each stands, the most frequent first."""
    names = [f"{key} ({rows} rows)" for key, rows in sorted(counts.items(), key=lambda one: -one[1])]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def unread_options(row: Row | None, unread: Sequence[str], task: Task) -> list[str]:
    """The unread keys of a row that look like its options: lists of texts of which the right answer is the letter, or
    an item, where the row has no options."""
    if row is None or task.choices:
        return []
    answer = task.answer.strip()
    is_letter = bool(_LETTER.fullmatch(answer))
    found = {key: texts for key in unread if len(texts := _texts_of(row[key])) > 1}
    return [key for key, texts in found.items() if is_letter or answer.casefold() in texts]


def _texts_of(value: RowValue) -> list[str]:
    """The texts of a list, in small letters: of one that is written as text, or of an object's values too."""
    if isinstance(value, str):
        marked = _MARKED.findall(value)
        return [
            text.strip().casefold()
            for text in marked or ([text for _, text in _QUOTED.findall(value)] if value[:1] == "[" else [])
        ]
    items = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(items, list | tuple):
        return []
    texts = [one.strip().casefold() for one in items if isinstance(one, str)]
    return texts if len(texts) == len(items) else []
