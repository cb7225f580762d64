"""Training of a language model on packs by native kernels.

The last layer works out only what is asked for: its keys and values are needed of all tokens, the rest of it where the
state is wanted (for a policy gradient, where an action follows) and nowhere else.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable
from transformers import PreTrainedModel

from saccade.models.attention import Layout
from saccade.models.layer_runs import LayerRun, QueryTokens, run_layer
from saccade.models.native.kernels import Kernels
from saccade.models.pack_visits import pack_visits
from saccade.models.plain_layers import Heads, PlainTrunk, native_trunk


class PackedTrunk:
    """A language model on packs in fp32 on the CPU."""

    def __init__(self, hf: PreTrainedModel, trunk: PlainTrunk, kernels: Kernels) -> None:
        self._text = hf.model.language_model
        self._trunk = trunk
        self._kernels = kernels

    @classmethod
    def of(cls, hf: PreTrainedModel) -> "PackedTrunk | None":
        """None where the modules have to do it."""
        native = native_trunk(hf)
        return None if native is None else cls(hf, *native)

    def __call__(
        self,
        states: Tensor,
        positions: Tensor,
        layout: Layout,
        *,
        wanted: Tensor | None = None,
        is_image: Tensor | None = None,
        deepstack: Sequence[Tensor] = (),
    ) -> Tensor:
        """Last hidden states (tokens, hidden), of the places ``wanted`` where they are given.

        ``states`` are input embeddings (tokens, hidden), ``positions`` as the modules take them for one row.
        ``deepstack`` is added to the states of image tokens after the first layers, one after each.
        """
        angles = self._trunk.angles(states, positions)
        heads = Heads(self._trunk.head_dim, self._trunk.scale, self._trunk.repeats)
        places = None if wanted is None or not len(wanted) else torch.unique(wanted)
        everywhere = QueryTokens(pack_visits(layout, np.arange(len(states))), None)
        at_last = everywhere if places is None else QueryTokens(pack_visits(layout, places.numpy()), places)
        for index, (layer, module) in enumerate(zip(self._trunk.layers, self._text.layers)):
            is_last = index == len(self._trunk.layers) - 1
            run = LayerRun(
                self._kernels,
                layer,
                heads,
                angles,
                at_last if is_last and index >= len(deepstack) else everywhere,
                keeps_little=module.gradient_checkpointing,
            )
            states = run_layer(states, run)
            if index < len(deepstack):
                assert is_image is not None
                states = states.index_add(0, is_image.nonzero()[:, 0], deepstack[index])
        if places is not None and len(states) != len(places):
            states = states[places]
        last = self._trunk.last
        states = _Norm.apply(states, last.weight, last.epsilon, self._kernels)  # type: ignore[no-untyped-call]
        if wanted is None:
            return states
        return states[wanted if places is None else torch.searchsorted(places, wanted)]


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, states: Tensor, weight: Tensor, epsilon: float, kernels: Kernels) -> Tensor:
        out, of_states = kernels.rms_norm(states, weight, epsilon)
        ctx.save_for_backward(states, weight, of_states)
        ctx.kernels = kernels  # type: ignore[attr-defined]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        states, weight, of_states = ctx.saved_tensors  # type: ignore[attr-defined]
        kernels: Kernels = ctx.kernels  # type: ignore[attr-defined]
        return *kernels.rms_norm_backward(grad.contiguous(), states, weight, of_states), None, None
