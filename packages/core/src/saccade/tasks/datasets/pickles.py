"""Rows of GeoQA's and UniGeo's pickle files, read without running anything that a pickle could ask for.

Only the plain containers of Python are built. What NumPy leaves in a pickle is taken apart by stand-ins of our own:
an array becomes a PNG when it can be a picture, a number a number. Everything else is refused.
"""

import io
import math
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import numpy as np
from PIL import Image

from saccade.errors import UserError
from saccade.plain_files import open_plain
from saccade.tasks.rows.fields import NumberedRow, Row, RowError

MAX_PICTURE_PIXELS = 1 << 24


class _Type:
    """A dtype: its kind and size, such as ``u1``; what else it says does not matter here."""

    def __init__(self, code: str = "", *_: object) -> None:
        self.code = code if isinstance(code, str) else ""

    def __setstate__(self, state: object) -> None:
        del state


class _Array:
    """An array as it lies in the pickle."""

    shape: tuple[int, ...] = ()
    code: str = ""
    raw: bytes = b""
    lies_by_columns: bool = False

    def __setstate__(self, state: object) -> None:
        match state:
            case (_, tuple(shape), _Type() as kind, bool(by_columns), bytes(raw)):
                self.shape, self.code, self.raw, self.lies_by_columns = shape, kind.code, raw, by_columns
            case _:
                raise pickle.UnpicklingError("an array whose values do not lie in the pickle as plain bytes")


def _reconstruct(*_: object) -> _Array:
    return _Array()


def _from_buffer(raw: object, kind: object, shape: object, order: object) -> _Array:
    """How protocol 5 spells an array."""
    array = _Array()
    array.__setstate__((1, shape, kind, order == "F", bytes(raw) if isinstance(raw, bytearray) else raw))
    return array


def _scalar(kind: object, raw: object = b"") -> float:
    code = kind.code if isinstance(kind, _Type) else ""
    if code not in ("f4", "f8", "i4", "i8", "u1") or not isinstance(raw, bytes) or len(raw) != int(code[1:]):
        raise pickle.UnpicklingError(f"a number of type {code!r}")
    return float(np.frombuffer(raw, dtype=f"<{code}")[0])


def _encode(text: object, *_: object) -> bytes:
    """How Python 2's and protocol 2's pickles spell bytes."""
    if not isinstance(text, str):
        raise pickle.UnpicklingError("bytes that are not spelled as text")
    return text.encode("latin-1")


_STAND_INS = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy.core.numeric", "_frombuffer"): _from_buffer,
    ("numpy._core.numeric", "_frombuffer"): _from_buffer,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy._core.multiarray", "scalar"): _scalar,
    ("_codecs", "encode"): _encode,
}


class _Unpickler(pickle._Unpickler):
    """Python's own, since the one in C allocates tens of gigabytes for a few bytes that number a memo."""

    def find_class(self, module: str, name: str, /) -> object:
        stand_in = _STAND_INS.get((module, name))
        if stand_in is None:
            raise pickle.UnpicklingError(f"it wants {module}.{name}, which is not run here")
        return stand_in


def pickled_rows(path: Path) -> Iterator[NumberedRow]:
    """The dictionaries of a pickled list; pictures among their values become PNG bytes."""
    try:
        with open_plain(path) as file:
            value = _Unpickler(file, encoding="latin-1").load()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    # Whatever a damaged or hostile pickle makes the unpickler raise.
    except Exception as error:
        yield NumberedRow(1, RowError("", f"is no pickle of plain data ({type(error).__name__}: {error})"))
        return
    if not isinstance(value, list):
        yield NumberedRow(1, RowError("", f"is not a list of rows but {type(value).__name__}"))
        return
    for number, item in enumerate(value, start=1):
        if isinstance(item, dict):
            yield NumberedRow(number, cast(Row, {str(key): _plain(inner) for key, inner in item.items()}))
        else:
            yield NumberedRow(number, RowError("", f"is not a row with keys but {type(item).__name__}"))


def _plain(value: object) -> object:
    return _png(value) if isinstance(value, _Array) else value


def _png(array: _Array) -> bytes | None:
    """A grey or RGB picture of 8 bits as PNG; None for any other array."""
    shape = array.shape
    is_picture = len(shape) == 2 or (len(shape) == 3 and shape[2] in (3, 4))
    if array.code != "u1" or not is_picture or not all(isinstance(side, int) and side > 0 for side in shape):
        return None
    if shape[0] * shape[1] > MAX_PICTURE_PIXELS or math.prod(shape) != len(array.raw):
        return None
    pixels = np.frombuffer(array.raw, dtype=np.uint8).reshape(shape, order="F" if array.lies_by_columns else "C")
    buffer = io.BytesIO()
    Image.fromarray(np.ascontiguousarray(pixels)).convert("RGB").save(buffer, format="PNG")
    return buffer.getvalue()
