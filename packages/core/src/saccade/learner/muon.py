"""Muon for the matrices inside a model's layers, with its Newton-Schulz rounds in fp32 on a CPU."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

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
    kind = MuonOnCPU if all(weight.device.type == "cpu" for weight in weights) else torch.optim.Muon
    return kind(weights, lr=learning_rate, momentum=MOMENTUM, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw")


class MuonOnCPU(torch.optim.Muon):
    """torch's Muon with ``match_rms_adamw`` without its bfloat16, which is slow on CPUs without instructions for it.

    On such a CPU the rounds of a 128 x 128 matrix took 1.4 ms in fp32 and 28 ms in bfloat16 (studies/base_model). State
    and parameter groups are torch's.
    """

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            rate, momentum = float(group["lr"]), float(group["momentum"])
            for weight in group["params"]:
                if weight.grad is None:
                    continue
                state = self.state[weight]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(weight.grad)
                mean: Tensor = state["momentum_buffer"].lerp_(weight.grad, 1 - momentum)
                update = weight.grad.lerp(mean, momentum) if group["nesterov"] else mean
                turned = _orthogonal(update, group["ns_coefficients"], rounds=group["ns_steps"], least=group["eps"])
                weight.mul_(1 - rate * group["weight_decay"])
                weight.add_(turned, alpha=-rate * 0.2 * math.sqrt(max(weight.shape)))
        return loss


def _orthogonal(matrix: Tensor, coefficients: tuple[float, float, float], *, rounds: int, least: float) -> Tensor:
    """The matrix with all its singular values near 1, by Newton-Schulz rounds in its own precision."""
    linear, cubic, fifth = coefficients
    is_tall = matrix.size(0) > matrix.size(1)
    turned = matrix.T if is_tall else matrix
    turned = turned / turned.norm().clamp(min=least)
    for _ in range(rounds):
        gram = turned @ turned.T
        turned = torch.addmm(turned, torch.addmm(gram, gram, gram, beta=cubic, alpha=fifth), turned, beta=linear)
    return turned.T if is_tall else turned
