"""OCR tools: ``read_text`` and ``read_region`` give the text of an image, or of a region of it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Literal

from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Box, Point
from saccade.readers.text.lines import TextLine, TextReader, rows_of
from saccade.tools.tool import Tool, ToolOutput, tool_from
from saccade.types import Json

DEADLINE_S = 60.0
MIN_REGION_PX = 8


def reading_tools(reader: TextReader) -> tuple[Tool, ...]:
    """``read_text`` and ``read_region`` over an engine."""

    def read_text(
        image: Image.Image,
        layout: Annotated[Literal["lines", "rows"], "rows puts cells of one row on a line, for tables"] = "lines",
    ) -> ToolOutput:
        """Read all text in an image: its lines from top to bottom, with their boxes as data."""
        return _output(reader.read(image), layout)

    def read_region(
        image: Image.Image,
        bbox_2d: Annotated[Box, "the region to read: left, top, right, bottom"],
        layout: Annotated[Literal["lines", "rows"], "rows puts cells of one row on a line, for tables"] = "lines",
    ) -> ToolOutput:
        """Read the text in a region of an image, which finds small print that is lost in the whole."""
        left, top, right, bottom = _region(image, bbox_2d)
        lines = reader.read(image.crop((left, top, right, bottom)))
        return _output([_shifted_line(line, left, top) for line in lines], layout)

    return tool_from(read_text, DEADLINE_S), tool_from(read_region, DEADLINE_S)


def _region(image: Image.Image, box: Box) -> tuple[int, int, int, int]:
    if not box.is_ordered:
        raise ToolError("bbox_2d is empty or inverted; write left, top, right, bottom, so that x1 < x2 and y1 < y2")
    inside = box.clipped(image.width, image.height)
    left, top, right, bottom = (
        math.floor(inside.x1),
        math.floor(inside.y1),
        math.ceil(inside.x2),
        math.ceil(inside.y2),
    )
    if min(right - left, bottom - top) < MIN_REGION_PX:
        raise ToolError(
            f"bbox_2d covers less than {MIN_REGION_PX} px of the original in width or height; choose a larger region"
        )
    return left, top, right, bottom


def _shifted_line(line: TextLine, x: float, y: float) -> TextLine:
    box = Box(line.box.x1 + x, line.box.y1 + y, line.box.x2 + x, line.box.y2 + y)
    return replace(line, box=box, corners=tuple(Point(corner.x + x, corner.y + y) for corner in line.corners))


def _output(lines: Sequence[TextLine], layout: str) -> ToolOutput:
    rows = rows_of(list(lines)) if layout == "rows" else [[line] for line in lines]
    text = "\n".join(" | ".join(line.text for line in row) for row in rows)
    data: dict[str, Json] = {
        "lines": [
            {
                "text": line.text,
                "box": [round(side, 1) for side in line.box.as_tuple()],
                "confidence": line.confidence,
                **_corners(line),
            }
            for row in rows
            for line in row
        ],
        "rows": [[line.text for line in row] for row in rows],
    }
    return ToolOutput(text=text or "no text found", data=data)


def _corners(line: TextLine) -> dict[str, Json]:
    """The corners of a slanted line, in the order of its writing."""
    return {"corners": [[round(corner.x, 1), round(corner.y, 1)] for corner in line.corners]} if line.corners else {}
