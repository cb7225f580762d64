"""Graphs of functions on squared paper: lines, parabolas and bent lines with whole coordinates to read.

Axes: ``curves`` (how many), ``kinds`` (how many kinds of functions), ``print`` (how large the squares are).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState

REACH = 6
"""The plot goes from minus this to this, in both directions."""
NAMES = ("f", "g", "h")
KINDS = ("line", "parabola", "bend")
MEETINGS = range(-4, 5)
"""The x at which graphs that meet are asked about."""
XS = tuple(range(-REACH, REACH + 1))


@dataclass(frozen=True, kw_only=True, slots=True)
class Curve:
    """``slope * x + up`` as a line; ``slope * (x - right) ** 2 + up`` as a parabola, with ``abs`` as a bend."""

    name: str
    kind: str
    colour: str
    slope: float
    right: int
    up: int

    def at(self, x: float) -> float:
        if self.kind == "line":
            return self.slope * x + self.up
        return self.slope * ((x - self.right) ** 2 if self.kind == "parabola" else abs(x - self.right)) + self.up

    def places(self) -> tuple[int, ...]:
        """Whole x at which the graph goes through a corner of the squares inside the plot."""
        return tuple(x for x in XS if abs(self.at(x)) <= REACH and self.at(x) == round(self.at(x)))

    def zeros(self) -> int:
        """How often it meets the x axis, anywhere."""
        if self.kind == "line":
            return 1
        return 1 if self.up == 0 else 2 if self.up * self.slope < 0 else 0

    def formula(self) -> str:
        """As a textbook writes it."""
        factor = {1.0: "", -1.0: "-"}.get(self.slope, f"{self.slope:g}")
        x = "x" if not self.right else f"(x {'-' if self.right > 0 else '+'} {abs(self.right)})"
        if self.kind == "bend":
            x = f"|{x.strip('()')}|"
        power = "²" if self.kind == "parabola" else ""
        up = "" if not self.up else f" {'+' if self.up > 0 else '-'} {abs(self.up)}"
        return f"y = {factor}{x}{power}{up}"


@dataclass(frozen=True, kw_only=True, slots=True)
class FunctionsState(SceneState):
    """Elements ``curve:f`` with its legend ``name:f``, and ``place:f:x`` where a graph goes through a corner."""

    curves: tuple[Curve, ...]
    unit_px: int

    def curve(self, name: str) -> Curve:
        return next(curve for curve in self.curves if curve.name == name)


def _line(rng: Generator, name: str, colour: str) -> Curve:
    slope = chosen(rng, (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0))
    return Curve(name=name, kind="line", colour=colour, slope=slope, right=0, up=int(rng.integers(-4, 5)))


def _curved(rng: Generator, name: str, colour: str, *, kind: str) -> Curve:
    slope = chosen(rng, (-1.0, -0.5, 0.5, 1.0) if kind == "parabola" else (-2.0, -1.0, 1.0, 2.0))
    right, up = int(rng.integers(-3, 4)), int(rng.integers(-4, 5))
    return Curve(name=name, kind=kind, colour=colour, slope=slope, right=right, up=up)


MAKERS: dict[str, Callable[[Generator, str, str], Curve]] = {
    "line": _line,
    "parabola": partial(_curved, kind="parabola"),
    "bend": partial(_curved, kind="bend"),
}


def meet_once(first: Curve, second: Curve) -> bool:
    """Whether two graphs cross in one place of the plot, beside the corners of its squares too."""
    gaps = [first.at(step / 8) - second.at(step / 8) for step in range(-8 * REACH, 8 * REACH + 1)]
    return sum(a * b < 0 or a == 0 for a, b in pairwise(gaps)) == 1


def _moved_to(made: Curve, other: Curve, x: int) -> Curve:
    """The curve moved up or down so that it meets the other at x; as it was where that gives no whole number, or moves
    it to the plot's edge."""
    up = made.up + other.at(x) - made.at(x)
    return replace(made, up=round(up)) if up == round(up) and abs(up) < REACH else made


def draw_functions(rng: Generator, levels: Levels) -> FunctionsState:
    """Two or three graphs; each goes through five corners of the squares at least, no two are the same.

    In half of all plots the second is made to cross the first in one place, at any x: by chance most cross at 0.
    """
    count, kinds = levels.whole("curves", 2, 2, 3), KINDS[: levels.whole("kinds", 2, 3, 3)]
    colours = shuffled(rng, tuple(PALETTE))
    curves: list[Curve] = []
    tries = 30 * int(rng.integers(2))
    while len(curves) < count:
        made = MAKERS[chosen(rng, kinds)](rng, NAMES[len(curves)], colours[len(curves)])
        if len(curves) == 1 and tries:
            tries -= 1
            made = _moved_to(made, curves[0], chosen(rng, [x for x in curves[0].places() if x in MEETINGS]))
            if not meet_once(made, curves[0]):
                continue
        if len(made.places()) >= 5 and all(made.at(x) != other.at(x) for other in curves for x in (0.5, 2.5)):
            curves.append(made)
    elements = []
    for one in curves:
        elements += [
            Element(
                id=f"curve:{one.name}", kind="curve", name=f"graph of {one.name}", attributes={"colour": one.colour}
            ),
            Element(id=f"name:{one.name}", kind="name", name=f"legend of {one.name}"),
        ]
        elements += [Element(id=f"place:{one.name}:{x}", kind="place", name=f"{one.name} at {x}") for x in one.places()]
    unit = levels.whole("print", 40, 34, 27)
    side = 2 * REACH * unit
    return FunctionsState(
        elements=tuple(elements), width=side + 130, height=side + 60, curves=tuple(curves), unit_px=unit
    )


FUNCTIONS = Grammar(name="function plots", draw=draw_functions, axes=("curves", "kinds"))
