"""Powers of ten on logarithmic axes: their raised exponents are read as further digits, 103 for a thousand."""

import re

import cv2
import numpy as np

from saccade.readers.charts.colours import Pixels
from saccade.readers.text.lines import TextLine

_POWER = re.compile(r"(?:(\d)\s?[×x·])?\s?10([-−–]?\d)")
RAISED = 0.2
"""Share of the ten's height by which the foot of its exponent is higher."""


def with_powers(numbers: list[tuple[TextLine, float | None]], pixels: Pixels) -> list[tuple[TextLine, float]]:
    """The texts that are numbers, those that are a ten with a raised digit as powers of ten."""
    found = []
    for line, value in numbers:
        written = line.text.strip()
        if (power := _POWER.fullmatch(written)) is not None and is_raised(line, pixels):
            value = float(power[1] or 1) * 10.0 ** int(power[2].replace("−", "-").replace("–", "-"))
        if value is not None:
            found.append((line, value))
    return found


def is_raised(line: TextLine, pixels: Pixels) -> bool:
    """Whether the last digit stands higher than the first."""
    box = line.box
    crop = pixels[max(0, int(box.y1)) : int(np.ceil(box.y2)), max(0, int(box.x1)) : int(np.ceil(box.x2))]
    if not crop.size:
        return False
    paper = np.median(crop.reshape(-1, 3), axis=0)
    ink = (np.abs(crop.astype(np.int16) - paper).max(axis=2) > 90).astype(np.uint8)
    count, _, stats, _ = cv2.connectedComponentsWithStats(ink, connectivity=8)
    digits = [row for row in stats[1:count].tolist() if row[4] >= 4 and row[3] >= 0.25 * crop.shape[0]]
    if len(digits) < 2:
        return False
    first, last = min(digits, key=lambda row: row[0]), max(digits, key=lambda row: row[0] + row[2])
    return bool((first[1] + first[3]) - (last[1] + last[3]) > RAISED * first[3])
