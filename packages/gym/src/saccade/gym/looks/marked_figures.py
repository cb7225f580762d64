"""Looks of marked figures: as a textbook prints them, and filled."""

import math
from functools import partial

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.grammars.marked_figures import MarkedFigure, MarkedState
from saccade.gym.levels import Levels
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state
from saccade.tasks.drawing import Colour

INK: Colour = (26, 28, 34)
MARK: Colour = (178, 40, 44)
FILLS: tuple[Colour, ...] = ((226, 236, 250), (250, 236, 222), (228, 244, 230))
PAGE: Colour = (253, 253, 252)


def _towards(start: Point, end: Point, length: float) -> Point:
    """The point so many pixels from one point on the way to another."""
    share = length / math.hypot(end.x - start.x, end.y - start.y)
    return Point(start.x + (end.x - start.x) * share, start.y + (end.y - start.y) * share)


class _FigureDrawing:
    """A figure while it is painted."""

    def __init__(self, painter: Painter, figure: MarkedFigure, size: int) -> None:
        self.painter, self.figure, self.size = painter, figure, size
        count = len(figure.corners)
        self.middle = Point(sum(one.x for one in figure.corners) / count, sum(one.y for one in figure.corners) / count)

    def ends(self, side: int) -> tuple[Point, Point]:
        return self.figure.corners[side], self.figure.corners[(side + 1) % len(self.figure.corners)]

    def across(self, side: int, along: float, reach: float) -> tuple[Point, Point]:
        """A short stroke across a side, so many pixels along it from its middle."""
        start, end = self.ends(side)
        length = math.hypot(end.x - start.x, end.y - start.y)
        x, y = (end.x - start.x) / length, (end.y - start.y) / length
        at = Point((start.x + end.x) / 2 + x * along, (start.y + end.y) / 2 + y * along)
        return Point(at.x - y * reach, at.y + x * reach), Point(at.x + y * reach, at.y - x * reach)

    def outline(self) -> None:
        for side in range(len(self.figure.corners)):
            self.painter.line(f"side:{self.figure.side(side)}", self.ends(side), 2.4, INK)

    def ticks(self) -> None:
        """One stroke across each side of the first group of equal ones, two across those of the second."""
        for which, group in enumerate(self.figure.marks.sides):
            for side in group:
                for stroke in range(which + 1):
                    along = 6 * (stroke - which / 2)
                    ends = self.across(side, along, 7)
                    self.painter.line(f"side:{self.figure.side(side)}", ends, 2, MARK)

    def arrows(self) -> None:
        """Heads of arrows on parallel sides, one or two, all in one direction."""
        for which, group in enumerate(self.figure.marks.parallel):
            for place, side in enumerate(group):
                sign = 1 if place == 0 else -1
                for head in range(which + 1):
                    along = sign * (22 + 7 * head)
                    wings = self.across(side, along - sign * 7, 6)
                    (tip, _) = self.across(side, along, 0)
                    name = f"side:{self.figure.side(side)}"
                    self.painter.line(name, [wings[0], tip, wings[1]], 2, INK)

    def corner_marks(self) -> None:
        """Squares in right angles; arcs in equal ones, one or two lines for each group."""
        for which, group in enumerate(self.figure.marks.angles):
            for corner in group:
                for line in range(which + 1):
                    self.arc(corner, 20 + 5 * line)
        for corner in self.figure.marks.right:
            here, before, after = self._around(corner)
            one, other = _towards(here, before, 14), _towards(here, after, 14)
            far = Point(one.x + other.x - here.x, one.y + other.y - here.y)
            self.painter.line(f"corner:{self.figure.letters[corner]}", [one, far, other], 2, MARK)

    def arc(self, corner: int, radius: float) -> None:
        here, before, after = self._around(corner)
        start = math.atan2(before.y - here.y, before.x - here.x)
        turn = (math.atan2(after.y - here.y, after.x - here.x) - start + math.pi) % (2 * math.pi) - math.pi
        places = [
            Point(
                here.x + radius * math.cos(start + turn * step / 10),
                here.y + radius * math.sin(start + turn * step / 10),
            )
            for step in range(11)
        ]
        self.painter.line(f"corner:{self.figure.letters[corner]}", places, 1.8, MARK)

    def _around(self, corner: int) -> tuple[Point, Point, Point]:
        corners = self.figure.corners
        return corners[corner], corners[corner - 1], corners[(corner + 1) % len(corners)]

    def words(self, halo: Colour) -> None:
        """Letters outside the corners, lengths outside the sides, degrees inside the angles."""
        for index, corner in enumerate(self.figure.corners):
            letter, side = self.figure.letters[index], self.figure.side(index)
            at = _towards(corner, self.middle, -15)
            self.painter.text(f"corner:{letter}", letter, at, self.size + 2, INK)
            if index in self.figure.printed_sides:
                pair = self.across(index, 0, 19)
                at = max(pair, key=lambda one: math.hypot(one.x - self.middle.x, one.y - self.middle.y))
                self.painter.text(f"number:{side}", str(self.figure.lengths[index]), at, self.size, INK, halo=PAGE)
            if index in self.figure.printed_angles:
                here, before, after = self._around(index)
                one, other = _towards(here, before, 42), _towards(here, after, 42)
                at = Point((one.x + other.x) / 2, (one.y + other.y) / 2)
                text = f"{self.figure.degrees[index]}°"
                self.painter.text(f"degrees:{letter}", text, at, self.size - 1, INK, halo=halo)


def render_marked(state: SceneState, rng: Generator, levels: Levels, *, is_filled: bool) -> Rendering:
    """Each figure: its ground, marks, outline and words."""
    known = as_state(state, MarkedState)
    painter, size = Painter(known.width, known.height, PAGE), levels.whole("print", 16, 15, 13)
    for figure in known.figures:
        fill = FILLS[int(rng.integers(len(FILLS)))] if is_filled else PAGE
        drawing = _FigureDrawing(painter, figure, size)
        painter.polygon("", figure.corners, fill)
        drawing.corner_marks()
        drawing.outline()
        drawing.ticks()
        drawing.arrows()
        drawing.words(fill)
    return Rendering(images=(painter.image,), regions=painter.regions())


LINES = Renderer(name="lines", render=partial(render_marked, is_filled=False), axes=("print",))
FILLED = Renderer(name="filled", render=partial(render_marked, is_filled=True), axes=("print",))
