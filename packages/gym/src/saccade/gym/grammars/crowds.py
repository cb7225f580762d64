"""Large crowded scenes: a harbour with boats, a road with cars, a square with stalls, and people everywhere.

What single ones wear, hold or bear is 20 to 60 pixels wide in pictures of 4 to 12 million.

Axes: ``size`` (how large the picture is), ``clutter`` (how many there are), ``detail`` (how small they are).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.family import Grammar
from saccade.gym.grammars.words import GOODS, PALETTE, TOWNS
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState

AXES = ("size", "clutter", "detail")
COLOURS = tuple(PALETTE)
HELD = ("balloon", "flag", "kite", "suitcase", "ball", "broom")
VEHICLES = ("car", "van", "bus")
PLATE_LETTERS = "ABCDEFHKLMNPRSTUVXZ"
SINGLE, NUMBERED = 8, 6
"""People whose hat and shirt no other wears together, and people who hold up a number."""
WATER, ROAD, PAVED = (0.0, 0.2), (0.23, 0.35), (0.38, 1.0)
"""From where to where the zones reach, as shares of the height."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CrowdState(SceneState):
    """Kinds "person", "stall", "vehicle", "boat" and "tree"; "plate", "sign", "board", "letters" bear what they say."""

    scale: float
    """How large things are: people are 44 pixels high at 1."""


def jittered(rng: Generator, count: int, box: Box, wide: float, high: float) -> list[Point]:
    """Middles of things of a size that do not touch: each in a cell of a grid, in random order, as many as fit."""
    columns, rows = int(box.width / wide), int(box.height / high)
    pitch_x, pitch_y = box.width / max(1, columns), box.height / max(1, rows)
    cells = rng.permutation(columns * rows)[:count]
    places = []
    for cell in cells:
        row, column = divmod(int(cell), columns)
        slack_x, slack_y = (pitch_x - wide) / 2, (pitch_y - high) / 2
        x = box.x1 + (column + 0.5) * pitch_x + slack_x * float(rng.uniform(-1, 1))
        y = box.y1 + (row + 0.5) * pitch_y + slack_y * float(rng.uniform(-1, 1))
        places.append(Point(round(x), round(y)))
    return places


def draw_crowd(rng: Generator, levels: Levels) -> CrowdState:
    """A picture of 2400 x 1700 to 4000 x 3000 pixels with 100 to 600 people."""
    width, height = levels.whole("size", 2400, 3000, 4000), levels.whole("size", 1700, 2200, 3000)
    scale = round(levels.knob("detail", 1.5, 1.25, 1.0), 2)
    parts = [
        *_boats(rng, levels, Box(0, WATER[0] * height, width, WATER[1] * height), scale),
        *_vehicles(rng, levels, Box(0, ROAD[0] * height, width, ROAD[1] * height), scale),
    ]
    paved = Box(0, PAVED[0] * height, width, PAVED[1] * height)
    places = jittered(rng, 10_000, paved, 130 * scale, 120 * scale)
    stalls = levels.whole("clutter", 12, 20, 26)
    trees = levels.whole("clutter", 10, 20, 30)
    parts += _stalls(rng, places[:stalls])
    parts += [
        Element(id=f"tree{index}", kind="tree", name="tree", center=place)
        for index, place in enumerate(places[stalls : stalls + trees])
    ]
    free = places[stalls + trees :]
    # Three people in a cell stand side by side.
    stands = [Point(place.x + side * 42 * scale - 10 * scale, place.y) for place in free for side in (-1, 0, 1)]
    parts += _people(rng, shuffled(rng, stands[: levels.whole("clutter", 100, 240, 600)]))
    return CrowdState(elements=tuple(parts), width=width, height=height, scale=scale)


def _boats(rng: Generator, levels: Levels, water: Box, scale: float) -> list[Element]:
    places = jittered(rng, levels.whole("clutter", 10, 16, 26), water, 150 * scale, 80 * scale)
    found = []
    for index, (place, name) in enumerate(zip(places, shuffled(rng, TOWNS))):
        aboard, hull = int(rng.integers(1, 7)), chosen(rng, COLOURS)
        attributes = {"boat": name, "colour": hull, "aboard": str(aboard)}
        found.append(
            Element(
                id=f"boat{index}",
                kind="boat",
                name=f"boat {name}",
                attributes=attributes,
                numbers={"aboard": float(aboard)},
                center=place,
            )
        )
        found.append(Element(id=f"letters{index}", kind="letters", name=f"name {name}"))
    return found


def _vehicles(rng: Generator, levels: Levels, road: Box, scale: float) -> list[Element]:
    places = jittered(rng, levels.whole("clutter", 12, 20, 30), road, 130 * scale, 66 * scale)
    found, plates = [], set[str]()
    for index, place in enumerate(places):
        while True:
            letters = "".join(chosen(rng, PLATE_LETTERS) for _ in range(2))
            plate = f"{letters} {int(rng.integers(100, 1000))}"
            if plate not in plates:
                break
        plates.add(plate)
        colour, sort = chosen(rng, COLOURS), chosen(rng, VEHICLES)
        attributes = {"colour": colour, "vehicle": sort, "plate": plate}
        name = f"{colour} {sort}"
        found.append(Element(id=f"vehicle{index}", kind="vehicle", name=name, attributes=attributes, center=place))
        found.append(Element(id=f"plate{index}", kind="plate", name=f"plate of the {name}"))
    return found


def _stalls(rng: Generator, places: list[Point]) -> list[Element]:
    """Each has a name over it, and a board that says what it sells and for how much."""
    found = []
    prices = rng.permutation(range(12, 99))
    for index, (place, name) in enumerate(zip(places, shuffled(rng, TOWNS))):
        good = chosen(rng, GOODS)
        attributes = {"stall": name, "good": good, "price": str(int(prices[index])), "colour": chosen(rng, COLOURS)}
        found.append(
            Element(id=f"stall{index}", kind="stall", name=f"stall {name}", attributes=attributes, center=place)
        )
        found.append(Element(id=f"sign{index}", kind="sign", name=f"sign {name}"))
        found.append(Element(id=f"board{index}", kind="board", name=f"board {name}"))
    return found


def _people(rng: Generator, places: list[Point]) -> list[Element]:
    """The first ones wear hat and shirt as no other does; the next ones hold up numbers, all different."""
    pairs = shuffled(rng, [(hat, shirt) for hat in COLOURS for shirt in COLOURS if hat != shirt])
    numbers = rng.permutation(range(10, 100))
    found = []
    for index, place in enumerate(places):
        hat, shirt = pairs[index] if index < SINGLE else pairs[int(rng.integers(SINGLE, len(pairs)))]
        held, number = chosen(rng, HELD), ""
        if SINGLE <= index < SINGLE + NUMBERED:
            held, number = "number", str(int(numbers[index]))
        attributes = {"hat": hat, "shirt": shirt, "held": held}
        if number:
            attributes["number"] = number
        name = f"person in a {hat} hat and a {shirt} shirt"
        found.append(Element(id=f"person{index}", kind="person", name=name, attributes=attributes, center=place))
    return found


CROWD = Grammar(name="crowds", draw=draw_crowd, axes=AXES)
