"""Weights as shards by torch's FSDP2: each rank holds its part of every weight, its gradient and its moments."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from saccade.errors import UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.root import PackForward
from saccade.models.checkpoint_checks import refuse_broken
from saccade.models.lora import adapter_parameters
from saccade.models.vlm import VisionLanguageModel

Wrap = Literal["layers", "whole"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Sharding:
    """How a root is sharded, and over which processes."""

    mesh: DeviceMesh
    wrap: Wrap = "layers"
    """``layers``: those of the language model are gathered one at a time; ``whole``: all weights at once, which takes
    the memory of the whole model and leaves a CPU its native kernels."""

    def apply(self, root: PackForward) -> bool:
        """Shards the weights of the root in place; parameters that were taken from it before are no longer its own.

        Each rank copies its own rows, which is all that it reads of weights that were ``left_in_files``. Weights of
        half precision that are trained become fp32 shards that are rounded when they are gathered: these are the
        masters, and it says whether there are such. A frozen vision tower stays whole on each rank, which may keep its
        features.
        """
        trained = [weight for weight in root.hf.parameters() if weight.requires_grad]
        wanted = root.model.wanted_dtype
        precision = _precision([wanted or weight.dtype for weight in trained], has_base=root.has_adapter)
        if self.wrap == "layers":
            for layer in root.model.language_model.layers:
                fully_shard(layer, mesh=self.mesh, mp_policy=precision)
        if root.value_head is not None:
            # In fp32, whatever the model has.
            fully_shard(root.value_head, mesh=self.mesh)
        kept = set(root.frozen_vision)
        for weight in kept:
            weight.data = weight.data.to(self.mesh.device_type, wanted, copy=True)
        # Weights outside of the layers (tower, embeddings, head) are read all over the forward, and kept until backward
        # has ended: a rank whose pack has no picture would miss the collectives of a tower that were sharded by itself.
        fully_shard(root, mesh=self.mesh, mp_policy=precision, reshard_after_forward=False, ignored_params=kept)
        # Not before: the whole model in fp32 would be twice as large as it is in half precision.
        root.hf._apply(partial(_in_precision, wanted, has_masters=precision.param_dtype is not None))
        root.model.wanted_dtype = None
        refuse_broken(root.model.checkpoint, ((name, _own_part(one)) for name, one in root.hf.named_parameters()))
        for module in root.modules():
            if isinstance(module, FSDPModule):
                # Token weights are shares in the mean of the whole batch: gradients are added, not averaged.
                module.set_gradient_divide_factor(1.0)
                module.set_force_sum_reduction_for_comms(True)
                self._reduce_all(module)
        return precision.param_dtype is not None

    def _reduce_all(self, module: FSDPModule) -> None:
        """Lets ranks reduce gradients that they have none of, as of a tower where a rank's packs have no picture."""
        if hasattr(module, "set_reduce_scatter_unused_params"):
            module.set_reduce_scatter_unused_params(True, recurse=False)
        elif self.mesh.size() > 1:
            raise UserError(
                "several learners need a torch whose FSDP modules have set_reduce_scatter_unused_params, as 2.13 has "
                f"(this is {torch.__version__}): without it a rank whose packs have no picture leaves the others "
                "waiting. Upgrade torch, or set fleet.learners=1"
            )


def check_can_shard(settings: OptimizerSettings, prefix: str = "") -> None:
    """UserError for settings that several ranks cannot learn with."""
    instead = {
        "eight_bit_optimizer": "each rank holds its share of the moments: use fp32 ones, and more ranks where they do "
        "not fit (its blocks would depend on the number of ranks)",
        "offload_optimizer": "use activation_checkpointing=true or lora.rank=16, or more ranks",
        "offload_activations": "use activation_checkpointing=true, or shorter packs",
        "fp8": "leave it off",
        "compile": "leave it off",
    }
    for name, advice in instead.items():
        if getattr(settings, name):
            raise UserError(f"{prefix}{name}=true does not work with fleet.learners above 1; {advice}")


def settle(root: nn.Module) -> None:
    """Frees weights that a forward without a backward has gathered; the next one would not notice that they changed."""
    if isinstance(root, FSDPModule):
        root.reshard()


def whole(weight: Tensor) -> Tensor:
    """The weight itself, or a sharded one put together; all ranks call it, in the same order."""
    return weight.full_tensor() if isinstance(weight, DTensor) else weight


def like(weight: Tensor, value: Tensor) -> Tensor:
    """A whole value as the weight is: this rank's shard of it where the weight is sharded."""
    if not isinstance(weight, DTensor):
        return value
    # Every rank has the value: nothing is sent.
    return distribute_tensor(value.to(weight.device), weight.device_mesh, weight.placements, src_data_rank=None)


@torch.no_grad()
def overwrite(weights: Mapping[str, Tensor], values: Mapping[str, Tensor]) -> None:
    """Copies whole values into weights of the same names, sharded or not."""
    for name, weight in weights.items():
        weight.copy_(like(weight, values[name]))


def _own_part(weight: Tensor) -> Tensor:
    return weight.to_local() if isinstance(weight, DTensor) else weight


def _in_precision(wanted: torch.dtype | None, weight: Tensor, *, has_masters: bool) -> Tensor:
    """A shard in the precision that was asked for, or as an fp32 master, rounded to that precision first."""
    if not isinstance(weight, nn.Parameter):
        return weight
    rounded = weight if wanted is None else weight.to(wanted)
    return rounded.float() if has_masters and weight.requires_grad else rounded


def _precision(trained: list[torch.dtype], *, has_base: bool) -> MixedPrecisionPolicy:
    """The precision of the model itself. An adapter has its own, and its base, which is frozen, needs no masters."""
    half = next((dtype for dtype in trained if dtype != torch.float32), None)
    if half is not None and has_base:
        raise UserError(
            "weights in half precision are not trained whole beside an adapter with fleet.learners above 1; set "
            "model.dtype=float32, or leave out optimizer.trained or optimizer.lora"
        )
    if half is None or has_base:
        return MixedPrecisionPolicy(reduce_dtype=torch.float32, cast_forward_inputs=False)
    return MixedPrecisionPolicy(param_dtype=half, reduce_dtype=torch.float32, cast_forward_inputs=False)


def shard_start(model: VisionLanguageModel) -> None:
    """The adapter that the stage began with, sharded as the one that is trained."""
    if model.adapter is not None:
        start, weights = model.adapter.start, adapter_parameters(model)
        model.adapter.start = {name: like(weights[name], value) for name, value in start.items()}
