"""Transit maps: lines that run across and down, each in a colour, with named stops; where two cross, one changes.

Axes: ``lines`` (how many), ``stops`` (how many each line has), ``print`` (how small letters are).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.grammars.words import PALETTE, TOWNS
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import shuffled
from saccade.gym.state import Element, SceneState

PLACES = (
    "Abbey", "Bridge", "Castle", "Docks", "Elm Park", "Fair", "Gate", "Harbour", "Island", "Junction",
    "Kings", "Library", "Market", "North", "Opera", "Palace", "Quay", "River", "Square", "Temple", "Union",
    "Valley", "Wharf", "York", "Zoo", "Airport", "Baths", "College", "Drive", "Egerton", "Forum", "Grove",
    "Hill", "Ivy", "Kirk", "Lake", "Mill", "Nursery",
)  # fmt: skip
ACROSS_PX, DOWN_PX, EDGE_PX = 116, 62, 70
"""Between neighbouring places of the grid, and around it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TransitLine:
    """A line: its colour, the ids of its stops in order, and the corners of its run in pixels."""

    colour: str
    stops: tuple[str, ...]
    corners: tuple[Point, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class TransitState(SceneState):
    """Elements of the kind "stop", and "line" for the names of lines at their starts."""

    lines: tuple[TransitLine, ...]

    def line(self, colour: str) -> TransitLine:
        return next(line for line in self.lines if line.colour == colour)

    def stop(self, name: str) -> Element:
        return next(one for one in self.of_kind("stop") if one.name == name)

    def lines_at(self, stop: str) -> tuple[TransitLine, ...]:
        """The lines that a stop is on, by its id."""
        return tuple(line for line in self.lines if stop in line.stops)


def draw_transit(rng: Generator, levels: Levels) -> TransitState:
    """Two to four lines across, each with a bend, and two to four lines down."""
    across, down = (levels.whole("lines", 2, 3, 4) for _ in range(2))
    columns, rows = levels.whole("stops", 7, 9, 11), 2 * across + 1
    bends = [int(bend) for bend in rng.integers(1, columns - 1, size=across)]
    down_columns = sorted(int(column) for column in rng.permutation(columns)[:down])
    runs: list[list[tuple[int, int]]] = []
    for index, bend in enumerate(bends):
        first, second = (2 * index, 2 * index + 1) if rng.integers(2) else (2 * index + 1, 2 * index)
        runs.append([(column, first if column <= bend else second) for column in range(columns)])
    runs += [[(column, row) for row in range(rows)] for column in down_columns]
    crossings = {place for place in {p for run in runs for p in run} if sum(place in run for run in runs) > 1}
    kept = [
        [place for place in run if place in crossings or place in (run[0], run[-1]) or rng.random() < 0.75]
        for run in runs
    ]
    places = list(dict.fromkeys(place for run in kept for place in run))
    names = dict(zip(places, shuffled(rng, [*dict.fromkeys((*PLACES, *TOWNS))])))
    identities = {place: f"stop{index}" for index, place in enumerate(names)}
    lines, elements = [], []
    for colour, run, stops in zip(shuffled(rng, tuple(PALETTE)), runs, kept):
        known = tuple(identities[place] for place in stops if place in names)
        lines.append(TransitLine(colour=colour, stops=known, corners=tuple(_at(place) for place in run)))
        elements.append(Element(id=f"line {colour}", kind="line", name=f"{colour} line", attributes={"colour": colour}))
    for place, name in names.items():
        sort = "change" if place in crossings else "plain"
        elements.append(
            Element(id=identities[place], kind="stop", name=name, attributes={"stop": sort}, center=_at(place))
        )
    width, height = EDGE_PX * 2 + ACROSS_PX * columns, EDGE_PX * 2 + DOWN_PX * (rows - 1)
    return TransitState(elements=tuple(elements), width=width, height=height, lines=tuple(lines))


def _at(place: tuple[int, int]) -> Point:
    return Point(EDGE_PX + ACROSS_PX * place[0], EDGE_PX + DOWN_PX * place[1])


TRANSIT = Grammar(name="transit maps", draw=draw_transit, axes=("lines", "stops"))
