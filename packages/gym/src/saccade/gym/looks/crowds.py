"""Looks of large crowded scenes: by day and in the evening, painted thing by thing."""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.grammars.crowds import ROAD, WATER, CrowdState
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import Element, SceneState, as_state
from saccade.tasks.drawing import INK, PAPER, Colour

SKIN: tuple[Colour, ...] = ((236, 200, 170), (198, 150, 112), (140, 96, 66), (92, 62, 46))
WOOD: Colour = (150, 112, 72)


@dataclass(frozen=True, kw_only=True, slots=True)
class Grounds:
    """Colours of what all stands on."""

    water: Colour
    road: Colour
    paved: Colour
    joint: Colour
    leaf: Colour


DAY_GROUNDS = Grounds(
    water=(120, 176, 206), road=(120, 122, 126), paved=(222, 214, 198), joint=(208, 199, 182), leaf=(92, 138, 84)
)
EVENING_GROUNDS = Grounds(
    water=(70, 88, 124), road=(78, 78, 90), paved=(168, 156, 158), joint=(154, 142, 146), leaf=(60, 90, 74)
)


class _Crowd:
    """A scene while it is painted: lengths are in pixels of people that are 44 high."""

    def __init__(self, state: CrowdState, grounds: Grounds) -> None:
        self.painter, self.scale, self.grounds = Painter(state.width, state.height, grounds.paved), state.scale, grounds

    def rect(self, element: str, at: Point, left: float, top: float, right: float, bottom: float, fill: Colour) -> None:
        """A rectangle around a place."""
        sides = (
            at.x + left * self.scale,
            at.y + top * self.scale,
            at.x + right * self.scale,
            at.y + bottom * self.scale,
        )
        box = Box(*map(round, sides)).clipped(self.painter.width, self.painter.height)
        if box.is_ordered:
            self.painter.rectangle(element, box, fill)

    def disc(self, element: str, at: Point, x: float, y: float, radius: float, fill: Colour) -> None:
        self.painter.disc(element, self.place(at, x, y), radius * self.scale, fill)

    def line(self, element: str, at: Point, x: float, y: float, end_x: float, end_y: float, width: float = 1.6) -> None:
        ends = [self.place(at, x, y), self.place(at, end_x, end_y)]
        self.painter.line(element, ends, width * self.scale, INK)

    def polygon(self, element: str, at: Point, corners: tuple[tuple[float, float], ...], fill: Colour) -> None:
        self.painter.polygon(element, [self.place(at, x, y) for x, y in corners], fill)

    def text(self, element: str, words: str, at: Point, x: float, y: float, size: float, fill: Colour = INK) -> None:
        self.painter.text(element, words, self.place(at, x, y), round(size * self.scale), fill)

    def place(self, at: Point, x: float, y: float) -> Point:
        return Point(at.x + x * self.scale, at.y + y * self.scale)


def _paint_grounds(crowd: _Crowd) -> None:
    painter, grounds = crowd.painter, crowd.grounds
    pitch = round(96 * crowd.scale)
    for x in range(pitch, painter.width, pitch):
        painter.rectangle("", Box(x, 0, x + 2, painter.height), grounds.joint)
    for y in range(pitch, painter.height, pitch):
        painter.rectangle("", Box(0, y, painter.width, y + 2), grounds.joint)
    for (start, end), colour in ((WATER, grounds.water), (ROAD, grounds.road)):
        painter.rectangle("", Box(0, round(start * painter.height), painter.width, round(end * painter.height)), colour)
    middle = round(sum(ROAD) / 2 * painter.height)
    for x in range(0, painter.width, 2 * pitch):
        painter.rectangle("", Box(x, middle - 2, min(painter.width, x + pitch), middle + 2), PAPER)


def _paint_person(crowd: _Crowd, one: Element, skin: Colour) -> None:
    assert one.center is not None
    at, key = one.center, one.id
    crowd.rect(key, at, -5, 8, -1, 22, (60, 62, 74))
    crowd.rect(key, at, 1, 8, 5, 22, (60, 62, 74))
    crowd.polygon(key, at, ((-9, 10), (-7, -9), (7, -9), (9, 10)), PALETTE[one.attributes["shirt"]])
    crowd.disc(key, at, 0, -14, 5.5, skin)
    hat = PALETTE[one.attributes["hat"]]
    crowd.rect(key, at, -9, -18, 9, -15, hat)
    crowd.rect(key, at, -5.5, -23, 5.5, -17, hat)
    _paint_held(crowd, one, at)


def _paint_held(crowd: _Crowd, one: Element, at: Point) -> None:
    key, tint = one.id, WOOD
    match one.attributes["held"]:
        case "balloon":
            crowd.line(key, at, 8, 2, 15, -16, 1.2)
            crowd.disc(key, at, 16, -20, 7, (236, 236, 240))
        case "flag":
            crowd.line(key, at, 11, 8, 11, -22)
            crowd.rect(key, at, 12, -22, 25, -13, PAPER)
        case "kite":
            crowd.line(key, at, 8, 2, 17, -16, 1.2)
            crowd.polygon(key, at, ((17, -27), (24, -18), (17, -9), (10, -18)), (250, 214, 90))
        case "suitcase":
            crowd.line(key, at, 13, 2, 19, 2)
            crowd.rect(key, at, 9, 6, 23, 18, tint)
        case "ball":
            crowd.disc(key, at, 16, 15, 7, PAPER)
            crowd.line(key, at, 9.5, 15, 22.5, 15, 1.2)
            crowd.line(key, at, 16, 8.5, 16, 21.5, 1.2)
        case "broom":
            crowd.line(key, at, 12, -12, 14, 12)
            crowd.polygon(key, at, ((12, 10), (16, 10), (20, 21), (9, 21)), (214, 178, 84))
        case _:
            crowd.line(key, at, 10, 8, 10, -6)
            crowd.rect(key, at, 9, -25, 29, -8, INK)
            crowd.rect(key, at, 10, -24, 28, -9, PAPER)
            crowd.text(key, one.attributes["number"], at, 19, -16.5, 12)


def _paint_stall(crowd: _Crowd, one: Element) -> None:
    assert one.center is not None
    at, index = one.center, one.id.removeprefix("stall")
    crowd.rect(one.id, at, -48, -8, 48, 34, WOOD)
    for stripe in range(8):
        fill = PALETTE[one.attributes["colour"]] if stripe % 2 else PAPER
        crowd.rect(one.id, at, -52 + 13 * stripe, -34, -39 + 13 * stripe, -10, fill)
    crowd.rect("", at, -34, -48, 34, -32, PAPER)
    crowd.text(f"sign{index}", one.attributes["stall"], at, 0, -40, 12)
    crowd.rect("", at, -34, 2, 34, 28, (44, 60, 52))
    board = f"{one.attributes['good']} {one.attributes['price']}"
    crowd.text(f"board{index}", board, at, 0, 15, 11, PAPER)


def _paint_vehicle(crowd: _Crowd, one: Element) -> None:
    assert one.center is not None
    at, fill = one.center, PALETTE[one.attributes["colour"]]
    half, top = {"car": (38, -10), "van": (44, -24), "bus": (60, -26)}[one.attributes["vehicle"]]
    crowd.rect(one.id, at, -half, top, half, 18, fill)
    glass = (206, 224, 232)
    match one.attributes["vehicle"]:
        case "car":
            crowd.polygon(one.id, at, ((-24, -10), (-16, -25), (16, -25), (26, -10)), fill)
            crowd.polygon(one.id, at, ((-18, -11), (-12, -21), (13, -21), (19, -11)), glass)
        case "van":
            crowd.rect(one.id, at, 16, -18, 40, -4, glass)
        case _:
            for window in range(5):
                crowd.rect(one.id, at, -54 + 22 * window, -20, -38 + 22 * window, -6, glass)
    for x in (-half + 16, half - 16):
        crowd.disc(one.id, at, x, 19, 8, INK)
    crowd.rect("", at, -26, 1, 26, 14, PAPER)
    crowd.text(f"plate{one.id.removeprefix('vehicle')}", one.attributes["plate"], at, 0, 7.5, 11)


def _paint_boat(crowd: _Crowd, one: Element) -> None:
    assert one.center is not None
    at = one.center
    aboard = int(one.numbers["aboard"])
    for place in range(aboard):
        x = (place - (aboard - 1) / 2) * 15
        crowd.disc(one.id, at, x, -18, 5, SKIN[1])
        crowd.rect(one.id, at, x - 5, -13, x + 5, 2, (70, 74, 92))
    crowd.polygon(one.id, at, ((-64, 0), (64, 0), (48, 26), (-48, 26)), PALETTE[one.attributes["colour"]])
    crowd.rect("", at, -34, 5, 34, 20, PAPER)
    crowd.text(f"letters{one.id.removeprefix('boat')}", one.attributes["boat"], at, 0, 12.5, 12)


def _paint_tree(crowd: _Crowd, one: Element) -> None:
    assert one.center is not None
    crowd.rect("", one.center, -4, 10, 4, 44, WOOD)
    for x, y, radius in ((-16, 0, 20), (16, 0, 20), (0, -18, 24)):
        crowd.disc("", one.center, x, y, radius, crowd.grounds.leaf)


def _render(state: SceneState, rng: Generator, grounds: Grounds) -> Rendering:
    known = as_state(state, CrowdState)
    crowd = _Crowd(known, grounds)
    _paint_grounds(crowd)
    paints = {"stall": _paint_stall, "vehicle": _paint_vehicle, "boat": _paint_boat, "tree": _paint_tree}
    people = known.of_kind("person")
    for kind, paint in paints.items():
        for one in known.of_kind(kind):
            paint(crowd, one)
    for one, skin in zip(people, rng.integers(len(SKIN), size=len(people))):
        _paint_person(crowd, one, SKIN[int(skin)])
    return Rendering(images=(crowd.painter.image,), regions=crowd.painter.regions())


def render_day(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """In daylight."""
    return _render(state, rng, DAY_GROUNDS)


def render_evening(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """In the evening: darker grounds."""
    return _render(state, rng, EVENING_GROUNDS)


DAY = Renderer(name="day", render=render_day)
EVENING = Renderer(name="evening", render=render_evening)
