"""Layers with a recurrent state, as in Qwen3.5: rows of any lengths go on from the states that they had come to.

A gated delta net (Yang et al. 2024, arXiv 2412.06464) reads a sequence into a matrix, behind a short convolution.
transformers' module takes rows of one length: what pads a row on the right would fade its state, and the suffixes of a
pack would go on from each other's. Here each row keeps the state after its own last token, and each suffix begins with
that of its prefix. Weights, products and norms stay the module's own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import unwrap
from types import MethodType
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.functional import conv1d, pad, silu, softplus

from saccade.models.attention import Layout
from saccade.models.memory import sent

_CHUNK = 64
"""Tokens that the delta rule works out together; a row is filled up to whole chunks whatever its length is."""


@dataclass(frozen=True, slots=True)
class LayerState:
    """What one layer knows of each row's past."""

    inputs: Float[Tensor, "rows channels taps"]
    """The last inputs of the convolution."""
    memory: Float[Tensor, "rows heads key_dim value_dim"]
    """fp32."""

    def of(self, rows: Int[Tensor, "some"]) -> "LayerState":
        return LayerState(self.inputs[rows], self.memory[rows])

    def alone(self, row: int) -> "LayerState":
        """One row's, in memory of its own."""
        return LayerState(self.inputs[row : row + 1].clone(), self.memory[row : row + 1].clone())

    @staticmethod
    def joined(states: Sequence["LayerState"]) -> "LayerState":
        return LayerState(torch.cat([one.inputs for one in states]), torch.cat([one.memory for one in states]))


@dataclass(frozen=True, kw_only=True, slots=True)
class CarriedStates:
    """The states of a forward's rows by layer: those that it goes on from, and those that it comes to.

    A cache has them as its ``states``.
    """

    counts: tuple[int, ...]
    """New tokens of each row; what follows them is padding."""
    before: Mapping[int, LayerState]
    """Empty where all rows begin."""
    after: dict[int, LayerState] = field(default_factory=dict)


def recurrent_layers(text: Any) -> tuple[int, ...]:
    """Layers of a language model that have a state in the place of keys and values, by its configuration."""
    kinds = getattr(text, "layer_types", None) if hasattr(text, "linear_num_value_heads") else None
    return tuple(index for index, kind in enumerate(kinds or ()) if kind == "linear_attention")


def state_numbers(text: Any) -> int:
    """Numbers of one row's state in all layers; those of the memory are in fp32 whatever the weights are."""
    layers = len(recurrent_layers(text))
    if not layers:
        return 0
    keys, values = text.linear_num_key_heads * text.linear_key_head_dim, text.linear_value_head_dim
    channels = 2 * keys + text.linear_num_value_heads * values
    memory = text.linear_num_value_heads * text.linear_key_head_dim * values
    return int(layers * (channels * (text.linear_conv_kernel_dim - 1) + memory))


def kept_numbers(text: Any) -> int:
    """Numbers that one recurrent layer keeps of a token for its backward, beside its norms and its MLP; fp32.

    Fitted to what autograd kept of layers of seven sizes, 5 to 12 % above it.
    """
    if not recurrent_layers(text):
        return 0
    heads, dim = text.linear_num_value_heads, text.linear_key_head_dim
    keys, values = heads * dim, heads * text.linear_value_head_dim
    channels = 2 * text.linear_num_key_heads * dim + values
    of_chunks = 4 * heads * _CHUNK + 3 * dim * values // _CHUNK
    return int(2 * channels + 13 * keys + 11 * values + of_chunks)


def carry_states(language_model: nn.Module) -> None:
    """Lets recurrent layers take packs, and rows with ``CarriedStates``; without either all stays transformers' own."""
    for layer in language_model.get_submodule("layers").children():
        net = getattr(layer, "linear_attn", None)
        if net is not None:
            net.forward = MethodType(_forward, net)


def _forward(
    net: Any,
    hidden_states: Float[Tensor, "rows width hidden"],
    cache_params: object = None,
    packing: Layout | None = None,
    **given: object,
) -> Float[Tensor, "rows width hidden"]:
    """In the place of the module's own."""
    carried: CarriedStates | None = getattr(cache_params, "states", None)
    if packing is None and carried is None:
        own: Tensor = type(net).forward(net, hidden_states, cache_params=cache_params, **given)
        return own
    rows, width, _ = hidden_states.shape
    read = _Inputs(
        mixed=net.in_proj_qkv(hidden_states),
        strength=net.in_proj_b(hidden_states).sigmoid(),
        # In half precision the factor may not be finite.
        decay=-net.A_log.float().exp() * softplus(net.in_proj_a(hidden_states).float() + net.dt_bias),
    )
    if packing is not None:
        out = _packed(net, read, packing)
    else:
        assert carried is not None
        before = carried.before.get(net.layer_idx) or _beginning(net, read.mixed, rows)
        out, carried.after[net.layer_idx] = _read(net, read, before, torch.tensor(carried.counts))
    gate = net.in_proj_z(hidden_states).reshape(-1, net.head_v_dim)
    result: Tensor = net.out_proj(net.norm(out.reshape(-1, net.head_v_dim), gate).reshape(rows, width, -1))
    return result


@dataclass(frozen=True, kw_only=True, slots=True)
class _Inputs:
    """What a layer makes of each token by itself."""

    mixed: Float[Tensor, "rows width channels"]
    """Queries, keys and values before the convolution."""
    strength: Float[Tensor, "rows width heads"]
    decay: Float[Tensor, "rows width heads"]
    """Logarithms, below 0."""

    def at(self, places: Int[Tensor, "some_rows some_width"]) -> "_Inputs":
        """Rows cut out of a pack."""
        return _Inputs(mixed=self.mixed[0, places], strength=self.strength[0, places], decay=self.decay[0, places])

    def without(self, padding: Bool[Tensor, "rows width"]) -> "_Inputs":
        """Where there is padding nothing is forgotten and nothing written."""
        strength, decay = (part.masked_fill(padding[..., None], 0.0) for part in (self.strength, self.decay))
        return _Inputs(mixed=self.mixed, strength=strength, decay=decay)


def _beginning(net: Any, like: Tensor, rows: int) -> LayerState:
    return LayerState(
        like.new_zeros(rows, net.conv_dim, net.conv_kernel_size - 1),
        like.new_zeros(rows, net.num_v_heads, net.head_k_dim, net.head_v_dim, dtype=torch.float32),
    )


def _read(
    net: Any, read: _Inputs, before: LayerState, counts: Int[Tensor, "rows"]
) -> tuple[Float[Tensor, "rows width heads value_dim"], LayerState]:
    """What rows of ``counts`` tokens each give, and the states after them; ``counts`` are on the CPU."""
    from transformers.models.qwen3_5 import modeling_qwen3_5 as qwen

    rows, width, _ = read.mixed.shape
    seen = torch.cat([before.inputs, read.mixed.transpose(1, 2)], dim=2)
    taps = seen.shape[2] - width
    last = seen[:, :, width:]
    if bool((counts != width).any()):
        counts = sent(counts, seen.device)
        read = read.without(torch.arange(width, device=seen.device) >= counts[:, None])
        ends = counts[:, None, None] + torch.arange(taps, device=seen.device)
        last = seen.gather(2, ends.expand(-1, seen.shape[1], -1))
    mixed = silu(conv1d(seen, net.conv1d.weight, net.conv1d.bias, groups=net.conv_dim)).transpose(1, 2)
    query, key, value = torch.split(mixed, [net.key_dim, net.key_dim, net.value_dim], dim=-1)
    repeats = net.num_v_heads // net.num_k_heads
    query, key = (part.reshape(rows, width, -1, net.head_k_dim).repeat_interleave(repeats, 2) for part in (query, key))
    rule = qwen.torch_recurrent_gated_delta_rule if width == 1 else qwen.torch_chunk_gated_delta_rule
    # Kernels that stand in for it where they are installed are a GPU's.
    rule = rule if seen.is_cuda else unwrap(rule)
    out, memory = rule(
        query,
        key,
        value.reshape(rows, width, -1, net.head_v_dim),
        g=read.decay,
        beta=read.strength,
        initial_state=before.memory,
        output_final_state=True,
        use_qk_l2norm_in_kernel=True,
    )
    return out, LayerState(last.clone(), memory)


def _packed(net: Any, read: _Inputs, layout: Layout) -> Float[Tensor, "1 tokens heads value_dim"]:
    """Prefixes first; then suffixes, from the states of their prefixes."""
    device = read.mixed.device
    prefixes, suffixes = _pieces(layout)
    parts: list[Tensor] = []
    places: list[Tensor] = []
    ends = _beginning(net, read.mixed, len(layout))
    for rows, kept in ((prefixes, True), (suffixes, False)):
        given = []
        for piece in rows:
            own, before = read.at(sent(piece.places, device)), ends.of(sent(piece.trees, device))
            given.append((piece, *_read(net, own, before, piece.counts)))
        for piece, out, _ in given:
            parts.append(out.flatten(0, 1)[sent(piece.own, device)])
            places.append(piece.places.flatten()[piece.own])
        if kept and given and suffixes:
            reached = LayerState.joined([after for _, _, after in given])
            trees = torch.cat([piece.trees for piece, _, _ in given])
            order = torch.full((len(layout),), len(trees))
            order[trees] = torch.arange(len(trees))
            # A suffix without a prefix goes on from the row of zeros behind the others.
            ends = LayerState(
                pad(reached.inputs, (0, 0, 0, 0, 0, 1)), pad(reached.memory, (0, 0, 0, 0, 0, 0, 0, 1))
            ).of(sent(order, device))
    return torch.cat(parts)[sent(torch.cat(places).argsort(), device)][None]


@dataclass(frozen=True, eq=False, slots=True)
class _Piece:
    """Prefixes or suffixes of a pack that take as many chunks, as rows."""

    places: Int[Tensor, "rows width"]
    """In the pack; where a row has ended, its last."""
    counts: Int[Tensor, "rows"]
    trees: Int[Tensor, "rows"]
    """Index of the tree that each belongs to."""
    own: Int[Tensor, "tokens"]
    """Which of ``places``, all in a row, are no padding."""


@lru_cache(maxsize=4)
def _pieces(layout: Layout) -> tuple[tuple[_Piece, ...], tuple[_Piece, ...]]:
    """Prefixes and suffixes of a pack; each of its layers asks for the same."""
    prefixes = [(index, tree.prefix.start, tree.prefix.length) for index, tree in enumerate(layout)]
    suffixes = [
        (index, run.span.start + place * length, length)
        for index, tree in enumerate(layout)
        for run in tree.runs
        for length in [run.span.length // run.count]
        for place in range(run.count)
    ]
    return tuple(_of_alike(prefixes)), tuple(_of_alike(suffixes))


def _of_alike(spans: Sequence[tuple[int, int, int]]) -> Iterator[_Piece]:
    by_chunks: dict[int, list[tuple[int, int, int]]] = {}
    for span in spans:
        if span[2]:
            by_chunks.setdefault(-(-span[2] // _CHUNK), []).append(span)
    for alike in by_chunks.values():
        trees, starts, counts = (torch.tensor(part) for part in zip(*alike))
        steps = torch.arange(int(counts.max()))
        places = starts[:, None] + torch.minimum(steps, counts[:, None] - 1)
        yield _Piece(places, counts, trees, (steps < counts[:, None]).flatten().nonzero()[:, 0])
