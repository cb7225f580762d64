"""Errors of JSON that is not what it should be: the one place where msgspec's become ours."""

import re
import typing
from collections.abc import Mapping
from typing import Any

from saccade.codec.forms import class_of, is_union, without_bounds
from saccade.errors import nearest

SHOWN_CHARS = 60


class BrokenRecordError(Exception):
    """A JSON object is not what it should be; the caller knows the file and the line."""

    def __init__(self, message: str, place: str = "") -> None:
        """``place`` is the path of what is wrong, such as ``messages[0].content``."""
        super().__init__(message)
        self.place = place


def shortened(value: object) -> str:
    """The value as messages show it."""
    text = repr(value)
    return text if len(text) <= SHOWN_CHARS else f"{text[: SHOWN_CHARS - 3]}..."


_PLACE = re.compile(r"(.*?)(?: - at `(?:key in `)?\$(.*)`)?", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_EXPECTED = re.compile(r"Expected `([^`]*)`(?: of (?:at least )?length (\d+))?")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`", re.DOTALL)
_WORDS = {
    "int | float": "a number",
    "int": "a whole number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}
_VERSION = "version"
"""Key of the version of a format."""
_KINDS = {str: "str", int: "int", float: "float", bool: "bool", list: "array", dict: "object", type(None): "null"}


def broken_record(error: Exception, value: object, mirror: Any, name: str) -> BrokenRecordError:
    """The error with the key of the field, the value that is there and what was expected, in words."""
    if isinstance(error, UnicodeEncodeError):
        return BrokenRecordError(f"{name} has no such option: {shortened(error.object)} holds half a surrogate pair")
    found = _PLACE.fullmatch(str(error))
    assert found is not None
    what, path = found[1], found[2] or ""
    for key, index in _STEP.findall(path):
        mirror = _type_inside(mirror, value, key, index)
        value = _value_inside(value, key, index, what)
    place = path.lstrip(".")
    before = f"{place}." if place else ""
    if missing := _MISSING.match(what):
        return BrokenRecordError(f"{missing[1]!r} is missing in {place or name}", before + missing[1])
    if unknown := _UNKNOWN.match(what):
        known = [one.encode_name for one in _fields_of(mirror)]
        near = nearest(unknown[1], known)
        hint = f"did you mean {near!r}?" if near else f"known are {', '.join(known)}"
        said = f"{shortened(unknown[1])} is an unknown key in {place or name}; {hint}"
        return BrokenRecordError(said, before + unknown[1])
    expected = _expectation(what, mirror)
    if expected is None:
        return BrokenRecordError(f"{place or name}: {what}", place)
    if not place:
        return BrokenRecordError(f"{name} must be a JSON object, not {shortened(value)}")
    why = "; another version of Saccade wrote this" if place == _VERSION and type(value) is int else ""
    return BrokenRecordError(f"{place!r} must be {expected}, not {shortened(value)}{why}", place)


def _value_inside(value: Any, key: str, index: str, what: str) -> object:
    """One step further in; for ``[...]``, which is any key of an object, the first value of the kind that was met."""
    if isinstance(value, list | tuple):
        return value[int(index)]
    if not isinstance(value, Mapping):
        return None
    met = what.partition("got `")[2].rstrip("`")
    return value.get(key) if key else next((one for one in value.values() if _KINDS.get(type(one)) == met), None)


def _type_inside(mirror: Any, value: Any, key: str, index: str) -> Any:
    """The annotation of what is one step further in."""
    import msgspec

    for one in _alternatives(mirror):
        one = without_bounds(one)
        arguments = typing.get_args(one)
        if index and arguments:
            is_fixed = index != "..." and arguments[-1] is not ...
            return arguments[int(index)] if is_fixed else arguments[1] if index == "..." else arguments[0]
        if key and _is_struct(one):
            tag = one.__struct_config__.tag
            if tag is None or (isinstance(value, Mapping) and value.get(one.__struct_config__.tag_field, tag) == tag):
                return next((f.type for f in msgspec.structs.fields(one) if f.encode_name == key), None)
        if key and (kind := class_of(one)) is not None:
            return typing.get_type_hints(kind).get(key)
    tags = [one.__struct_config__.tag for one in _alternatives(mirror) if _is_struct(one)]
    return typing.Literal.__getitem__(tuple(tags)) if tags and key else None


def _expectation(what: str, annotation: Any) -> str | None:
    """What msgspec expected, in words; None where it was something else that is wrong."""
    for told in [one for kind in _alternatives(annotation) for one in getattr(kind, "__metadata__", ())]:
        return str(told.description)
    literals = [one for one in _alternatives(annotation) if typing.get_origin(one) is typing.Literal]
    if literals:
        return f"one of {', '.join(str(option) for one in literals for option in typing.get_args(one))}"
    match = _EXPECTED.match(what)
    if match is None:
        return None
    words = _WORDS.get(kind := match[1].removesuffix(" | null"), kind)
    return f"{words} of {match[2]}" if match[2] else words


def _fields_of(annotation: Any) -> list[Any]:
    import msgspec

    return [field for one in _alternatives(annotation) if _is_struct(one) for field in msgspec.structs.fields(one)]


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    """The kinds of a union, or the one kind."""
    return typing.get_args(annotation) if is_union(annotation) else (annotation,)


def _is_struct(annotation: Any) -> bool:
    return hasattr(annotation, "__struct_config__")
