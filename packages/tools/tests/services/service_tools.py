"""Tools for the tests of the services, and the function that builds them in a worker."""

import os
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
from PIL import Image

from saccade.errors import MachineError, ToolError, UserError
from saccade.geometry import Box, Mask, Point
from saccade.tools.catalogue.settings import ToolSettings
from saccade.tools.images import crop
from saccade.tools.tool import Returned, Tool, ToolOutput, tool_from
from saccade.types import Json


def echo(text: Annotated[str, "what to say"]) -> str:
    """Say a text."""
    if text == "refuse":
        raise ToolError("this text is never said; choose another one")
    return text


def slow(seconds: Annotated[float, "how long to sleep"], note: Annotated[str, "a file to write a line to"] = "") -> str:
    """Sleep, then say how long."""
    if note:
        with Path(note).open("a") as file:
            file.write("run\n")
    time.sleep(seconds)
    return f"slept {seconds:g} s"


def deadly(note: Annotated[str, "a file that counts the deaths"], deaths: Annotated[int, "how many"]) -> str:
    """Kill the worker, so many times."""
    died = len(Path(note).read_text().splitlines()) if Path(note).exists() else 0
    if died < deaths:
        with Path(note).open("a") as file:
            file.write("died\n")
        os.kill(os.getpid(), signal.SIGKILL)
    return f"alive after {died}"


def broken(text: Annotated[str, "how to break"]) -> ToolOutput:
    """Break."""
    print("this goes to the logs")
    if text == "nan":
        return ToolOutput(text="nothing", data={"value": float("nan")})
    if text == "machine":
        raise MachineError("the judge is down")
    if text == "zero":
        raise ZeroDivisionError(text)
    raise ConnectionError(text)


def stripes(image: Image.Image, count: Annotated[int, "how many"]) -> ToolOutput:
    """Give the image back, and stripes of it."""
    if not 1 <= count <= min(8, image.width):
        raise ToolError("count must be from 1 to 8, and no more than the image is wide")
    width = image.width // count
    parts = [image.crop((width * index, 0, width * (index + 1), image.height)) for index in range(count)]
    return ToolOutput(text=f"{count} stripes", images=(image, *parts), data={"widths": [width] * count})


def together(number: Annotated[float, "a number"], gate: Annotated[str, "a file to wait for"] = "") -> ToolOutput:
    """Double a number; several at once."""
    if gate:
        Path(gate).with_name("waits").touch()
        while not Path(gate).exists():
            time.sleep(0.01)
    return ToolOutput(text=f"{2 * number:g}", data={"at_once": 1})


def hold(gate: Annotated[str, "a file to wait for"]) -> str:
    """Keep the worker until the file is there."""
    Path(gate).with_name("waits").touch()
    while not Path(gate).exists():
        time.sleep(0.01)
    return "held"


def _together(calls: Sequence[Mapping[str, object]]) -> Sequence[Returned | ToolError]:
    results: list[Returned | ToolError] = []
    for call in calls:
        number = float(str(call["number"]))
        refused = ToolError("no negative numbers")
        results.append(refused if number < 0 else ToolOutput(text=f"{2 * number:g}", data={"at_once": len(calls)}))
    return results


together.batch = _together  # type: ignore[attr-defined]


def detect_objects(
    image: Image.Image,
    phrases: Annotated[str, "what to look for"],
    box_threshold: Annotated[float, "least score"] = 0.35,
    text_threshold: Annotated[float, "least score of the phrase"] = 0.25,
) -> ToolOutput:
    """Find the upper left quarter, but lie about some things."""
    lies: Mapping[str, Json] = {
        "no list": {},
        "no box": [{"phrase": phrases}],
        "a short box": [{"box": [1, 2, 3]}],
        "nothing": [],
    }
    if phrases == "death":
        os.kill(os.getpid(), signal.SIGKILL)
    corner = [0.0, 0.0, 60.0 if phrases == "a wide thing" else image.width / 2, image.height / 2]
    return ToolOutput(text="found", data={"detections": lies.get(phrases, [{"box": corner, "score": 0.5}])})


def segment(
    image: Image.Image, bbox_2d: Annotated[Box, "a box"], points: Annotated[list[Point] | None, "points"] = None
) -> ToolOutput:
    """Cut out a box, but lie where it is 60 px wide."""
    size = (image.height, image.width) if bbox_2d.width != 60 else (9, 9)
    region = np.zeros(size, dtype=np.bool_)
    region[: int(bbox_2d.height), : int(bbox_2d.width)] = True
    mask = Mask.from_array(region)
    return ToolOutput(text="cut", data={"mask": {"size": list(size), "counts": list(mask.counts)}})


_DEADLINES_S = {"slow": 2.0, "deadly": 5.0, "hold": 500.0}
_FUNCTIONS = (echo, slow, deadly, broken, stripes, together, hold, crop, detect_objects, segment)


def build(settings: ToolSettings, folder: Path) -> Tool:
    """A tool of this file by its name."""
    if "mistake" in settings.options:
        raise UserError(f"[tools.{settings.name}] mistake={settings.options['mistake']!r} cannot be; leave it out")
    for function in _FUNCTIONS:
        if function.__name__ == settings.name:
            return tool_from(function, deadline_s=_DEADLINES_S.get(settings.name, 10.0))
    raise UserError(f"there is no tool {settings.name}")
