"""Looks of networks: a diagram of circles and lines, and a map of towns and roads with water and woods."""

import math

from numpy.random import Generator

from saccade.gym.grammars.graphs import NetworkState, edge_id
from saccade.gym.grammars.words import PALETTE, hex_of
from saccade.gym.levels import Levels
from saccade.gym.looks.sheets import MODULES, Sheet
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import Element, SceneState, as_state


def _at(node: Element) -> tuple[float, float]:
    assert node.center is not None
    return node.center.x, node.center.y


def render_diagram(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Circles with letters, lines with numbers on small plates."""
    known = as_state(state, NetworkState)
    size = levels.knob("print", 15, 12, 9)
    face = ("sans", "serif", "mono")[int(rng.integers(3))]
    sheet = Sheet(known.width, known.height, "#fdfdfb" if rng.integers(2) else "#ffffff")
    for link in known.links:
        ends = [_at(known.element(link.first)), _at(known.element(link.second))]
        sheet.line(edge_id(link.first, link.second), ends, stroke="#444444", width=2)
    _plates(sheet, known, size, face, "#ffffff", "#222222")
    for node in known.of_kind("node"):
        x, y = _at(node)
        sheet.circle(
            node.id, x, y, 15, fill=hex_of(PALETTE[node.attributes["colour"]]), stroke="#222222", stroke_width=1.5
        )
        sheet.text(node.id, node.name, x, y, 15, face=face, fill="#ffffff", is_bold=True)
    return sheet.rendering()


def render_map(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """Land with a river, woods, roads and towns; the numbers are miles."""
    known = as_state(state, NetworkState)
    size = levels.knob("print", 14, 11, 8.5)
    sheet = Sheet(known.width, known.height, ("#eef0dd", "#f4efe1", "#e8efe4")[int(rng.integers(3))])
    for _ in range(14):
        x, y = (float(v) for v in rng.uniform(0, 1, size=2))
        sheet.circle("", x * known.width, y * known.height, float(rng.uniform(14, 46)), fill="#cfe0b8", opacity=0.6)
    _river(sheet, rng, known)
    for link in known.links:
        ends = [_at(known.element(link.first)), _at(known.element(link.second))]
        sheet.line("", ends, stroke="#8a6d3b", width=6, is_round=True)
        sheet.line(edge_id(link.first, link.second), ends, stroke="#f6d27a", width=3.5, is_round=True)
    _plates(sheet, known, size, "sans", "#fffbe8", "#4a3b1d")
    for node in known.of_kind("node"):
        x, y = _at(node)
        sheet.circle(
            node.id, x, y, 6, fill=hex_of(PALETTE[node.attributes["colour"]]), stroke="#222222", stroke_width=1.5
        )
        sheet.text(
            node.id,
            node.name,
            x,
            y - 14,
            size + 1,
            face="serif",
            fill="#1b1b1b",
            is_bold=True,
            halo="#f4f4e6",
            halo_width=2.4,
        )
    north = known.width - 26
    sheet.polygon("", [(north, 14), (north + 7, 38), (north, 32), (north - 7, 38)], fill="#333333")
    sheet.text("", "N", north, 46, 12, fill="#333333")
    return sheet.rendering()


def _plates(sheet: Sheet, state: NetworkState, size: float, face: str, fill: str, ink: str) -> None:
    """The numbers of the edges, at their middles."""
    for link in state.links:
        (x1, y1), (x2, y2) = _at(state.element(link.first)), _at(state.element(link.second))
        x, y, text = (x1 + x2) / 2, (y1 + y2) / 2, f"{link.number:g}"
        wide = size * (0.35 + 0.65 * len(text))
        element = edge_id(link.first, link.second)
        sheet.rect(
            element, x - wide / 2, y - size * 0.65, wide, size * 1.3, rx=2, fill=fill, stroke=ink, stroke_width=0.4
        )
        sheet.text(element, text, x, y, size, face=face, fill=ink)


def _river(sheet: Sheet, rng: Generator, state: NetworkState) -> None:
    start, slope, wave = float(rng.uniform(0.1, 0.9)), float(rng.uniform(-0.5, 0.5)), float(rng.uniform(0.02, 0.07))
    points = []
    for step in range(41):
        along = step / 40
        across = start + slope * (along - 0.5) + wave * math.sin(along * 9 + start * 20)
        points.append((along * state.width, across * state.height))
    sheet.line("", points, stroke="#9cc7e6", width=11)


DIAGRAM = Renderer(name="diagram", render=render_diagram, axes=("print",), extra="gym", modules=MODULES)
MAP = Renderer(name="map", render=render_map, axes=("print",), extra="gym", modules=MODULES)
