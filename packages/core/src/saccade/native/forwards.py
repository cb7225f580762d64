"""Forwards of a language model by native kernels: packs with gradients, prefill and decoding against a cache.

In all of them the last layer works out only what is asked for: its keys and values are needed of all tokens, the rest
of it where the state is wanted (where an action follows, or the next token) and nowhere else. ``accelerated`` chooses
between kernels and torch.
"""

import functools
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.autograd.function import FunctionCtx, once_differentiable
from transformers import PreTrainedModel

from saccade.models.attention import Layout
from saccade.models.families import language_model
from saccade.models.low_rank import LowRank, has_adapter
from saccade.models.plain_forward import forward_layer
from saccade.models.plain_layers import Angles, PlainLanguageModel, PlainProduct
from saccade.native.block_mask import pack_mask
from saccade.native.decoding import SMALL, TokenStep, step_groups
from saccade.native.kernels import VECTOR, Kernels, native_kernels
from saccade.native.layers import Heads, KernelOperations, LayerRun, QueryTokens, run_layer

if TYPE_CHECKING:
    from saccade.native.rounded import RoundedLayers

logger = logging.getLogger(__name__)


def forward_pack(
    language: PlainLanguageModel[PlainProduct],
    kernels: Kernels,
    states: Float[Tensor, "tokens hidden"],
    positions: Int[Tensor, "*axes 1 tokens"],
    layout: Layout,
    *,
    recomputes: Sequence[bool],
    wanted: Int[Tensor, "wanted"] | None,
    is_image: Bool[Tensor, "tokens"] | None,
    deepstack: Sequence[Float[Tensor, "image_tokens hidden"]],
) -> Float[Tensor, "wanted hidden"]:
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
    def forward(
        ctx: FunctionCtx,
        states: Float[Tensor, "tokens hidden"],
        weight: Float[Tensor, "hidden"],
        epsilon: float,
        kernels: Kernels,
    ) -> Float[Tensor, "tokens hidden"]:
        out, rstd = kernels.rms_norm(states, weight, epsilon)
        ctx.save_for_backward(states, weight, rstd)
        ctx.kernels = kernels  # type: ignore[attr-defined]
        return out

    @staticmethod
    @once_differentiable
    def backward(
        ctx: FunctionCtx, grad: Float[Tensor, "tokens hidden"]
    ) -> tuple[Float[Tensor, "tokens hidden"], Float[Tensor, "hidden"], None, None]:
        states, weight, rstd = ctx.saved_tensors  # type: ignore[attr-defined]
        kernels: Kernels = ctx.kernels  # type: ignore[attr-defined]
        return *kernels.rms_norm_backward(grad.contiguous(), states, weight, rstd), None, None


class CachedAttention(Protocol):
    """The cache of keys and values, and the part of it that each new token attends to."""

    def keep(
        self,
        layer: int,
        key: Float[Tensor, "tokens key_heads dim"],
        value: Float[Tensor, "tokens key_heads dim"],
        angles: Angles,
    ) -> None:
        """Takes those of all new tokens; keys have yet to be rotated."""
        ...

    def attend(
        self, layer: int, query: Float[Tensor, "queries heads dim"], scale: float, *, is_last: bool
    ) -> Float[Tensor, "queries heads dim"]:
        """Attention of all new tokens, or with ``is_last`` of the last one of each row."""
        ...


class CachedForward:
    """Prefill and decoding of one language model against a cache. Callers switch gradients off."""

    def __init__(
        self,
        language: PlainLanguageModel[PlainProduct],
        kernels: Kernels,
        *,
        follow: Callable[[], object] = lambda: None,
        rounded: "RoundedLayers | None" = None,
    ) -> None:
        self.kernels = kernels
        self.follow = follow
        """Takes over what the model's weights are now."""
        self.token_step = None if rounded is not None else TokenStep.of(language, kernels)
        """The faster way for one token of each row, where there is one."""
        self.rounded = rounded
        """Copies of the weights of ``language`` and of its head, for decode steps and short prompts."""
        self._language = language

    def decode(
        self, states: Float[Tensor, "rows hidden"], positions: Int[Tensor, "rows"], attention: CachedAttention
    ) -> Float[Tensor, "rows hidden"]:
        """Last hidden states of a text token of each row, from embeddings and ``positions``."""
        return self._through(states, self._language.text_angles(positions), attention)

    def extend(
        self,
        states: Float[Tensor, "tokens hidden"],
        positions: Int[Tensor, "*axes 1 tokens"],
        attention: CachedAttention,
        *,
        last: Int[Tensor, "rows"] | None = None,
        is_image: Bool[Tensor, "tokens"] | None = None,
        deepstack: Sequence[Float[Tensor, "image_tokens hidden"]] = (),
    ) -> Float[Tensor, "wanted hidden"]:
        """Last hidden states of tokens, or of those at the places ``last``, one of each row.

        ``positions`` are as the modules take them for one row. ``deepstack`` is added to the states of image tokens
        after the first layers, one after each.
        """
        return self._through(states, self._language.angles(states, positions), attention, last, is_image, deepstack)

    def _through(
        self,
        states: Float[Tensor, "tokens hidden"],
        angles: Angles,
        kv_cache: CachedAttention,
        last: Int[Tensor, "rows"] | None = None,
        is_image: Bool[Tensor, "tokens"] | None = None,
        deepstack: Sequence[Float[Tensor, "image_tokens hidden"]] = (),
    ) -> Float[Tensor, "wanted hidden"]:
        language, kernels, rounded = self._language, self.kernels, self.rounded
        is_short = rounded is not None and len(states) <= rounded.most_rows
        operations = rounded.operations if rounded is not None and is_short else KernelOperations(kernels)
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


Sampler = Callable[
    [Float[Tensor, "rows vocabulary"], Float[Tensor, "rows"]], tuple[Int[Tensor, "rows"], Float[Tensor, "rows"]]
]
"""Logits and shares to tokens and log-probabilities; see ``Kernels.draw``."""


class Accelerated:
    """Forwards of one language model by kernels: packs with gradients, prefill and decoding without."""

    def __init__(self, hf: PreTrainedModel, language: PlainLanguageModel[PlainProduct], kernels: Kernels) -> None:
        self._hf = hf
        self._language = language
        self._kernels = kernels

    def packed(
        self,
        states: Float[Tensor, "tokens hidden"],
        positions: Int[Tensor, "*axes 1 tokens"],
        layout: Layout,
        *,
        wanted: Int[Tensor, "wanted"] | None = None,
        is_image: Bool[Tensor, "tokens"] | None = None,
        deepstack: Sequence[Float[Tensor, "image_tokens hidden"]] = (),
    ) -> Float[Tensor, "wanted hidden"]:
        """Last hidden states of a pack, of the places ``wanted`` where they are given.

        ``states`` are input embeddings, ``positions`` as the modules take them for one row.
        ``deepstack`` is added to the states of image tokens after the first layers, one after each.
        """
        recomputes = [layer.gradient_checkpointing for layer in language_model(self._hf).layers]
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

    def cached(self, decoded_rows: int = 0) -> CachedForward:
        """Prefill and decoding against a cache of keys and values.

        Where so many rows go through all layers in one call, which knows no adapters, these are merged into a copy of
        the weights as they are now; where products are rounded anyway, all weights are copied in bf16.
        """
        language, kernels = self._language, self._kernels
        if decoded_rows and samples_rounded(language.size, torch.get_float32_matmul_precision()):
            from saccade.native.rounded import RoundedLayers

            rounded = RoundedLayers(language, self._hf.lm_head, kernels)
            return CachedForward(language, kernels, follow=rounded.follow, rounded=rounded)
        if not decoded_rows or not language.has_adapters or not step_groups(language.size, decoded_rows):
            return CachedForward(language, kernels)
        from saccade.native.merged_layers import MergedLayers

        merged = MergedLayers(language)
        return CachedForward(merged.language, kernels, follow=merged.follow)


def accelerated(hf: PreTrainedModel) -> Accelerated | None:
    """None where there are no kernels, and for a language model that needs its modules (``PlainLanguageModel.of``)."""
    kernels = native_kernels()
    language = None if kernels is None else PlainLanguageModel.of(hf)
    if kernels is not None and language is None:
        for name, layer in language_model(hf).named_modules():
            if has_adapter(layer) and LowRank.of(layer) is None:
                say_that_torch_does_it(name)
                break
    if kernels is None or language is None or language.head_dim % VECTOR:
        return None
    return Accelerated(hf, language, kernels)


@functools.cache
def say_that_torch_does_it(layer: str) -> None:
    """Once in a process for each ``layer``."""
    logger.info("%s has an adapter that the native kernels do not know: torch does the work, which takes longer", layer)


def samples_rounded(size: int, precision: str) -> bool:
    """Whether decode steps of a language model with so many weights read copies in bf16, at torch's ``precision``."""
    kernels = native_kernels()
    return kernels is not None and kernels.has_tiles and size > SMALL and precision == "medium"


def sampler() -> Sampler | None:
    """How fp32 logits on the CPU are drawn from, whatever model they come from; None where there are no kernels."""
    kernels = native_kernels()
    return None if kernels is None else kernels.draw
