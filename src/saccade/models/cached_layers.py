"""A language model on new tokens of many rows by native kernels, without padding: keys and values go to a cache.

One token of each row or whole chunks are the same to it. The last layer works out only what is asked for: the keys and
values of all tokens, and the states of those that something follows from.
"""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor
from transformers import PreTrainedModel

from saccade.models.native.kernels import Kernels
from saccade.models.plain_layers import Angles, PlainNorm, PlainProduct, PlainTrunk, native_trunk
from saccade.models.token_steps import TokenStep


class CachedAttention(Protocol):
    """Where keys and values live, and who looks at which."""

    def keep(self, layer: int, key: Tensor, value: Tensor, angles: Angles) -> None:
        """Takes those of all new tokens, (tokens, key heads, head_dim); keys have yet to be turned."""
        ...

    def attend(self, layer: int, query: Tensor, scale: float, *, is_last: bool) -> Tensor:
        """(queries, heads, head_dim): of all new tokens, or with ``is_last`` of the last one of each row."""
        ...


class CachedTrunk:
    """Callers switch gradients off."""

    def __init__(self, trunk: PlainTrunk, kernels: Kernels) -> None:
        self.kernels = kernels
        self.token_step = TokenStep.of(trunk, kernels)
        """The faster way for one token of each row, where there is one."""
        self._trunk = trunk

    @classmethod
    def of(cls, hf: PreTrainedModel) -> "CachedTrunk | None":
        """None where there are no kernels, and for a model that needs its modules."""
        native = native_trunk(hf)
        return None if native is None else cls(*native)

    def decode(self, states: Tensor, positions: Tensor, attention: CachedAttention) -> Tensor:
        """Last hidden states (rows, hidden) of a text token of each row, from embeddings and ``positions`` (rows,)."""
        return self._through(states, self._trunk.text_angles(positions), attention, None)

    def extend(
        self,
        states: Tensor,
        positions: Tensor,
        attention: CachedAttention,
        *,
        last: Tensor | None = None,
        is_image: Tensor | None = None,
        deepstack: Sequence[Tensor] = (),
    ) -> Tensor:
        """Last hidden states of tokens (tokens, hidden), or of those at the places ``last``, one of each row.

        ``positions`` are as the modules take them for one row. ``deepstack`` is added to the states of image tokens
        after the first layers, one after each.
        """
        return self._through(states, self._trunk.angles(states, positions), attention, last, is_image, deepstack)

    def _through(
        self,
        states: Tensor,
        angles: Angles,
        attention: CachedAttention,
        last: Tensor | None,
        is_image: Tensor | None = None,
        deepstack: Sequence[Tensor] = (),
    ) -> Tensor:
        trunk, kernels = self._trunk, self.kernels
        # The residual is added to in place.
        states = states.clone()
        for index, layer in enumerate(trunk.layers):
            normed, _ = kernels.rms_norm(states, layer.before_attention.weight, layer.before_attention.epsilon)
            key, value = (
                self._product(product, normed).view(len(normed), -1, trunk.head_dim)
                for product in (layer.key, layer.value)
            )
            attention.keep(index, self._normed(key, layer.of_keys), value, angles)
            is_last = last is not None and index == len(trunk.layers) - 1 and index >= len(deepstack)
            if last is not None and is_last:
                normed, states, (cosines, sines) = normed[last], states[last], angles
                angles = cosines[last], sines[last]
            query = self._product(layer.query, normed).view(len(normed), -1, trunk.head_dim)
            query = self._normed(query, layer.of_queries)
            query = kernels.turn(query, query, angles)
            attended = attention.attend(index, query, trunk.scale, is_last=is_last)
            states = self._product(layer.after_attention, attended.flatten(1), added=states)
            normed, _ = kernels.rms_norm(states, layer.before_mlp.weight, layer.before_mlp.epsilon)
            active = kernels.gated(self._product(layer.gate, normed), self._product(layer.up, normed))
            states = self._product(layer.down, active, added=states)
            if index < len(deepstack):
                assert is_image is not None
                states.index_add_(0, is_image.nonzero()[:, 0], deepstack[index])
        if last is not None and len(deepstack) == len(trunk.layers):
            states = states[last]
        return kernels.rms_norm(states, trunk.last.weight, trunk.last.epsilon)[0]

    def _normed(self, states: Tensor, norm: PlainNorm | None) -> Tensor:
        return states if norm is None else self.kernels.rms_norm(states, norm.weight, norm.epsilon)[0]

    def _product(self, product: PlainProduct, given: Tensor, *, added: Tensor | None = None) -> Tensor:
        """``added`` is overwritten with the sum."""
        return self.kernels.product(given, product.weight.t(), bias=product.bias, added=added, out=added)
