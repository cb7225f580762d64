"""Measurements of a step: its time, memory and fingerprint, and the model's work, counted by hooks."""

import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn


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


@dataclass(frozen=True, kw_only=True, slots=True)
class StepWork:
    """Work of one step, padding included."""

    images_preprocessed: int = 0
    """Images run through the image processor."""
    images_encoded_rollout: int = 0
    """Images run through the vision tower while sampling."""
    images_encoded_training: int = 0
    """Images run through the vision tower with gradients."""
    tokens_prefilled: int = 0
    """Tokens that the language model took several at a time while sampling."""
    tokens_decoded: int = 0
    """Tokens that it took one at a time."""
    tokens_trained: int = 0
    """Tokens that it took with gradients."""


class WorkCounter:
    """Counts a model's work from hooks on its vision tower, its embeddings and its image processor."""

    def __init__(self, model: nn.Module, image_processor: object) -> None:
        """``model`` is transformers' whole class, with ``model.visual`` and ``model.language_model`` inside."""
        self._counts: dict[str, int] = {}
        inner = model.get_submodule("model")
        inner.get_submodule("visual").register_forward_pre_hook(self._saw_images, with_kwargs=True)
        # Every token is embedded once for each time that it is forwarded.
        inner.get_submodule("language_model.embed_tokens").register_forward_pre_hook(self._saw_tokens)
        self._count_preprocessed(image_processor)

    def take(self) -> StepWork:
        """The work since the last call."""
        work, self._counts = StepWork(**self._counts), {}
        return work

    def _add(self, name: str, count: int) -> None:
        self._counts[name] = self._counts.get(name, 0) + count

    def _saw_images(self, module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        grid = kwargs["grid_thw"] if "grid_thw" in kwargs else args[1]
        if isinstance(grid, Tensor):
            self._add(f"images_encoded_{'training' if torch.is_grad_enabled() else 'rollout'}", len(grid))

    def _saw_tokens(self, module: nn.Module, args: tuple[Tensor, ...]) -> None:
        ids = args[0]
        if ids.dim() < 2:
            return  # A placeholder's own embedding, which transformers looks up to find images.
        if torch.is_grad_enabled():
            self._add("tokens_trained", ids.numel())
        else:
            self._add("tokens_decoded" if ids.shape[1] == 1 else "tokens_prefilled", ids.numel())

    def _count_preprocessed(self, image_processor: object) -> None:
        preprocess: Callable[..., Mapping[str, Tensor]] = image_processor.preprocess  # type: ignore[attr-defined]

        def count_and_preprocess(*args: object, **kwargs: object) -> Mapping[str, Tensor]:
            features = preprocess(*args, **kwargs)
            self._add("images_preprocessed", len(features["image_grid_thw"]))
            return features

        image_processor.preprocess = count_and_preprocess  # type: ignore[attr-defined]
