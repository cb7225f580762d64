"""Batch invariance: a token's log-probability has the same bits alone, among others, in a decode step and in a pack.

Kernels choose by shape in which order they add, so that the same token comes out otherwise among 8 rows than among
4,096 (He 2025, "Defeating nondeterminism in LLM inference"). Here everything that adds is given one shape alone: rows
of a matrix product in tiles of one size, norms and activations in blocks of one size, attention in tiles of queries and
blocks of keys that are counted from each sequence's first token (``invariant_attention``), pictures one by one, and
log-probabilities row by row. Whatever lies beside a row in its tile has no part in its sums. The backward is as always.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from saccade.errors import UserError
from saccade.models.eight_bit_linear import EightBitLinear
from saccade.models.invariant_attention import tile_attention

if TYPE_CHECKING:
    from saccade.models.vlm import VisionLanguageModel

_POSITIONS = 64
"""Tokens whose rotary angles are worked out together."""


def make_batch_invariant(model: "VisionLanguageModel") -> None:
    """From here on engine and learner give a token the same bits. May be called again, after modules were added.

    Raises UserError for layers whose sums cannot be given one shape: mixtures of experts, recurrent states, 8 bits.
    """
    kind = model.family.model_type
    if model.experts is not None or model.recurrent_layers:
        why = "sends tokens to experts" if model.experts is not None else "has recurrent layers"
        raise UserError(
            f"model.batch_invariant=true, but {kind} {why}, whose sums depend on what is computed together; set "
            "model.batch_invariant=false (model.deterministic=true still repeats a run)"
        )
    if any(isinstance(module, EightBitLinear) for module in model.hf.modules()):
        raise UserError(
            "model.batch_invariant=true, but model.frozen_weights=int8 has products of its own; set it to full, or "
            "model.batch_invariant=false"
        )
    model.batch_invariant = True
    tile_attention(model.language_model)
    for name, module in (*model.language_model.named_modules(), ("lm_head", model.hf.lm_head)):
        forward = _invariant_forward(name, module)
        if forward is not None and "forward" not in vars(module):
            module.forward = forward


def _invariant_forward(name: str, module: nn.Module) -> Callable[..., Tensor | tuple[Tensor, ...]] | None:
    """The forward in its place; None for a module that adds nothing up, or whose parts do."""
    kind, last = type(module).__name__, name.rpartition(".")[2]
    of_class = type(module).forward
    if type(module) is nn.Linear:
        return lambda x: _ProductByTiles.apply(x, module.weight, module.bias)  # type: ignore[no-untyped-call]
    if kind.endswith("Norm") or last in ("act_fn", "act"):
        return lambda x: by_blocks(lambda block: of_class(module, block), x)
    if "RotaryEmbedding" in kind:
        return lambda x, positions, *rest, **more: _angles(
            lambda some: of_class(module, x[:1, :1], some, *rest, **more), positions
        )
    return None


def tile_rows(device: torch.device) -> int:
    """Rows of a matrix product: all weights are read for each tile, and a decode step fills one up."""
    return 128 if device.type == "cuda" else 32


def block_size(device: torch.device) -> int:
    """Numbers of a block; on a CPU as many as torch gives to one thread."""
    return 1 << 20 if device.type == "cuda" else 1 << 15


class _ProductByTiles(torch.autograd.Function):
    """x @ weight.T + bias, by tiles of ``tile_rows``."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        x: Float[Tensor, "*rows depth"],
        weight: Float[Tensor, "columns depth"],
        bias: Float[Tensor, "columns"] | None,
    ) -> Float[Tensor, "*rows columns"]:
        ctx.save_for_backward(x, weight)
        ctx.has_bias = bias is not None  # type: ignore[attr-defined]
        rows, size = x.reshape(-1, x.shape[-1]), tile_rows(x.device)
        out = x.new_empty(*x.shape[:-1], len(weight))
        flat = out.view(-1, len(weight))
        for start in range(0, len(rows), size):
            tile = rows[start : start + size]
            flat[start : start + size] = linear(pad(tile, (0, 0, 0, size - len(tile))), weight, bias)[: len(tile)]
        return out

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx, grad: Float[Tensor, "*rows columns"]
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors  # type: ignore[attr-defined]
        wants_x, wants_weight, wants_bias = ctx.needs_input_grad  # type: ignore[attr-defined]
        flat = grad.reshape(-1, grad.shape[-1])
        to_weight = flat.t() @ x.reshape(-1, x.shape[-1]) if wants_weight else None
        to_bias = flat.sum(dim=0) if wants_bias and ctx.has_bias else None  # type: ignore[attr-defined]
        return grad @ weight if wants_x else None, to_weight, to_bias


def by_blocks(function: Callable[[Tensor], Tensor], x: Float[Tensor, "*rows width"]) -> Float[Tensor, "*rows width"]:
    """What a function of single rows gives, always called on blocks of one size; differentiable."""
    width = x.shape[-1]
    rows, count = x.reshape(-1, width), max(1, block_size(x.device) // width)
    # A block's last numbers would be worked out singly where they do not fill a vector.
    count -= count % 32 if count >= 32 else 0
    parts = [rows[start : start + count] for start in range(0, len(rows), count)]
    done = [function(pad(part, (0, 0, 0, count - len(part))))[: len(part)] for part in parts]
    return torch.cat(done).view(x.shape) if done else function(x)


def _angles(
    function: Callable[[Tensor], tuple[Tensor, ...]], positions: Int[Tensor, "*axes rows tokens"]
) -> tuple[Tensor, ...]:
    """Cosines and sines (*axes, rows, tokens, dim) of rotary positions, so many tokens at a time."""
    rows, tokens = positions.shape[-2:]
    side_by_side = positions.reshape(*positions.shape[:-2], 1, rows * tokens)
    found = [
        tuple(part[..., : some.shape[-1], :] for part in function(pad(some, (0, _POSITIONS - some.shape[-1]))))
        for some in torch.split(side_by_side, _POSITIONS, dim=-1)
    ]
    whole = (torch.cat(parts, dim=-2) for parts in zip(*found))
    return tuple(part.reshape(*part.shape[:-3], rows, tokens, part.shape[-1]) for part in whole)


class _RowSums(torch.autograd.Function):
    """log sum exp of each row, one by one."""

    @staticmethod
    def forward(ctx: torch.autograd.function.FunctionCtx, logits: Float[Tensor, "rows width"]) -> Float[Tensor, "rows"]:
        rows = [row.logsumexp(dim=-1) for row in torch.split(logits, 1)]
        sums = torch.cat(rows) if rows else logits.new_empty(0)
        ctx.save_for_backward(logits, sums)
        return sums

    @staticmethod
    def backward(ctx: torch.autograd.function.FunctionCtx, grad: Float[Tensor, "rows"]) -> Float[Tensor, "rows width"]:
        logits, sums = ctx.saved_tensors  # type: ignore[attr-defined]
        shares: Tensor = (logits - sums[:, None]).exp_().mul_(grad[:, None])
        return shares


def row_sums(logits: Float[Tensor, "rows width"]) -> Float[Tensor, "rows"]:
    """log sum exp of each row, with the same bits whatever other rows there are; differentiable."""
    sums: Tensor = _RowSums.apply(logits)  # type: ignore[no-untyped-call]
    return sums
