"""Attention within the windows of a vision tower, all windows of one length in one call of the kernel.

transformers' towers cut a picture's patches into windows and call the kernel for each by itself: some hundred calls a
layer for a picture of a megapixel, which a GPU spends waiting for the host.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from transformers import PreTrainedModel
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLVisionAttention, apply_rotary_pos_emb_vision
from transformers.models.qwen3_vl.modeling_qwen3_vl import Qwen3VLVisionAttention

from saccade.models.memory import sent

_KINDS = (Qwen2_5_VLVisionAttention, Qwen3VLVisionAttention)

States = Float[Tensor, "patches heads dim"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Windows:
    """Runs of neighbouring patches that attend among themselves, put in the order of their lengths."""

    runs: tuple[tuple[int, int], ...]
    """Length of a window, and how many windows have it."""
    order: Int[Tensor, "patches"] | None
    """Which patch comes at each place, windows of one length side by side; None where they lie so already."""
    places: Int[Tensor, "patches"] | None
    """Where each patch has gone."""

    @classmethod
    def of(cls, lengths: Sequence[int], device: torch.device) -> "Windows":
        kinds = sorted(set(lengths), reverse=True)
        runs = tuple((length, lengths.count(length)) for length in kinds)
        if len(kinds) < 2:
            return cls(runs=runs, order=None, places=None)
        starts = [0, *accumulate(lengths)]
        placed = sorted(range(len(lengths)), key=lambda window: -lengths[window])
        order = torch.cat([torch.arange(starts[window], starts[window + 1]) for window in placed])
        return cls(runs=runs, order=sent(order, device), places=sent(order.argsort(), device))

    def attend(self, query: States, key: States, value: States, scale: float) -> States:
        """Softmax attention of each patch to its own window."""
        if self.order is not None:
            query, key, value = (states.index_select(0, self.order) for states in (query, key, value))
        parts, start = [], 0
        for length, count in self.runs:
            stop = start + length * count
            queries, keys, values = (
                states[start:stop].view(count, length, *states.shape[1:]).transpose(1, 2)
                for states in (query, key, value)
            )
            attended = scaled_dot_product_attention(queries, keys, values, scale=scale)
            parts.append(attended.transpose(1, 2).flatten(0, 1))
            start = stop
        whole = torch.cat(parts) if len(parts) > 1 else parts[0]
        return whole if self.places is None else whole.index_select(0, self.places)


class _Seen:
    """The windows of the last pictures: all layers of a tower are given the same bounds."""

    def __init__(self) -> None:
        self._held: list[tuple[Tensor, Windows]] = []

    def windows(self, bounds: Int[Tensor, "windows_and_one"], device: torch.device) -> Windows:
        # A copy of the list, since another thread may encode pictures too.
        for held, windows in [*self._held]:
            if held is bounds:
                return windows
        places = bounds.tolist()
        made = Windows.of([stop - start for start, stop in pairwise(places) if stop > start], device)
        # Bounds of windows and of whole pictures.
        self._held = [*self._held[-3:], (bounds, made)]
        return made


def join_windows(hf: PreTrainedModel) -> None:
    """Lets the vision tower attend to all windows of one length at once; models without windows stay as they are."""
    seen = _Seen()
    for module in hf.modules():
        if type(module) in _KINDS:
            module.forward = partial(_attention, module, seen)


def _attention(
    module: Any,
    seen: _Seen,
    hidden_states: Float[Tensor, "patches hidden"],
    cu_seqlens: Int[Tensor, "windows_and_one"],
    position_embeddings: tuple[Tensor, Tensor],
    **_: object,
) -> Float[Tensor, "patches hidden"]:
    """transformers' attention of a vision block; the names are its own."""
    patches = len(hidden_states)
    query, key, value = module.qkv(hidden_states).reshape(patches, 3, module.num_heads, -1).unbind(1)
    query, key = apply_rotary_pos_emb_vision(query, key, *position_embeddings)
    attended = seen.windows(cu_seqlens, query.device).attend(query, key, value, float(module.scaling))
    out: Tensor = module.proj(attended.reshape(patches, -1))
    return out
