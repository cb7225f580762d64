"""torch.compile for the parts of a language model whose time goes into moving memory: norms and gated layers."""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import torch
from torch import nn

from saccade.errors import UserError
from saccade.models.vlm import VisionLanguageModel


class CompiledParts:
    """Compiled forwards of the norms and MLPs, in place only while the learner runs the model.

    Attention stays as it is: every pack has another layout, for which it would be compiled again. Engines sample with
    the plain forwards, whose results differ by rounding alone.
    """

    def __init__(self, model: VisionLanguageModel) -> None:
        compiler = os.environ.get("CXX", "g++")
        if shutil.which(compiler) is None:
            raise UserError(f"compile=true needs a C++ compiler, but there is no {compiler}; install it or turn it off")
        layers = model.hf.model.language_model.layers
        self._parts: list[tuple[nn.Module, Callable[..., object]]] = [
            (part, torch.compile(part.forward, dynamic=True))
            for layer in layers
            for name, part in layer.named_modules()
            if name == "mlp" or name.endswith("norm")
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
