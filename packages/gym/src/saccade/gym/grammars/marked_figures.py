"""Triangles and quadrilaterals whose equal sides, equal angles, right angles and parallels are marked as in textbooks.

Axes: ``figures`` (how many), ``print`` (how small letters are).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen
from saccade.gym.state import Element, SceneState

LETTERS = "ABCDEFGHJKLMNPQRST"
CELL_PX, REACH_PX = 300, 112
"""Of the cell of each figure, and how far its corners lie from the middle at most."""

Groups = tuple[tuple[int, ...], ...]
"""Numbers of sides or corners that are alike; side i runs from corner i to the next."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sort:
    """A sort of figure: what is alike in it."""

    name: str
    sides: Groups = ()
    angles: Groups = ()
    right: tuple[int, ...] = ()
    parallel: Groups = ()


SORTS = {
    sort.name: sort
    for sort in (
        Sort(name="isosceles triangle", sides=((0, 2),), angles=((1, 2),)),
        Sort(name="right triangle", right=(0,)),
        Sort(name="equilateral triangle", sides=((0, 1, 2),), angles=((0, 1, 2),)),
        Sort(name="parallelogram", sides=((0, 2), (1, 3)), angles=((0, 2), (1, 3)), parallel=((0, 2), (1, 3))),
        Sort(name="rhombus", sides=((0, 1, 2, 3),), angles=((0, 2), (1, 3))),
        Sort(name="rectangle", sides=((0, 2), (1, 3)), right=(0, 1, 2, 3)),
        Sort(name="kite", sides=((0, 3), (1, 2)), angles=((1, 3),)),
        Sort(name="trapezium", sides=((1, 3),), angles=((0, 1), (2, 3)), parallel=((0, 2),)),
    )
}


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkedFigure:
    """A figure: its letters and corners in pixels, and which sides and corners have a printed number."""

    marks: Sort
    letters: str
    corners: tuple[Point, ...]
    lengths: tuple[int, ...]
    """Of all sides, in the unit of the printed ones."""
    degrees: tuple[int, ...]
    """Of all angles."""
    printed_sides: tuple[int, ...]
    printed_angles: tuple[int, ...]

    def side(self, index: int) -> str:
        """By its letters: AB."""
        return self.letters[index] + self.letters[(index + 1) % len(self.letters)]


@dataclass(frozen=True, kw_only=True, slots=True)
class MarkedState(SceneState):
    """Elements ``side:AB``, ``corner:A``, ``number:AB`` and ``degrees:A`` where these are printed."""

    figures: tuple[MarkedFigure, ...]


def _shape(rng: Generator, sort: str) -> list[tuple[float, float]]:
    """Corners around the origin, counter-clockwise with y up, as large as it likes."""
    wide, high = float(rng.uniform(1.2, 2.0)), float(rng.uniform(0.8, 1.4))
    lean = float(rng.uniform(0.25, 0.6))
    match sort:
        case "isosceles triangle":
            return [(0, high * 1.3), (-wide / 2, 0), (wide / 2, 0)]
        case "right triangle":
            return [(0, 0), (wide, 0), (0, high)]
        case "equilateral triangle":
            return [(0, math.sqrt(3)), (-1, 0), (1, 0)]
        case "parallelogram":
            return [(0, 0), (wide, 0), (wide + lean, high), (lean, high)]
        case "rhombus":
            return [(0, -high), (wide / 2, 0), (0, high), (-wide / 2, 0)]
        case "rectangle":
            return [(0, 0), (wide, 0), (wide, high * 0.8), (0, high * 0.8)]
        case "kite":
            return [(0, high), (-wide / 3, high * 0.4), (0, -high), (wide / 3, high * 0.4)]
        case _:
            return [(0, 0), (wide + 2 * lean, 0), (wide + lean, high), (lean, high)]


def _placed(rng: Generator, corners: Sequence[tuple[float, float]], middle: Point) -> tuple[Point, ...]:
    """Turned, as large as its cell allows, y down."""
    turn = math.radians(float(rng.uniform(-35, 35)))
    turned = [(x * math.cos(turn) - y * math.sin(turn), x * math.sin(turn) + y * math.cos(turn)) for x, y in corners]
    left, right = min(x for x, _ in turned), max(x for x, _ in turned)
    low, high = min(y for _, y in turned), max(y for _, y in turned)
    scale = 2 * REACH_PX * float(rng.uniform(0.85, 1)) / max(right - left, high - low)
    x0, y0 = (left + right) / 2, (low + high) / 2
    return tuple(Point(middle.x + (x - x0) * scale, middle.y - (y - y0) * scale) for x, y in turned)


def _rolled(sort: Sort, by: int, size: int) -> Sort:
    """The sort where the first corner is another one, so that letters say nothing of what is alike."""

    def rolled(groups: Groups) -> Groups:
        return tuple(tuple((index - by) % size for index in group) for group in groups)

    right = tuple((index - by) % size for index in sort.right)
    return replace(
        sort, sides=rolled(sort.sides), angles=rolled(sort.angles), parallel=rolled(sort.parallel), right=right
    )


def _degrees(corners: Sequence[Point], index: int) -> float:
    here, before, after = corners[index], corners[index - 1], corners[(index + 1) % len(corners)]
    one = math.atan2(before.y - here.y, before.x - here.x)
    other = math.atan2(after.y - here.y, after.x - here.x)
    between = abs(math.degrees(one - other)) % 360
    return min(between, 360 - between)


def _alike(values: Sequence[float], groups: Groups) -> list[int]:
    """Rounded, the same for all of a group."""
    found = [max(1, round(value)) for value in values]
    for group in groups:
        for index in group:
            found[index] = found[group[0]]
    return found


def draw_marked(rng: Generator, levels: Levels) -> MarkedState:
    """One to three figures side by side, with corners in alphabetical order; one of each group has a number."""
    count = levels.whole("figures", 1, 2, 3)
    letters, figures = list(LETTERS), []
    for cell in range(count):
        name = chosen(rng, tuple(SORTS))
        shape = _shape(rng, name)
        size = len(shape)
        by = int(rng.integers(size))
        marks = _rolled(SORTS[name], by, size)
        corners = _placed(rng, [*shape[by:], *shape[:by]], Point(CELL_PX * (cell + 0.5), CELL_PX / 2))
        unit = float(rng.uniform(7, 18))
        ends = [(corners[i], corners[(i + 1) % size]) for i in range(size)]
        lengths = _alike([math.hypot(a.x - b.x, a.y - b.y) / unit for a, b in ends], marks.sides)
        degrees = _alike([_degrees(corners, i) for i in range(size)], marks.angles)
        for index in marks.right:
            degrees[index] = 90
        loose = [i for i in range(size) if all(i not in group for group in marks.sides)]
        sides = [*(chosen(rng, group) for group in marks.sides), *loose]
        angles = [chosen(rng, group) for group in marks.angles if len(group) < 3]
        if name == "right triangle":
            angles.append((marks.right[0] + 1) % 3)
        elif name == "isosceles triangle" and rng.integers(2):
            angles.append(next(corner for corner in range(3) if corner not in marks.angles[0]))
        figures.append(
            MarkedFigure(
                marks=marks,
                letters="".join(letters[:size]),
                corners=corners,
                lengths=tuple(lengths),
                degrees=tuple(degrees),
                printed_sides=tuple(sides),
                printed_angles=tuple(dict.fromkeys(angles)),
            )
        )
        del letters[:size]
    return MarkedState(
        elements=tuple(one for figure in figures for one in _elements(figure)),
        width=CELL_PX * count,
        height=CELL_PX,
        figures=tuple(figures),
    )


def _elements(figure: MarkedFigure) -> list[Element]:
    found = []
    for index, letter in enumerate(figure.letters):
        name = figure.side(index)
        found += [
            Element(id=f"side:{name}", kind="side", name=f"side {name}"),
            Element(id=f"corner:{letter}", kind="corner", name=f"corner {letter}"),
        ]
        if index in figure.printed_sides:
            found.append(Element(id=f"number:{name}", kind="number", name=f"length {name}"))
        if index in figure.printed_angles:
            found.append(Element(id=f"degrees:{letter}", kind="degrees", name=f"angle {letter}"))
    return found


MARKED = Grammar(name="marked figures", draw=draw_marked, axes=("figures",))
