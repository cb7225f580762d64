"""A language model on new tokens of many rows by native kernels, without padding: keys and values go to a cache.

One token of each row or whole chunks are the same to it. The last layer works out only what is asked for: the keys and
values of all tokens, and the states of those that something follows from.
"""

from collections.abc import Sequence
from typing import Protocol

from torch import Tensor

from saccade.models.layer_formula import forward_layer
from saccade.models.plain_layers import Angles, PlainLanguageModel
from saccade.native.kernels import Kernels
from saccade.native.layers import KernelOperations
from saccade.native.token_step import TokenStep


class CachedAttention(Protocol):
    """The cache of keys and values, and the part of it that each new token attends to."""

    def keep(self, layer: int, key: Tensor, value: Tensor, angles: Angles) -> None:
        """Takes those of all new tokens, (tokens, key heads, head_dim); keys have yet to be rotated."""
        ...

    def attend(self, layer: int, query: Tensor, scale: float, *, is_last: bool) -> Tensor:
        """(queries, heads, head_dim): of all new tokens, or with ``is_last`` of the last one of each row."""
        ...


class CachedForward:
    """Prefill and decoding of one language model against a cache. Callers switch gradients off."""

    def __init__(self, language: PlainLanguageModel, kernels: Kernels) -> None:
        self.kernels = kernels
        self.token_step = TokenStep.of(language, kernels)
        """The faster way for one token of each row, where there is one."""
        self._language = language

    def decode(self, states: Tensor, positions: Tensor, attention: CachedAttention) -> Tensor:
        """Last hidden states (rows, hidden) of a text token of each row, from embeddings and ``positions`` (rows,)."""
        return self._through(states, self._language.text_angles(positions), attention, None)

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
        return self._through(states, self._language.angles(states, positions), attention, last, is_image, deepstack)

    def _through(
        self,
        states: Tensor,
        angles: Angles,
        kv_cache: CachedAttention,
        last: Tensor | None,
        is_image: Tensor | None = None,
        deepstack: Sequence[Tensor] = (),
    ) -> Tensor:
        language, kernels = self._language, self.kernels
        operations = KernelOperations(kernels)
        for index, layer in enumerate(language.layers):
            queries = last if index == len(language.layers) - 1 and index >= len(deepstack) else None

            def attention(
                query: Tensor, key: Tensor, value: Tensor, index: int = index, queries: Tensor | None = queries
            ) -> tuple[Tensor, None]:
                kv_cache.keep(index, key, value, angles)
                cosines, sines = angles
                kernels.rotate(query, query, angles if queries is None else (cosines[queries], sines[queries]))
                return kv_cache.attend(index, query, language.scale, is_last=queries is not None), None

            states = forward_layer(states, layer, operations, attention, head_dim=language.head_dim, queries=queries)[0]
            if index < len(deepstack):
                assert is_image is not None
                states.index_add_(0, is_image.nonzero()[:, 0], deepstack[index])
        if last is not None and len(deepstack) == len(language.layers):
            states = states[last]
        return kernels.rms_norm(states, language.last.weight, language.last.epsilon)[0]
