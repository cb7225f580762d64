"""Circuit diagrams by schemdraw, with symbols of IEEE or of IEC; Agg makes pixels of its SVG.

Every part is a drawing of its own, whose coordinates schemdraw does not shift: put into one SVG they are one diagram,
in which each part is a group.
"""

from functools import partial
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from numpy.random import Generator

from saccade.gym.grammars.circuits import MAIN, CircuitState
from saccade.gym.levels import Levels
from saccade.gym.looks.fonts import FACES
from saccade.gym.looks.svg import MODULES, draw_svg
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import Element, SceneState, as_state

if TYPE_CHECKING:
    from schemdraw.elements import Element2Term

UNIT_PX = 40
INCHES_PER_UNIT = UNIT_PX / 72
"""schemdraw counts 72 pixels to the inch."""

HIGH, COLUMN = 8.0, 2.9
"""In units: between the rails, and from branch to branch."""

PART = 2.3
"""How long a part is."""

LINE_PX = 1.6
INKS = (("black", "#ffffff"), ("#1d3b6f", "#fbfaf3"), ("#333333", "#f4f7f4"))
Place = tuple[float, float]


def render_circuit(state: SceneState, rng: Generator, levels: Levels, *, is_iec: bool) -> Rendering:
    """The battery at the left, branches beside each other; ``print`` makes the letters smaller."""
    import schemdraw
    from schemdraw import elements

    known = as_state(state, CircuitState)
    ink, ground = INKS[int(rng.integers(len(INKS)))]
    size = levels.knob("print", 15, 12, 9)
    if schemdraw.svgconfig.text != "text":  # with ziamath there it would draw letters as paths
        schemdraw.svgconfig.text = "text"
    pieces: list[str] = []
    names: dict[str, str] = {}

    def add(one: "Element2Term", start: Place, end: Place, element: str = "", label: str = "") -> None:
        drawing = schemdraw.Drawing(
            canvas="svg",
            show=False,
            inches_per_unit=INCHES_PER_UNIT,
            font=FACES["sans"][0],
            fontsize=size,
            color=ink,
            lw=LINE_PX,
        )
        placed = one.endpoints(start, end)
        drawing.add(placed.label(label, loc="bottom") if label else placed)
        inside = "".join(
            ElementTree.tostring(child, encoding="unicode")
            for child in ElementTree.fromstring(drawing.get_imagedata("svg"))
        )
        mark = f"g{len(pieces)}"
        if element:
            names[mark] = element
        pieces.append(f'<g id="{mark}">{inside}</g>')

    def wire(*places: Place) -> None:
        at = " ".join(f"{x * UNIT_PX:g},{-y * UNIT_PX:g}" for x, y in places)
        pieces.append(f'<polyline points="{at}" fill="none" stroke="{ink}" stroke-width="{LINE_PX}"/>')

    symbols = partial(_symbol, is_iec=is_iec)
    last = COLUMN * known.branches
    battery = known.element("battery")
    add(elements.Battery(), (0, HIGH / 2 - 1), (0, HIGH / 2 + 1), "battery", battery.attributes["value"])
    wire((0, HIGH / 2 + 1), (0, HIGH))
    wire((last, 0), (0, 0), (0, HIGH / 2 - 1))
    main = known.branch(MAIN)
    for one in main:
        add(symbols(one), (0.3, HIGH), (COLUMN - 0.3, HIGH), one.id, one.name)
        wire((0, HIGH), (0.3, HIGH))
        wire((COLUMN - 0.3, HIGH), (COLUMN, HIGH))
    wire((COLUMN if main else 0, HIGH), (last, HIGH))
    for branch in range(known.branches):
        x, parts = COLUMN * (branch + 1), known.branch(branch)
        gap = (HIGH - PART * len(parts)) / (len(parts) + 1)
        top = HIGH
        for one in parts:
            wire((x, top), (x, top - gap))
            value = one.get("value")
            said = f"{one.name}\n{value}" if value else one.name
            add(symbols(one), (x, top - gap - PART), (x, top - gap), one.id, said)
            top -= gap + PART
        wire((x, top), (x, 0))
    picture = draw_svg(ElementTree.fromstring(_sheet("".join(pieces), known, ground)), names)
    return Rendering(images=(picture.image,), regions=picture.regions)


def _symbol(one: Element, *, is_iec: bool) -> "Element2Term":
    from schemdraw import elements

    sort = one.attributes["part"]
    if sort == "switch":
        return elements.Switch(nc=one.attributes["is"] == "closed")
    if sort == "resistor":
        return elements.ResistorIEC() if is_iec else elements.ResistorIEEE()
    if sort == "inductor":
        return elements.Inductor2() if is_iec else elements.Inductor()
    return elements.Capacitor() if sort == "capacitor" else elements.Lamp()


def _sheet(inside: str, state: CircuitState, ground: str) -> str:
    """All drawings as one, the battery's foot at a fixed place."""
    left, top = -96, -(state.height + HIGH * UNIT_PX) / 2
    at = f'x="{left}" y="{top}" width="{state.width}" height="{state.height}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{state.width}" height="{state.height}" '
        f'viewBox="{left} {top} {state.width} {state.height}"><rect {at} fill="{ground}"/>{inside}</svg>'
    )


NEEDED = ("schemdraw", *MODULES)
IEEE = Renderer(name="ieee", render=partial(render_circuit, is_iec=False), axes=("print",), extra="gym", modules=NEEDED)
IEC = Renderer(name="iec", render=partial(render_circuit, is_iec=True), axes=("print",), extra="gym", modules=NEEDED)
