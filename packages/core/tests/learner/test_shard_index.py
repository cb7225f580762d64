"""Optimiser state in shards, as somebody else may have written it: read as data, and nothing of it is run."""

import os
import pickle
import resource
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributed.checkpoint.filesystem import FileSystemReader, _StorageInfo
from torch.distributed.checkpoint.metadata import BytesStorageMetadata, Metadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from saccade.learner.shard_index import ShardReader, read_index
from saccade.tasks.datasets.pickles import pickled_rows

STATE = {
    "adamw/a.weight/exp_avg": torch.arange(6.0).reshape(2, 3),
    "adamw/a.weight/step": torch.tensor(7.0),
    "masters/a.weight": torch.ones(2, 3, dtype=torch.bfloat16),
}


@pytest.fixture
def shards(tmp_path: Path) -> Path:
    folder = tmp_path / "optimizer"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        save(dict(STATE), checkpoint_id=folder, no_dist=True)
    return folder


def loaded(folder: Path) -> dict[str, torch.Tensor]:
    state = {name: torch.zeros_like(value) for name, value in STATE.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        load(state, storage_reader=ShardReader(folder), no_dist=True)
    return state


def test_the_index_is_the_one_that_torch_reads(shards: Path) -> None:
    ours, theirs = read_index(shards), FileSystemReader(shards).read_metadata()
    assert ours.storage_data == theirs.storage_data
    assert ours.state_dict_metadata.keys() == theirs.state_dict_metadata.keys() == STATE.keys()
    for name, one in ours.state_dict_metadata.items():
        other: Any = theirs.state_dict_metadata[name]
        assert (one.size, one.chunks) == (other.size, other.chunks)  # type: ignore[union-attr]
    assert all(torch.equal(value, STATE[name]) for name, value in loaded(shards).items())


class Runs:
    """What a pickle of it does where it is loaded."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, (f"touch {self.mark}",)


def changed(folder: Path, change: Callable[[Metadata], object]) -> None:
    """Writes the index anew, as torch would after a change."""
    index = FileSystemReader(folder).read_metadata()
    made = change(index)
    (folder / ".metadata").write_bytes(pickle.dumps(index if made is None else made))


@pytest.mark.parametrize("where", ["whole", "table", "state", "meta", "place"])
def test_nothing_in_an_index_is_run(shards: Path, where: str) -> None:
    mark = shards.parent / "ran"
    evil: Any = Runs(mark)

    def change(index: Metadata) -> object:
        match where:
            case "whole":
                return evil
            case "table":
                index.state_dict_metadata = evil
            case "state":
                index.planner_data = evil
            case "meta":
                index.storage_meta = evil
            case "place":
                index.storage_data = {**index.storage_data, evil: 1}
        return None

    changed(shards, change)
    if where in ("state", "meta"):
        # Nothing there is needed, so nobody looks.
        assert torch.equal(loaded(shards)["masters/a.weight"], STATE["masters/a.weight"])
    else:
        with pytest.raises((ValueError, KeyError), match=r"where an index has|without its tables"):
            read_index(shards)
    assert not mark.exists()


def of_bytes(index: Metadata) -> None:
    """torch loads what an index calls bytes by an unpickler that runs everything."""
    index.state_dict_metadata["adamw/a.weight/step"] = BytesStorageMetadata()


def elsewhere(index: Metadata) -> None:
    for place, info in index.storage_data.items():
        index.storage_data[place] = replace(info, relative_path="../secret.distcp")


def absolute(index: Metadata) -> None:
    for place in index.storage_data:
        index.storage_data[place] = _StorageInfo("/etc/passwd", 0, 10)


def through_a_filter(index: Metadata) -> None:
    for info in index.storage_data.values():
        info.transform_descriptors = ["stream.zstd"]


def too_long(index: Metadata) -> None:
    for info in index.storage_data.values():
        info.length = 1 << 40


def negative(index: Metadata) -> None:
    for info in index.storage_data.values():
        info.offset = -1


def many(index: Metadata) -> None:
    """One list under many names."""
    tensor: Any = index.state_dict_metadata["masters/a.weight"]
    tensor.chunks *= 1000
    for number in range(1000):
        index.state_dict_metadata[f"masters/{number}"] = tensor


@pytest.mark.parametrize(
    "change", [of_bytes, elsewhere, absolute, through_a_filter, too_long, negative, many], ids=lambda one: one.__name__
)
def test_an_index_names_tensors_in_its_own_folder_and_no_more(
    shards: Path, change: Callable[[Metadata], object]
) -> None:
    changed(shards, change)
    with pytest.raises(ValueError, match=r"index|shorter"):
        ShardReader(shards)


RAW = {
    "a memo of four thousand millions": b"\x80\x04Nr\xff\xff\xff\x7f.",
    "a global by its line": b"cos\nsystem\n(S'true'\ntR.",
    "an extension": b"\x80\x04\x82\x01.",
    "a persistent name": b"\x80\x04N\x51.",
    "a state set on a class": b"\x80\x04\x8c\x05torch\x8c\x04Size\x93N}\x8c\x07__new__Ns\x86b.",
    "an instance": b"(ios\nsystem\n.",
    "keywords": b"\x80\x04\x8c\x02os\x8c\x06system\x93)}\x92.",
    "a buffer": b"\x80\x05\x97.",
    "nothing": b"",
    "a stack that is empty": b"\x80\x04R.",
}


@pytest.mark.parametrize("raw", RAW.values(), ids=RAW.keys())
def test_no_other_instruction_of_a_pickle_is_followed(shards: Path, raw: bytes) -> None:
    (shards / ".metadata").write_bytes(raw)
    with pytest.raises((ValueError, EOFError, IndexError, pickle.UnpicklingError)):
        read_index(shards)
    assert torch.Size([2, 3]) == (2, 3)


def test_only_plain_files_are_read(shards: Path) -> None:
    shard = shards / "__0_0.distcp"
    shard.unlink()
    os.mkfifo(shard)
    with pytest.raises(ValueError, match="is no file"):
        read_index(shards)
    (shards / ".metadata").unlink()
    os.mkfifo(shards / ".metadata")
    with pytest.raises(ValueError, match="is no file of at most 64 MiB"):
        read_index(shards)


def test_a_shard_that_is_a_pickle_is_not_run(shards: Path) -> None:
    mark, shard = shards.parent / "ran", shards / "__0_0.distcp"
    shard.write_bytes(pickle.dumps(Runs(mark)).ljust(shard.stat().st_size, b"."))
    with pytest.raises(BaseException, match=r"[Ww]eights.only"):
        loaded(shards)
    assert not mark.exists()


def test_a_pickle_of_rows_cannot_ask_for_a_memo_that_fills_the_memory(tmp_path: Path) -> None:
    rows = tmp_path / "rows.pk"
    # Five bytes that number a place, for which the unpickler in C takes 1 GiB.
    rows.write_bytes(b"\x80\x04]}(\x8c\x01a\x8c\x01bur\x00\x00\x00\x04a.")
    before_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    [row] = pickled_rows(rows)
    assert row.row == {"a": "b"}
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kib < 1 << 19
