"""One new token for each of many rows: a language model's layers as bare products, for steps that are mostly overhead.

transformers' modules are made for every case; a forward of one token spends more time between their operations than in
them. Here the same weights go through the same operations without what a token by itself does not need. It is for
machines without a compiler: elsewhere ``cached_layers`` does the same by native kernels.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import rms_norm, silu
from transformers import PreTrainedModel

from saccade.models.plain_layers import Angles, PlainLayer, PlainNorm, PlainTrunk

Attend = Callable[[int, Tensor, Tensor, Tensor, float], Tensor]
"""Layer, queries (rows, heads, head_dim), new keys and new values (rows, key heads, head_dim), scale of the scores.

Keeps the new ones and gives (rows, heads * head_dim): attention to all that the rows hold.
"""


class TokenDecoder:
    """Callers switch gradients off."""

    def __init__(self, hf: PreTrainedModel, trunk: PlainTrunk) -> None:
        self._embed = hf.get_input_embeddings()
        self._trunk = trunk

    @classmethod
    def of(cls, hf: PreTrainedModel) -> "TokenDecoder | None":
        """None for a model that needs its modules."""
        trunk = PlainTrunk.of(hf)
        return None if trunk is None else cls(hf, trunk)

    def __call__(self, ids: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """Last hidden states (rows, hidden) of ``ids`` (rows,) at ``positions`` (rows,), text all of them."""
        states = self._embed(ids[:, None])[:, 0].clone()
        turn = _turn(self._trunk.text_angles(positions))
        for index, layer in enumerate(self._trunk.layers):
            query, key, value = self._asking(layer, _normed(states, layer.before_attention), turn)
            states = layer.after_attention.onto(states, attend(index, query, key, value, self._trunk.scale))
            normed = _normed(states, layer.before_mlp)
            states = layer.down.onto(states, silu(layer.gate(normed), inplace=True).mul_(layer.up(normed)))
        return _normed(states, self._trunk.last)

    def _asking(self, layer: PlainLayer, states: Tensor, turn: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        # Queries, keys and values side by side, (rows, all of their heads, head_dim).
        products = (layer.query, layer.key, layer.value)
        side_by_side = states.new_empty(len(states), sum(product.width for product in products))
        start = 0
        for product in products:
            product.into(side_by_side.narrow(1, start, product.width), states)
            start += product.width
        parts = side_by_side.view(len(states), -1, self._trunk.head_dim)
        asking_end, keys_end = self._trunk.heads, self._trunk.heads + self._trunk.key_heads
        turning, value = parts[:, :keys_end], parts[:, keys_end:]
        if layer.of_queries is not None and layer.of_keys is not None:
            normed = _normed(turning[:, :asking_end], layer.of_queries), _normed(turning[:, asking_end:], layer.of_keys)
            turning = torch.cat(normed, dim=1)
        cosines, sines = turn
        first, second = turning.chunk(2, dim=-1)
        turned = torch.addcmul(turning * cosines, torch.cat([second, first], dim=-1), sines)
        return turned[:, :asking_end], turned[:, asking_end:], value


def _normed(states: Tensor, norm: PlainNorm) -> Tensor:
    return rms_norm(states, norm.weight.shape, norm.weight, norm.epsilon)


def _turn(angles: Angles) -> tuple[Tensor, Tensor]:
    """Cosines and signed sines of both halves, each (rows, 1, head_dim)."""
    cosines, sines = angles
    return cosines.repeat(1, 2)[:, None], torch.cat([-sines, sines], dim=-1)[:, None]
