"""Weights of a file that Saccade wrote: all of them, or a LoRA adapter added to the base in the file beside it."""

from collections.abc import Iterator
from pathlib import Path

import torch
from safetensors import safe_open

BASE, SCALE = "saccade_base", "saccade_scale"
_PREFIX = "base_model.model."


def merged_weights(path: Path) -> Iterator[tuple[str, torch.Tensor]]:
    """Every weight once under transformers' name, one after the other, as ``saccade.models.low_rank`` adds them."""
    with safe_open(path, framework="pt") as file:
        told = file.metadata() or {}
        if BASE not in told:
            yield from ((name, file.get_tensor(name)) for name in file.keys())  # noqa: SIM118
            return
        adapter = {name.removeprefix(_PREFIX): file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    with safe_open(path.with_name(told[BASE]), framework="pt") as base:
        for name in base.keys():  # noqa: SIM118
            weight, module = base.get_tensor(name), name.removesuffix(".weight")
            if (down := adapter.get(f"{module}.lora_A.weight")) is not None:
                delta = torch.mm(adapter[f"{module}.lora_B.weight"].float(), down.float()).mul_(float(told[SCALE]))
                weight = delta.add_(weight.float()).to(weight.dtype)
            yield name, adapter.get(name, weight)
