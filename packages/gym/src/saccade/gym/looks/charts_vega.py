"""Charts in Vega-Lite's grammar, made SVG by vl-convert, whose outlines Agg draws.

Every mark carries its element's id as its description, which vl-convert writes into the SVG.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from xml.etree import ElementTree

from numpy.random import Generator

from saccade.gym.grammars.quantities import QuantityState
from saccade.gym.levels import Levels
from saccade.gym.looks.fonts import small_family, small_fonts
from saccade.gym.looks.svg import draw_svg
from saccade.gym.looks.vega_forms import FORMS, Spec, rows
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state

GROUNDS = ("white", "#f7f4ea", "#eef2f6")
FONTS = ("sans", "serif")
_ELEMENT = re.compile(r"value:\d+:\d+|entry:\d+")


def render_vega(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """A chart by Vega-Lite; ``print`` makes its letters smaller."""
    import vl_convert

    _give_fonts()
    known = as_state(state, QuantityState)
    size = round(levels.knob("print", 14, 11, 8))
    face = FONTS[int(rng.integers(len(FONTS)))]
    spec: Spec = {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": known.width - 110,
        "height": known.height - 110,
        "background": GROUNDS[int(rng.integers(len(GROUNDS)))],
        "data": {"values": rows(known)},
        "config": _config(size, small_family(face)),
        **FORMS[known.form](known),
    }
    if known.title:
        spec["title"] = known.title
    root, names = _svg_with_ids(vl_convert.vegalite_to_svg(spec), known)
    picture = draw_svg(root, names, faces=(face,))
    regions = picture.regions
    if known.form in ("scatter", "bubble"):  # one mark shows all values of its entry
        marks = [one for one in regions if one.element.startswith("value:")]
        regions += tuple(
            replace(one, element=f"{one.element[:-1]}{which}")
            for one in marks
            for which in range(1, len(known.measures))
        )
    return Rendering(images=(picture.image,), regions=regions)


@cache
def _give_fonts() -> None:
    """Tell vl-convert of the fonts by which it measures words, once: what the machine has of them is never asked."""
    import vl_convert

    vl_convert.register_font_directory(small_fonts(*FONTS))


def _config(size: int, font: str) -> Spec:
    """Sizes and fonts. Nothing is cut off, so no word is measured for that."""
    axis: Spec = {
        **{"labelFontSize": size, "titleFontSize": size, "labelOverlap": False, "titleFontWeight": "normal"},
        **{"labelLimit": 0, "titleLimit": 0},
    }
    legend: Spec = {"labelFontSize": size, "orient": "bottom", "title": None, "columns": 5, "labelLimit": 0}
    return {"font": font, "axis": axis, "legend": legend, "title": {"fontSize": size + 2, "limit": 0}}


def _svg_with_ids(svg: str, state: QuantityState) -> tuple[ElementTree.Element, dict[str, str]]:
    """The SVG with an id on every piece of an element, and the elements by these ids."""
    root = ElementTree.fromstring(svg)
    names: dict[str, str] = {}

    def name(part: ElementTree.Element, element: str) -> None:
        mark = f"e{len(names)}"
        part.set("id", mark)
        names[mark] = element

    labels = {entry: f"entry:{index}" for index, entry in enumerate(state.entries)}
    labels |= {measure.name: f"measure:{which}" for which, measure in enumerate(state.measures)}
    groups: list[str] = []
    _walk(root, groups, labels, name)
    return root, names


def _walk(
    part: ElementTree.Element,
    groups: list[str],
    labels: dict[str, str],
    name: Callable[[ElementTree.Element, str], None],
) -> None:
    """Name marks by their descriptions, and texts of axes, legends and titles by what they say."""
    described = part.get("aria-label", "")
    if _ELEMENT.fullmatch(described):
        name(part, described)
    kind = part.get("class", "")
    if part.tag.endswith("}text"):
        said, around = "".join(part.itertext()), " ".join(groups)
        if "role-title" in around:
            name(part, "title")
        elif ("role-axis" in around or "role-legend" in around) and said in labels:
            name(part, labels[said])
    groups.append(kind)
    for child in part:
        _walk(child, groups, labels, name)
    groups.pop()


VEGA = Renderer(name="vega", render=render_vega, axes=("print",), extra="gym", modules=("vl_convert", "matplotlib"))
