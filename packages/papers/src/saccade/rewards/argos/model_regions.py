"""Regions of named things by models: an open-vocabulary detector or a pointing model, then a segmenter."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from PIL import Image

from saccade.errors import MachineError, SaccadeError, UserError
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.rewards.argos.regions import Masks, RegionRequest
from saccade.vision_models.kinds import (
    DetectionRequest,
    Detector,
    Pointer,
    PointingRequest,
    SegmentationRequest,
    Segmenter,
)

MAX_ASKED_CHARS = 64
"""Characters of a label that is looked for; a longer one names nothing."""

Request = TypeVar("Request")
Found = TypeVar("Found")


@dataclass(frozen=True, kw_only=True)
class RegionFinding:
    """How things are looked for."""

    box_threshold: float = 0.35
    """A thing is found when its score is higher."""
    text_threshold: float = 0.25
    max_things: int = 16
    """Maximum things of one name in a picture; the best are taken."""

    def __post_init__(self) -> None:
        for name in ("box_threshold", "text_threshold"):
            if not 0 <= getattr(self, name) <= 1:
                raise UserError(f"{name}={getattr(self, name)} must lie between 0 and 1")
        if self.max_things < 1:
            raise UserError(f"max_things={self.max_things} must be at least 1")

    def identity(self, name: str, pointer: Pointer | None) -> str:
        """The models of this name, these settings and the pointing model, as ``Regions.identity`` wants them."""
        pointed = "" if pointer is None else f", pointer {pointer.identity}"
        return f"{name}, over {self.box_threshold} and {self.text_threshold}, at most {self.max_things}{pointed}"


@dataclass(frozen=True, kw_only=True)
class ModelRegions:
    """``Regions`` by models of this process.

    A label is looked for alone, so that what is found does not depend on what else is asked, in forward passes of at
    most ``batch_size`` pictures. Each thing that is found is cut out on its own. A label that names nothing or is over
    ``MAX_ASKED_CHARS`` long is never found; a model that fails gives a MachineError for those whose pass it was.
    """

    media: MediaStore
    """Holds the pictures of the tasks."""
    name: str
    """Names the models, for ``identity``: their directories, say."""
    segmenter: Segmenter
    detector: Detector | None = None
    pointer: Pointer | None = None
    finding: RegionFinding = RegionFinding()
    batch_size: int = 16

    def __post_init__(self) -> None:
        if self.batch_size < 1:
            raise UserError(f"batch_size={self.batch_size} must be at least 1")

    @property
    def identity(self) -> str:
        return self.finding.identity(self.name, self.pointer)

    def find(self, requests: Sequence[RegionRequest], /) -> list[Masks | MachineError]:
        """The masks of each request; those of one ``key`` are asked once. UserError where no model finds such."""
        asked = {request.key: request for request in requests}
        found: dict[tuple[str, str, str], Masks | MachineError] = {}
        for chunk in _chunks([*asked.values()], self.batch_size):
            found |= dict(zip((one.key for one in chunk), self._find_regions(chunk)))
        return [found[request.key] for request in requests]

    def _find_regions(self, requests: Sequence[RegionRequest]) -> list[Masks | MachineError]:
        prompts = self._prompts(requests)
        wanted = [
            (place, prompt)
            for place, prompts_of in enumerate(prompts)
            if not isinstance(prompts_of, MachineError)
            for prompt in prompts_of
        ]
        masks: list[Masks | MachineError] = [one if isinstance(one, MachineError) else () for one in prompts]
        for some in _chunks(wanted, self.batch_size):
            cut = attempt_all(self.segmenter.segment_batch, [prompt for _, prompt in some], "segmenter")
            for (place, _), one in zip(some, cut):
                before = masks[place]
                if isinstance(before, MachineError):
                    continue
                masks[place] = one if isinstance(one, MachineError) else (*before, one.mask)
        return masks

    def _prompts(self, requests: Sequence[RegionRequest]) -> list[list[SegmentationRequest] | MachineError]:
        """What the segmenter is asked for each request: a thing each."""
        prompts: list[list[SegmentationRequest] | MachineError] = [[] for _ in requests]
        detected: list[tuple[int, Image.Image, str]] = []
        pointed: list[tuple[int, Image.Image, str]] = []
        for place, request in enumerate(requests):
            if not (label := asked_label(request.label)):
                continue
            try:
                image = self.media.get(request.image).convert("RGB")
            except (SaccadeError, KeyError, OSError) as error:
                prompts[place] = MachineError(f"the picture of {request.label!r} cannot be read: {error}")
                continue
            (pointed if request.finder == "pointer" else detected).append((place, image, label))
        for place, one in self._detection_prompts(detected):
            prompts[place] = one
        for place, one in self._pointing_prompts(pointed):
            prompts[place] = one
        return prompts

    def _detection_prompts(
        self, asked: Sequence[tuple[int, Image.Image, str]]
    ) -> Iterator[tuple[int, list[SegmentationRequest] | MachineError]]:
        if not asked:
            return
        if (detector := self.detector) is None:
            raise UserError("some tasks need a detector, but there is none; give detector=")
        requests = [
            DetectionRequest(
                image=image,
                phrases=(label,),
                box_threshold=self.finding.box_threshold,
                text_threshold=self.finding.text_threshold,
            )
            for _, image, label in asked
        ]
        found = attempt_all(detector.detect_batch, requests, "detector")
        for (place, image, _), things in zip(asked, found):
            if isinstance(things, MachineError):
                yield place, things
                continue
            best = sorted(things, key=lambda one: (-one.score, one.box.as_tuple()))
            boxes = [box for one in best if (box := box_inside(one.box, image.size)) is not None]
            yield place, [SegmentationRequest(image=image, box=box) for box in boxes[: self.finding.max_things]]

    def _pointing_prompts(
        self, asked: Sequence[tuple[int, Image.Image, str]]
    ) -> Iterator[tuple[int, list[SegmentationRequest] | MachineError]]:
        if not asked:
            return
        if (pointer := self.pointer) is None:
            raise UserError("some tasks need a pointing model, but there is none; give pointer=")
        requests = [PointingRequest(image=image, label=label) for _, image, label in asked]
        found = attempt_all(pointer.point_batch, requests, "pointing model")
        for (place, image, _), points in zip(asked, found):
            if isinstance(points, MachineError):
                yield place, points
                continue
            inside = [one for one in points if 0 <= one.x < image.width and 0 <= one.y < image.height]
            yield place, [SegmentationRequest(image=image, points=(one,)) for one in inside[: self.finding.max_things]]


def asked_label(label: str) -> str:
    """The label as a model is asked for it, without what parts phrases or makes tokens of a model's own.

    Empty for one that names nothing.
    """
    plain = " ".join(re.sub(r"[.,;\n<>\[\]|\uff5c]", " ", label).split())
    return plain if len(plain) <= MAX_ASKED_CHARS and any(one.isalnum() for one in plain) else ""


def box_inside(box: Box, size: tuple[int, int]) -> Box | None:
    """The part of a box that lies in a picture of (width, height) ``size``; None for less than a pixel."""
    inside = box.clipped(*size)
    return inside if inside.is_ordered and min(inside.width, inside.height) >= 1 else None


def attempt_all(
    find: Callable[[Sequence[Request]], Sequence[Found | MachineError]], requests: Sequence[Request], what: str
) -> Sequence[Found | MachineError]:
    """What ``find`` gives; where it fails, or gives another number of answers, a MachineError for each request."""
    try:
        found = find(requests)
    except UserError:
        raise
    except (SaccadeError, RuntimeError, ValueError, OSError) as error:
        return [MachineError(f"the {what} failed: {error}")] * len(requests)
    if len(found) != len(requests):
        return [MachineError(f"the {what} gave {len(found)} answers to {len(requests)} requests")] * len(requests)
    return found


def _chunks(requests: Sequence[Request], size: int) -> Iterator[Sequence[Request]]:
    for start in range(0, len(requests), size):
        yield requests[start : start + size]
