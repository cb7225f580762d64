"""The two forwards of the learner over a pack: by native kernels where they can do it, and by transformers' modules."""

from typing import Protocol

from torch import Tensor

from saccade.models.attention import Layout
from saccade.models.vlm import Embedded, VisionLanguageModel
from saccade.native import Accelerated, accelerated


class PackForward(Protocol):
    """Last hidden states (wanted, hidden) of the places ``wanted`` in a pack; ``positions`` are (3, 1, tokens)."""

    def __call__(self, embedded: Embedded, positions: Tensor, layout: Layout, wanted: Tensor) -> Tensor: ...


def pack_forward(model: VisionLanguageModel) -> PackForward:
    """The faster of the two for the model as it is now: adapters, hooks and compiled layers need the modules."""
    native = accelerated(model.hf)
    return TorchForward(model) if native is None else NativeForward(model, native)


class TorchForward:
    """By transformers' modules, on any device."""

    def __init__(self, model: VisionLanguageModel) -> None:
        self._model = model

    def __call__(self, embedded: Embedded, positions: Tensor, layout: Layout, wanted: Tensor) -> Tensor:
        return self._model.hidden(embedded, positions, packing=layout, wanted=wanted)[0]


class NativeForward:
    """By native kernels, in fp32 on a CPU."""

    def __init__(self, model: VisionLanguageModel, native: Accelerated) -> None:
        self._model = model
        self._native = native

    def __call__(self, embedded: Embedded, positions: Tensor, layout: Layout, wanted: Tensor) -> Tensor:
        return self._native.packed(
            embedded.inputs[0],
            self._model.family.language_positions(positions),
            layout,
            wanted=wanted,
            is_image=embedded.is_image[0],
            deepstack=embedded.deepstack,
        )
