"""Looks of flow charts: outlines on white, or filled boxes; ways aside and back have lanes of their own."""

from collections.abc import Sequence
from functools import partial

from numpy.random import Generator

from saccade.gym.grammars.flow_charts import FlowState, arrow_id
from saccade.gym.levels import Levels
from saccade.gym.looks.sheets import MODULES, Sheet
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import Element, Link, SceneState, as_state

BOX_PX, DIAMOND_PX = (112, 34), (132, 46)
BACK_PX, SKIP_PX = 112, 106
"""From the column to the lanes of ways back and of ways that skip boxes."""

MERGE_PX = 32
"""How far above a box's middle other ways join the way into it."""

HEAD_PX = 8
INKS = ("#222222", "#1d3b6f", "#3b2f2f")
FILLS = (
    {"start": "#c9e4ca", "end": "#f3c6c6", "work": "#d6e4f7", "decision": "#fdf0c4"},
    {"start": "#e0d7f2", "end": "#e0d7f2", "work": "#eef3e2", "decision": "#fbdcc4"},
    {"start": "#bfe3e0", "end": "#bfe3e0", "work": "#ffffff", "decision": "#e6e6e6"},
)
Places = Sequence[tuple[float, float]]


def render_flow_chart(state: SceneState, rng: Generator, levels: Levels, *, is_filled: bool) -> Rendering:
    """Rounded ends, boxes and diamonds; ``print`` makes the letters smaller."""
    known = as_state(state, FlowState)
    size = levels.knob("print", 15, 12.5, 10)
    face = ("sans", "serif")[int(rng.integers(2))]
    ink = INKS[int(rng.integers(len(INKS)))]
    fills = FILLS[int(rng.integers(len(FILLS)))] if is_filled else dict.fromkeys(FILLS[0], "#ffffff")
    sheet = Sheet(
        known.width, known.height, "#ffffff" if not is_filled else ("#fcfcf8", "#f6f8fb")[int(rng.integers(2))]
    )
    for link in known.links:
        arrow, way = arrow_id(link.first, link.kind), _way(known, link)
        sheet.line(arrow, way, stroke=ink, width=1.6)
        _head(sheet, arrow, way[-2], way[-1], ink)
        if link.kind != "next":
            x, y, side = _label_place(way, size)
            sheet.text(arrow, link.kind, x, y, size * 0.9, face=face, fill=ink, anchor=side)
    for box in known.of_kind("box"):
        _paint_box(sheet, box, fills[box.attributes["sort"]], ink)
        x, y = _at(box)
        sheet.text(box.id, box.name, x, y, size, face=face, fill=ink)
    return sheet.rendering()


def _paint_box(sheet: Sheet, box: Element, fill: str, ink: str) -> None:
    x, y = _at(box)
    sort = box.attributes["sort"]
    if sort == "decision":
        wide, high = (side / 2 for side in DIAMOND_PX)
        corners = [(x - wide, y), (x, y - high), (x + wide, y), (x, y + high)]
        sheet.polygon(box.id, corners, fill=fill)
        sheet.line(box.id, [*corners, corners[0]], stroke=ink, width=1.6)
        return
    wide, high = BOX_PX
    sheet.rect(
        box.id,
        x - wide / 2,
        y - high / 2,
        wide,
        high,
        fill=fill,
        stroke=ink,
        stroke_width=1.6,
        rx=0 if sort == "work" else high / 2,
    )


def _way(state: FlowState, link: Link) -> Places:
    """The corners of an arrow: down, aside to a box, or by a lane to the way into another box."""
    start, end = state.element(link.first), state.element(link.second)
    (x, y), (to_x, to_y) = _at(start), _at(end)
    outward = -1 if state.is_mirrored else 1
    rows = end.numbers["row"] - start.numbers["row"]
    half = _half_width(start)
    if not start.numbers["column"] and end.numbers["column"]:
        return [(x + outward * half, y), (to_x - outward * BOX_PX[0] / 2, to_y)]
    if start.numbers["column"]:  # from a box aside down to the column
        return [(x, y + BOX_PX[1] / 2), (x, to_y - MERGE_PX), (to_x, to_y - MERGE_PX)]
    if rows == 1:
        return [(x, y + _half_height(start)), (to_x, to_y - _half_height(end))]
    if rows > 1:
        lane = x + outward * SKIP_PX
        return [(x + outward * half, y), (lane, y), (lane, to_y - MERGE_PX), (to_x, to_y - MERGE_PX)]
    lane = x - outward * BACK_PX
    return [(x - outward * half, y), (lane, y), (lane, to_y - MERGE_PX), (to_x, to_y - MERGE_PX)]


def _label_place(way: Places, size: float) -> tuple[float, float, str]:
    """Beside the beginning of an arrow, and which end of the word is there."""
    (x, y), (then_x, _) = way[0], way[1]
    if then_x == x:
        return x + 5, y + size * 0.55, "start"
    return (x + 3, y - size * 0.6, "start") if then_x > x else (x - 3, y - size * 0.6, "end")


def _head(sheet: Sheet, arrow: str, before: tuple[float, float], at: tuple[float, float], ink: str) -> None:
    (x, y), across = at, HEAD_PX * 0.45
    if before[0] == x:
        back = y - HEAD_PX if at[1] > before[1] else y + HEAD_PX
        sheet.polygon(arrow, [(x, y), (x - across, back), (x + across, back)], fill=ink)
        return
    back = x - HEAD_PX if x > before[0] else x + HEAD_PX
    sheet.polygon(arrow, [(x, y), (back, y - across), (back, y + across)], fill=ink)


def _at(box: Element) -> tuple[float, float]:
    assert box.center is not None
    return box.center.x, box.center.y


def _half_width(box: Element) -> float:
    return (DIAMOND_PX if box.attributes["sort"] == "decision" else BOX_PX)[0] / 2


def _half_height(box: Element) -> float:
    return (DIAMOND_PX if box.attributes["sort"] == "decision" else BOX_PX)[1] / 2


OUTLINED_FLOW = Renderer(
    name="outlined", render=partial(render_flow_chart, is_filled=False), axes=("print",), extra="gym", modules=MODULES
)
FILLED_FLOW = Renderer(
    name="filled", render=partial(render_flow_chart, is_filled=True), axes=("print",), extra="gym", modules=MODULES
)
