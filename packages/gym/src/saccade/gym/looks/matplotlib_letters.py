"""Words in matplotlib's charts as outlines of letters, which take less time than its texts. Imports matplotlib.

They stand where matplotlib's own would, to a pixel; their letters are not fitted to pixels. Words of one ink are one
artist.
"""

from __future__ import annotations

import numpy as np
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from numpy.typing import NDArray

from saccade.gym.looks.svg_letters import lettering

PxBox = tuple[float, float, float, float]
"""Left, bottom, right and top in pixels, y up."""

RISE, FALL = 0.76, 0.236
"""How far a line of DejaVu reaches above and below its baseline, in sizes: by its "l" and its "p"."""

_SHIFTS = {"left": 0.0, "center": -0.5, "right": -1.0}
_LIFTS = {
    "top": -RISE,
    "bottom": FALL,
    "baseline": 0.0,
    "center": (FALL - RISE) / 2,
    "center_baseline": -RISE / 2,
}


class ChartWords:
    """Words in one face, collected until they are drawn."""

    def __init__(self, face: str) -> None:
        self._face = face
        self._outlines: dict[str, list[tuple[NDArray[np.float64], NDArray[np.uint8]]]] = {}

    def write(
        self,
        place: tuple[float, float],
        words: str,
        *,
        size_px: float,
        colour: str,
        across: str = "center",
        up: str = "baseline",
        turn: float = 0.0,
        turns_last: bool = False,
        is_bold: bool = False,
    ) -> PxBox:
        """Words at a place in pixels, turned by so many degrees: the turned box is aligned, or the words before.

        The box is that of the outlines' control points: letters reach as far as these.
        """
        written = lettering(self._face, words, is_bold=is_bold)
        wide = written.advance * size_px
        points = np.asarray(written.outline.vertices) * (size_px, -size_px)
        shift = np.array([_SHIFTS[across] * wide, _LIFTS[up] * size_px])
        angle = np.radians(turn)
        turned = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])  # of rows
        if not turn:
            points = points + shift
        elif turns_last:
            points = (points + shift) @ turned
        else:
            corners = np.array([(x, y) for x in (0.0, wide) for y in (-FALL * size_px, RISE * size_px)]) @ turned
            (left, low), (right, high) = corners.min(axis=0), corners.max(axis=0)
            points = points @ turned + (-left + _SHIFTS[across] * (right - left), -high if up == "top" else -low)
        points = points + place
        if not len(points):
            return (*place, *place)
        codes = np.asarray(written.outline.codes, dtype=np.uint8)
        self._outlines.setdefault(colour, []).append((points, codes))
        (left, low), (right, high) = points.min(axis=0), points.max(axis=0)
        return (float(left), float(low), float(right), float(high))

    def artists(self) -> list[PathPatch]:
        """All that was written: an artist for each ink."""
        found = []
        for colour, pieces in self._outlines.items():
            outline = Path(np.concatenate([points for points, _ in pieces]), np.concatenate([c for _, c in pieces]))
            patch = PathPatch(outline, facecolor=colour, linewidth=0)
            patch.set_snap(False)
            found.append(patch)
        return found
