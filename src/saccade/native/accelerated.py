"""The choice between kernels and torch: what the kernels can do for a model, or None."""

from collections.abc import Callable, Sequence
from functools import cached_property

from torch import Tensor
from transformers import PreTrainedModel

from saccade.models.attention import Layout
from saccade.models.plain_layers import PlainLanguageModel
from saccade.native.cached import CachedForward
from saccade.native.kernels import VECTOR, Kernels, native_kernels
from saccade.native.packed import forward_pack

Sampler = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
"""Logits (rows, vocabulary) and shares (rows,) to tokens and log-probabilities; see ``Kernels.draw``."""


class Accelerated:
    """Forwards of one language model by kernels: packs with gradients, prefill and decoding without."""

    def __init__(self, hf: PreTrainedModel, language: PlainLanguageModel, kernels: Kernels) -> None:
        self._hf = hf
        self._language = language
        self._kernels = kernels

    def packed(
        self,
        states: Tensor,
        positions: Tensor,
        layout: Layout,
        *,
        wanted: Tensor | None = None,
        is_image: Tensor | None = None,
        deepstack: Sequence[Tensor] = (),
    ) -> Tensor:
        """Last hidden states (tokens, hidden) of a pack, of the places ``wanted`` where they are given.

        ``states`` are input embeddings (tokens, hidden), ``positions`` as the modules take them for one row.
        ``deepstack`` is added to the states of image tokens after the first layers, one after each.
        """
        recomputes = [layer.gradient_checkpointing for layer in self._hf.model.language_model.layers]
        return forward_pack(
            self._language,
            self._kernels,
            states,
            positions,
            layout,
            recomputes=recomputes,
            wanted=wanted,
            is_image=is_image,
            deepstack=deepstack,
        )

    @cached_property
    def cached(self) -> CachedForward:
        """Prefill and decoding against a cache of keys and values."""
        return CachedForward(self._language, self._kernels)


def accelerated(hf: PreTrainedModel) -> Accelerated | None:
    """None where there are no kernels, and for a language model that needs its modules (``PlainLanguageModel.of``)."""
    kernels = native_kernels()
    language = None if kernels is None else PlainLanguageModel.of(hf)
    if kernels is None or language is None or language.head_dim % VECTOR:
        return None
    return Accelerated(hf, language, kernels)


def sampler() -> Sampler | None:
    """How fp32 logits on the CPU are drawn from, whatever model they come from; None where there are no kernels."""
    kernels = native_kernels()
    return None if kernels is None else kernels.draw
