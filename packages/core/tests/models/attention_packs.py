"""Packs of several shapes, their states, and one dense masked attention over them in double precision."""

import torch
from torch import Tensor

from saccade.models.attention import Layout, Span, tree
from saccade.models.masks import MaskRule

HEADS, HEAD_DIM = 4, 8

LAYOUTS: dict[str, Layout] = {
    "one sequence": (tree(0, 7, ()),),
    "two strangers": (tree(0, 5, ()), tree(5, 9, ())),
    "a prefix with suffixes of different lengths": (tree(0, 6, (1, 3, 3, 3, 8)),),
    "suffixes without a prefix": (tree(0, 0, (4, 4, 2)),),
    "several trees": (tree(0, 3, (2, 2)), tree(7, 40, ()), tree(47, 5, (70, 9))),
    "trees of one root": (tree(0, 11, ()), tree(11, 4, (3, 3, 8), Span(0, 11)), tree(29, 6, (), Span(0, 11))),
}

RULES = {
    "pictures": MaskRule(kinds=(), window=0, both_ways=True),
    "windows": MaskRule(kinds=("sliding_attention",), window=5, both_ways=False),
    "pictures in windows": MaskRule(kinds=("sliding_attention",), window=5, both_ways=True),
}


def states(layout: Layout, dtype: torch.dtype = torch.float64, *, kv_heads: int = HEADS) -> list[Tensor]:
    tokens = layout[-1].suffixes.stop
    generator = torch.Generator().manual_seed(tokens)
    return [
        torch.randn(1, tokens, heads, HEAD_DIM, dtype=torch.float64, generator=generator)
        .to(dtype)
        .transpose(1, 2)
        .requires_grad_()
        for heads in (HEADS, kv_heads, kv_heads)
    ]


def visible(layout: Layout) -> Tensor:
    """Which key (column) each token (row) may look at, written out token by token."""
    tokens = layout[-1].suffixes.stop
    mask = torch.zeros(tokens, tokens, dtype=torch.bool)
    for node in layout:
        prefix = range(node.prefix.start, node.prefix.stop)
        if node.root is not None:
            mask[prefix.start : node.suffixes.stop, node.root.start : node.root.stop] = True
        for token in prefix:
            mask[token, prefix.start : token + 1] = True
        start = prefix.stop
        for run in node.runs:
            length = run.span.length // run.count
            for _ in range(run.count):
                for token in range(start, start + length):
                    mask[token, prefix.start : prefix.stop] = True
                    mask[token, start : token + 1] = True
                start += length
    return mask


def dense(query: Tensor, key: Tensor, value: Tensor, layout: Layout, scale: float) -> Tensor:
    scores = (query @ key.transpose(-1, -2)) * scale
    return scores.masked_fill(~visible(layout), -torch.inf).softmax(dim=-1) @ value
