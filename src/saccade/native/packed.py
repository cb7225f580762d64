"""Training of a language model on packs by native kernels.

The last layer works out only what is asked for: its keys and values are needed of all tokens, the rest of it where the
state is wanted (for a policy gradient, where an action follows) and nowhere else.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable

from saccade.models.attention import Layout
from saccade.models.plain_layers import PlainLanguageModel
from saccade.native.kernels import Kernels
from saccade.native.layers import Heads, LayerRun, QueryTokens, run_layer
from saccade.native.pack_mask import pack_mask


def forward_pack(
    language: PlainLanguageModel,
    kernels: Kernels,
    states: Tensor,
    positions: Tensor,
    layout: Layout,
    *,
    recomputes: Sequence[bool],
    wanted: Tensor | None,
    is_image: Tensor | None,
    deepstack: Sequence[Tensor],
) -> Tensor:
    """Last hidden states; ``recomputes`` says of each layer whether its backward begins from its input alone.

    For the rest see ``Accelerated.packed``.
    """
    angles = language.angles(states, positions)
    heads = Heads(language.head_dim, language.scale, language.repeats)
    places = None if wanted is None or not len(wanted) else torch.unique(wanted)
    everywhere = QueryTokens(pack_mask(layout, np.arange(len(states))), None)
    at_last = everywhere if places is None else QueryTokens(pack_mask(layout, places.numpy()), places)
    for index, layer in enumerate(language.layers):
        is_last = index == len(language.layers) - 1
        queries = at_last if is_last and index >= len(deepstack) else everywhere
        states = run_layer(states, LayerRun(kernels, layer, heads, angles, queries, recomputes[index]))
        if index < len(deepstack):
            assert is_image is not None
            states = states.index_add(0, is_image.nonzero()[:, 0], deepstack[index])
    if places is not None and len(states) != len(places):
        states = states[places]
    states = _Norm.apply(states, language.last.weight, language.last.epsilon, kernels)  # type: ignore[no-untyped-call]
    if wanted is None:
        return states
    return states[wanted if places is None else torch.searchsorted(places, wanted)]


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: FunctionCtx, states: Tensor, weight: Tensor, epsilon: float, kernels: Kernels) -> Tensor:
        out, rstd = kernels.rms_norm(states, weight, epsilon)
        ctx.save_for_backward(states, weight, rstd)
        ctx.kernels = kernels  # type: ignore[attr-defined]
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: FunctionCtx, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        states, weight, rstd = ctx.saved_tensors  # type: ignore[attr-defined]
        kernels: Kernels = ctx.kernels  # type: ignore[attr-defined]
        return *kernels.rms_norm_backward(grad.contiguous(), states, weight, rstd), None, None
