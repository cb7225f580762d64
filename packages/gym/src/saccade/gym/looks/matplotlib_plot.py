"""A chart while matplotlib draws it: its style, its axes in pixels, its artists and where its elements are.

matplotlib's own axes spend most of a chart's time on units, limits, ticks and layout. Sizes are known here before
anything is drawn, so all is placed in pixels: the axes give the ground and the frame, artists of matplotlib draw the
rest in the style's look, and the region of an element is computed where it is placed. Imports matplotlib.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import matplotlib
import matplotlib.style
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from numpy.typing import ArrayLike, NDArray

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.grammars.words import PALETTE, hex_of
from saccade.gym.looks.matplotlib_letters import ChartWords, PxBox

DPI = 80
PX = DPI / 72
"""Pixels of a point."""

BARS, CURVES, FRAME, WORDS = 1.0, 2.0, 2.5, 3.0
"""What is drawn above what, as matplotlib has it."""

_PLACE = (0.13, 0.17, 0.82, 0.71)
_PLACE_OF_TWO = (0.13, 0.17, 0.73, 0.71)
"""Of axes with a second scale at the right."""
_CORNER_CODES = (Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY)
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class StyledAxes:
    """Empty axes in a style, which every chart of this style is drawn on."""

    settings: Mapping[str, object]
    """matplotlib's, all but the backend."""
    figure: Figure
    axes: Axes


_AXES_BY_STYLE: dict[str, StyledAxes] = {}
_LOCK = threading.Lock()
"""Of the axes and of matplotlib's settings, which all threads share."""


@contextmanager
def styled_axes(style: str) -> Iterator[StyledAxes]:
    """The axes of a style, for one thread at a time; inside, matplotlib's settings are those of the style alone."""
    with _LOCK:
        styled = _AXES_BY_STYLE.get(style)
        if styled is None:
            with matplotlib.style.context(["default", style]):
                figure = Figure(dpi=DPI)
                axes = figure.add_axes(_PLACE)
                said = matplotlib.rcParams
                settings = {name: said[name] for name in said if name != "backend"}  # to read that one loads pyplot
                styled = StyledAxes(settings=settings, figure=figure, axes=axes)
            _AXES_BY_STYLE[style] = styled
        with matplotlib.rc_context():
            dict.update(matplotlib.rcParams, styled.settings)  # they were validated when these axes were made
            yield styled


@dataclass(slots=True)
class Plot:
    """A chart on styled axes: what it shows, and what is drawn so far."""

    state: QuantityState
    styled: StyledAxes
    size_px: float
    """Of letters."""
    words: ChartWords
    boxes: dict[str, PxBox] = field(default_factory=dict)
    """Of elements."""
    outlines: dict[str, Path] = field(default_factory=dict)
    """Of elements whose region is not a box, in pixels, y up."""
    artists: list[tuple[float, Artist]] = field(default_factory=list)
    """With the order in which they are drawn."""
    has_frame: bool = True
    limits: PxBox = (0.0, 0.0, 1.0, 1.0)
    """Of the scales: what is at the left, the bottom, the right and the top of the axes."""
    window: PxBox = (0.0, 0.0, 1.0, 1.0)
    """The axes in pixels."""

    def __post_init__(self) -> None:
        self.styled.figure.set_size_inches(self.state.width / DPI, self.state.height / DPI, forward=False)
        self.styled.axes.set_position(_PLACE_OF_TWO if self.state.form == "dual" else _PLACE)
        box = self.styled.axes.bbox
        self.window = (float(box.x0), float(box.y0), float(box.x1), float(box.y1))

    def colours(self) -> list[str]:
        return [hex_of(PALETTE[measure.colour]) for measure in self.state.measures]

    def word(self, setting: str) -> str:
        """A setting that is a colour, a line style or a direction."""
        return str(self.styled.settings[setting])

    def number(self, setting: str) -> float:
        """A setting that is a number."""
        said = self.styled.settings[setting]
        assert isinstance(said, int | float)
        return float(said)

    def spots(self, xs: ArrayLike, ys: ArrayLike) -> Floats:
        """Places on the scales in pixels: (n, 2)."""
        left, low, right, high = self.limits
        x0, y0, x1, y1 = self.window
        across = x0 + (np.asarray(xs, dtype=float) - left) * ((x1 - x0) / (right - left))
        up = y0 + (np.asarray(ys, dtype=float) - low) * ((y1 - y0) / (high - low))
        return np.column_stack(np.broadcast_arrays(across, up))

    def add(self, artist: Artist, order: float, *, is_clipped: bool = False) -> None:
        if is_clipped:
            artist.set_clip_box(self.styled.axes.bbox)
        self.artists.append((order, artist))

    def bars(
        self, starts: Floats, ends: Floats, colour: str, *, edge: str = "none", edge_pt: float | None = None
    ) -> list[PxBox]:
        """Upright boxes between corners (n, 2) on the scales, as one artist; where they are."""
        (x0, y0), (x1, y1) = self.spots(*starts.T).T, self.spots(*ends.T).T
        corners = np.stack([x0, y0, x1, y0, x1, y1, x0, y1, x0, y0], axis=1).reshape(-1, 2)
        outline = Path(corners, np.tile(np.array(_CORNER_CODES, dtype=np.uint8), len(starts)))
        self.add(PathPatch(outline, facecolor=colour, edgecolor=edge, linewidth=edge_pt), BARS, is_clipped=True)
        sides = np.stack([np.minimum(x0, x1), np.minimum(y0, y1), np.maximum(x0, x1), np.maximum(y0, y1)], axis=1)
        return [(float(left), float(low), float(right), float(high)) for left, low, right, high in sides]

    def line(self, spots: Floats, order: float = CURVES, *, is_clipped: bool = True, **look: object) -> None:
        """A line, or marks, through pixels (n, 2)."""
        self.add(Line2D(*spots.T, **look), order, is_clipped=is_clipped)  # type: ignore[arg-type]

    def around(self, which: int, spots: Floats, half_px: float | Sequence[float] = 5.0) -> None:
        """The values of a measure are at pixels (n, 2)."""
        for entry, ((x, y), half) in enumerate(zip(spots, np.broadcast_to(half_px, len(spots)))):
            self.boxes[f"value:{entry}:{which}"] = (float(x - half), float(y - half), float(x + half), float(y + half))

    def pixels(self) -> NDArray[np.uint8]:
        """The picture, RGBA (height, width, 4)."""
        renderer = RendererAgg(self.state.width, self.state.height, DPI)
        axes = self.styled.axes
        below: list[Artist] = [self.styled.figure.patch]
        frame: list[tuple[float, Artist]] = []
        if self.has_frame:
            below.append(axes.patch)
            frame = [(FRAME, spine) for spine in axes.spines.values()]
        words = [(WORDS, patch) for patch in self.words.artists()]
        drawn = sorted([*self.artists, *frame, *words], key=lambda pair: pair[0])
        for artist in [*below, *(artist for _, artist in drawn)]:
            artist.draw(renderer)
        return np.asarray(renderer.buffer_rgba())
