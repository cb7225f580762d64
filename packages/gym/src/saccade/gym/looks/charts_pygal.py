"""Charts by pygal, whose SVG Agg draws. Its marks are found by their order."""

import math
import re
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Protocol
from xml.etree import ElementTree

from numpy.random import Generator

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.grammars.words import PALETTE, hex_of
from saccade.gym.levels import Levels
from saccade.gym.looks.fonts import FACES
from saccade.gym.looks.svg import draw_svg
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state

STYLES = ("DefaultStyle", "CleanStyle", "LightStyle", "LightSolarizedStyle", "BlueStyle")
FONTS = ("sans", "serif")
_HIDDEN = re.compile(r"tooltip|showable|text-overlay tooltip")


class PygalChart(Protocol):
    """What is used of pygal's charts, which have no types."""

    uuid: str
    x_labels: list[str]

    def add(self, title: str, values: float | list[float]) -> object: ...

    def render(self, *, is_unicode: bool) -> str: ...


def render_pygal(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """A chart by pygal; ``print`` makes its letters smaller."""
    import_module("pygal.style")
    sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__module__ != "pygal"]  # it warns of itself

    known = as_state(state, QuantityState)
    size = round(levels.knob("print", 14, 11, 8))
    face = FONTS[int(rng.integers(len(FONTS)))]
    is_round = known.form in ("pie", "donut")
    colours = [hex_of(colour) for colour in PALETTE.values()]
    if not is_round:
        colours = [hex_of(PALETTE[measure.colour]) for measure in known.measures]
    fonts = {f"{part}_font_size": size for part in ("label", "major_label", "legend", "value")}
    style = getattr(sys.modules["pygal.style"], STYLES[int(rng.integers(len(STYLES)))])(
        colors=tuple(colours),
        title_font_size=size + 3,
        font_family=FACES[face][0],
        value_colors=("white",) * 8,
        guide_stroke_color="#c4c4c4",
        major_guide_stroke_color="#a8a8a8",
        guide_stroke_dasharray="2,3",
        **fonts,
    )
    chart = _KINDS[known.form]()(
        width=known.width,
        height=known.height,
        style=style,
        title=known.title or None,
        js=(),
        legend_at_bottom=True,
        legend_box_size=9,
        show_legend=is_round or len(known.measures) > 1,
        margin=14,
        **_options(known),
    )
    chart.uuid = "chart"
    if not is_round:
        chart.x_labels = list(known.entries)
    for name, values in _series(known):
        chart.add(name, values)
    root, names = _svg_with_ids(chart.render(is_unicode=True), known)
    picture = draw_svg(root, names, faces=(face,))
    return Rendering(images=(picture.image,), regions=picture.regions)


def _options(state: QuantityState) -> dict[str, object]:
    if state.form == "donut":
        return {"inner_radius": 0.5}
    if state.form == "pie":
        return {}
    tops = [sum(m.values[entry] for m in state.measures) for entry in range(len(state.entries))]
    top = max(tops) if state.form == "stacked" else max(max(measure.values) for measure in state.measures)
    every = 10 if top <= 110 else 20 if top <= 220 else 50
    last = 100 if state.form == "radar" else every * math.ceil((top + 1) / every)
    found: dict[str, object] = {"y_labels": list(range(0, last + 1, every)), "range": (0, last)}
    found["show_y_guides"] = True
    if state.form == "stacked":
        found["print_values"] = True
    if state.form == "area":
        found["fill"] = True
    if sum(len(name) for name in state.entries) >= 0.09 * state.width and state.form not in ("lying", "radar"):
        found["x_label_rotation"] = 30
    return found


def _series(state: QuantityState) -> list[tuple[str, float | list[float]]]:
    if state.form in ("pie", "donut"):
        printed = state.measures[0].reading == "printed"
        texts = [f"{name} {state.measures[0].text(i)}" if printed else name for i, name in enumerate(state.entries)]
        return [(text, state.measures[0].values[entry]) for entry, text in enumerate(texts)]
    return [(measure.name, list(measure.values)) for measure in state.measures]


def _svg_with_ids(svg: str, state: QuantityState) -> tuple[ElementTree.Element, dict[str, str]]:
    """The SVG without what only a mouse shows, with ids on the pieces of elements; and the elements by these ids."""
    root = ElementTree.fromstring(svg.partition("?>")[2] if svg.startswith("<?xml") else svg)
    root.set("width", str(state.width))
    root.set("height", str(state.height))
    names: dict[str, str] = {}

    def name(part: ElementTree.Element, element: str) -> None:
        part.set("id", f"e{len(names)}")
        names[f"e{len(names)}"] = element

    _prune(root)
    labels = {entry: f"entry:{index}" for index, entry in enumerate(state.entries)}
    is_round = state.form in ("pie", "donut")
    for part in root.iter():
        kind = part.get("class", "")
        if kind.startswith("series serie-") and (found := _marks(part)):
            serie = int(kind.split("serie-")[1].split()[0])
            for index, mark in enumerate(found):
                name(mark, f"value:{serie}:0" if is_round else f"value:{index}:{serie}")
        elif part.tag.endswith("}text"):
            said = "".join(part.itertext())
            if kind.startswith("title"):
                name(part, "title")
            elif said in labels:
                name(part, labels[said])
    for part in root.iter():
        if part.get("class", "").startswith("legend"):
            which = int(part.get("id", "activate-serie-0").rpartition("-")[2])
            for text in part.iter():
                if text.tag.endswith("}text"):
                    name(text, f"entry:{which}" if is_round else f"measure:{which}")
    return root, names


def _marks(series: ElementTree.Element) -> list[ElementTree.Element]:
    """Bars, dots or slices of a series, in order."""
    wanted = ("rect reactive", "dot reactive", "slice reactive")
    return [part for part in series.iter() if part.get("class", "").startswith(wanted)]


def _prune(part: ElementTree.Element) -> None:
    """Remove what is hidden."""
    for child in list(part):
        kind = child.get("class", "")
        if child.tag.endswith("}script") or (_HIDDEN.search(kind) and "reactive" not in kind):
            part.remove(child)
        else:
            _prune(child)


def _kind(name: str) -> Callable[[], Callable[..., PygalChart]]:
    def made() -> Callable[..., PygalChart]:
        found: Callable[..., PygalChart] = getattr(import_module("pygal"), name)
        return found

    return made


_KINDS = {
    "bar": _kind("Bar"),
    "histogram": _kind("Bar"),
    "grouped": _kind("Bar"),
    "lying": _kind("HorizontalBar"),
    "stacked": _kind("StackedBar"),
    "line": _kind("Line"),
    "lines": _kind("Line"),
    "area": _kind("Line"),
    "pie": _kind("Pie"),
    "donut": _kind("Pie"),
}

PYGAL = Renderer(name="pygal", render=render_pygal, axes=("print",), extra="gym", modules=("pygal", "matplotlib"))
