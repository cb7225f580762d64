"""Regions of named things by a tool server: ``detect_objects`` and ``segment`` of ``saccade serve``."""

import math
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from saccade.errors import MachineError, RefusalError, ToolError, UserError
from saccade.geometry import Box, Mask
from saccade.media.store import MediaStore
from saccade.rewards.argos.model_regions import RegionFinding, asked_label, box_inside
from saccade.rewards.argos.regions import Masks, RegionRequest
from saccade.services.client.remote_tools import RemoteTools
from saccade.types import ImageRef, Json
from saccade.vision_models.kinds import Pointer, PointingRequest

GIVE_UP_AFTER = 3
"""Times one after the other that the server did not answer, after which the rest of a batch is not asked."""


class NoAnswerError(MachineError):
    """A call that the server did not answer: it is not there, or gave up. What it sent wrongly is an answer."""


@dataclass(frozen=True, kw_only=True)
class RemoteRegions:
    """``Regions`` by the detector and the segmenter of a server, for any number of trainers.

    The server is another machine: boxes and masks are checked. A mask that it cannot send, one of another size and
    numbers that are none are MachineErrors, never an empty region.
    """

    tools: RemoteTools
    media: MediaStore
    name: str
    """Names the models behind the server, for ``identity``: the server does not say which it has."""
    pointer: Pointer | None = None
    """Points at things in charts and drawings; the server cuts them out."""
    finding: RegionFinding = RegionFinding()
    at_once: int = 8

    def __post_init__(self) -> None:
        for name in ("detect_objects", "segment"):
            self.tools.tool(name)

    @property
    def identity(self) -> str:
        return self.finding.identity(self.name, self.pointer)

    def find(self, requests: Sequence[RegionRequest], /) -> list[Masks | MachineError]:
        """The masks of each request; those of one ``key`` are asked once, ``at_once`` at a time."""
        asked = {request.key: request for request in requests}
        failures = _ServerFailures()

        def attempt(request: RegionRequest) -> Masks | MachineError:
            if failures.in_a_row >= GIVE_UP_AFTER:
                return MachineError(
                    f"not asked: {GIVE_UP_AFTER} requests before it were not answered, the last with: {failures.last}"
                )
            masks: Masks | MachineError
            try:
                masks = self._masks_of(request)
            except NoAnswerError as error:
                return failures.add(error)
            except (ToolError, RefusalError) as error:
                masks = RefusalError(f"the server refused {request.label!r}: {error}")
            except MachineError as error:
                masks = error
            failures.in_a_row = 0
            return masks

        with ThreadPoolExecutor(self.at_once) as pool:
            found = dict(zip(asked, pool.map(attempt, asked.values())))
        return [found[request.key] for request in requests]

    def _masks_of(self, request: RegionRequest) -> Masks:
        label = asked_label(request.label)
        if not label:
            return ()
        if request.finder == "pointer":
            prompts = self._points_of(request, label)
        else:
            prompts = [{"bbox_2d": list(box.as_tuple())} for box in self._boxes(request.image, label)]
        return tuple(self._mask(request.image, prompt) for prompt in prompts[: self.finding.max_things])

    def _points_of(self, request: RegionRequest, label: str) -> list[dict[str, Json]]:
        if self.pointer is None:
            raise UserError("some tasks need a pointing model, but there is none; give pointer=")
        image = self.media.get(request.image).convert("RGB")
        [points] = self.pointer.point_batch([PointingRequest(image=image, label=label)])
        if isinstance(points, MachineError):
            raise points
        return [{"points": [[one.x, one.y]]} for one in points]

    def _boxes(self, image: ImageRef, label: str) -> list[Box]:
        found = self._call(
            "detect_objects",
            image,
            {
                "phrases": label,
                "box_threshold": self.finding.box_threshold,
                "text_threshold": self.finding.text_threshold,
            },
        )
        things = found.get("detections")
        if not isinstance(things, list):
            raise MachineError(f"the server sent no detections of {label!r}")
        boxes = [_box(one.get("box") if isinstance(one, Mapping) else None, label) for one in things]
        inside = (box_inside(box, (image.width, image.height)) for box in boxes)
        return [box for box in inside if box is not None]

    def _mask(self, image: ImageRef, prompt: Mapping[str, Json]) -> Mask:
        found = self._call("segment", image, prompt)
        return mask_of(found.get("mask"), image)

    def _call(self, name: str, image: ImageRef, arguments: Mapping[str, Json]) -> Mapping[str, Json]:
        call = self.tools.tool(name).bind(arguments, (image,))
        try:
            result = call.run(self.media)
        except MachineError as error:
            raise NoAnswerError(str(error)) from error
        if not result.is_ok:
            raise MachineError(f"{name} of the server failed: {result.text[:200]}")
        return result.data


@dataclass
class _ServerFailures:
    in_a_row: int = 0
    last: str = ""

    def add(self, error: NoAnswerError) -> NoAnswerError:
        self.in_a_row, self.last = self.in_a_row + 1, str(error)
        return error


def mask_of(value: Json, image: ImageRef) -> Mask:
    """A mask as ``segment`` sends it; MachineError for none, for another size and for runs that do not add up."""
    if value is None:
        raise MachineError("the server sent no mask: it has too many runs to be sent")
    size = value.get("size") if isinstance(value, Mapping) else None
    counts = value.get("counts") if isinstance(value, Mapping) else None
    if size != [image.height, image.width]:
        raise MachineError(f"the server sent a mask of the size {size} for [{image.height}, {image.width}]")
    if isinstance(counts, str):
        try:
            return Mask.from_coco(counts, image.width, image.height)
        except ValueError as error:
            raise MachineError(f"the server's mask cannot be read: {error}") from error
    if not isinstance(counts, list):
        raise MachineError("the server's mask has no run lengths")
    runs = [one for one in counts if isinstance(one, int) and not isinstance(one, bool) and one >= 0]
    if len(runs) != len(counts) or sum(runs) != image.width * image.height:
        raise MachineError("the run lengths of the server's mask do not add up to the picture")
    return Mask(width=image.width, height=image.height, counts=tuple(runs))


def _box(value: Json, label: str) -> Box:
    sides = value if isinstance(value, list) else []
    numbers = [float(one) for one in sides if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) != 4 or not all(map(math.isfinite, numbers)):
        raise MachineError(f"the server sent {str(value)[:80]} as a box of {label!r}")
    return Box(*numbers)
