"""Observations and results of worlds as frames between processes; pictures travel as PNG."""

from collections.abc import Mapping, Sequence

from PIL import Image

from saccade.errors import MachineError
from saccade.frames import WireFrame
from saccade.interop.environments.world import StepResult, WorldObservation
from saccade.media.decode import MediaError, decode_image
from saccade.media.encode import png_bytes
from saccade.types import Json


def shown_frame(shown: WorldObservation, header: Mapping[str, Json]) -> WireFrame:
    """The observation, beside what else the header says."""
    return WireFrame({**header, "text": shown.text}, [png_bytes(picture) for picture in shown.pictures])


def shown_of_frame(frame: WireFrame) -> WorldObservation:
    """The inverse of ``shown_frame``; MachineError for a picture that is none."""
    return WorldObservation(text=str(frame.header["text"]), pictures=tuple(_pictures(frame.parts)))


def result_frame(result: StepResult) -> WireFrame:
    """All of a result."""
    return shown_frame(
        result.shown,
        {
            "reward": result.reward,
            "terminated": result.terminated,
            "truncated": result.truncated,
            "success": result.success,
            "invalid": result.invalid,
        },
    )


def result_of_frame(frame: WireFrame) -> StepResult:
    """The inverse of ``result_frame``."""
    header = frame.header
    success = header["success"]
    return StepResult(
        shown=shown_of_frame(frame),
        reward=float(str(header["reward"])),
        terminated=header["terminated"] is True,
        truncated=header["truncated"] is True,
        success=None if success is None else success is True,
        invalid=str(header["invalid"]),
    )


def _pictures(parts: Sequence[bytes]) -> list[Image.Image]:
    try:
        return [decode_image(part, "a picture of the environment's process") for part in parts]
    except MediaError as error:
        raise MachineError(str(error)) from error
