"""Patches to vectors as one matrix product, which is what a convolution that never overlaps is."""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers import PreTrainedModel


class PatchProjection(nn.Module):
    """A convolution over inputs of exactly its kernel's size, (patches, channels, time, height, width).

    The general kernels take two to three times as long for it as the product does. A picture that stands in all frames
    of its patches, one memory for all of them, is multiplied once by the sum of the frames' weights: in fp32, where the
    sum is not rounded much.
    """

    def __init__(self, convolution: nn.Conv3d) -> None:
        """Takes over the weights, under the same names, and the mode."""
        super().__init__()
        self.training = convolution.training
        self.weight = convolution.weight
        self.bias = convolution.bias

    def forward(self, patches: Tensor) -> Tensor:
        """Shape (patches, output channels, 1, 1, 1)."""
        weight = self.weight
        if patches.stride(2) == 0 and weight.dtype == torch.float32:
            patches, weight = patches[:, :, 0], weight.sum(dim=2)
        return linear(patches.flatten(1), weight.flatten(1), self.bias)[..., None, None, None]


def project_by_product(hf: PreTrainedModel) -> None:
    """Lets the vision towers that cut their pixels into patches beforehand embed these by a product; same weights."""
    for name, module in [*hf.named_modules()]:
        if name.endswith("patch_embed.proj") and type(module) is nn.Conv3d:
            hf.set_submodule(name, PatchProjection(module))
