"""Muon: momentum whose matrices are made orthogonal (Jordan 2024; Liu et al. 2025, arXiv 2502.16982)."""

from collections.abc import Sequence

import torch
from torch import nn

MOMENTUM = 0.95


def inner_matrices(module: nn.Module) -> frozenset[nn.Parameter]:
    """The weights that Muon is made for: matrices inside the layers, no embeddings and no head of a language model."""
    tables = {part.weight for part in module.modules() if isinstance(part, nn.Embedding)}
    head = getattr(module, "lm_head", None)
    if isinstance(head, nn.Linear):
        tables.add(head.weight)
    return frozenset(weight for weight in module.parameters() if weight.ndim == 2) - tables


def muon(weights: Sequence[nn.Parameter], learning_rate: float, weight_decay: float) -> torch.optim.Muon:
    """Muon on AdamW's scale: one learning rate serves both, as an orthogonal update times 0.2 sqrt(longer side) changes
    a weight about as much as AdamW's does."""
    return torch.optim.Muon(
        weights,
        lr=learning_rate,
        momentum=MOMENTUM,
        weight_decay=weight_decay,
        adjust_lr_fn="match_rms_adamw",
    )
