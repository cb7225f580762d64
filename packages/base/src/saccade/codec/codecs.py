"""Readers and writers of dataclasses.

A dataclass is read by way of a mirror, a msgspec structure with the keys of its JSON: msgspec parses and checks, and a
function that was made once for the class builds the object.
"""

import json
from collections.abc import Callable, Mapping
from functools import cached_property, reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from saccade.codec.forms import Form, Mirrors
from saccade.codec.wrong import BrokenRecordError, broken_record

if TYPE_CHECKING:
    from saccade.codec.functions import Functions

Value = TypeVar("Value")


class Codec:
    """Readers and writers of the classes of these forms, and of any dataclass that needs none.

    A lenient one is for what other programs and people write: a field with a default may be missing, or null.
    """

    def __init__(self, forms: Mapping[type, Form], *, is_lenient: bool = False) -> None:
        self._mirrors = Mirrors(forms, is_lenient=is_lenient)
        self._readers: dict[tuple[type, ...], Reader[Any]] = {}

    @cached_property
    def _functions(self) -> "Functions":
        # msgspec is loaded with the first record: the viewer starts without.
        from saccade.codec.functions import Functions

        return Functions(self._mirrors)

    def reader(self, *kinds: type[Value]) -> "Reader[Value]":
        """Reads objects of one of these classes; keys that are not theirs are left alone."""
        if kinds not in self._readers:
            from saccade.codec.functions import MAKING

            with MAKING:
                loads = {self._mirrors.mirror(kind): self._functions.load(kind) for kind in kinds}
                self._readers[kinds] = Reader(loads)
        return self._readers[kinds]

    def read(self, kind: type[Value], text: bytes | str, name: str) -> Value:
        """The object of a text, which messages call ``name``; BrokenRecordError for whatever else the text is."""
        encoded = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        try:
            return self.reader(kind).from_text(encoded, name)
        except (ValueError, RecursionError) as error:
            raise BrokenRecordError(f"{name} is not JSON ({str(error)[:80]})") from None

    def schemas(self, *kinds: type) -> dict[str, dict[str, Any]]:
        """JSON schemas of classes and of those inside them, by name, as the components of an OpenAPI document."""
        from msgspec.json import schema_components

        _, found = schema_components(map(self._mirrors.mirror, kinds), ref_template="#/components/schemas/{name}")
        return found

    def writer(self, kind: type[Value]) -> Callable[[Value], str]:
        """Gives the text of an object, as ``json.dumps`` would write it."""
        return self._functions.text(kind)

    def text(self, one: object) -> str:
        """The text of an object."""
        return self._functions.text(type(one))(one)

    def to_json(self, one: object) -> dict[str, Any]:
        """The values of JSON that an object is written as."""
        from saccade.codec.text import parsed

        values = parsed(self.text(one).encode("ascii"))
        assert isinstance(values, dict)
        return values


PLAIN_CODEC = Codec({})

FOREIGN_CODEC = Codec({}, is_lenient=True)
"""Reads what other programs write, of which a dataclass names the keys that are looked at."""


def plain_json(one: object) -> dict[str, Any]:
    """The values of JSON of a dataclass, field by field."""
    return PLAIN_CODEC.to_json(one)


class Reader(Generic[Value]):
    """Reads objects of one class out of texts of JSON, or values of it."""

    def __init__(self, loads: Mapping[Any, Callable[[Any], Value]]) -> None:
        """``loads`` has the mirrors, and what gives the object of each."""
        import msgspec

        self._mirror = reduce(or_, loads)
        self._loads = loads
        self._decode: Callable[[bytes], Any] = msgspec.json.Decoder(self._mirror).decode

    def strict(self, text: bytes) -> Value:
        """The object of a text of standard JSON; ValueError or RecursionError for all else, without the reason."""
        return self._load(self._decode(text))

    def from_json(self, value: object, name: str) -> Value:
        """The object of values of JSON; BrokenRecordError, which calls the whole ``name``."""
        try:
            return self._load(self._to_mirror(value, name))
        except ValueError as error:
            raise BrokenRecordError(str(error)) from error

    def from_text(self, text: bytes, name: str) -> Value:
        """The object of a text in Python's dialect; ValueError or RecursionError too, where it is no JSON."""
        try:
            return self.strict(text)
        except (ValueError, RecursionError):
            # It knows no NaN and no half surrogates; and what is wrong is said of values.
            return self.from_json(json.loads(text), name)

    def _load(self, mirror: Any) -> Value:
        return self._loads[type(mirror)](mirror)

    def _to_mirror(self, value: object, name: str) -> Any:
        import msgspec

        try:
            return msgspec.convert(value, self._mirror)
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise broken_record(error, value, self._mirror, name) from None
