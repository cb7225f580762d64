"""The clock, the memory and the fingerprint of a step."""

import hashlib
import json
import resource
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor


@dataclass(frozen=True, kw_only=True, slots=True)
class Moment:
    """A reading of both clocks."""

    wall_s: float
    cpu_s: float

    @classmethod
    def now(cls, device: str) -> "Moment":
        if device == "cuda":
            torch.cuda.synchronize()
        return cls(wall_s=time.perf_counter(), cpu_s=time.process_time())


def peak_mb(device: str) -> float:
    """The largest resident set so far, or on a GPU the largest allocation, in MiB."""
    if device == "cuda":
        return float(torch.cuda.max_memory_allocated()) / 2**20
    # Linux counts in KiB, macOS in bytes.
    unit = 1 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20


def fingerprint(sequences: Iterable[tuple[Sequence[int], Sequence[bool]]]) -> str:
    """The same for the same sequences of (ids, chosen by the model) in whatever order they were trained on."""
    lines = sorted(json.dumps([list(ids), [int(chosen) for chosen in mask]]) for ids, mask in sequences)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def save_gradients(parameters: Iterable[tuple[str, Tensor]], file: Path) -> None:
    """Every named parameter's gradient; zeros where there is none."""
    gradients = {
        name: (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad).detach().cpu().contiguous()
        for name, parameter in parameters
    }
    save_file(gradients, file)
