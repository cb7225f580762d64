"""AdamW whose moments take one byte per weight (Dettmers et al. 2022, arXiv 2110.02861)."""

import logging
import math
import os
import shutil
from collections.abc import Callable, Iterable
from functools import cache
from typing import cast

import torch
from jaxtyping import Float, UInt8
from torch import Tensor
from torch.utils._triton import has_triton

from saccade.models.memory import on_device
from saccade.private_folders import keep_compiled_code_private

_BLOCK = 256
"""Neighbouring values that share a scale, so that one outlier costs only its neighbours their precision."""
_SMALLEST = 4096
"""Weights with fewer values keep fp32 moments: norms and biases are few and sensitive."""
_CHUNK = 1 << 22
"""Values updated at once; a multiple of the block. It bounds what a step needs beside the state."""
_EPSILON = 1e-8

logger = logging.getLogger(__name__)


class EightBitAdamW(torch.optim.Optimizer):
    """As ``torch.optim.AdamW`` on fp32 weights, with moments in blocks of 8-bit codes and one scale."""

    def __init__(
        self,
        params: Iterable[Tensor] | Iterable[dict[str, object]],
        *,
        lr: float,
        betas: tuple[float, float],
        weight_decay: float,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            for weight in group["params"]:
                if weight.grad is not None:
                    self._step(weight, weight.grad, group["lr"], group["betas"], group["weight_decay"])

    def _step(
        self,
        weight: Float[Tensor, "..."],
        gradient: Float[Tensor, "..."],
        rate: float,
        betas: tuple[float, float],
        weight_decay: float,
    ) -> None:
        state = self.state[weight]
        if not state:
            state["step"] = torch.zeros(())
            state |= _empty("first", weight) | _empty("second", weight)
        state["step"] += 1
        step = int(state["step"])
        first_correction, second_correction = 1.0 - betas[0] ** step, 1.0 - betas[1] ** step
        values, gradient = weight.view(-1), gradient.reshape(-1)
        if "first_scales" in state and values.numel() % _BLOCK == 0 and _steps_at_once(weight):
            numbers = betas[0], betas[1], rate, rate * weight_decay, first_correction, second_correction
            _step_at_once(values, gradient, state, on_device(numbers, weight.device, torch.float32))
            return
        for start in range(0, values.numel(), _CHUNK):
            part = slice(start, start + _CHUNK)
            first = _read(state, "first", part).lerp_(gradient[part], 1.0 - betas[0])
            second = _read(state, "second", part).mul_(betas[1])
            second.addcmul_(gradient[part], gradient[part], value=1.0 - betas[1])
            _write(state, "first", part, first)
            _write(state, "second", part, second)
            # The step is taken with what was worked out, not with what its codes remember of it.
            scale = second.sqrt_().div_(math.sqrt(second_correction)).add_(_EPSILON)
            values[part].mul_(1.0 - rate * weight_decay).addcdiv_(first, scale, value=-rate / first_correction)

    def load_state_dict(self, state_dict: dict[str, object]) -> None:
        """As torch does it, but codes stay bytes: torch gives all state the precision of the weight for a while."""
        saved = cast(dict[int, dict[str, Tensor]], state_dict["state"])
        without = {
            index: {name: value for name, value in state.items() if value.dtype != torch.uint8}
            for index, state in saved.items()
        }
        super().load_state_dict({**state_dict, "state": without})
        # torch numbers the weights in the order of their groups.
        weights = [weight for group in self.param_groups for weight in group["params"]]
        for index, state in saved.items():
            weight = weights[index]
            loaded = self.state[weight]
            # In the order in which they were saved, so that the next checkpoint has the same bytes.
            self.state[weight] = {
                name: value.to(weight.device) if value.dtype == torch.uint8 else loaded[name]
                for name, value in state.items()
            }


@cache
def code_values(*, signed: bool) -> tuple[float, ...]:
    """The 256 numbers within [-1, 1], or [0, 1], that a code may stand for, ascending.

    Each decade towards zero has half as many as the one above it: moments spread over many orders of magnitude, and
    the large ones matter most.
    """
    magnitudes: list[float] = []
    for decade in range(7):
        count = 2 ** ((6 if signed else 7) - decade)
        magnitudes += [(0.1 + 0.9 * (index + 0.5) / count) * 10.0**-decade for index in range(count)]
    mirrored = [-value for value in magnitudes] if signed else []
    return tuple(sorted([*mirrored, 0.0, *magnitudes, 1.0]))


@cache
def _table(device: torch.device, *, signed: bool) -> Float[Tensor, "codes=256"]:
    """``code_values`` on a device, sent there once."""
    # Also for gradients where the first to ask has none.
    with torch.inference_mode(mode=False):
        return torch.tensor(code_values(signed=signed), device=device)


def quantize(
    values: Float[Tensor, "values"], *, signed: bool
) -> tuple[UInt8[Tensor, "values"], Float[Tensor, "blocks"]]:
    """Codes and scales: each value becomes the nearest one that a code stands for."""
    padded = torch.nn.functional.pad(values, (0, -values.numel() % _BLOCK)).view(-1, _BLOCK)
    scales = padded.abs().amax(dim=1)
    # A block of zeros has no largest value to divide by.
    relative = padded / torch.where(scales > 0, scales, 1.0)[:, None]
    known = _table(values.device, signed=signed)
    between = (known[1:] + known[:-1]) / 2
    return torch.bucketize(relative, between, out_int32=True).to(torch.uint8).view(-1)[: values.numel()], scales


def dequantize(
    codes: UInt8[Tensor, "values"], scales: Float[Tensor, "blocks"], *, signed: bool
) -> Float[Tensor, "values"]:
    """fp32 values of codes and the scales of their blocks."""
    known = _table(codes.device, signed=signed)
    return known[codes.int()] * scales.repeat_interleave(_BLOCK)[: codes.numel()]


def _step_at_once(
    values: Float[Tensor, "values"],
    gradient: Float[Tensor, "values"],
    state: dict[str, Tensor],
    numbers: Float[Tensor, "numbers=6"],
) -> None:
    """A step of whole blocks compiled into one kernel, which reads and writes each of their bytes once.

    The dozens of kernels of the other way took most of a training step on a GPU.
    """
    _compiled_step()(
        values.view(-1, _BLOCK),
        gradient.view(-1, _BLOCK),
        state["first"].view(-1, _BLOCK),
        state["first_scales"],
        state["second"].view(-1, _BLOCK),
        state["second_scales"],
        _table(values.device, signed=True),
        _table(values.device, signed=False),
        numbers,
    )


def _steps_at_once(weight: Tensor) -> bool:
    return weight.device.type == "cuda" and _can_compile()


@cache
def _can_compile() -> bool:
    can: bool = has_triton() and any(shutil.which(one) for one in (os.environ.get("CC", "cc"), "gcc", "clang"))
    if not can:
        logger.warning("steps of the 8-bit optimizer are many times faster with Triton and a C compiler; install both")
    return can


@cache
def _compiled_step() -> Callable[..., None]:
    keep_compiled_code_private()
    return torch.compile(step_of_blocks, dynamic=True)


def step_of_blocks(
    values: Float[Tensor, "blocks block"],
    gradient: Float[Tensor, "blocks block"],
    first_codes: UInt8[Tensor, "blocks block"],
    first_scales: Float[Tensor, "blocks"],
    second_codes: UInt8[Tensor, "blocks block"],
    second_scales: Float[Tensor, "blocks"],
    signed: Float[Tensor, "codes"],
    unsigned: Float[Tensor, "codes"],
    numbers: Float[Tensor, "numbers=6"],
) -> None:
    """AdamW's step in place; ``numbers`` are both betas, the rate, rate times weight decay, and both corrections."""
    first_beta, second_beta, rate, decay, first_correction, second_correction = numbers.unbind()
    first = signed[first_codes.int()] * first_scales[:, None]
    first = first + (gradient - first) * (1.0 - first_beta)
    second = unsigned[second_codes.int()] * second_scales[:, None]
    second = second * second_beta + gradient * gradient * (1.0 - second_beta)
    for moment, table, codes, scales in (
        (first, signed, first_codes, first_scales),
        (second, unsigned, second_codes, second_scales),
    ):
        largest = moment.abs().amax(dim=1)
        relative = moment / torch.where(largest > 0, largest, 1.0)[:, None]
        codes.copy_(torch.bucketize(relative, (table[1:] + table[:-1]) / 2, out_int32=True).to(torch.uint8))
        scales.copy_(largest)
    scale = (second / second_correction).sqrt() + _EPSILON
    values.copy_(values * (1.0 - decay) - first / scale * (rate / first_correction))


def _empty(name: str, weight: Float[Tensor, "..."]) -> dict[str, Tensor]:
    count = weight.numel()
    if count < _SMALLEST:
        return {name: torch.zeros(count, device=weight.device)}
    zero = code_values(signed=name == "first").index(0.0)
    return {
        name: torch.full((count,), zero, dtype=torch.uint8, device=weight.device),
        f"{name}_scales": torch.zeros(math.ceil(count / _BLOCK), device=weight.device),
    }


def _read(state: dict[str, Tensor], name: str, part: slice) -> Float[Tensor, "part"]:
    if f"{name}_scales" not in state:
        return state[name][part].clone()
    scales = state[f"{name}_scales"][part.start // _BLOCK : part.stop // _BLOCK]
    return dequantize(state[name][part], scales, signed=name == "first")


def _write(state: dict[str, Tensor], name: str, part: slice, values: Float[Tensor, "part"]) -> None:
    if f"{name}_scales" not in state:
        state[name][part] = values
        return
    codes, scales = quantize(values, signed=name == "first")
    state[name][part] = codes
    state[f"{name}_scales"][part.start // _BLOCK : part.stop // _BLOCK] = scales
