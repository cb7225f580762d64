"""Cheap tools that read drawn pictures by their colours, and a calculator: what a gym in miniature has for tools.

They do the work of chart readers, detectors and rulers on the pictures of ``saccade.tasks.families``, whose colours
are known, in about a millisecond and without a model. On other pictures they find nothing, and say so.
"""

import ast
import itertools
import operator
from collections.abc import Callable
from functools import cache
from typing import Annotated, Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import ToolError
from saccade.geometry import Point
from saccade.tasks.drawing import SHAPES, Canvas
from saccade.tasks.palette import COLOURS, INK
from saccade.tasks.scene import SIZE_PX
from saccade.tools.contract import tool_from

Pixels = NDArray[np.uint8]
"""A mask, 1 where a colour is, (height, width)."""

ColourName = Literal["red", "green", "blue", "yellow", "orange", "purple", "cyan", "pink"]

SLACK = 10
"""How far a channel may lie from the colour's own."""
TEMPLATE_PX = 24
LEAST_LIKENESS = 0.75
"""Intersection over union with a shape of the list, below which a blob is none of them."""
MAX_EXPRESSION_CHARS = 64


def count_dots(image: Image.Image, colour: Annotated[ColourName, "of the dots"]) -> str:
    """Count the separate spots of one colour."""
    return str(len(_blobs(_mask(_pixels(image), COLOURS[colour]))))


def list_shapes(image: Image.Image, like: Annotated[str, "a colour or a form, such as red or star"]) -> str:
    """Name colour and form of the shapes of a colour or a form, from left to right."""
    pixels = _pixels(image)
    found = [
        (left, colour, _shape(blob)) for colour, value in COLOURS.items() for left, blob in _blobs(_mask(pixels, value))
    ]
    named = [f"{colour} {shape}" for _, colour, shape in sorted(found) if shape and like in (colour, shape)]
    if not named:
        raise ToolError(f"there is no {like} shape in this picture")
    return ", ".join(named)


def measure_scale(
    image: Image.Image,
    what: Annotated[Literal["length", "area"], "of a line, or of a patch"],
    colour: Annotated[ColourName, "of the line or patch"],
    units: Annotated[int, "length of the black scale bar"],
) -> str:
    """Measure a line or a patch in the units of the black scale bar."""
    pixels = _pixels(image)
    thing, bar_px = _mask(pixels, COLOURS[colour]), int(_mask(pixels, INK).any(axis=0).sum())
    if not thing.any() or not bar_px:
        raise ToolError(f"there is no {colour} thing or no scale bar in this picture")
    if not 0 < units <= 1000:
        raise ToolError("units must be a number from 1 to 1000")
    if what == "area":
        return str(round(int(thing.sum()) / bar_px**2 * units**2))
    _, sides, _ = cv2.minAreaRect(np.argwhere(thing).astype(np.float32))
    return str(round((max(sides) + 1) / bar_px * units))


def read_bars(image: Image.Image, colours: Annotated[str, "of the bars, such as red blue"]) -> str:
    """Read the values of bars over an axis from 0 to 100, in the order in which their colours are named."""
    bars, wanted = bar_values(image), colours.replace(",", " ").split()
    if missing := [colour for colour in wanted if colour not in bars]:
        raise ToolError(f"there is no {missing[0]} bar over an axis in this picture")
    if not wanted:
        raise ToolError("colours must name at least one bar, such as red blue")
    return " ".join(str(bars[colour]) for colour in wanted)


def read_cells(
    image: Image.Image,
    line: Annotated[Literal["row", "column"], "of the table"],
    number: Annotated[int, "of the line, from 1 at the top or left"],
) -> str:
    """Count the dots in each cell of a line of a ruled table."""
    cells = cell_counts(image)
    lines = cells if line == "row" else [list(column) for column in zip(*cells)]
    if not 1 <= number <= len(lines):
        raise ToolError(f"there is no {line} {number} of a ruled table in this picture")
    return " ".join(map(str, lines[number - 1]))


def calculate(expression: Annotated[str, "numbers with + - * / and brackets, such as 73-40"]) -> str:
    """Work out an expression."""
    if len(expression) > MAX_EXPRESSION_CHARS:
        raise ToolError(f"expression must have at most {MAX_EXPRESSION_CHARS} characters")
    try:
        value = _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, ZeroDivisionError, OverflowError, RecursionError, MemoryError) as error:
        raise ToolError("expression must be numbers with + - * / and brackets, such as 73-40") from error
    return f"{value:.10g}"


def bar_values(image: Image.Image) -> dict[str, int]:
    """Values of the bars by their colours, from left to right; empty where there is no axis."""
    pixels = _pixels(image)
    black = _mask(pixels, INK)
    axis = np.nonzero(black[:, black.sum(axis=0).argmax()])[0]
    if not axis.size:
        return {}
    found: list[tuple[int, str, int]] = []
    for colour, value in COLOURS.items():
        mask = _mask(pixels, value)
        rows, columns = np.nonzero(mask.any(axis=1))[0], np.nonzero(mask.any(axis=0))[0]
        if rows.size and rows[-1] + 1 > axis[0]:
            height = round(100 * len(rows) / (rows[-1] + 1 - axis[0]))
            found.append((int(columns[0]), colour, height))
    return {colour: height for _, colour, height in sorted(found)}


def cell_counts(image: Image.Image) -> list[list[int]]:
    """Dots in each cell, (row, column); empty where no table is ruled."""
    pixels = _pixels(image)
    dots, lines = _mask(pixels, COLOURS["blue"]), _mask(pixels, INK)
    ys, xs = (np.nonzero(lines.mean(axis=axis) > 0.5)[0] for axis in (1, 0))
    return [
        [len(_blobs(dots[top:bottom, left:right])) for left, right in itertools.pairwise(xs)]
        for top, bottom in itertools.pairwise(ys)
    ]


def _pixels(image: Image.Image) -> Pixels:
    return np.asarray(image.convert("RGB"))


def _mask(pixels: Pixels, colour: tuple[int, int, int]) -> Pixels:
    middle = np.array(colour, dtype=np.int16)
    low, high = np.clip(middle - SLACK, 0, 255), np.clip(middle + SLACK, 0, 255)
    mask: Pixels = (cv2.inRange(pixels, low.astype(np.uint8), high.astype(np.uint8)) // 255).astype(np.uint8)
    return mask


def _blobs(mask: Pixels) -> list[tuple[int, Pixels]]:
    """Connected pixels, each blob cut out, with its left edge."""
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask)
    found = []
    for label in range(1, count):
        left, top, width, height = (int(stats[label, place]) for place in range(4))
        found.append((left, (labels[top : top + height, left : left + width] == label).astype(np.uint8)))
    return found


def _shape(blob: Pixels) -> str:
    """The shape that a blob looks most like; empty when it is too small or like none of them."""
    if min(blob.shape) < 4:
        return ""
    likeness = {name: _overlap(_scaled(blob), template) for name, template in _templates().items()}
    best = max(likeness, key=lambda name: likeness[name])
    return best if likeness[best] >= LEAST_LIKENESS else ""


@cache
def _templates() -> dict[str, Pixels]:
    def drawn(name: str) -> Pixels:
        covered = Canvas().shape(name, Point(SIZE_PX / 2, SIZE_PX / 2), 60, INK)
        rows, columns = np.nonzero(covered.any(axis=1))[0], np.nonzero(covered.any(axis=0))[0]
        return _scaled(covered[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].astype(np.uint8))

    return {name: drawn(name) for name in SHAPES}


def _scaled(blob: Pixels) -> Pixels:
    large = cv2.resize(blob * 255, (TEMPLATE_PX, TEMPLATE_PX), interpolation=cv2.INTER_AREA)
    scaled: Pixels = (large >= 128).astype(np.uint8)
    return scaled


def _overlap(one: Pixels, other: Pixels) -> float:
    return float((one & other).sum() / max(1, (one | other).sum()))


_OPERATIONS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def _value(node: ast.expr) -> float:
    """ValueError for anything but numbers and the four operations."""
    match node:
        case ast.Constant(value=bool()):
            raise ValueError("a truth value is no number")
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATIONS:
            return _OPERATIONS[type(op)](_value(left), _value(right))
        case _:
            raise ValueError("only numbers and + - * / can be worked out")


COUNT_DOTS, LIST_SHAPES, MEASURE_SCALE, READ_BARS, READ_CELLS, CALCULATE = DRAWN_TOOLS = tuple(
    tool_from(function) for function in (count_dots, list_shapes, measure_scale, read_bars, read_cells, calculate)
)
