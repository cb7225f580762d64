"""Pixels as a vision tower takes them, worked out once per image."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Protocol

from PIL import Image
from torch import Tensor

from saccade.media.store import MediaStore
from saccade.types import ImageRef


@dataclass(frozen=True, kw_only=True, slots=True)
class Patches:
    """One image's pixels in the pieces that its family encodes."""

    values: Tensor
    """Shape (patches, channels * patch area) of one frame; of tiles (tiles, channels, height, width)."""
    rows: int
    """Rows of patches, before they are merged to tokens; or of tiles, which form one column."""
    columns: int


class ImageProcessor(Protocol):
    """What is needed of the image processors in transformers. Each family's has some of the attributes only."""

    patch_size: int
    merge_size: int
    temporal_patch_size: int
    min_patches: int
    max_patches: int
    size: dict[str, int]

    def save_pretrained(self, save_directory: Path) -> object: ...

    def __call__(
        self, *, images: list[Image.Image], return_tensors: str, crop_to_patches: bool = ...
    ) -> dict[str, Tensor]: ...


class PatchCache:
    """Patches by content hash, least recently used first out; safe to use from several threads."""

    def __init__(
        self, prepare: Callable[[Image.Image], Patches], media: MediaStore, *, capacity_bytes: int = 256 << 20
    ) -> None:
        self.media = media
        self.processed = 0
        """Images run through the processor so far."""
        self._prepare = prepare
        self._capacity_bytes = capacity_bytes
        self._held_bytes = 0
        self._patches: OrderedDict[str, Patches] = OrderedDict()
        self._lock = Lock()

    def get(self, images: Sequence[ImageRef]) -> list[Patches]:
        with self._lock:
            return [self._one(image) for image in images]

    def _one(self, image: ImageRef) -> Patches:
        held = self._patches.get(image.hash)
        if held is not None:
            self._patches.move_to_end(image.hash)
            return held
        patches = self._prepare(self.media.get(image))
        self.processed += 1
        self._patches[image.hash] = patches
        self._held_bytes += patches.values.nbytes
        while self._held_bytes > self._capacity_bytes and len(self._patches) > 1:
            _, dropped = self._patches.popitem(last=False)
            self._held_bytes -= dropped.values.nbytes
        return patches
