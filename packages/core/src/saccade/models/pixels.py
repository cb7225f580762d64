"""Pixels as a vision tower takes them: prepared once per image, and embedded as patches by one matrix product."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, Protocol

import torch
from cachetools import LRUCache
from jaxtyping import Float, Shaped
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import linear
from transformers import PreTrainedModel

from saccade.media.store import MediaStore
from saccade.types import ImageRef


@dataclass(frozen=True, kw_only=True, slots=True)
class Patches:
    """One image's pixels in the pieces that its family encodes."""

    values: Float[Tensor, "patches *pixels"]
    """Patches (channels * patch area) of a still picture, (channels * frames * patch area) of joined frames of a video;
    or tiles (channels, height, width)."""
    rows: int
    """Rows of patches, before they are merged to tokens; or of tiles, which form one column; or of the picture's own
    pixels, where its padding is cut off behind the tower."""
    columns: int
    times: int = 1
    """Patches along time of a whole video, whose ``values`` are those of one after the other."""


class ImageProcessor(Protocol):
    """The part of transformers' image processors that is used here. Each family's has some of the attributes only."""

    patch_size: int
    merge_size: int
    temporal_patch_size: int
    min_patches: int
    max_patches: int
    size: dict[str, int]
    image_grid_pinpoints: list[list[int]]

    def save_pretrained(self, save_directory: Path) -> object: ...

    def __call__(
        self, *, images: list[Image.Image], return_tensors: str, crop_to_patches: bool = ..., do_resize: bool = ...
    ) -> dict[str, Tensor]: ...


class PatchCache:
    """Patches by content hash, least recently used first out; safe to use from several threads."""

    def __init__(
        self,
        prepare: Callable[[Image.Image], Patches],
        prepare_frames: Callable[[Sequence[Image.Image]], Patches],
        media: MediaStore,
        *,
        capacity_bytes: int = 256 << 20,
    ) -> None:
        self.media = media
        self.processed = 0
        """Images run through the processor so far."""
        self._prepare = prepare
        self._prepare_frames = prepare_frames
        self._patches: LRUCache[ImageRef, Patches] = LRUCache(capacity_bytes, getsizeof=lambda held: held.values.nbytes)
        self._lock = Lock()

    def get(self, images: Sequence[ImageRef]) -> list[Patches]:
        with self._lock:
            return [self._one(image) for image in images]

    def _one(self, image: ImageRef) -> Patches:
        held = self._patches.get(image)
        if held is not None:
            return held
        picture = self.media.get(image)
        if image.frames == 1:
            patches = self._prepare(picture)
        else:
            # Most runs show no video so.
            from saccade.media.joined_frames import frames_of

            patches = self._prepare_frames(frames_of(picture, image.frames))
        self.processed += 1
        if patches.values.nbytes <= self._patches.maxsize:
            self._patches[image] = patches
        return patches


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

    def forward(
        self, patches: Float[Tensor, "patches channels time height width"]
    ) -> Float[Tensor, "patches outputs 1 1 1"]:
        weight = self.weight
        if patches.stride(2) == 0 and weight.dtype == torch.float32:
            patches, weight = patches[:, :, 0], weight.sum(dim=2)
        return linear(patches.flatten(1), weight.flatten(1), self.bias)[..., None, None, None]


def project_by_product(hf: PreTrainedModel) -> None:
    """Lets the vision towers that cut their pixels into patches beforehand embed these by a product; same weights."""
    for name, module in [*hf.named_modules()]:
        if name.endswith("patch_embed.proj") and type(module) is nn.Conv3d:
            hf.set_submodule(name, PatchProjection(module))


def add_at_places(language_model: Any) -> None:
    """Lets one that adds features of pictures to the states after its first layers take places in a mask's stead."""
    own = getattr(language_model, "_deepstack_process", None)
    if own is not None:
        language_model._deepstack_process = partial(_added, own)


def _added(
    own: Callable[[Tensor, Tensor, Tensor], Tensor],
    states: Float[Tensor, "rows tokens hidden"],
    where: Shaped[Tensor, "..."],
    features: Float[Tensor, "image_tokens hidden"],
) -> Float[Tensor, "rows tokens hidden"]:
    """``where`` is a mask (rows, tokens), or the places where it would be true, as ``Embedded`` has them."""
    if where.dtype == torch.bool:
        return own(states, where, features)
    return states.flatten(0, 1).index_add(0, where, features.to(states.dtype)).view_as(states)
