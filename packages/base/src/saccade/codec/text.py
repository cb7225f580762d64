"""Text of JSON in Python's dialect: the same bytes as ``json.dumps`` gives, piece by piece."""

import json
from collections.abc import Sequence
from json import encoder
from json.encoder import encode_basestring_ascii
from typing import Any, cast

import msgspec

from saccade.types import Json

_decode = msgspec.json.Decoder().decode
_whole_numbers = msgspec.json.Encoder().encode

# What ``JSONEncoder.encode`` makes anew for each value, which takes longer than a small value does; None in a Python
# that was built without it.
_made = getattr(encoder, "c_make_encoder", None)
_chunks = _made and _made(
    None, json.JSONEncoder().default, encode_basestring_ascii, None, ": ", ", ", False, False, True
)


def json_text(value: Any) -> str:
    """The text of any value."""
    if value.__class__ is str:
        return encode_basestring_ascii(value)
    return "".join(_chunks(value, 0)) if _chunks else json.dumps(value)


def number_text(value: Any) -> str:
    """The text of a number."""
    if value.__class__ is int or (value.__class__ is float and value - value == 0.0):
        return repr(value)
    return json_text(value)


def truth_text(value: Any) -> str:
    return "true" if value is True else "false" if value is False else json_text(value)


def number_list(values: Sequence[float]) -> str:
    """The text of a list of numbers."""
    text = repr(list(values))
    # Letters of nan, inf and None, of True and False, and the quotes of a text: a list with such is written slowly.
    is_odd = "n" in text or "T" in text or "F" in text or "'" in text or '"' in text
    return json_text(list(values)) if is_odd else text


def whole_list(values: Sequence[int]) -> str:
    """The text of a list of whole numbers."""
    try:
        text = _whole_numbers(values)
    except (OverflowError, TypeError, UnicodeEncodeError):
        return json_text(list(values))
    is_odd = b"." in text or b"e" in text or b'"' in text or b"l" in text
    return json_text(list(values)) if is_odd else text.decode().replace(",", ", ")


def parsed(text: bytes) -> Json:
    """JSON in Python's dialect, read by the faster parser where that takes it: it knows no NaN and no lone surrogates.

    Raises ValueError or RecursionError.
    """
    try:
        value: Json = _decode(text)
    except (msgspec.DecodeError, RecursionError):
        value = json.loads(text)
    return value


def parsed_whole(text: bytes) -> Json:
    """As ``parsed``, with texts of whole characters alone: ValueError for half a surrogate pair too."""
    try:
        # It takes no halves.
        return cast("Json", _decode(text))
    except (msgspec.DecodeError, RecursionError):
        value: Json = json.loads(text)
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise ValueError(f"it holds half a surrogate pair (\\u{ord(half):04x}); send whole characters") from None
    return value
