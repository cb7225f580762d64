"""JSON and TOML that somebody else may have written: whatever the text is, a value of few levels or a ValueError."""

import json
import tomllib

from saccade.types import Json

MAX_LEVELS = 100
"""Of values inside each other: what reads them calls itself for each."""
MAX_TOML_BYTES = 256 << 10
_MAX_BITS = 1024
"""Of a whole number: Python writes no text of a much larger one, and makes no float of it."""
_MAX_DOTS = 200
"""In a line of TOML: reading a key takes time with the square of its parts."""


def json_value(text: str | bytes) -> Json:
    """The value of a text of JSON, in Python's dialect; ValueError. Of a key that stands twice the last one counts."""
    try:
        value: Json = json.loads(text)
    except RecursionError:
        raise _too_deep() from None
    _check(value)
    return value


def toml_table(text: str) -> dict[str, Json]:
    """The table of a text of TOML; ValueError, with the line where there is one."""
    if len(text.encode()) > MAX_TOML_BYTES:
        raise ValueError(f"it has more than {MAX_TOML_BYTES} bytes; settings take a few thousand")
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > _MAX_DOTS:
            raise ValueError(f"line {number} has more than {_MAX_DOTS} dots; a key has a few parts")
    try:
        table: dict[str, Json] = tomllib.loads(text)
    except RecursionError:
        raise _too_deep() from None
    _check(table)
    return table


def _check(value: Json) -> None:
    """ValueError for values inside each other in too many levels, and for a number that has no text."""
    level = [value]
    for _ in range(MAX_LEVELS):
        below: list[Json] = []
        for one in level:
            if isinstance(one, dict):
                below += one.values()
            elif isinstance(one, list):
                below += one
            elif isinstance(one, int) and one.bit_length() > _MAX_BITS:
                raise ValueError(f"it has a number of {one.bit_length()} bits")
        if not below:
            return
        level = below
    raise _too_deep()


def _too_deep() -> ValueError:
    return ValueError(f"its values stand inside each other in more than {MAX_LEVELS} levels")
