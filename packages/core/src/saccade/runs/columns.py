"""Columns of Arrow tables made of their memory: ``pa.array`` of a list loads pandas, where there is one."""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def number_column(values: Sequence[float], kind: type[np.number]) -> pa.Array:
    """A column of numbers; one that is too large for a float is infinite."""
    with np.errstate(over="ignore"):
        # A reward of 1e300 is infinite in a column.
        column = np.array(values, kind)
    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [None, pa.py_buffer(column)])


def text_column(values: Sequence[str | None]) -> pa.Array:
    """A column of texts. Lone surrogates, which UTF-8 cannot hold, become ``?``."""
    encoded = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
    buffers = [_validity_bits(values), pa.py_buffer(_offsets(encoded)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def word_column(values: Sequence[str]) -> pa.Array:
    """A column of few different texts: each once, in order of first appearance, and a code for each row."""
    codes: dict[str, int] = {}
    listed = [codes.setdefault(value, len(codes)) for value in values]
    return pa.DictionaryArray.from_arrays(number_column(listed, np.int32), text_column(list(codes)))


def list_column(rows: Sequence[Sequence[float] | None]) -> pa.Array:
    """A column of lists of float32; a number that is too large for it is infinite."""
    offsets = _offsets([row or () for row in rows])
    with np.errstate(over="ignore"):
        values = np.fromiter(chain.from_iterable(row or () for row in rows), np.float32, int(offsets[-1]))
    inside = pa.Array.from_buffers(pa.float32(), len(values), [None, pa.py_buffer(values)])
    buffers = [_validity_bits(rows), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(pa.list_(pa.float32()), len(rows), buffers, children=[inside])


def _offsets(rows: Sequence[Sequence[object]]) -> NDArray[np.int32]:
    """Where each row begins in the memory of all, and the end of the last."""
    offsets = np.zeros(len(rows) + 1, np.int32)
    np.cumsum(np.array([len(row) for row in rows], np.int32), out=offsets[1:])
    return offsets


def _validity_bits(values: Sequence[object]) -> pa.Buffer:
    """A bit for each row: whether it is there."""
    return pa.py_buffer(np.packbits(np.array([value is not None for value in values], bool), bitorder="little"))
