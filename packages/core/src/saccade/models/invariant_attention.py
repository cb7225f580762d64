"""Attention whose sums have one order for a query, whatever is computed beside it and however it came to be there.

Queries are taken in tiles, keys in blocks that are counted from the first token of their sequence; a query meets the
blocks one after the other, its softmax rescaled on the way (Milakov and Gimelshein 2018, arXiv 1805.02867). A block
that it may not look at changes no bit of it, so that a decode step, a chunk beside its cache and a pack agree. All is
fp32.
"""

from collections.abc import Iterator
from itertools import repeat

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor, nn
from torch.nn.functional import pad
from transformers import AttentionInterface, AttentionMaskInterface, PreTrainedModel
from transformers.masking_utils import sdpa_mask

from saccade.errors import UserError
from saccade.models.attention import Layout, PackMasks, Watch, prefixes_and_runs, with_before
from saccade.models.shared_prefix import SharedPrefix

IMPLEMENTATION = "saccade_invariant"
"""Name under which transformers finds ``attend_by_tiles``."""
_QUERIES, _KEYS = 16, 64
"""Of a tile, and of a block."""
_SCORES = 1 << 26
"""That a backward holds at once, unless those of one key head are more."""


def tile_attention(language_model: PreTrainedModel) -> None:
    """Lets a language model attend by tiles, with all that ``enable_packs`` lets it take."""
    AttentionInterface.register(IMPLEMENTATION, attend_by_tiles)
    AttentionMaskInterface.register(IMPLEMENTATION, sdpa_mask)
    language_model.set_attn_implementation(IMPLEMENTATION)


def tiles_at_once(device: torch.device) -> int:
    """Tiles of one call; on a CPU so many that a block of scores is what torch gives to one thread."""
    return 512 if device.type == "cuda" else 32


def attend_by_tiles(
    module: nn.Module,
    query: Float[Tensor, "rows heads tokens dim"],
    key: Float[Tensor, "rows key_heads keys dim"],
    value: Float[Tensor, "rows key_heads keys dim"],
    attention_mask: Shaped[Tensor, "rows 1 tokens keys"] | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    packing: Layout | None = None,
    masks: PackMasks | None = None,
    prefix: SharedPrefix | None = None,
    sliding_window: int | None = None,
    watch: Watch | None = None,
    **others: object,
) -> tuple[Float[Tensor, "rows tokens heads dim"], None]:
    """As ``attention.attend``; raises UserError for dropout."""
    scale = scaling if scaling is not None else query.shape[-1] ** -0.5
    if watch is not None:
        watch(module, query, key, scale)
    if dropout:
        raise UserError(
            f"model.batch_invariant=true, but attention has dropout={dropout}; set attention_dropout to 0 in the "
            "checkpoint's config.json"
        )
    if packing is None:
        seen = _seen(attention_mask, query.shape[2], key.shape[2], query.device)
        if prefix is not None:
            seen = pad(seen, (prefix.length, 0), value=True)
        return _attended(query, key, value, seen, scale).transpose(1, 2), None
    parts = []
    given = repeat(None) if masks is None else iter(masks.of(query.dtype, slides=bool(sliding_window)))
    for (node, run), mask in zip(prefixes_and_runs(packing), given):
        own, keys, values = with_before(node, run, query, key, value)
        seen = _seen(mask, own.shape[2], keys.shape[2], query.device)
        # Suffixes lie side by side in their row again.
        parts.append(_attended(own, keys, values, seen, scale).transpose(0, 1).flatten(1, 2)[None])
    return torch.cat(parts, dim=2).transpose(1, 2), None


def _seen(
    mask: Shaped[Tensor, "rows 1 tokens keys"] | None, tokens: int, keys: int, device: torch.device
) -> Bool[Tensor, "rows 1 tokens keys"]:
    """Which keys each query looks at; without a mask the last queries are the last tokens of a sequence."""
    if mask is None:
        return torch.ones(1, 1, tokens, keys, dtype=torch.bool, device=device).tril(keys - tokens)
    return mask if mask.dtype == torch.bool else mask == 0


def _attended(query: Tensor, key: Tensor, value: Tensor, seen: Tensor, scale: float) -> Tensor:
    out: Tensor = _TiledAttention.apply(query, key, value, seen, scale)  # type: ignore[no-untyped-call]
    return out


class _TiledAttention(torch.autograd.Function):
    """softmax(scale * query @ key.T) @ value over what is ``seen``; its backward takes a row's scores at once."""

    @staticmethod
    def forward(
        ctx: torch.autograd.function.FunctionCtx,
        query: Float[Tensor, "rows heads tokens dim"],
        key: Float[Tensor, "rows key_heads keys dim"],
        value: Float[Tensor, "rows key_heads keys dim"],
        seen: Bool[Tensor, "rows 1 tokens keys"],
        scale: float,
    ) -> Float[Tensor, "rows heads tokens dim"]:
        rows, heads, tokens, _ = query.shape
        found, lse = zip(*_by_tiles(query, key, value, seen.expand(rows, -1, -1, -1)[:, 0], scale))
        shape = rows, heads, -(-tokens // _QUERIES) * _QUERIES
        out = torch.cat(found).view(*shape, value.shape[-1])[:, :, :tokens].to(query.dtype)
        ctx.save_for_backward(query, key, value, seen, out, torch.cat(lse).view(shape)[:, :, :tokens])
        ctx.scale = scale  # type: ignore[attr-defined]
        return out

    @staticmethod
    def backward(
        ctx: torch.autograd.function.FunctionCtx, grad: Float[Tensor, "rows heads tokens dim"]
    ) -> tuple[Tensor, Tensor, Tensor, None, None]:
        query, key, value, seen, out, lse = ctx.saved_tensors  # type: ignore[attr-defined]
        scale: float = ctx.scale  # type: ignore[attr-defined]
        to_query, to_key, to_value = (torch.empty_like(states) for states in (query, key, value))
        (rows, key_heads, keys, _), tokens = key.shape, query.shape[2]
        repeats = query.shape[1] // key_heads
        at_once = max(1, _SCORES // (repeats * tokens * keys))
        for row in range(rows):
            may_look = seen[min(row, len(seen) - 1), 0]
            for first in range(0, key_heads, at_once):
                own, heads = slice(first, first + at_once), slice(first * repeats, (first + at_once) * repeats)
                # (key heads, query heads of each, tokens, dim)
                q, g, o = (part[row, heads].float().unflatten(0, (-1, repeats)) for part in (query, grad, out))
                k, v = (part[row, own, None].float() for part in (key, value))
                log_total = lse[row, heads].unflatten(0, (-1, repeats))[..., None]
                p = (q @ k.mT * scale - log_total).exp().masked_fill(~may_look, 0.0)
                to_scores = p * (g @ v.mT - (g * o).sum(dim=-1, keepdim=True)) * scale
                to_query[row, heads] = (to_scores @ k).flatten(0, 1).to(query.dtype)
                to_key[row, own] = (to_scores.mT @ q).sum(dim=1).to(key.dtype)
                to_value[row, own] = (p.mT @ g).sum(dim=1).to(value.dtype)
        return to_query, to_key, to_value, None, None


def _by_tiles(
    query: Float[Tensor, "rows heads tokens dim"],
    key: Float[Tensor, "rows key_heads keys dim"],
    value: Float[Tensor, "rows key_heads keys dim"],
    seen: Bool[Tensor, "rows tokens keys"],
    scale: float,
) -> Iterator[tuple[Float[Tensor, "some queries dim"], Float[Tensor, "some queries"]]]:
    """Attention and log-sum-exps of tiles, ordered by row, head and query, so many at a time."""
    rows, heads, tokens, dim = query.shape
    key_heads, device = key.shape[1], query.device
    more_queries, more_keys = -tokens % _QUERIES, -key.shape[2] % _KEYS
    tiles = pad(query.float(), (0, 0, 0, more_queries)).reshape(-1, _QUERIES, dim)
    each = (tokens + more_queries) // _QUERIES
    keys, values = (pad(part.float(), (0, 0, 0, more_keys)).flatten(0, 1) for part in (key, value))
    looks = pad(seen, (0, more_keys, 0, more_queries), value=False).view(rows * each, _QUERIES, -1)
    numbers = torch.arange(len(tiles), device=device)
    row, head = numbers // (heads * each), numbers // each % heads
    of_keys, of_looks = row * key_heads + head // (heads // key_heads), row * each + numbers % each
    size = tiles_at_once(device)
    for start in range(0, len(tiles), size):
        count = min(size, len(tiles) - start)
        # The last call is filled up with its last tile.
        some = numbers[start : start + count]
        some = torch.cat([some, some[-1:].expand(size - count)])
        out, lse = _rescaled(tiles[some], keys, values, looks, of_keys[some], of_looks[some], scale)
        yield out[:count], lse[:count]


def _rescaled(
    tiles: Float[Tensor, "some queries dim"],
    keys: Float[Tensor, "key_rows keys dim"],
    values: Float[Tensor, "key_rows keys dim"],
    looks: Bool[Tensor, "look_rows queries keys"],
    of_keys: Int[Tensor, "some"],
    of_looks: Int[Tensor, "some"],
    scale: float,
) -> tuple[Float[Tensor, "some queries dim"], Float[Tensor, "some queries"]]:
    """Block after block of keys; padded queries look at nothing and come out as 0."""
    highest = tiles.new_full(tiles.shape[:2], -torch.inf)
    total = torch.zeros_like(highest)
    out = tiles.new_zeros(*tiles.shape[:2], values.shape[-1])
    for first in range(0, keys.shape[1], _KEYS):
        span = slice(first, first + _KEYS)
        may_look = looks[:, :, span][of_looks]
        if tiles.device.type == "cpu" and not bool(may_look.any()):
            # Nothing would change; a GPU would have to be waited for to know.
            continue
        scores = torch.bmm(tiles, keys[:, span][of_keys].transpose(1, 2)).mul_(scale)
        scores.masked_fill_(~may_look, -torch.inf)
        raised = torch.maximum(highest, scores.amax(dim=-1))
        # Of queries that have seen nothing yet the difference of infinities would be no number.
        base = raised.masked_fill(raised == -torch.inf, 0.0)
        p, kept = scores.sub_(base[..., None]).exp_(), (highest - base).exp_()
        total = total * kept + p.sum(dim=-1)
        out = out * kept[..., None] + torch.bmm(p, values[:, span][of_keys])
        highest = raised
    lse = highest + total.log()
    return out / total.masked_fill(total == 0, 1.0)[..., None], lse
