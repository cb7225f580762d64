"""Bars with printed values and no axis: the labels at their ends say how long one unit is."""

import numpy as np

from saccade.geometry import Box
from saccade.readers.charts.bars import bars_lie
from saccade.readers.charts.calibration import Scale, Tick, number_of
from saccade.readers.charts.marks import Layer
from saccade.readers.text.lines import TextLine

LEAST_LABELLED = 0.8
"""Share of the bars that have a label in proportion to their length."""
NEAR = 2.4
"""How far a label's middle may be from the end of its bar, in its heights, or in half its width on lying bars."""
MAX_MISS = 0.02
"""Share of the largest value by which a label may differ from its bar."""


def labelled_scale(layers: tuple[Layer, ...], lines: tuple[TextLine, ...]) -> Scale | None:
    """The scale on which all bars begin at zero and end at their labels; None when there is none."""
    lies = bars_lie(layers)
    boxes = [piece.box for layer in layers for piece in layer.pieces if piece.is_bar_like and piece.area >= 40]
    if len(boxes) < 3:
        return None
    foot = float(np.median([box.x1 if lies else box.y2 for box in boxes]))
    ticks = []
    for box in boxes:
        if (tick := _label(box, lines, lies=lies)) is not None:
            ticks.append(tick)
    lengths = np.array([abs(tick.at_px - foot) for tick in ticks])
    if len(ticks) < 3 or not lengths.all():
        return None
    values = np.array([tick.value for tick in ticks])
    unit = float(np.median(values / lengths))
    if unit <= 0 or len(set(values.tolist())) < 2:
        return None
    fits = np.abs(values - unit * lengths) <= MAX_MISS * values.max() + 1.5 * unit
    if fits.sum() < LEAST_LABELLED * len(boxes):
        return None
    factor = unit if lies else -unit
    ordered = tuple(sorted((tick for tick, fit in zip(ticks, fits, strict=True) if fit), key=lambda tick: tick.value))
    return Scale(factor=factor, offset=-factor * foot, ticks=ordered, agreement=float(fits.mean()))


def _label(bar: Box, lines: tuple[TextLine, ...], *, lies: bool) -> Tick | None:
    """The number that is nearest to a bar's end, in line with the bar."""
    end = bar.x2 if lies else bar.y1
    best: tuple[float, Tick] | None = None
    for line in lines:
        value = number_of(line.text)
        center = line.box.center
        across, low, high = (center.y, bar.y1, bar.y2) if lies else (center.x, bar.x1, bar.x2)
        if value is None or not low - 2 <= across <= high + 2:
            continue
        away = abs((center.x if lies else center.y) - end)
        reach = 0.5 * line.box.width + 1.2 * line.box.height if lies else 0.5 * NEAR * line.box.height
        if away <= reach and (best is None or away < best[0]):
            best = (away, Tick(value=value, at_px=end, box=line.box))
    return None if best is None else best[1]
