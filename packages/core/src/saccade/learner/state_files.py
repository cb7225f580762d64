"""What a learner keeps beside its model on disk: one process writes torch's own file, several the shards of each."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from saccade.learner.optimizer import MasterOptimizer
from saccade.learner.shard_index import ShardReader
from saccade.learner.sharding import like, overwrite, whole
from saccade.models.checkpoint_checks import damage
from saccade.models.lora import adapter_parameters

if TYPE_CHECKING:
    from saccade.learner.learner import Learner

_ALONE = "optimizer.pt"
_SHARDS = "optimizer"
"""A directory as torch's distributed checkpoints have it."""
_CRITIC = "value_head.pt"
_REFERENCE = "reference_adapter.safetensors"
_MASTERS = "masters"


def save_state(learner: "Learner", directory: Path) -> None:
    """Writes moments, masters, critic and the adapter that the stage began with.

    All ranks call it, on a directory that all of them see; what is not in shards the first one writes.
    """
    optimizer, critic, adapter = learner.optimizer, learner.value_head, learner.model.adapter
    if learner.ranks.count == 1:
        torch.save(optimizer.state_dict(), directory / _ALONE)
    else:
        with _own_errors():
            save(_named_tensors(optimizer, learner.names, learner.sharded_masters), checkpoint_id=directory / _SHARDS)
    if critic is not None:
        head = critic.state_dict()
        for name, value in head.items():
            head[name] = whole(value)
        if learner.ranks.rank == 0:
            torch.save(head, directory / _CRITIC)
    if adapter is not None:
        start = {name: whole(value) for name, value in adapter.start.items()}
        if learner.ranks.rank == 0:
            save_file(start, directory / _REFERENCE)


def restore_state(learner: "Learner", directory: Path) -> None:
    """Takes what one rank or any number of them wrote; UserError when a file is damaged or of another model."""
    optimizer, adapter = learner.optimizer, learner.model.adapter
    if (directory / _SHARDS).is_dir():
        with damage(directory / _SHARDS) as path:
            _restore_shards(optimizer, learner.names, path)
    else:
        with damage(directory / _ALONE) as path:
            state = torch.load(path, map_location="cpu", weights_only=True)
            if learner.ranks.count == 1:
                optimizer.load_state_dict(state)
            else:
                _spread(optimizer, state, learner.sharded_masters)
    if learner.value_head is not None:
        with damage(directory / _CRITIC) as path:
            head = torch.load(path, map_location="cpu", weights_only=True)
            overwrite(dict(learner.value_head.named_parameters()), head)
    if adapter is not None:
        with damage(directory / _REFERENCE) as path:
            weights = adapter_parameters(learner.model)
            adapter.start = {name: like(weights[name], value) for name, value in load_file(path).items()}


def _named_tensors(
    optimizer: MasterOptimizer, names: Sequence[str], masters: Mapping[str, Tensor]
) -> dict[str, Tensor]:
    """Every tensor of the state under a name that does not depend on the number of ranks."""
    name_of = {id(master): name for name, master in zip(names, optimizer.masters)}
    state = {f"{_MASTERS}/{name}": master.detach() for name, master in masters.items()}
    for kind, one in optimizer.kinds.items():
        for weight, values in one.state.items():
            state |= {f"{kind}/{name_of[id(weight)]}/{key}": value for key, value in values.items()}
    return state


def _restore_shards(optimizer: MasterOptimizer, names: Sequence[str], directory: Path) -> None:
    master_of = dict(zip(names, optimizer.masters))
    state: dict[str, Tensor] = {}
    reader = ShardReader(directory)
    for key, size in reader.sizes.items():
        kind, name, *_ = key.split("/")
        if kind not in (*optimizer.kinds, _MASTERS):
            raise ValueError("it was made by another optimizer")
        if optimizer.has_codes:
            raise ValueError("it has moments of 32 bits; set eight_bit_optimizer=false")
        if name not in master_of:
            raise ValueError(f"{name} is not trained")
        like_master = size == master_of[name].shape
        if not like_master and size.numel() > 1:
            raise ValueError(f"{key} has the shape {tuple(size)}")
        empty = torch.zeros_like(master_of[name]) if like_master else torch.zeros(size)
        state[key] = empty.detach()
    with _own_errors(), warnings.catch_warnings():
        # In one process there is nobody to load it with, which is as it should be.
        warnings.filterwarnings("ignore", message=".*assuming the intent is to load in a single process.*")
        load(state, storage_reader=reader, no_dist=not dist.is_initialized())
    for kind, one in optimizer.kinds.items():
        for name, master in master_of.items():
            values = {key.rpartition("/")[2]: state[key] for key in state if key.startswith(f"{kind}/{name}/")}
            if values:
                # In torch's own order: the next checkpoint of a single process has the bytes that it would have had.
                one.state[master] = dict(sorted(values.items(), key=lambda pair: (pair[0] != "step", pair[0])))
    with torch.no_grad():
        for name, master in master_of.items():
            if f"{_MASTERS}/{name}" in state:
                master.copy_(state[f"{_MASTERS}/{name}"])
    optimizer.copy_back()


def _spread(optimizer: MasterOptimizer, state: Mapping[str, Any], masters: Mapping[str, Tensor]) -> None:
    """The state of a single process, each tensor as the weight that it belongs to."""
    given = {"adamw": state, **({"muon": state["muon"]} if "muon" in state else {})}
    if given.keys() != optimizer.kinds.keys():
        raise ValueError("one was made with muon, the other without")
    for kind, one in optimizer.kinds.items():
        for group, saved in zip(one.param_groups, given[kind]["param_groups"], strict=True):
            for index, weight in zip(saved["params"], group["params"], strict=True):
                values: dict[str, Tensor] = given[kind]["state"].get(index, {})
                if any(value.dtype == torch.uint8 for value in values.values()):
                    raise ValueError("it has moments of 8 bits, which cannot be sharded")
                one.state[weight] = {
                    key: like(weight, value) if value.shape == weight.shape else value for key, value in values.items()
                }
    saved_masters = state.get("masters", [])
    if masters and len(saved_masters) < len(masters):
        raise ValueError("precision, offload or trained weights were different")
    overwrite(masters, dict(zip(masters, saved_masters)))


@contextmanager
def _own_errors() -> Iterator[None]:
    """The error of the first rank that failed: torch's own is no ``Exception``, and hides it in a text."""
    try:
        yield
    except CheckpointException as error:
        [(first, _), *_] = error.failures.values()
        raise first from error
