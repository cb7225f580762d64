"""Measurements of a step: its time, memory and fingerprint, and the model's work, counted by hooks."""

import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from saccade.seeding import generator_for


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
    """The gradient of every parameter that is trained; zeros where there is none."""
    gradients = {
        name: (torch.zeros_like(parameter) if parameter.grad is None else parameter.grad).detach().cpu().contiguous()
        for name, parameter in parameters
        if parameter.requires_grad
    }
    save_file(gradients, file)


@torch.no_grad()
def fill_adapter(parameters: Iterable[tuple[str, Tensor]]) -> None:
    """Gives A and B of every adapter the same values in every framework, by their names.

    B is not zero as that of a new adapter is, for then A would have no gradient to compare.
    """
    for name, weight in parameters:
        if ".lora_" in name:
            drawn = generator_for(0, "adapter", name).standard_normal(tuple(weight.shape), dtype=np.float32)
            weight.copy_(torch.from_numpy(drawn * (weight.shape[1] ** -0.5 if ".lora_A." in name else 0.005)))


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
        """``model`` is transformers' whole class, with a vision tower and ``model.language_model`` inside."""
        self._counts: dict[str, int] = {}
        self.is_training = False
        """Whether images that are encoded without gradients are of the training too: a frozen tower needs none."""
        inner = model.get_submodule("model")
        tower = next(part for name, part in inner.named_children() if name in ("visual", "vision_tower"))
        tower.register_forward_pre_hook(self._saw_images, with_kwargs=True)
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
        # InternVL's tower takes tiles, of which a square image has one.
        images = kwargs.get("grid_thw", kwargs.get("pixel_values"))
        images = args[1] if images is None else images
        if isinstance(images, Tensor):
            is_training = self.is_training or torch.is_grad_enabled()
            self._add(f"images_encoded_{'training' if is_training else 'rollout'}", len(images))

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
            counted = next(features[name] for name in ("image_grid_thw", "num_patches") if name in features)
            self._add("images_preprocessed", len(counted))
            return features

        image_processor.preprocess = count_and_preprocess  # type: ignore[attr-defined]
