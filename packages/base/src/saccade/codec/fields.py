"""Fields of a JSON object that has no class of its own, read key by key."""

from collections.abc import Mapping
from typing import TypeGuard, TypeVar

from saccade.codec.wrong import BrokenRecordError, shortened
from saccade.types import Json

_FLOAT_BITS = 1023

Option = TypeVar("Option", bound=str)


def is_number(value: object) -> TypeGuard[float]:
    """Whether the value is a number of which a float can be made, be it one that is not finite."""
    return isinstance(value, float) or (
        isinstance(value, int) and not isinstance(value, bool) and value.bit_length() <= _FLOAT_BITS
    )


class Fields:
    """The fields of a JSON object. Raises BrokenRecordError, naming the field and what is there."""

    def __init__(self, value: Json, name: str = "the line") -> None:
        # A dict by its type, since asking an abstract class takes most of the time of a large file.
        if type(value) is not dict and not isinstance(value, Mapping):
            raise BrokenRecordError(f"{name} must be a JSON object, not {shortened(value)}")
        self.values = value
        self.name = name

    def wrong(self, key: str, expected: str) -> BrokenRecordError:
        """The error to raise for a field that is missing or not what was expected."""
        if key not in self.values:
            return BrokenRecordError(f"{key!r} is missing in {self.name}")
        return BrokenRecordError(f"{key!r} must be {expected}, not {shortened(self.values[key])}")

    def text(self, key: str) -> str:
        value = self.values.get(key)
        if isinstance(value, str):
            return value
        raise self.wrong(key, "text")

    def whole(self, key: str) -> int:
        value = self.values.get(key)
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        raise self.wrong(key, "a whole number")

    def number(self, key: str) -> float:
        """As it stands there: 80 does not become 80.0, so that what is read is written again with the same bytes."""
        value = self.values.get(key)
        if is_number(value):
            return value
        raise self.wrong(key, "a number")

    def truth(self, key: str) -> bool:
        value = self.values.get(key)
        if isinstance(value, bool):
            return value
        raise self.wrong(key, "true or false")

    def option(self, key: str, options: tuple[Option, ...]) -> Option:
        """One of these texts."""
        value = self.values.get(key)
        for option in options:
            if value == option:
                return option
        raise self.wrong(key, f"one of {', '.join(options)}")

    def items(self, key: str) -> list[Json]:
        value = self.values.get(key)
        if isinstance(value, list):
            return value
        raise self.wrong(key, "a list")

    def mapping(self, key: str) -> Mapping[str, Json]:
        value = self.values.get(key)
        if type(value) is dict or isinstance(value, Mapping):
            return value
        raise self.wrong(key, "an object")

    def fields(self, key: str) -> "Fields":
        if key not in self.values:
            raise self.wrong(key, "an object")
        return Fields(self.values[key], repr(key))

    def objects(self, key: str) -> "list[Fields]":
        return [Fields(item, f"{key}[{index}]") for index, item in enumerate(self.items(key))]

    def wholes(self, key: str) -> tuple[int, ...]:
        items = self.items(key)
        numbers = tuple(item for item in items if isinstance(item, int) and not isinstance(item, bool))
        if len(numbers) == len(items):
            return numbers
        raise self.wrong(key, "a list of whole numbers")

    def numbers(self, key: str) -> tuple[float, ...]:
        items = self.items(key)
        numbers = [item for item in items if is_number(item)]
        if len(numbers) == len(items):
            return tuple(numbers)
        raise self.wrong(key, "a list of numbers")

    def texts(self, key: str) -> tuple[str, ...]:
        items = self.items(key)
        texts = tuple(item for item in items if isinstance(item, str))
        if len(texts) == len(items):
            return texts
        raise self.wrong(key, "a list of texts")

    def has(self, key: str) -> bool:
        """The field is there and not null."""
        return self.values.get(key) is not None
