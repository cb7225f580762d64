"""Forwards of the learner over a pack: native kernels, transformers' modules, compiled parts, the value head."""

import math
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from transformers import PreTrainedModel

from saccade.errors import UserError
from saccade.models.attention import Layout
from saccade.models.families import language_model
from saccade.models.plain_layers import has_known_layers
from saccade.models.routing import Routing
from saccade.models.vlm import Embedded, VisionLanguageModel
from saccade.native import Accelerated, accelerated
from saccade.native.kernels import VECTOR, native_kernels
from saccade.private_folders import keep_compiled_code_private


class ValueHead(nn.Module):
    """A small MLP on the last hidden state, in fp32 whatever the trunk's precision.

    The value of an action token is read where the token is predicted: at the position before it, so it depends on
    what the policy saw and not on what it chose. The output layer starts at zero: an untrained critic says 0
    everywhere, and the first advantages are the rewards. Whether its gradient goes on into the language model is
    the learner's to say.
    """

    def __init__(self, hidden_size: int, *, width: int = 0, seed: int = 0) -> None:
        """``width`` is the MLP's, ``hidden_size`` by default; the same seed gives the same weights."""
        super().__init__()
        # Layers draw from the global generator when they are made, which must not notice.
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            self.inner = nn.Linear(hidden_size, width or hidden_size, dtype=torch.float32)
            self.outer = nn.Linear(width or hidden_size, 1, dtype=torch.float32)
            generator = torch.Generator().manual_seed(seed)
            self.inner.weight.normal_(0.0, 1.0 / math.sqrt(hidden_size), generator=generator)
            for zeroed in (self.inner.bias, self.outer.weight, self.outer.bias):
                zeroed.zero_()

    def forward(self, hidden: Float[Tensor, "actions hidden"]) -> Float[Tensor, "actions"]:
        """Values of hidden states after the model's final norm."""
        values: Float[Tensor, "actions 1"] = self.outer(nn.functional.silu(self.inner(hidden.float())))
        # A tensor of its own: a sharded module waits for the backward pass on what it returns.
        return values[:, 0].clone()


class PackedStates(Protocol):
    """Last hidden states of the places ``wanted`` in a pack."""

    def __call__(
        self, embedded: Embedded, positions: Int[Tensor, "3 1 tokens"], layout: Layout, wanted: Int[Tensor, "wanted"]
    ) -> Float[Tensor, "wanted hidden"]: ...


def packed_states(model: VisionLanguageModel, routing: Routing | None = None) -> PackedStates:
    """The faster of the two for the model as it is now: adapters, hooks and compiled layers need the modules.

    So do experts, whose ``routing`` may be seen and replayed.
    """
    native = accelerated(model.hf)
    return TorchForward(model, routing) if native is None else NativeForward(model, native)


def has_native_forward(skeleton: PreTrainedModel) -> bool:
    """Whether the kernels of this machine know the language model of a model without weights, in fp32 on the CPU."""
    text = language_model(skeleton)
    is_known = has_known_layers(text) and text.layers[0].self_attn.head_dim % VECTOR == 0
    return is_known and native_kernels() is not None


class TorchForward:
    """By transformers' modules, on any device."""

    def __init__(self, model: VisionLanguageModel, routing: Routing | None = None) -> None:
        self._model = model
        self._routing = routing

    def __call__(
        self, embedded: Embedded, positions: Int[Tensor, "3 1 tokens"], layout: Layout, wanted: Int[Tensor, "wanted"]
    ) -> Float[Tensor, "wanted hidden"]:
        return self._model.hidden(embedded, positions, packing=layout, wanted=wanted, routing=self._routing)[0]


class NativeForward:
    """By native kernels, in fp32 on a CPU."""

    def __init__(self, model: VisionLanguageModel, native: Accelerated) -> None:
        self._model = model
        self._native = native

    def __call__(
        self, embedded: Embedded, positions: Int[Tensor, "3 1 tokens"], layout: Layout, wanted: Int[Tensor, "wanted"]
    ) -> Float[Tensor, "wanted hidden"]:
        return self._native.packed(
            embedded.inputs[0],
            self._model.family.language_positions(positions),
            layout,
            wanted=wanted,
            is_image=embedded.is_image[0],
            deepstack=embedded.deepstack,
        )


class CompiledParts:
    """Compiled forwards of the norms and MLPs, in place only while the learner runs the model.

    Attention stays as it is: every pack has another layout, for which it would be compiled again. So do experts, which
    every pack sends other tokens to. Engines sample with
    the plain forwards, whose results differ by rounding alone.
    """

    def __init__(self, model: VisionLanguageModel) -> None:
        compiler = os.environ.get("CXX", "g++")
        if shutil.which(compiler) is None:
            raise UserError(
                f"compile=true needs a C++ compiler, but there is no {compiler}; install one, or set compile=false"
            )
        if model.batch_invariant:
            raise UserError("compile=true compiles what model.batch_invariant=true gives one shape; set one to false")
        keep_compiled_code_private()
        layers = model.language_model.layers
        self._parts: list[tuple[nn.Module, Callable[..., object]]] = [
            (part, torch.compile(part.forward, dynamic=True))
            for layer in layers
            for name, part in layer.named_modules()
            if (name == "mlp" and not hasattr(part, "experts")) or name.endswith("norm")
        ]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        for part, forward in self._parts:
            part.forward = forward
        try:
            yield
        finally:
            for part, _ in self._parts:
                # The class's own forward is visible again.
                del part.forward
