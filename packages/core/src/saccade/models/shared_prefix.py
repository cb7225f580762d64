"""Attention of rows that begin alike: what a group shares is read once for all its rows, not once for each.

While tokens are decoded one by one, attention is a walk through the keys and values in memory. Rows of a group hold the
same prompt, so their queries meet it together, and each row's own tokens apart; both parts are joined by their
log-sum-exps (Juravsky et al. 2024, "Hydragen", arXiv 2402.05099). Query heads of one key head are laid side by side as
queries, so that keys and values are never repeated.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int, Shaped
from torch import Tensor

_SHORTEST = 32
"""Tokens that must be shared before a second part is worth its calls."""

_attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu


@dataclass(frozen=True, kw_only=True, slots=True)
class SharedPrefix:
    """The first ``length`` keys and values of every row are those of the row that holds them for its group."""

    length: int
    alike: tuple[tuple[int, slice], ...]
    """Groups of one size that are looked at in one call: that size, and the rows that hold their prefixes."""
    order: Int[Tensor, "rows"] | None
    """Rows sorted by group, and ``places`` the way back; None where they lie so."""
    places: Int[Tensor, "rows"] | None


def shared_prefix(prompts: Sequence[tuple[Hashable, int] | None]) -> SharedPrefix | None:
    """How rows share their beginnings, from what each begins with and its length; None where that would not pay.

    It pays when there are at most half as many beginnings as rows. The shortest one decides how much is shared.
    """
    groups: dict[Hashable, list[int]] = {}
    for row, prompt in enumerate(prompts):
        if prompt is None:
            return None
        groups.setdefault(prompt[0], []).append(row)
    length = min((prompt[1] for prompt in prompts if prompt is not None), default=0)
    if length < _SHORTEST or 2 * len(groups) > len(prompts):
        return None
    rows = [row for rows in groups.values() for row in rows]
    order = None if rows == list(range(len(rows))) else torch.tensor(rows)
    return SharedPrefix(
        length=length,
        alike=tuple(_alike(list(groups.values()))),
        order=order,
        places=None if order is None else order.argsort(),
    )


def _alike(groups: Sequence[Sequence[int]]) -> Iterator[tuple[int, slice]]:
    """Neighbouring groups of one size whose first rows are evenly spaced, so that one view holds all their prefixes."""
    start = 0
    while start < len(groups):
        first = groups[start][0]
        step = groups[start + 1][0] - first if start + 1 < len(groups) else 1
        end = start + 1
        while (
            end < len(groups)
            and len(groups[end]) == len(groups[start])
            and groups[end][0] == first + step * (end - start)
        ):
            end += 1
        yield len(groups[start]), slice(first, first + step * (end - start - 1) + 1, step)
        start = end


def attend_sharing(
    query: Float[Tensor, "rows heads tokens dim"],
    key: Float[Tensor, "rows key_heads keys dim"],
    value: Float[Tensor, "rows key_heads keys dim"],
    own_mask: Float[Tensor, "rows 1 tokens own_keys"],
    prefix: SharedPrefix,
    scale: float,
) -> Float[Tensor, "rows tokens heads dim"]:
    """Attention of new tokens on the CPU; their heads come before them, and after them in what is returned.

    ``key`` and ``value`` have the prefix in every row; ``own_mask`` is added to the scores of what follows it.
    """
    rows, heads, width, dim = query.shape
    key_heads = key.shape[1]
    queries = query.reshape(rows, key_heads, -1, dim)
    attended, log_sum = _attend(
        queries,
        key[:, :, prefix.length :],
        value[:, :, prefix.length :],
        attn_mask=_for_folded(own_mask, heads // key_heads),
        scale=scale,
    )
    common, log_common = _attend_prefix(queries, key, value, prefix, scale)
    # sigmoid(b - a) is exp(b) / (exp(a) + exp(b)).
    share = torch.sigmoid(log_common - log_sum)[..., None].to(attended.dtype)
    joined: Float[Tensor, "rows key_heads queries dim"] = torch.lerp(attended, common, share)
    return joined.reshape(rows, heads, width, dim).transpose(1, 2)


def attend_folded(
    query: Float[Tensor, "rows heads tokens dim"],
    key: Float[Tensor, "rows key_heads keys dim"],
    value: Float[Tensor, "rows key_heads keys dim"],
    mask: Shaped[Tensor, "rows 1 tokens keys"],
    scale: float,
) -> Float[Tensor, "rows tokens heads dim"]:
    """The same without a prefix; ``mask`` is bool or added."""
    rows, heads, width, dim = query.shape
    key_heads = key.shape[1]
    attended = torch.nn.functional.scaled_dot_product_attention(
        query.reshape(rows, key_heads, -1, dim),
        key,
        value,
        attn_mask=_for_folded(mask, heads // key_heads),
        scale=scale,
    )
    return attended.reshape(rows, heads, width, dim).transpose(1, 2)


def _for_folded(mask: Shaped[Tensor, "rows 1 tokens keys"], repeats: int) -> Shaped[Tensor, "rows 1 queries keys"]:
    """The mask of new tokens for all the query heads of a key head, one after the other."""
    if mask.shape[2] == 1:
        return mask.expand(-1, -1, repeats, -1)
    return mask[:, :, None].expand(-1, -1, repeats, -1, -1).flatten(2, 3)


def _attend_prefix(
    queries: Float[Tensor, "rows key_heads queries dim"],
    key: Float[Tensor, "rows key_heads keys dim"],
    value: Float[Tensor, "rows key_heads keys dim"],
    prefix: SharedPrefix,
    scale: float,
) -> tuple[Float[Tensor, "rows key_heads queries dim"], Float[Tensor, "rows key_heads queries"]]:
    """Attention to the shared beginnings, and its log-sum-exps."""
    in_order = queries if prefix.order is None else queries[prefix.order]
    parts: list[Tensor] = []
    log_sums: list[Tensor] = []
    start = 0
    for size, holders in prefix.alike:
        held_key, held_value = (states[holders, :, : prefix.length] for states in (key, value))
        count = len(held_key)
        # (groups, rows of a group, key heads, queries, head_dim), all queries of a group side by side.
        together = in_order[start : start + size * count].view(count, size, *queries.shape[1:]).transpose(1, 2)
        attended, log_sum = _attend(together.flatten(2, 3), held_key, held_value, scale=scale)
        parts.append(attended.reshape(*attended.shape[:2], size, -1, attended.shape[-1]).transpose(1, 2).flatten(0, 1))
        log_sums.append(log_sum.reshape(*log_sum.shape[:2], size, -1).transpose(1, 2).flatten(0, 1))
        start += size * count
    joined, log_sum = (several[0] if len(several) == 1 else torch.cat(several) for several in (parts, log_sums))
    return (joined, log_sum) if prefix.places is None else (joined[prefix.places], log_sum[prefix.places])
