"""Image features by content hash, so that an image is encoded once per policy version."""

from collections import OrderedDict
from collections.abc import Sequence

import torch

from saccade.models.families.family import ImageFeatures
from saccade.models.vlm import VisionLanguageModel
from saccade.native import encode_images
from saccade.types import ImageRef


def _size_bytes(features: ImageFeatures) -> int:
    return features.tokens.nbytes + sum(layer.nbytes for layer in features.deepstack)


class FeatureCache:
    """Features of the images last used, within a bound on their bytes; cleared when the weights change."""

    def __init__(self, model: VisionLanguageModel, *, capacity_bytes: int, one_by_one: bool = False) -> None:
        """``one_by_one`` encodes every image by itself, so that its features depend on nothing else."""
        self.encoded = 0
        """Images that went through the vision tower so far."""
        self._model = model
        self._capacity_bytes = capacity_bytes
        self._held_bytes = 0
        self._one_by_one = one_by_one
        self._features: OrderedDict[str, ImageFeatures] = OrderedDict()

    def get(self, images: Sequence[ImageRef]) -> list[ImageFeatures]:
        """Features of each image, in order; those not held are encoded, each once."""
        missing = list({image.hash: image for image in images if image.hash not in self._features}.values())
        # The model caches pixels on the way, and a training forward must be able to save those: no inference tensors.
        with torch.inference_mode(False), torch.no_grad():
            parts = [[image] for image in missing] if self._one_by_one else [missing]
            encoded = [features for part in parts for features in encode_images(self._model, part)]
        for image, features in zip(missing, encoded):
            self._features[image.hash] = features
            self._held_bytes += _size_bytes(features)
        self.encoded += len(missing)
        found = [self._features[image.hash] for image in images]
        for image in images:
            self._features.move_to_end(image.hash)
        self._shrink()
        return found

    def clear(self) -> None:
        self._features.clear()
        self._held_bytes = 0

    def _shrink(self) -> None:
        while self._held_bytes > self._capacity_bytes and self._features:
            _, dropped = self._features.popitem(last=False)
            self._held_bytes -= _size_bytes(dropped)
