"""Charts by matplotlib, in several of its styles; regions are what its artists say that they cover."""

import math

import numpy as np
from numpy.random import Generator
from PIL import Image, ImageDraw

from saccade.geometry import Box
from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.levels import Levels
from saccade.gym.looks.matplotlib_forms import DPI, FORMS, Plot, bubble_px, dual_scales
from saccade.gym.rendering import Renderer, Rendering, SeenRegion, regions_of
from saccade.gym.state import SceneState, as_state

STYLES = ("default", "ggplot", "bmh", "fivethirtyeight", "seaborn-v0_8-whitegrid", "Solarize_Light2", "dark_background")
LEAST_FONT, USUAL_FONT = 6.5, 9.0


def render_matplotlib(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """A chart in one of matplotlib's styles; ``print`` makes its letters smaller."""
    import matplotlib
    import matplotlib.style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    known = as_state(state, QuantityState)
    size = levels.knob("print", 11.0, USUAL_FONT, LEAST_FONT)
    style = STYLES[int(rng.integers(len(STYLES)))]
    fonts = {"font.size": size, "font.family": ["DejaVu Sans", "DejaVu Serif"][int(rng.integers(2))]}
    sizes = {f"{part}.labelsize": size for part in ("axes", "xtick", "ytick")}
    more = {"legend.fontsize": size, "axes.titlesize": size + 2, "figure.dpi": DPI, "savefig.dpi": DPI}
    with matplotlib.style.context(style), matplotlib.rc_context({**fonts, **sizes, **more}):
        figure = Figure(figsize=(known.width / DPI, known.height / DPI), dpi=DPI)
        canvas = FigureCanvasAgg(figure)
        axes = figure.add_axes((0.13, 0.17, 0.82, 0.71), polar=known.form == "radar")
        renderer = canvas.get_renderer()
        plot = Plot(known, axes, renderer, {}, {})
        FORMS[known.form](plot)
        if known.title:
            plot.artists["title"] = axes.set_title(known.title, y=1.0)  # a given height is not searched for
        canvas.draw()
        _place_late(plot)
        image = Image.fromarray(np.asarray(canvas.buffer_rgba())[..., :3].copy())
        for element, artist in plot.artists.items():
            box = artist.get_window_extent(renderer)
            plot.boxes[element] = (box.x0, box.y0, box.x1, box.y1)
        slices = _slices(plot, image.size) if known.form in ("pie", "donut") else ()
    hidden = {one.element for one in slices}
    boxes = {element: box for element, box in plot.boxes.items() if element not in hidden}
    return Rendering(images=(image,), regions=(*slices, *_regions(boxes, image.size)))


def _slices(plot: Plot, size: tuple[int, int]) -> tuple[SeenRegion, ...]:
    """The pixels of each slice, of which a box says little."""
    from matplotlib.patches import Wedge

    shown = Image.new("I", size)
    elements = [element for element in plot.artists if element.startswith("value:")]
    for number, element in enumerate(elements, 1):
        artist = plot.artists[element]
        assert isinstance(artist, Wedge)
        outline = np.asarray(artist.get_transform().transform_path(artist.get_path()).to_polygons()[0])
        ImageDraw.Draw(shown).polygon([(float(x), size[1] - float(y)) for x, y in outline], fill=number)
    return regions_of(np.asarray(shown, dtype=np.int32), elements)


def _regions(boxes: dict[str, tuple[float, float, float, float]], size: tuple[int, int]) -> tuple[SeenRegion, ...]:
    found = []
    for element, (left, bottom, right, top) in boxes.items():
        width, height = size
        box = Box(math.floor(left), math.floor(height - top), math.ceil(right), math.ceil(height - bottom))
        box = box.clipped(width, height)
        if box.is_ordered:
            found.append(SeenRegion(element=element, box=box))
    return tuple(found)


def _place_late(plot: Plot) -> None:
    """Boxes of points, which are known when the axes have their final limits."""
    state = plot.state
    if state.form in ("line", "lines", "area"):
        for which, measure in enumerate(state.measures):
            for entry, value in enumerate(measure.values):
                plot.around(entry, which, entry, value)
    if state.form == "box":
        for which, measure in enumerate(state.measures):
            for entry, value in enumerate(measure.values):
                plot.around(entry, which, entry, value)
    if state.form == "dual":
        (_, end), (_, own_end) = dual_scales(state)
        for entry, value in enumerate(state.measures[1].values):
            plot.around(entry, 1, entry, value * end / own_end)
    if state.form in ("scatter", "bubble"):
        for entry, (x, y) in enumerate(zip(state.measures[0].values, state.measures[1].values)):
            reach = bubble_px(state, entry) if state.form == "bubble" else 5
            for which in range(len(state.measures)):
                plot.around(entry, which, x, y, reach)
    if state.form == "radar":
        for which, measure in enumerate(state.measures):
            for entry, value in enumerate(measure.values):
                plot.around(entry, which, 2 * math.pi * entry / len(state.entries), value)


MATPLOTLIB = Renderer(
    name="matplotlib", render=render_matplotlib, axes=("print",), extra="gym", modules=("matplotlib",)
)
