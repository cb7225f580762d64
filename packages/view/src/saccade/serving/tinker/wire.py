"""Protocol buffers as far as Tinker's messages need them: fields of one message by their numbers, read and written.

The format is https://protobuf.dev/programming-guides/encoding: a tag of number and kind, then a varint, 8 or 4 bytes,
or a length and so many bytes. Lengths are checked against what there is; nothing is read twice.
"""

import struct
from collections.abc import Iterator

from saccade.errors import UserError

_VARINT, _EIGHT, _COUNTED, _FOUR = 0, 1, 2, 5
_MOST_VARINT_BYTES = 10
_SIGN = 1 << 63


class WireFields:
    """The fields of one message; a message inside it is its bytes. ``UserError`` for bytes that are no message."""

    def __init__(self, raw: bytes | memoryview) -> None:
        self._found: dict[int, list[int | bytes]] = {}
        for number, value in _fields(memoryview(raw)):
            self._found.setdefault(number, []).append(value)

    def parts(self, number: int) -> list[bytes]:
        """All texts, bytes or messages of this number."""
        return [value for value in self._found.get(number, ()) if isinstance(value, bytes)]

    def part(self, number: int) -> bytes:
        """The last of them, as the format has it; empty where there is none."""
        return (self.parts(number) or [b""])[-1]

    def has(self, number: int) -> bool:
        return number in self._found

    def text(self, number: int) -> str:
        return _text(self.part(number))

    def number(self, number: int) -> int:
        """A whole number, 0 where there is none."""
        return (self.numbers(number) or [0])[-1]

    def numbers(self, number: int) -> list[int]:
        """Whole numbers, written one by one or packed."""
        found: list[int] = []
        for value in self._found.get(number, ()):
            if isinstance(value, int):
                found.append(value)
                continue
            at, packed = 0, memoryview(value)
            while at < len(packed):
                one, at = _varint(packed, at)
                found.append(one)
        return found

    def double(self, number: int) -> float:
        """A number of double precision, 0 where there is none."""
        raw = self.part(number) or bytes(8)
        if len(raw) != 8:
            raise UserError(f"field {number} of a message has {len(raw)} bytes where a double has 8")
        return float(struct.unpack("<d", raw)[0])

    def entries(self, number: int) -> Iterator[tuple[str, "WireFields"]]:
        """A map: its keys, and for each the entry, whose value is field 2."""
        for part in self.parts(number):
            entry = WireFields(part)
            yield entry.text(1), entry


def varint(value: int) -> bytes:
    """A whole number of up to 64 bits; a negative one in two's complement."""
    value &= (1 << 64) - 1
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    return bytes((*written, value))


def number_field(number: int, value: int) -> bytes:
    return varint(number << 3 | _VARINT) + varint(value)


def part_field(number: int, value: bytes | str) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | _COUNTED) + varint(len(raw)) + raw


def double_field(number: int, value: float) -> bytes:
    return varint(number << 3 | _EIGHT) + struct.pack("<d", value)


def _fields(raw: memoryview) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at < len(raw):
        tag, at = _varint(raw, at)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, at = _varint(raw, at)
            yield number, value
            continue
        if kind == _COUNTED:
            length, at = _varint(raw, at)
        elif kind in (_EIGHT, _FOUR):
            length = 8 if kind == _EIGHT else 4
        else:
            raise UserError(f"the body is no protocol buffer: a field of kind {kind}")
        if not 0 <= length <= len(raw) - at:
            raise UserError("the body is no protocol buffer, or was cut off: a field is longer than what is left")
        yield number, bytes(raw[at : at + length])
        at += length


def _varint(raw: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for place in range(_MOST_VARINT_BYTES):
        if at + place >= len(raw):
            break
        byte = raw[at + place]
        value |= (byte & 127) << 7 * place
        if byte < 128:
            value &= (1 << 64) - 1
            return value - (1 << 64) if value & _SIGN else value, at + place + 1
    raise UserError("the body is no protocol buffer, or was cut off: a number does not end")


def _text(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"a text of the body is no UTF-8: {error}") from error
