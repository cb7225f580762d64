"""Bars: columns of pieces on a baseline, side by side or on top of each other, upwards or to the right."""

from dataclasses import dataclass

import numpy as np

from saccade.errors import ToolError
from saccade.geometry import Box
from saccade.readers.charts.calibration import Scale
from saccade.readers.charts.chart import Colour
from saccade.readers.charts.colours import Coverage
from saccade.readers.charts.marks import Layer, Piece

MAX_OUTLINE_PX = 4
"""Width of a bar's outline, or of the axis on which it stands."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BarSegment:
    """A bar, or a part of a stacked one, as read."""

    colour: Colour
    value: float
    box: Box


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """Segments that stand on each other, from the baseline on."""

    center_px: float
    """Along the axis of categories."""
    segments: tuple[BarSegment, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class _Span:
    """A piece by where it is along the categories and along the values, in pixels, from its foot to its end."""

    piece: Piece
    across: tuple[float, float]
    along: tuple[float, float]
    outline: int
    """Rows of outline or axis below its foot."""


def bars_are_horizontal(layers: tuple[Layer, ...]) -> bool:
    """Whether bars grow to the right: then it is their heights that are all alike."""
    boxes = [piece.box for layer in layers for piece in layer.pieces if piece.is_bar_like and piece.area >= 40]
    if len(boxes) < 2:
        return bool(boxes) and boxes[0].width > boxes[0].height
    return _spread([box.height for box in boxes]) < _spread([box.width for box in boxes])


def columns_of(
    layers: tuple[Layer, ...], scale: Scale, outlines: Coverage, *, is_horizontal: bool
) -> tuple[Column, ...]:
    """The columns in order along the categories, left to right or top to bottom. ``ToolError`` without any.

    ``outlines`` are the pixels of no flat colour and no paper: edges of bars and the lines of the axes.
    """
    edges = outlines.T if is_horizontal else outlines
    spans = [_span(piece, is_horizontal, edges) for layer in layers for piece in layer.pieces if piece.fill > 0.6]
    spans = [span for span in spans if span.across[1] - span.across[0] >= 2]
    width = float(np.median([span.across[1] - span.across[0] for span in spans])) if spans else 0.0
    spans = [span for span in spans if 0.5 * width <= span.across[1] - span.across[0] <= 1.6 * width]
    if not spans:
        raise ToolError("no bars found: nothing of one colour stands on the axis")
    zero = scale.zero_px
    columns = [] if zero is None else _standing(spans, scale, _baseline(spans, zero), zero)
    # On an axis that is cut off or logarithmic, all bars begin at its end, and each ends at its value.
    if len(columns) < 0.6 * len(_overlapping(spans)):
        columns = _ending(spans, scale)
    if not columns:
        raise ToolError("no bars found: none of the rectangles stands on the axis")
    return tuple(columns)


def _standing(spans: list[_Span], scale: Scale, foot: float, zero: float) -> list[Column]:
    fitted = scale.moved(foot - zero) if abs(foot - zero) <= 10 else scale
    columns = [_column(group, fitted, foot) for group in _overlapping(spans)]
    return [column for column in columns if column is not None]


def _ending(spans: list[_Span], scale: Scale) -> list[Column]:
    """Single bars that begin at one line, by where they end; none where they do not or where bars are stacked."""
    groups = _overlapping(spans)
    foot = float(np.median([span.along[0] for span in spans]))
    if any(len(group) > 1 for group in groups) or any(abs(span.along[0] - foot) > 2.5 for span in spans):
        return []
    return [
        Column(
            center_px=sum(span.across) / 2,
            segments=(BarSegment(colour=span.piece.colour, value=scale.value(span.along[1]), box=span.piece.box),),
        )
        for (span,) in groups
    ]


def _span(piece: Piece, is_horizontal: bool, edges: Coverage) -> _Span:
    """The piece with half of the outline at its end, which is drawn around where the value is."""
    box = piece.box
    if is_horizontal:
        across, (foot, end), forward = (box.y1, box.y2), (box.x1, box.x2), 1
    else:
        across, (foot, end), forward = (box.x1, box.x2), (box.y2, box.y1), -1
    end += forward * _outline(edges, across, end, forward) / 2
    return _Span(piece=piece, across=across, along=(foot, end), outline=_outline(edges, across, foot, -forward))


def _outline(edges: Coverage, across: tuple[float, float], at: float, direction: int) -> int:
    """How many rows of outline follow a side of a bar; 0 when there are too many to be one."""
    quarter = (across[1] - across[0]) / 4
    columns = slice(int(across[0] + quarter), max(int(across[0] + quarter) + 1, int(across[1] - quarter)))
    first = int(at) if direction > 0 else int(at) - 1
    for count in range(MAX_OUTLINE_PX + 1):
        row = first + direction * count
        if not 0 <= row < edges.shape[0] or edges[row, columns].mean() < 0.7:
            return count
    return 0


def _baseline(spans: list[_Span], zero: float) -> float:
    """The pixel on which most bars near zero stand, or zero itself when none does.

    The axis may be drawn below the feet or over them: what the labels say decides between the two.
    """
    near = [(px, span.outline) for span in spans for px in span.along if abs(px - zero) <= 8]
    if not near:
        return zero
    common = max(near, key=lambda entry: sum(abs(px - entry[0]) <= 1 for px, _ in near))[0]
    middle = float(np.median([px for px, _ in near if abs(px - common) <= 1]))
    outline = float(np.median([outline for px, outline in near if abs(px - common) <= 1]))
    reach = min(outline / 2 + 0.5, 2.0)
    is_upward = sum(span.along[1] - span.along[0] for span in spans) < 0
    low, high = (middle - 0.25, middle + reach) if is_upward else (middle - reach, middle + 0.25)
    return float(np.clip(zero, low, high))


def _overlapping(spans: list[_Span]) -> list[list[_Span]]:
    """Spans by the column in which they stand."""
    groups: list[list[_Span]] = []
    for span in sorted(spans, key=lambda span: sum(span.across)):
        if groups and _overlap(groups[-1][0], span) > 0.5:
            groups[-1].append(span)
        else:
            groups.append([span])
    return groups


def _overlap(one: _Span, other: _Span) -> float:
    shared = min(one.across[1], other.across[1]) - max(one.across[0], other.across[0])
    return shared / min(one.across[1] - one.across[0], other.across[1] - other.across[0])


def _column(group: list[_Span], scale: Scale, foot: float) -> Column | None:
    """The segments stacked from the baseline on; a piece apart from them is no bar."""
    ordered = sorted(group, key=lambda span: abs(span.along[0] + span.along[1] - 2 * foot))
    segments: list[BarSegment] = []
    tops = [foot, foot]
    for span in ordered:
        near, far = sorted(span.along, key=lambda px: abs(px - foot))
        side = 0 if (far - foot) <= 0 else 1
        if abs(near - tops[side]) > 5:
            continue
        # Segments meet half way between their visible edges: a thin edge may be drawn around each.
        start = foot if tops[side] == foot else (near + tops[side]) / 2
        if segments and tops[side] != foot:
            last = segments.pop()
            segments.append(_segment_between(last, scale, tops[side], start))
        segments.append(
            BarSegment(colour=span.piece.colour, value=scale.value(far) - scale.value(start), box=span.piece.box)
        )
        tops[side] = far
    if not segments:
        return None
    center = float(np.mean([sum(span.across) / 2 for span in ordered]))
    return Column(center_px=center, segments=tuple(segments))


def _segment_between(segment: BarSegment, scale: Scale, from_px: float, to_px: float) -> BarSegment:
    value = segment.value + scale.value(to_px) - scale.value(from_px)
    return BarSegment(colour=segment.colour, value=value, box=segment.box)


def _spread(lengths: list[float]) -> float:
    return float(np.std(lengths) / max(1.0, float(np.mean(lengths))))


def slots_of(columns: tuple[Column, ...], centers: list[float]) -> list[list[Column]]:
    """Columns by category: by the nearest of the names' centres, or by gaps where the names are too few.

    Two columns of one colour are never one category: then every column is a category of its own.
    """
    places = sorted(centers)
    if len(places) >= 2 and _fits(columns, places):
        slots: list[list[Column]] = [[] for _ in places]
        for column in columns:
            slots[int(np.argmin([abs(column.center_px - place) for place in places]))].append(column)
    else:
        slots = _by_gaps(columns)
    return [[column] for column in columns] if any(map(_repeats, slots)) else slots


def _by_gaps(columns: tuple[Column, ...]) -> list[list[Column]]:
    gaps = np.diff([column.center_px for column in columns])
    if len(columns) < 3 or float(gaps.max()) < 1.25 * float(gaps.min()):
        return [[column] for column in columns]
    cut = (float(gaps.min()) + float(gaps.max())) / 2
    slots = [[columns[0]]]
    for gap, column in zip(gaps, columns[1:], strict=True):
        if gap > cut:
            slots.append([])
        slots[-1].append(column)
    return slots


def _repeats(slot: list[Column]) -> bool:
    colours = [column.segments[0].colour for column in slot]
    return len(set(colours)) < len(colours)


def _fits(columns: tuple[Column, ...], places: list[float]) -> bool:
    """Whether every column is within half a step of a name, so that no name is missing."""
    step = float(np.median(np.diff(places)))
    return all(min(abs(column.center_px - place) for place in places) <= 0.55 * step for column in columns)
