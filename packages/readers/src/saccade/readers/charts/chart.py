"""A chart as a value: kind, axes, categories, series with colours, and where each value was drawn."""

from dataclasses import dataclass
from typing import Literal, Protocol

from PIL import Image

from saccade.geometry import Box

ChartKind = Literal["bar", "line", "pie", "scatter", "table"]
"""``table``: only the numbers are known, as from a model that writes tables."""

Arrangement = Literal["single", "grouped", "stacked"]
"""How the series of bars share a category; ``single`` for everything else."""

Colour = tuple[int, int, int]

SURE = 0.8
"""The least confidence of a chart in which all that was seen was understood."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Axis:
    """One axis, as far as it is known."""

    label: str = ""
    ticks: tuple[float, ...] = ()
    """The numbers written along it, ascending; empty for an axis of categories."""
    low: float | None = None
    high: float | None = None
    """The values at the plot's edges."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Series:
    """Values that belong together."""

    name: str
    values: tuple[float | None, ...]
    """By category, None where none is drawn; for a scatter chart the y of each point."""
    xs: tuple[float, ...] = ()
    """For a scatter chart the x of each point, as many as ``values``; otherwise empty."""
    colour: Colour | None = None
    colours: tuple[Colour | None, ...] = ()
    """Colour of each value, where they differ, as the slices of a pie do; otherwise empty."""
    boxes: tuple[Box | None, ...] = ()
    """Where each value was drawn, in pixels of the image; empty when not known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Chart:
    """A chart as read. ``values`` of every series are as many as ``categories``, but for scatter charts."""

    kind: ChartKind
    series: tuple[Series, ...]
    categories: tuple[str, ...] = ()
    title: str = ""
    arrangement: Arrangement = "single"
    is_horizontal: bool = False
    """Bars grow to the right instead of upwards."""
    x_axis: Axis = Axis()
    y_axis: Axis = Axis()
    confidence: float = 1.0
    """From 0 to 1: how well the parts of the chart agree with each other. No probability."""
    doubts: tuple[str, ...] = ()
    """Things not understood, or that do not agree; any of them makes the confidence less than ``SURE``."""

    @property
    def is_sure(self) -> bool:
        """Whether all that was seen was understood."""
        return self.confidence >= SURE

    @property
    def name(self) -> str:
        """The kind in words, such as "horizontal stacked bar"."""
        words = ["horizontal"] if self.is_horizontal else []
        words += [self.arrangement] if self.arrangement != "single" else []
        return " ".join([*words, self.kind])


class ChartReader(Protocol):
    """A reader of charts: the classical one, or a model."""

    def read(self, image: Image.Image) -> Chart:
        """The chart in a picture; ``ToolError`` says which step failed, and no number is ever made up."""
        ...
