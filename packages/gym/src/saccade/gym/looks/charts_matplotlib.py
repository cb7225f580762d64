"""Charts by matplotlib, in several of its styles; regions are where its artists are placed."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.random import Generator
from PIL import Image, ImageDraw

from saccade.geometry import Box
from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.levels import Levels
from saccade.gym.rendering import Renderer, Rendering, SeenRegion, regions_of
from saccade.gym.state import SceneState, as_state

if TYPE_CHECKING:
    from matplotlib.path import Path

    from saccade.gym.looks.matplotlib_letters import PxBox

STYLES = ("default", "ggplot", "bmh", "fivethirtyeight", "seaborn-v0_8-whitegrid", "Solarize_Light2", "dark_background")
FONTS = ("sans", "serif")
LEAST_FONT, USUAL_FONT = 6.5, 9.0


def render_matplotlib(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """A chart in one of matplotlib's styles; ``print`` makes its letters smaller."""
    from saccade.gym.looks.matplotlib_axes import write_title
    from saccade.gym.looks.matplotlib_forms import FORMS
    from saccade.gym.looks.matplotlib_letters import ChartWords
    from saccade.gym.looks.matplotlib_plot import PX, Plot, styled_axes

    known = as_state(state, QuantityState)
    size_px = levels.knob("print", 11.0, USUAL_FONT, LEAST_FONT) * PX
    style = STYLES[int(rng.integers(len(STYLES)))]
    words = ChartWords(FONTS[int(rng.integers(len(FONTS)))])
    with styled_axes(style) as styled:
        plot = Plot(state=known, styled=styled, size_px=size_px, words=words)
        if known.title and known.form != "radar":
            plot.boxes["title"] = write_title(plot, known.title)
        FORMS[known.form](plot)
        if known.title and known.form == "radar":
            names = [box[3] for element, box in plot.boxes.items() if element.startswith("entry:")]
            plot.boxes["title"] = write_title(plot, known.title, above=max(names))
        pixels = plot.pixels()
    size = (known.width, known.height)
    image = Image.frombuffer("RGBA", size, pixels, "raw", "RGBA", 0, 1).convert("RGB")
    return Rendering(images=(image,), regions=(*_slices(plot.outlines, size), *_regions(plot.boxes, size)))


def _slices(outlines: "Mapping[str, Path]", size: tuple[int, int]) -> tuple[SeenRegion, ...]:
    """The pixels of each slice, of which a box says little."""
    if not outlines:
        return ()
    shown = Image.new("I", size)
    for number, outline in enumerate(outlines.values(), 1):
        corners = np.asarray(outline.to_polygons()[0])
        ImageDraw.Draw(shown).polygon([(float(x), size[1] - float(y)) for x, y in corners], fill=number)
    return regions_of(np.asarray(shown, dtype=np.int32), tuple(outlines))


def _regions(boxes: "Mapping[str, PxBox]", size: tuple[int, int]) -> tuple[SeenRegion, ...]:
    found = []
    width, height = size
    for element, (left, bottom, right, top) in boxes.items():
        box = Box(math.floor(left), math.floor(height - top), math.ceil(right), math.ceil(height - bottom))
        box = box.clipped(width, height)
        if box.is_ordered:
            found.append(SeenRegion(element=element, box=box))
    return tuple(found)


MATPLOTLIB = Renderer(
    name="matplotlib", render=render_matplotlib, axes=("print",), extra="gym", modules=("matplotlib",)
)
