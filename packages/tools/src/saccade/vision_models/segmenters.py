"""Segmenters that cut a thing out by a box or by points: SAM and SAM 2."""

import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor
from transformers import Sam2Model, SamModel
from transformers.models.sam.image_processing_pil_sam import SamImageProcessorPil

from saccade.errors import UserError
from saccade.geometry import Mask
from saccade.models.checkpoint import read_checkpoint_json
from saccade.models.loading import LoadSettings
from saccade.vision_models.checkpoints import load_pixels, load_weights, on_device
from saccade.vision_models.kinds import SEGMENTERS, Segmentation, SegmentationRequest, Segmenter, check_kind

_IMAGENET_MEAN, _IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def load_segmenter(path: Path, settings: LoadSettings = LoadSettings()) -> Segmenter:
    """The segmenter that a checkpoint directory holds; UserError says what is wrong with it."""
    kind = check_kind(path, SEGMENTERS, "segmenter")
    return Sam(path, settings) if kind == "sam" else Sam2(path, settings)


class Sam:
    """Resizes a picture until its longer side fits and fills the square up at the right or at the bottom."""

    def __init__(self, path: Path, settings: LoadSettings = LoadSettings()) -> None:
        self._model = load_weights(path, SamModel, settings)
        self._pixels = load_pixels(path, SamImageProcessorPil)
        self._lock = threading.Lock()

    def segment_batch(self, requests: Sequence[SegmentationRequest]) -> list[Segmentation]:
        """The best region for each request; all pictures are encoded in one forward pass."""
        if not requests:
            return []
        with self._lock:
            return self._segment(requests)

    @torch.inference_mode()
    def _segment(self, requests: Sequence[SegmentationRequest]) -> list[Segmentation]:
        pixels = self._pixels([request.image for request in requests], return_tensors="pt")
        encoded = self._model.get_image_embeddings(pixels["pixel_values"].to(self._model.device, self._model.dtype))
        results = []
        for index, (request, resized) in enumerate(zip(requests, pixels["reshaped_input_sizes"].tolist())):
            scale = resized[1] / request.image.width, resized[0] / request.image.height
            outputs = self._model(
                image_embeddings=encoded[index : index + 1], **on_device(_prompt(request, scale), self._model)
            )
            masks = self._pixels.post_process_masks(
                [outputs.pred_masks[0].float().cpu()], [_size(request.image)], [resized], binarize=False
            )
            results.append(_best(masks[0][0], outputs.iou_scores[0, 0]))
        return results


class Sam2:
    """Resizes a picture to a square.

    transformers' own image processor for it needs torchvision; what it does is a resizing and a normalisation, done
    here with torch alone.
    """

    def __init__(self, path: Path, settings: LoadSettings = LoadSettings()) -> None:
        self._model = load_weights(path, Sam2Model, settings)
        self._side_px, self._mean, self._std = _square(path, self._model)
        self._lock = threading.Lock()

    def segment_batch(self, requests: Sequence[SegmentationRequest]) -> list[Segmentation]:
        """The best region for each request; all pictures are encoded in one forward pass."""
        if not requests:
            return []
        with self._lock:
            return self._segment(requests)

    @torch.inference_mode()
    def _segment(self, requests: Sequence[SegmentationRequest]) -> list[Segmentation]:
        pixels = torch.cat([self._view(request.image) for request in requests])
        encoded = self._model.get_image_embeddings(pixels.to(self._model.device, self._model.dtype))
        results = []
        for index, request in enumerate(requests):
            scale = self._side_px / request.image.width, self._side_px / request.image.height
            outputs = self._model(
                image_embeddings=[features[index : index + 1] for features in encoded],
                **on_device(_prompt(request, scale), self._model),
            )
            masks = torch.nn.functional.interpolate(
                outputs.pred_masks[0].float().cpu(), _size(request.image), mode="bilinear", align_corners=False
            )
            results.append(_best(masks[0], outputs.iou_scores[0, 0]))
        return results

    def _view(self, image: Image.Image) -> Tensor:
        """Pixels of shape (1, 3, side, side)."""
        colors = torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1)[None].float()
        square = torch.nn.functional.interpolate(
            colors, (self._side_px, self._side_px), mode="bilinear", align_corners=False, antialias=True
        )
        # As after a resizing of bytes, which is how the model was trained.
        return (square.round().clamp(0, 255) / 255 - self._mean) / self._std


def _prompt(request: SegmentationRequest, scale: tuple[float, float]) -> dict[str, Tensor]:
    """The box and the points, in pixels of the model's view; every point is on the thing."""
    across, down = scale
    inputs = {}
    if request.box is not None:
        x1, y1, x2, y2 = request.box.as_tuple()
        inputs["input_boxes"] = torch.tensor([[[x1 * across, y1 * down, x2 * across, y2 * down]]])
    if request.points:
        inputs["input_points"] = torch.tensor([[[[point.x * across, point.y * down] for point in request.points]]])
        inputs["input_labels"] = torch.ones(1, 1, len(request.points), dtype=torch.int64)
    return inputs


def _best(masks: Tensor, scores: Tensor) -> Segmentation:
    """From logits of shape (candidate, height, width) and scores of shape (candidate,)."""
    best = int(scores.argmax(dim=0))
    mask = Mask.from_array((masks[best] > 0).numpy())
    return Segmentation(mask=mask, score=float(scores[best]))


def _size(image: Image.Image) -> tuple[int, int]:
    return image.height, image.width


def _square(path: Path, model: Any) -> tuple[int, Tensor, Tensor]:
    """The side of the view, and mean and deviation of its colours, each of shape (3, 1, 1)."""
    said = _preprocessing(path)
    mean, std = said.get("image_mean", _IMAGENET_MEAN), said.get("image_std", _IMAGENET_STD)
    backbone = model.config.vision_config.backbone_config
    sides = backbone.image_size
    side = int(sides if isinstance(sides, int) else sides[0])
    size = said.get("size", {"height": side, "width": side})
    if size != {"height": side, "width": side}:
        raise UserError(
            f"{path}: the model sees {side} x {side} px, but preprocessor_config.json says {size}; copy the files of "
            "one checkpoint"
        )
    return side, torch.tensor(mean).reshape(3, 1, 1), torch.tensor(std).reshape(3, 1, 1)


def _preprocessing(path: Path) -> Mapping[str, Any]:
    file = path / "preprocessor_config.json"
    if not file.is_file():
        return {}
    said = read_checkpoint_json(file)
    return said if isinstance(said, dict) else {}
