"""What Tinker's client asks for, as values: examples with their loss from protocol buffers, samples from JSON."""

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.serving.tinker.wire import WireFields
from saccade.types import Json

_MOST_CELLS = 1 << 24
"""Of a sparse tensor that is written out; the body bounds all others."""
_DTYPES: Mapping[int, "np.dtype[Any]"] = {1: np.dtype("<f4"), 2: np.dtype("<i8"), 3: np.dtype("<i4")}


@dataclass(frozen=True, slots=True)
class TokenChunk:
    """Ids of text."""

    ids: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PictureChunk:
    """A picture's file."""

    raw: bytes
    expected_tokens: int | None
    """How many the client counts it as; None says nothing."""


InputChunk = TokenChunk | PictureChunk


@dataclass(frozen=True, kw_only=True, slots=True)
class LossExample:
    """A ``Datum`` of the client."""

    chunks: tuple[InputChunk, ...]
    inputs: Mapping[str, NDArray[np.float64 | np.int64]]
    """What the loss reads, by name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LossRequest:
    """The body of ``/api/v1/forward_backward``."""

    model_id: str
    seq_id: int
    examples: tuple[LossExample, ...]
    loss: str
    config: Mapping[str, float | str]
    forward_only: bool


def loss_request(body: bytes) -> LossRequest:
    """Read from a ``ForwardBackwardRequest``; UserError."""
    message = WireFields(body)
    config: dict[str, float | str] = {name: entry.double(2) for name, entry in message.entries(5)}
    for name, entry in message.entries(7):
        value = WireFields(entry.part(2))
        config[name] = value.text(2) if value.has(2) else value.double(1)
    return LossRequest(
        model_id=message.text(1),
        seq_id=message.number(2),
        examples=tuple(_example(part, index) for index, part in enumerate(message.parts(3))),
        loss=message.text(4),
        config=config,
        forward_only=bool(message.number(6)),
    )


def _example(part: bytes, index: int) -> LossExample:
    message = WireFields(part)
    try:
        chunks = tuple(_chunk(WireFields(chunk)) for chunk in message.parts(1))
        inputs = {name: _tensor(name, WireFields(entry.part(2))) for name, entry in message.entries(2)}
    except UserError as error:
        raise UserError(f"data[{index}]: {error}") from error
    return LossExample(chunks=chunks, inputs=inputs)


def _chunk(message: WireFields) -> InputChunk:
    if message.has(1):
        return TokenChunk(tuple(_array("tokens", WireFields(message.part(1)).part(1), np.dtype("<i4")).tolist()))
    if not message.has(2):
        raise UserError("a chunk of model_input is neither text nor a picture; sound is not served here")
    picture = WireFields(message.part(2))
    expected = picture.number(3) if picture.has(3) else None
    return PictureChunk(raw=picture.part(1), expected_tokens=expected)


def _tensor(name: str, message: WireFields) -> NDArray[np.float64 | np.int64]:
    dtype = _DTYPES.get(message.number(3))
    if dtype is None:
        raise UserError(f"{name} has dtype {message.number(3)}; send float32 or int64")
    shape = message.numbers(4)
    if any(side < 0 for side in shape):
        raise UserError(f"{name} has the shape {shape}")
    flat = _written_out(name, message, dtype, shape) if message.has(2) else _array(name, message.part(1), dtype)
    if shape and int(np.prod(shape, dtype=object)) != flat.size:
        raise UserError(f"{name} has {flat.size} numbers and the shape {shape}")
    values: NDArray[np.float64 | np.int64] = flat.reshape(shape or (flat.size,))
    return values.astype(np.float64 if dtype.kind == "f" else np.int64)


def _written_out(name: str, message: WireFields, dtype: "np.dtype[Any]", shape: Sequence[int]) -> NDArray[Any]:
    """A sparse tensor of compressed rows with 0 in the cells that it leaves out."""
    sparse = WireFields(message.part(2))
    values = _array(name, sparse.part(1), dtype)
    ends, columns = (_array(name, sparse.part(number), np.dtype("<i8")) for number in (2, 3))
    if len(shape) != 2 or shape[0] * shape[1] > _MOST_CELLS:
        raise UserError(
            f"{name} is sparse and has the shape {list(shape)}; send two sides of {_MOST_CELLS} cells at most"
        )
    lengths = np.diff(ends)
    fits = len(ends) == shape[0] + 1 and ends[0] == 0 and ends[-1] == len(values) == len(columns)
    if not fits or (lengths < 0).any() or ((columns < 0) | (columns >= shape[1])).any():
        raise UserError(f"{name} is sparse, and its rows or columns do not fit the shape {list(shape)}")
    whole = np.zeros(shape, dtype)
    whole[np.repeat(np.arange(shape[0]), lengths), columns] = values
    return whole.reshape(-1)


def _array(name: str, raw: bytes, dtype: "np.dtype[Any]") -> NDArray[Any]:
    if len(raw) % dtype.itemsize:
        raise UserError(f"{name} has {len(raw)} bytes, no whole number of {dtype.name}")
    return np.frombuffer(raw, dtype)


def json_chunks(value: Json) -> tuple[InputChunk, ...]:
    """The chunks of a ``ModelInput`` in JSON; UserError."""
    chunks = value.get("chunks") if isinstance(value, dict) else None
    if not isinstance(chunks, list):
        raise UserError("prompt has no list of chunks")
    return tuple(_json_chunk(chunk) for chunk in chunks)


def _json_chunk(chunk: Json) -> InputChunk:
    chunk = chunk if isinstance(chunk, dict) else {}
    kind = chunk.get("type", "encoded_text" if "tokens" in chunk else None)
    if kind == "encoded_text":
        tokens = chunk.get("tokens")
        if not isinstance(tokens, list) or not all(type(one) is int for one in tokens):
            raise UserError("tokens of a chunk of the prompt must be a list of whole numbers")
        return TokenChunk(tuple(one for one in tokens if isinstance(one, int)))
    if kind != "image":
        raise UserError(f"a chunk of the prompt is of the type {str(kind)[:40]!r}; send encoded_text or image")
    data, expected = chunk.get("data"), chunk.get("expected_tokens")
    if not isinstance(data, str) or not (expected is None or type(expected) is int):
        raise UserError("an image of the prompt needs data in base64, and perhaps a number of expected_tokens")
    try:
        raw = base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError) as error:
        raise UserError(f"data of an image of the prompt is no base64: {error}") from error
    return PictureChunk(raw=raw, expected_tokens=expected if isinstance(expected, int) else None)
