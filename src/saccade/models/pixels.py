"""Pixels as a vision tower takes them, worked out once per image."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Protocol

import torch
from torch import Tensor

from saccade.media.store import MediaStore
from saccade.types import ImageRef


@dataclass(frozen=True, kw_only=True, slots=True)
class Patches:
    """One image's flattened patches, shape (patches, channels * patch area), and its patch grid."""

    values: Tensor
    rows: int
    columns: int


class ImageProcessor(Protocol):
    """The part of a transformers image processor that is needed."""

    patch_size: int
    merge_size: int
    size: dict[str, int]

    def save_pretrained(self, save_directory: Path) -> object: ...

    def __call__(self, *, images: list[object], return_tensors: str) -> dict[str, Tensor]: ...


class PatchCache:
    """Patches by content hash, least recently used first out; safe to use from several threads."""

    def __init__(self, processor: ImageProcessor, media: MediaStore, *, capacity_bytes: int = 256 << 20) -> None:
        self.processor = processor
        self.media = media
        self.processed = 0
        """Images run through the processor so far."""
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
        made = self.processor(images=[self.media.get(image)], return_tensors="pt")
        _, rows, columns = (int(side) for side in made["image_grid_thw"][0])
        patches = Patches(values=made["pixel_values"].to(torch.float32), rows=rows, columns=columns)
        self.processed += 1
        self._patches[image.hash] = patches
        self._held_bytes += patches.values.nbytes
        while self._held_bytes > self._capacity_bytes and len(self._patches) > 1:
            _, dropped = self._patches.popitem(last=False)
            self._held_bytes -= dropped.values.nbytes
        return patches
