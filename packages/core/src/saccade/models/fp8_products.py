"""Linear layers whose products take factors in 8-bit floats (e4m3), each row with a scale, on GPUs that have them.

Forward: y = x W^T, and backward: dx = dy W; dW = dy^T x stays in half precision, since it is added up over many steps
(torchao's recipe "rowwise_with_gw_hp"). The weights themselves stay as they are. A row's largest number becomes 448,
the largest of e4m3, whose other numbers are off by a sixteenth at most, or by a step near zero.
"""

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from saccade.errors import UserError
from saccade.models.vlm import VisionLanguageModel

CODES = torch.float8_e4m3fn
_LARGEST = torch.finfo(CODES).max
_STEP = 16
"""Both sides of a weight must be its multiples."""

logger = logging.getLogger(__name__)


def coded_rows(states: Float[Tensor, "rows inputs"]) -> tuple[Float[Tensor, "rows inputs"], Float[Tensor, "rows 1"]]:
    """Codes in e4m3, and the scale of each row in fp32."""
    largest = states.detach().abs().amax(dim=1, keepdim=True).float()
    scales = (largest / _LARGEST).clamp_min(torch.finfo(torch.float32).tiny)
    return (states.float() / scales).clamp_(-_LARGEST, _LARGEST).to(CODES), scales


def coded_product(
    left: Float[Tensor, "rows inner"], right: Float[Tensor, "columns inner"], dtype: torch.dtype
) -> Float[Tensor, "rows columns"]:
    """left right^T of coded factors, in ``dtype``; off a GPU in its plain form, by products in fp32."""
    (own, scales), (others, other_scales) = coded_rows(left), coded_rows(right)
    if not left.is_cuda:
        return ((own.float() @ others.float().T) * scales * other_scales.T).to(dtype)
    return torch._scaled_mm(own, others.T, scale_a=scales, scale_b=other_scales.T, out_dtype=dtype)


class _CodedLinear(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, states: Float[Tensor, "rows inputs"], weight: Float[Tensor, "outputs inputs"]
    ) -> Float[Tensor, "rows outputs"]:
        ctx.save_for_backward(states, weight)
        return coded_product(states, weight, states.dtype)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, Tensor | None]:
        [gradient], (states, weight) = gradients, ctx.saved_tensors
        wants_states, wants_weight = ctx.needs_input_grad
        to_states = coded_product(gradient, weight.T.contiguous(), states.dtype) if wants_states else None
        return to_states, gradient.T @ states if wants_weight else None


def coded_linear(layer: nn.Linear, states: Float[Tensor, "*rows inputs"]) -> Float[Tensor, "*rows outputs"]:
    """What a layer gives by such products."""
    found: Tensor = _CodedLinear.apply(states.flatten(0, -2), layer.weight)  # type: ignore[no-untyped-call]
    found = found.view(*states.shape[:-1], -1)
    return found if layer.bias is None else found + layer.bias


class Fp8Products:
    """Linear layers with such forwards, in place only while the learner runs the model."""

    def __init__(self, layers: Sequence[nn.Linear]) -> None:
        self._parts: list[tuple[nn.Linear, Callable[[Tensor], Tensor]]] = [
            (layer, partial(coded_linear, layer)) for layer in layers
        ]

    @contextmanager
    def in_place(self) -> Iterator[None]:
        for layer, forward in self._parts:
            layer.forward = forward  # type: ignore[method-assign, assignment]
        try:
            yield
        finally:
            for layer, _ in self._parts:
                # The class's own forward is visible again.
                del layer.forward


def fp8_products(model: VisionLanguageModel) -> Fp8Products:
    """Of a model's language layers; UserError where they cannot be had. The log says how far off they are."""
    if missing := missing_for(model.device, model.dtype):
        raise UserError(f"fp8=true cannot be had: {missing}; leave it out")
    if model.batch_invariant:
        raise UserError("fp8=true rounds what model.batch_invariant=true keeps; set one to false")
    if not (layers := coded_layers(model)):
        raise UserError("fp8=true finds no linear layer of full precision; leave it out")
    logger.info(
        "%d linear layers take factors in fp8, which puts their results %.1f %% off",
        len(layers),
        100 * off_by(layers[0]),
    )
    return Fp8Products(layers)


def coded_layers(model: VisionLanguageModel) -> list[nn.Linear]:
    """The language model's own linear layers: no adapter's, whose sides are short, and not the head."""
    layers = [module for module in model.language_model.layers.modules() if type(module) is nn.Linear]
    return [one for one in layers if not any(side % _STEP for side in one.weight.shape) and min(one.weight.shape) > 64]


def off_by(layer: nn.Linear) -> float:
    """How far off a layer's result is on normal inputs, as a share of its norm."""
    with torch.no_grad():
        generator = torch.Generator().manual_seed(0)
        states = torch.randn(64, layer.in_features, generator=generator).to(layer.weight)
        exact = states.float() @ layer.weight.float().T
        coded = coded_product(states, layer.weight, layer.weight.dtype)
        return float((coded - exact).norm() / exact.norm())


def missing_for(device: torch.device, dtype: torch.dtype) -> str:
    """Why such products cannot be had; "" where they can."""
    if device.type != "cuda":
        return f"8-bit floats are multiplied by GPUs, and the model is on {device.type}"
    if dtype != torch.bfloat16:
        return f"the products are in bfloat16, and the model in {dtype} (model.dtype=bfloat16)"
    if torch.cuda.get_device_capability(device) < (8, 9):
        return f"{torch.cuda.get_device_name(device)} has no 8-bit floats (compute capability 8.9 has: Ada, Hopper)"
    return ""
