"""Words in matplotlib's charts as outlines of letters, which take less time than its texts. Imports matplotlib.

They stand where matplotlib's own would, to a pixel; their letters are not fitted to pixels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import matplotlib
from matplotlib.patches import PathPatch
from matplotlib.transforms import Affine2D, Bbox, ScaledTranslation

from saccade.gym.looks.fonts import FACES
from saccade.gym.looks.svg_letters import lettering

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.transforms import Affine2DBase, Transform

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


class LetteredPatch(PathPatch):
    """Words, whose extent is that of their outlines' control points: letters reach as far as these, and no curve is
    searched for its farthest point.
    """

    def get_window_extent(self, renderer: RendererBase | None = None) -> Bbox:
        """In pixels, y up."""
        places = self.get_transform().transform(self.get_path().vertices)
        return Bbox([places.min(axis=0), places.max(axis=0)])


def add_words(
    axes: Axes,
    x: float,
    y: float,
    words: str,
    *,
    transform: Transform,
    size_pt: float,
    colour: str,
    across: str = "center",
    up: str = "baseline",
    turn: float = 0.0,
    turns_last: bool = False,
    is_bold: bool = False,
    zorder: float = 3.0,
) -> LetteredPatch:
    """Words at a place of a transform, turned by so many degrees: the turned box is aligned, or the words before."""
    family = matplotlib.rcParams["font.family"][0]
    face = next((face for face, (name, _) in FACES.items() if name == family), "sans")
    written = lettering(face, words, is_bold=is_bold)
    size = size_pt * axes.figure.dpi / 72
    drawn = Affine2D().scale(size, -size)
    wide = written.advance * size
    if turns_last or not turn:
        drawn.translate(_SHIFTS[across] * wide, _LIFTS[up] * size).rotate_deg(turn)
    else:
        drawn.rotate_deg(turn)
        corners = (
            Affine2D()
            .rotate_deg(turn)
            .transform([(0, -FALL * size), (wide, -FALL * size), (0, RISE * size), (wide, RISE * size)])
        )
        (left, low), (right, high) = corners.min(axis=0), corners.max(axis=0)
        drawn.translate(-left + _SHIFTS[across] * (right - left), -high if up == "top" else -low)
    anchor = cast("Affine2DBase", transform)  # it is asked for the place of a point alone
    patch = LetteredPatch(
        written.outline,
        transform=drawn + ScaledTranslation(x, y, anchor),
        facecolor=colour,
        linewidth=0,
        zorder=zorder,
        clip_on=False,
    )
    patch.set_snap(False)
    axes.add_artist(patch)
    return patch
