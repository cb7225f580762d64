"""Detectors that find things by any names: GroundingDINO and OWLv2."""

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import torch
from torch import Tensor
from transformers import GroundingDinoForObjectDetection, Owlv2ForObjectDetection
from transformers.models.grounding_dino.image_processing_pil_grounding_dino import GroundingDinoImageProcessorPil
from transformers.models.owlv2.image_processing_pil_owlv2 import Owlv2ImageProcessorPil

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.models.loading import LoadSettings
from saccade.vision_models.checkpoints import load_pixels, load_tokenizer, load_weights, on_device
from saccade.vision_models.kinds import DETECTORS, Detection, DetectionRequest, Detector, check_kind


def load_detector(path: Path, settings: LoadSettings = LoadSettings()) -> Detector:
    """The detector that a checkpoint directory holds; UserError says what is wrong with it."""
    kind = check_kind(path, DETECTORS, "detector")
    return GroundingDino(path, settings) if kind == "grounding-dino" else Owlv2(path, settings)


class GroundingDino:
    """Scores every word of the phrases for every box."""

    def __init__(self, path: Path, settings: LoadSettings = LoadSettings()) -> None:
        self._model = load_weights(path, GroundingDinoForObjectDetection, settings)
        self._pixels = load_pixels(path, GroundingDinoImageProcessorPil)
        self._tokenizer = load_tokenizer(path)
        self._stop = self._tokenizer.convert_tokens_to_ids(".")
        if self._stop is None or self._stop == self._tokenizer.unk_token_id:
            raise UserError(f"{path}: the tokenizer has no full stop, which stands between phrases")
        self._lock = threading.Lock()

    def detect_batch(self, requests: Sequence[DetectionRequest]) -> list[list[Detection]]:
        """The detections of each request. Those whose pictures have one size share a forward pass."""
        found: list[list[Detection]] = [[] for _ in requests]
        with self._lock:
            for places in _alike(requests):
                together = [requests[place] for place in places]
                for place, detections in zip(places, self._detect(together), strict=True):
                    found[place] = detections
        return found

    @torch.inference_mode()
    def _detect(self, requests: Sequence[DetectionRequest]) -> Iterator[list[Detection]]:
        pixels = self._pixels([request.image for request in requests], return_tensors="pt")
        texts = self._tokenizer(
            [". ".join(phrase.lower() for phrase in request.phrases) + "." for request in requests],
            padding=True,
            truncation=True,
            max_length=self._model.config.max_text_len,
            return_token_type_ids=True,
            return_tensors="pt",
        )
        outputs = self._model(**on_device({**pixels, **texts}, self._model))
        for request, ids, logits, boxes in zip(requests, texts["input_ids"], outputs.logits, outputs.pred_boxes):
            scores = torch.stack(self._by_phrase(logits.float().sigmoid(), ids, len(request.phrases)), dim=-1)
            width, height = request.image.size
            yield _detections(
                request, scores, _corners(boxes.float()).cpu() * torch.tensor([width, height, width, height])
            )

    def _by_phrase(self, by_token: Tensor, ids: Tensor, count: int) -> list[Tensor]:
        """The best word's score of each phrase for each box: ``count`` tensors of shape (box,).

        Phrases end with a full stop each; one that was cut off at the end of the text is never found.
        """
        ends = [index for index, token in enumerate(ids.tolist()) if token == self._stop][:count]
        starts = [1, *(end + 1 for end in ends)]
        best = [by_token[:, start:end].amax(dim=1).cpu() for start, end in zip(starts, ends) if start < end]
        nothing = torch.zeros(len(by_token))
        return best + [nothing] * (count - len(best))


class Owlv2:
    """Scores every phrase as a whole for every box."""

    def __init__(self, path: Path, settings: LoadSettings = LoadSettings()) -> None:
        self._model = load_weights(path, Owlv2ForObjectDetection, settings)
        self._pixels = load_pixels(path, Owlv2ImageProcessorPil)
        self._tokenizer = load_tokenizer(path)
        self._lock = threading.Lock()

    def detect_batch(self, requests: Sequence[DetectionRequest]) -> list[list[Detection]]:
        """The detections of each request, all in one forward pass."""
        if not requests:
            return []
        with self._lock:
            return self._detect(requests)

    @torch.inference_mode()
    def _detect(self, requests: Sequence[DetectionRequest]) -> list[list[Detection]]:
        queries = max(len(request.phrases) for request in requests)
        # The model takes the same number of phrases for every picture; what fills up is not looked at.
        phrases = [phrase for request in requests for phrase in _filled_up(request.phrases, queries)]
        texts = self._tokenizer(
            phrases,
            padding="max_length",
            truncation=True,
            max_length=self._model.config.text_config.max_position_embeddings,
            return_attention_mask=True,
            return_tensors="pt",
        )
        pixels = self._pixels([request.image for request in requests], return_tensors="pt")
        inputs = {name: texts[name] for name in ("input_ids", "attention_mask")}
        outputs = self._model(**on_device({**pixels, **inputs}, self._model))
        results = []
        for request, logits, boxes in zip(requests, outputs.logits, outputs.pred_boxes):
            scores = logits[:, : len(request.phrases)].float().sigmoid().cpu()
            # Pictures are made square by a margin at the right or at the bottom.
            results.append(_detections(request, scores, _corners(boxes.float()).cpu() * max(request.image.size)))
        return results


def _detections(request: DetectionRequest, scores: Tensor, boxes: Tensor) -> list[Detection]:
    """From scores of shape (box, phrase) and boxes of shape (box, 4) in pixels."""
    best, phrases = scores.max(dim=1)
    detections = []
    for score, phrase, corners in zip(best.tolist(), phrases.tolist(), boxes.tolist()):
        box = Box(*corners)
        # Also false for a score that is no number.
        if score > request.box_threshold and score > request.text_threshold and box.is_ordered:
            detections.append(Detection(phrase=request.phrases[phrase], box=box, score=score))
    return detections


def _corners(boxes: Tensor) -> Tensor:
    """From (centre x, centre y, width, height) to (left, top, right, bottom)."""
    centers, halves = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([centers - halves, centers + halves], dim=-1)


def _alike(requests: Sequence[DetectionRequest]) -> list[list[int]]:
    """Places of the requests by the size of their pictures: beside a larger one a picture would get a margin."""
    by_size: dict[tuple[int, int], list[int]] = {}
    for place, request in enumerate(requests):
        by_size.setdefault(request.image.size, []).append(place)
    return list(by_size.values())


def _filled_up(phrases: Sequence[str], count: int) -> list[str]:
    return [*phrases, *[phrases[-1]] * (count - len(phrases))]
