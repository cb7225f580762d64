"""Features of images under a frozen vision tower: the same at every step, so they are worked out once and kept."""

from collections import OrderedDict
from collections.abc import Sequence

import torch

from saccade.models.families.family import ImageFeatures
from saccade.models.vlm import VisionLanguageModel
from saccade.native import encode_images
from saccade.types import ImageRef

CAPACITY_BYTES = 512 << 20


class FrozenImages:
    """Encodes images without a graph and keeps the features used last, within a bound on their bytes.

    Each image is encoded alone, so that its features do not depend on what was kept: a resumed run, which begins with
    nothing, goes on with the same bytes.
    """

    def __init__(self, model: VisionLanguageModel, *, capacity_bytes: int = CAPACITY_BYTES) -> None:
        self.encoded = 0
        """Images that went through the vision tower so far."""
        self._model = model
        self._capacity_bytes = capacity_bytes
        self._held_bytes = 0
        self._kept: OrderedDict[str, ImageFeatures] = OrderedDict()

    def encode(self, images: Sequence[ImageRef]) -> list[ImageFeatures]:
        """Features of each image, in order."""
        found = [self._one(image) for image in images]
        while self._held_bytes > self._capacity_bytes:
            _, dropped = self._kept.popitem(last=False)
            self._held_bytes -= _size_bytes(dropped)
        return found

    def _one(self, image: ImageRef) -> ImageFeatures:
        kept = self._kept.get(image.hash)
        if kept is None:
            with torch.no_grad():
                [kept] = encode_images(self._model, [image])
            self.encoded += 1
            self._kept[image.hash] = kept
            self._held_bytes += _size_bytes(kept)
        self._kept.move_to_end(image.hash)
        return kept


def _size_bytes(features: ImageFeatures) -> int:
    return features.tokens.nbytes + sum(layer.nbytes for layer in features.deepstack)
