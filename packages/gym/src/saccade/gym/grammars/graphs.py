"""Networks: nodes in the plane, joined by weighted edges that no other node lies on. Roads of maps are such networks.

Axes: ``clutter`` (how many nodes), ``links`` (how many edges beyond a tree).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.gym.state import Element, Link, SceneState
from saccade.tasks.scene import pick_several

AXES = ("clutter", "links")
MARGIN_PX, TITLE_PX = 46, 20
CLEAR_PX = 20
"""No edge comes nearer to a node that it does not join."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkState(SceneState):
    """Elements of the kind "node" with a place and a colour, ``edge:A:B`` for each link of the kind "edge"."""

    node_word: str
    edge_word: str


def network_grammar(
    name: str, *, names: tuple[str, ...], node: str, edge: str, size: tuple[int, int], is_measured: bool
) -> Grammar:
    """Networks of nodes with these names; measured edges are as long as they are drawn."""
    return Grammar(name=name, draw=networks_drawn(names, node, edge, size, is_measured), axes=AXES)


def networks_drawn(
    names: tuple[str, ...], node: str, edge: str, size: tuple[int, int], is_measured: bool
) -> Callable[[Generator, Levels], NetworkState]:
    """Draws connected networks: a tree of near nodes first, then more edges."""

    def draw(rng: Generator, levels: Levels) -> NetworkState:
        most = levels.whole("clutter", 5, 8, 13)
        count = int(rng.integers(max(4, most - 2), most + 1))
        points = _node_places(rng, count, size)
        pairs = _edges(rng, points, levels.whole("links", 1, 3, 7))
        colours = list(PALETTE)
        nodes = tuple(
            Element(
                id=name,
                kind="node",
                name=name,
                center=points[index],
                attributes={"colour": colours[int(rng.integers(len(colours)))]},
            )
            for index, name in enumerate(pick_several(rng, names, count))
        )
        links = []
        weights = [int(w) for w in rng.permutation(48)[: len(pairs)] + 2]
        for (a, b), weight in zip(pairs, weights):
            long = round(math.dist(_xy(points[a]), _xy(points[b])) / 5)
            links.append(
                Link(kind="edge", first=nodes[a].id, second=nodes[b].id, number=float(long if is_measured else weight))
            )
        edges = tuple(
            Element(
                id=edge_id(link.first, link.second),
                kind="edge",
                name=f"{edge} {link.first} to {link.second}",
                numbers={"weight": link.number},
            )
            for link in links
        )
        return NetworkState(
            elements=(*nodes, *edges), links=tuple(links), width=size[0], height=size[1], node_word=node, edge_word=edge
        )

    return draw


def edge_id(first: str, second: str) -> str:
    """The id of the edge between two nodes, whichever is named first."""
    return "edge:" + ":".join(sorted((first, second)))


def _xy(point: Point) -> tuple[float, float]:
    return (point.x, point.y)


def _node_places(rng: Generator, count: int, size: tuple[int, int]) -> list[Point]:
    columns = math.ceil(math.sqrt(count * 1.4))
    rows = math.ceil(count * 1.3 / columns)
    wide, high = (size[0] - 2 * MARGIN_PX) / columns, (size[1] - 2 * MARGIN_PX - TITLE_PX) / rows
    found = []
    for cell in rng.permutation(rows * columns)[:count]:
        row, column = divmod(int(cell), columns)
        shift_x, shift_y = (float(v) for v in rng.uniform(-0.27, 0.27, size=2))
        x, y = MARGIN_PX + (column + 0.5 + shift_x) * wide, MARGIN_PX + TITLE_PX + (row + 0.5 + shift_y) * high
        found.append(Point(round(x), round(y)))
    return found


def _edges(rng: Generator, points: list[Point], more: int) -> list[tuple[int, int]]:
    """A tree of the nearest nodes, then so many of the shortest other edges; none crosses another or a node."""
    every = sorted(
        ((math.dist(_xy(points[a]), _xy(points[b])), a, b) for a in range(len(points)) for b in range(a)),
    )
    found: list[tuple[int, int]] = []
    group = list(range(len(points)))
    for _, a, b in every:
        if group[a] != group[b] and _is_clear(points, found, a, b, must=True):
            group = [group[a] if of == group[b] else of for of in group]
            found.append((a, b))
    rest = [(a, b) for _, a, b in every if (a, b) not in found][: 3 * more]
    for at in rng.permutation(len(rest)):
        a, b = rest[int(at)]
        if more and _is_clear(points, found, a, b, must=False):
            found.append((a, b))
            more -= 1
    return found


def _is_clear(points: list[Point], found: list[tuple[int, int]], a: int, b: int, *, must: bool) -> bool:
    near = any(_gap(points[c], points[a], points[b]) < CLEAR_PX for c in range(len(points)) if c not in (a, b))
    if must:
        return not near or len(points) < 3
    crossing = any(_cross(points[a], points[b], points[c], points[d]) for c, d in found if not {a, b} & {c, d})
    return not near and not crossing


def _gap(point: Point, start: Point, end: Point) -> float:
    x, y = end.x - start.x, end.y - start.y
    at = max(0.0, min(1.0, ((point.x - start.x) * x + (point.y - start.y) * y) / (x * x + y * y)))
    return math.hypot(start.x + at * x - point.x, start.y + at * y - point.y)


def _cross(a: Point, b: Point, c: Point, d: Point) -> bool:
    def side(p: Point, q: Point, r: Point) -> bool:
        return (q.x - p.x) * (r.y - p.y) > (q.y - p.y) * (r.x - p.x)

    return side(a, b, c) != side(a, b, d) and side(c, d, a) != side(c, d, b)
