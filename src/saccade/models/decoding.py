"""One new token for each of many rows in plain torch: for steps that are mostly the overhead of transformers' modules.

transformers' modules are made for every case; a forward of one token spends more time between their operations than in
them. Here the same weights go through the same operations without what a token by itself does not need. It is for
machines without a compiler: elsewhere ``saccade.native`` does the same by kernels.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import rms_norm, silu
from transformers import PreTrainedModel

from saccade.models.layer_formula import forward_layer
from saccade.models.plain_layers import Angles, PlainLanguageModel, PlainNorm, PlainProduct

Attend = Callable[[int, Tensor, Tensor, Tensor, float], Tensor]
"""Layer, queries (rows, heads, head_dim), new keys and new values (rows, key heads, head_dim), scale of the scores.

Keeps the new ones and gives (rows, heads * head_dim): attention to all that the rows hold.
"""


class TorchOperations:
    """A layer's operations by torch, on a CPU in fp32."""

    def normalise(self, x: Tensor, norm: PlainNorm) -> tuple[Tensor, None]:
        return rms_norm(x, norm.weight.shape, norm.weight, norm.epsilon), None

    def project(self, states: Tensor, product: PlainProduct, *, residual: Tensor | None = None) -> Tensor:
        weight, bias = product.weight.t(), product.bias
        first, second = (bias, None) if residual is None else (residual, bias)
        out = states @ weight if first is None else torch.addmm(first, states, weight)
        return out if second is None else out.add_(second)

    def gated(self, gate: Tensor, up: Tensor) -> Tensor:
        return silu(gate).mul_(up)


class TokenDecoder:
    """One decode step of one language model by torch. Callers switch gradients off."""

    def __init__(self, hf: PreTrainedModel, language: PlainLanguageModel) -> None:
        self._embed = hf.get_input_embeddings()
        self._language = language
        self._operations = TorchOperations()

    @classmethod
    def of(cls, hf: PreTrainedModel) -> "TokenDecoder | None":
        """None for a model that needs its modules."""
        language = PlainLanguageModel.of(hf)
        return None if language is None else cls(hf, language)

    def __call__(self, ids: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """Last hidden states (rows, hidden) of ``ids`` (rows,) at ``positions`` (rows,), text all of them."""
        language, states = self._language, self._embed(ids[:, None])[:, 0]
        cosines, sines = _both_halves(language.text_angles(positions))
        for index, layer in enumerate(language.layers):

            def attention(query: Tensor, key: Tensor, value: Tensor, index: int = index) -> tuple[Tensor, None]:
                heads = query.shape[1]
                # Queries and keys side by side, (rows, all of their heads, head_dim): rotated in one go.
                both = torch.cat([query, key], dim=1)
                first, second = both.chunk(2, dim=-1)
                rotated = torch.addcmul(both * cosines, torch.cat([second, first], dim=-1), sines)
                return attend(index, rotated[:, :heads], rotated[:, heads:], value, language.scale), None

            states = forward_layer(states, layer, self._operations, attention, head_dim=language.head_dim)[0]
        return self._operations.normalise(states, language.last)[0]


def _both_halves(angles: Angles) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines of both halves, each (rows, 1, head_dim)."""
    cosines, sines = angles
    return cosines.repeat(1, 2)[:, None], torch.cat([-sines, sines], dim=-1)[:, None]
