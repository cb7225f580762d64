"""The index of a directory of shards (torch's ``.metadata``), read without running what a pickle may ask for.

torch writes it as a pickle, which would run whatever it names. Here a pickle is data: a name stays a text, and what
would be called or built becomes a record of that. Of these records torch's own classes are made, field by field.
"""

import io
import pickle
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, cast

import torch
from torch.distributed.checkpoint.filesystem import FileSystemReader, _StorageInfo
from torch.distributed.checkpoint.metadata import (
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorProperties,
    TensorStorageMetadata,
)

from saccade.plain_files import plain_bytes

_MAX_BYTES = 64 << 20
"""Over three times what 64 ranks write of a model of 70 billion weights."""
_SHARD_FILE = re.compile(r"__\d{1,6}_\d{1,6}\.distcp")
_METADATA = "torch.distributed.checkpoint.metadata"


class ShardReader(FileSystemReader):
    """Reads a directory of shards with the index that was read when it was made; torch loads no pickle by itself."""

    def __init__(self, directory: Path) -> None:
        """Raises what a damaged index makes ``read_index`` raise."""
        super().__init__(directory)
        self.index = read_index(directory)

    @property
    def sizes(self) -> dict[str, torch.Size]:
        """Of each tensor by its name."""
        tensors = self.index.state_dict_metadata.items()
        return {name: one.size for name, one in tensors if isinstance(one, TensorStorageMetadata)}

    def read_metadata(self, *_: object, **__: object) -> Metadata:
        return self.index


def read_index(directory: Path) -> Metadata:
    """What the directory says of its tensors and their shards; ValueError, or what unpickling raises, on damage.

    Only tensors are taken, and only shards in files of the directory itself.
    """
    fields = _fields(_unpickled(directory / ".metadata"), f"{_METADATA}.Metadata")
    tensors, stored = fields["state_dict_metadata"], fields["storage_data"]
    if not isinstance(tensors, dict) or not isinstance(stored, dict):
        raise ValueError("an index without its tables")
    chunks = [_fields(tensor, f"{_METADATA}.TensorStorageMetadata")["chunks"] for tensor in tensors.values()]
    # Before any is looked at: a pickle may name one long list a million times.
    if sum(len(one) if isinstance(one, list) else 1 for one in chunks) > len(stored):
        raise ValueError("an index with more shards than places of them")
    sizes: dict[str, int] = {}
    return Metadata(
        state_dict_metadata={_text(name): _tensor(tensor) for name, tensor in tensors.items()},
        storage_data={_place(place): _storage(directory, sizes, info) for place, info in stored.items()},
        storage_meta=StorageMeta(),
    )


@dataclass(slots=True, eq=False)
class _PickledCall:
    """What a pickle wants called or built, and the state that it wants set."""

    name: object
    arguments: object
    state: object = None


_Instruction = Callable[[pickle.Unpickler], None]
_TAKEN = (
    *(pickle.PROTO, pickle.FRAME, pickle.STOP, pickle.MARK, pickle.MEMOIZE, pickle.GLOBAL, pickle.STACK_GLOBAL),
    *(pickle.BINPUT, pickle.LONG_BINPUT, pickle.BINGET, pickle.LONG_BINGET),
    *(pickle.NONE, pickle.NEWTRUE, pickle.NEWFALSE, pickle.SHORT_BINUNICODE, pickle.BINUNICODE),
    *(pickle.BININT, pickle.BININT1, pickle.BININT2, pickle.LONG1),
    *(pickle.EMPTY_TUPLE, pickle.TUPLE, pickle.TUPLE1, pickle.TUPLE2, pickle.TUPLE3),
    *(pickle.EMPTY_LIST, pickle.APPEND, pickle.APPENDS, pickle.EMPTY_DICT, pickle.SETITEM, pickle.SETITEMS),
)


class _RecordReader(pickle._Unpickler):
    """Takes the few instructions that an index needs; none of them imports, calls or builds anything.

    Python's own, since the one in C allocates tens of gigabytes for a few bytes that number a memo.
    """

    stack: list[object]

    def find_class(self, module: str, name: str, /) -> str:
        return f"{module}.{name}"

    def _make_record(self) -> None:
        arguments = self.stack.pop()
        self.stack[-1] = _PickledCall(self.stack[-1], arguments)

    def _set_state(self) -> None:
        state, record = self.stack.pop(), self.stack[-1]
        if not isinstance(record, _PickledCall):
            raise pickle.UnpicklingError("a state of nothing")
        record.state = state

    dispatch: ClassVar[dict[int, _Instruction]] = {
        **{instruction[0]: pickle._Unpickler.dispatch[instruction[0]] for instruction in _TAKEN},
        pickle.REDUCE[0]: cast(_Instruction, _make_record),
        pickle.NEWOBJ[0]: cast(_Instruction, _make_record),
        pickle.BUILD[0]: cast(_Instruction, _set_state),
    }


def _unpickled(path: Path) -> object:
    file = path.stat()
    if not stat.S_ISREG(file.st_mode) or file.st_size > _MAX_BYTES:
        raise ValueError(f"{path.name} is no file of at most {_MAX_BYTES >> 20} MiB")
    try:
        return _RecordReader(io.BytesIO(plain_bytes(path, _MAX_BYTES))).load()
    except KeyError as error:
        raise ValueError(f"an index with an instruction or a place that it cannot have ({error})") from error


def _fields(value: object, name: str) -> dict[object, object]:
    """The state of a record of this class."""
    if not isinstance(value, _PickledCall) or value.name != name or not isinstance(value.state, dict):
        asked = value.name if isinstance(value, _PickledCall) else type(value).__name__
        raise ValueError(f"{str(asked)[:80]!a} where an index has {name.rpartition('.')[2]}")
    return value.state


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{type(value).__name__} where an index has a name")
    return value


def _count(value: object) -> int:
    if type(value) is not int or not 0 <= value < 1 << 62:
        raise ValueError(f"{str(value)[:80]!a} where an index has a count")
    return value


def _size(value: object) -> torch.Size:
    match value:
        case _PickledCall(name="torch.Size", arguments=(tuple(sides),)):
            return torch.Size([_count(side) for side in sides])
    raise ValueError("an index whose sizes are none")


def _tensor(value: object) -> TensorStorageMetadata:
    fields = _fields(value, f"{_METADATA}.TensorStorageMetadata")
    chunks = fields["chunks"]
    if not isinstance(chunks, list):
        raise ValueError("an index whose shards are no list")
    return TensorStorageMetadata(
        # Nothing of it is used to read a tensor.
        properties=TensorProperties(),
        size=_size(fields["size"]),
        chunks=[_chunk(one) for one in chunks],
    )


def _chunk(value: object) -> ChunkStorageMetadata:
    fields = _fields(value, f"{_METADATA}.ChunkStorageMetadata")
    return ChunkStorageMetadata(offsets=_size(fields["offsets"]), sizes=_size(fields["sizes"]))


def _place(value: object) -> MetadataIndex:
    fields = _fields(value, f"{_METADATA}.MetadataIndex")
    offset, index = fields.get("offset"), fields.get("index")
    where: Sequence[int] | None = None if offset is None else _size(offset)
    return MetadataIndex(_text(fields["fqn"]), where, None if index is None else _count(index))


def _storage(directory: Path, sizes: dict[str, int], value: object) -> _StorageInfo:
    fields = _fields(value, "torch.distributed.checkpoint.filesystem._StorageInfo")
    name, offset, length = _text(fields["relative_path"]), _count(fields["offset"]), _count(fields["length"])
    if not _SHARD_FILE.fullmatch(name) or fields.get("transform_descriptors"):
        raise ValueError(f"{name[:80]!a} where an index has a file of shards")
    if name not in sizes:
        file = (directory / name).stat()
        if not stat.S_ISREG(file.st_mode):
            raise ValueError(f"{name} is no file")
        sizes[name] = file.st_size
    if offset + length > sizes[name]:
        raise ValueError(f"{name} is shorter than the index says")
    return _StorageInfo(relative_path=name, offset=offset, length=length)
