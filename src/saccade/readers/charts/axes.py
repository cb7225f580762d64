"""The axes of a chart: numbers to the left, below, and perhaps on the right where a second axis stands."""

from dataclasses import dataclass

from saccade.readers.charts.calibration import LEAST_TICKS, Direction, Scale, value_scale
from saccade.readers.charts.colours import Pixels
from saccade.readers.charts.gridlines import snapped
from saccade.readers.text.lines import TextLine

LEAST_AGREEMENT = 0.7
"""Share of the labels in a column that must agree, for a second axis."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Axes:
    """The scales that were found; ``second`` stands on the right and counts otherwise than ``up``."""

    up: Scale | None
    right: Scale | None
    second: Scale | None = None


def axes_of(lines: tuple[TextLine, ...], pixels: Pixels) -> Axes:
    """The axes that numbers tell of."""
    up, second = _upright(lines, pixels)
    right = _scale(lines, pixels, "right", LEAST_TICKS)
    # Beside an axis that is sure, two numbers are enough for the other one of a scatter chart.
    if right is None and up is not None:
        right = _scale(lines, pixels, "right", 2)
        right = right if right is not None and right.box.y1 > 0.75 * pixels.shape[0] else None
    return Axes(up=up, right=right, second=second)


def _upright(lines: tuple[TextLine, ...], pixels: Pixels) -> tuple[Scale | None, Scale | None]:
    first = _scale(lines, pixels, "up", LEAST_TICKS)
    if first is None:
        return None, None
    width = pixels.shape[1]
    apart = tuple(line for line in lines if abs(line.box.center.x - first.box.center.x) > 0.35 * width)
    other = _scale(apart, pixels, "up", LEAST_TICKS)
    if other is None or other.agreement < LEAST_AGREEMENT or not _is_beside(other, first, width):
        return first, None
    left, right = sorted((first, other), key=lambda scale: scale.box.x1)
    return left, None if _agree(left, right) else right


def _is_beside(other: Scale, first: Scale, width: int) -> bool:
    """Whether both columns stand at the edges, along nearly the same rows."""
    left, right = sorted((first.box, other.box), key=lambda box: box.x1)
    shared = min(left.y2, right.y2) - max(left.y1, right.y1)
    return left.x1 < 0.3 * width and right.x2 > 0.7 * width and shared > 0.5 * max(left.height, right.height)


def _agree(left: Scale, right: Scale) -> bool:
    """Whether both columns say the same at the same heights."""
    top, bottom = left.box.y1, left.box.y2
    reach = 0.03 * abs(left.value(top) - left.value(bottom))
    return all(abs(left.value(px) - right.value(px)) <= reach for px in (top, bottom))


def _scale(lines: tuple[TextLine, ...], pixels: Pixels, direction: Direction, least_ticks: int) -> Scale | None:
    scale = value_scale(lines, pixels, direction, least_ticks=least_ticks)
    return None if scale is None else snapped(scale, pixels, direction)
