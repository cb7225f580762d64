"""Frozen linear layers in 8 bits: blocks of a row share a scale, and products see some rows in full at once.

As in QLoRA (arXiv 2305.14314) the base of an adapter takes a quarter of its memory in fp32, or half of it in bf16, and
gradients go through it to the adapter. A weight of a block whose largest is m is off by m / 254 at most.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int8
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from saccade.errors import UserError
from saccade.models.lora import LoraSettings, matching_names

BLOCK = 128
"""Neighbouring weights of a row that share a scale; a row that is no multiple has one scale."""
BYTES = 1 + 4 / BLOCK
"""Of a weight."""
_AT_ONCE = 1 << 22
"""Weights that are in full at once."""
_PROBE = "The quick brown fox looks at 12 red plates, 7 blue cups and a map of {x: [3, 40], y: 5}."


class EightBitLinear(nn.Linear):
    """A linear layer without gradients of its own; ``weight`` is made when it is asked for."""

    codes: Int8[Tensor, "outputs inputs"]
    scales: Float[Tensor, "outputs blocks"]

    def __init__(self, layer: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.out_features, self.in_features = layer.weight.shape
        self.dtype = layer.weight.dtype
        codes, scales = eight_bit_codes(layer.weight.detach())
        self.register_buffer("codes", codes)
        self.register_buffer("scales", scales)
        bias = None if layer.bias is None else nn.Parameter(layer.bias.detach().clone(), requires_grad=False)
        self.register_parameter("bias", bias)

    @property
    def weight(self) -> Float[Tensor, "outputs inputs"]:  # type: ignore[override]
        """All weights in the precision that the layer had; what is written into them is lost."""
        return torch.cat(list(self.rows(self.dtype)))

    def rows(self, dtype: torch.dtype) -> Iterator[Float[Tensor, "rows inputs"]]:
        """The weights, some rows after the other."""
        count = max(1, _AT_ONCE // self.in_features)
        blocks = self.scales.shape[1]
        for codes, scales in zip(torch.split(self.codes, count), torch.split(self.scales, count), strict=True):
            in_blocks = codes.view(len(codes), blocks, -1).to(torch.float32)
            yield in_blocks.mul_(scales[:, :, None]).view(len(codes), -1).to(dtype)

    def forward(self, x: Float[Tensor, "... inputs"]) -> Float[Tensor, "... outputs"]:
        product: Tensor = _Product.apply(x, self)  # type: ignore[no-untyped-call]
        return product if self.bias is None else product + self.bias

    def _save_to_state_dict(self, destination: dict[str, Any], prefix: str, keep_vars: bool) -> None:
        # As any linear layer's: who copies the weights elsewhere, adds an adapter or hashes them asks for these.
        destination[f"{prefix}weight"] = self.weight
        if self.bias is not None:
            destination[f"{prefix}bias"] = self.bias if keep_vars else self.bias.detach()


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Float[Tensor, "... inputs"], layer: EightBitLinear) -> Float[Tensor, "... outputs"]:
        ctx.layer = layer
        flat = x.reshape(-1, layer.in_features)
        parts = [flat @ rows.t() for rows in layer.rows(x.dtype)]
        return torch.cat(parts, dim=1).view(*x.shape[:-1], layer.out_features)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        [gradient] = gradients
        layer: EightBitLinear = ctx.layer
        flat = gradient.reshape(-1, layer.out_features)
        found, start = flat.new_zeros(len(flat), layer.in_features), 0
        for rows in layer.rows(gradient.dtype):
            found.addmm_(flat[:, start : start + len(rows)], rows)
            start += len(rows)
        return found.view(*gradient.shape[:-1], layer.in_features), None


def eight_bit_codes(
    weight: Float[Tensor, "outputs inputs"],
) -> tuple[Int8[Tensor, "outputs inputs"], Float[Tensor, "outputs blocks"]]:
    """Codes from -127 to 127 and the scale of each block, in fp32: weight = code * scale, to half a scale."""
    outputs, inputs = weight.shape
    size = BLOCK if inputs % BLOCK == 0 else inputs
    codes, scales = [], []
    for rows in torch.split(weight, max(1, _AT_ONCE // inputs)):
        blocks = rows.float().view(len(rows), -1, size)
        largest = blocks.abs().amax(dim=2)
        scale = torch.where(largest > 0, largest, 127.0) / 127
        codes.append((blocks / scale[:, :, None]).round_().to(torch.int8).view(len(rows), inputs))
        scales.append(scale)
    return torch.cat(codes), torch.cat(scales).view(outputs, -1)


@dataclass(frozen=True, kw_only=True, slots=True)
class EightBitReport:
    """What 8 bits save, and what they change."""

    layers: int
    saved_bytes: int
    kept_bytes: int
    probability_error: float
    """Largest change of a token's probability in a text."""
    kl: float
    """KL(full || 8 bits) per token of that text, in nats."""

    def __str__(self) -> str:
        return (
            f"{self.layers} frozen linear layers are in 8 bits, {self.kept_bytes / 1e6:,.1f} MB in the place of "
            f"{(self.kept_bytes + self.saved_bytes) / 1e6:,.1f}; on a text the next tokens' distributions are off by "
            f"{self.kl:.1e} nats (KL), a probability by {self.probability_error:.1e} at most"
        )


def put_in_eight_bits(hf: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, lora: LoraSettings) -> EightBitReport:
    """Puts the linear layers that ``lora.targets`` matches into 8 bits, and compares.

    UserError where there are none.
    """
    names = [
        name
        for name in matching_names(lora.targets, [name for name, _ in hf.named_modules()])
        if type(hf.get_submodule(name)) is nn.Linear
    ]
    if not names:
        raise UserError("frozen_weights=int8: the language model has no linear layer to put into 8 bits; use full")
    ids = torch.tensor([tokenizer.encode(_PROBE, add_special_tokens=False)])
    before = _distributions(hf, ids)
    whole = kept = 0
    for name in names:
        layer = hf.get_submodule(name)
        assert isinstance(layer, nn.Linear)
        whole += layer.weight.numel() * layer.weight.element_size()
        made = EightBitLinear(layer)
        kept += made.codes.numel() + 4 * made.scales.numel()
        hf.set_submodule(name, made)
    after = _distributions(hf, ids)
    return EightBitReport(
        layers=len(names),
        saved_bytes=whole - kept,
        kept_bytes=kept,
        probability_error=float((before.exp() - after.exp()).abs().max()),
        kl=float((before.exp() * (before - after)).sum(dim=-1).mean()),
    )


@torch.no_grad()
def _distributions(hf: PreTrainedModel, ids: Tensor) -> Float[Tensor, "rows tokens vocabulary"]:
    logits: Tensor = hf(input_ids=ids.to(hf.device)).logits
    return logits.float().log_softmax(dim=-1)


def refuse_eight_bit(hf: PreTrainedModel, what: str) -> None:
    """UserError for a model with layers in 8 bits; ``what`` says what their weights cannot be used for."""
    if any(isinstance(module, EightBitLinear) for module in hf.modules()):
        raise UserError(
            f"frozen_weights=int8: {what}; layers in 8 bits stay as they are. Set rl.optimizer.lora.rank=16 (or the "
            "same adapter in all stages), or frozen_weights=full"
        )
