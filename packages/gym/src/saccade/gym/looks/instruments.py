"""Looks of instruments: dials with needles, thermometers, tanks, bars over a ruler, and clocks with hands."""

from collections.abc import Callable, Iterator
from functools import partial

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.levels import Levels
from saccade.gym.looks.flat import speckled
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOURS, INK, PAPER, on_circle

Paint = Callable[[Painter, Element], None]
SWEEP = (150.0, 390.0)
"""Degrees of a dial's lowest and highest value, from the x axis, clockwise."""


def ticks(one: Element) -> Iterator[tuple[float, str]]:
    """Where ticks are, as shares of the scale; with their numbers, where they have one."""
    low, high, major, minor = (int(one.numbers[name]) for name in ("low", "high", "major", "minor"))
    for value in range(low, high + 1, minor):
        yield (value - low) / (high - low), str(value) if (value - low) % major == 0 else ""


def share(one: Element) -> float:
    """The value as a share of its scale."""
    return (one.numbers["value"] - one.numbers["low"]) / (one.numbers["high"] - one.numbers["low"])


def _slot(one: Element, painter: Painter) -> tuple[int, int]:
    """Left end and width of the upright slot of an instrument."""
    width = painter.width // int(one.numbers["slots"])
    return int(one.numbers["slot"]) * width, width


def paint_dial(painter: Painter, one: Element) -> None:
    """A round face; dials lie in a square of four."""
    cell = painter.width // 2
    row, column = divmod(int(one.numbers["slot"]), 2)
    middle, radius = Point((column + 0.5) * cell, (row + 0.5) * cell + 8), cell * 0.44
    painter.disc(one.id, middle, radius, COLOURS[one.attributes["colour"]])
    painter.disc(one.id, middle, radius - 7, PAPER)
    start, end = SWEEP
    tip = on_circle(middle, radius - 16, start + (end - start) * share(one))
    painter.line(one.id, [middle, tip], 3, (190, 20, 20))
    painter.disc(one.id, middle, 6, INK)
    for place, number in ticks(one):
        degrees = start + (end - start) * place
        inner = radius - (18 if number else 13)
        painter.line(one.id, [on_circle(middle, inner, degrees), on_circle(middle, radius - 8, degrees)], 2, INK)
        if number:
            painter.text("", number, on_circle(middle, radius - 27, degrees), 13, halo=PAPER)


def _upright(painter: Painter, one: Element, tube_px: int) -> tuple[Box, float]:
    """Ticks to the left of an upright tube; the tube's box, and the height of its level."""
    left, width = _slot(one, painter)
    top, bottom = 40, painter.height - 56
    x1 = left + width // 2 - tube_px // 2 + 8
    for place, number in ticks(one):
        y = bottom - place * (bottom - top)
        painter.line(one.id, [Point(x1 - (10 if number else 6), y), Point(x1 - 1, y)], 2, INK)
        if number:
            painter.text("", number, Point(x1 - 13, y), 13, anchor="rm")
    return Box(x1, top, x1 + tube_px, bottom), bottom - share(one) * (bottom - top)


def paint_thermometer(painter: Painter, one: Element) -> None:
    """A tube over a bulb, filled in the instrument's colour."""
    tube, level = _upright(painter, one, 14)
    colour = COLOURS[one.attributes["colour"]]
    painter.rectangle(one.id, Box(tube.x1 - 2, tube.y1 - 8, tube.x2 + 2, tube.y2 + 10), INK)
    painter.rectangle(one.id, Box(tube.x1, tube.y1 - 6, tube.x2, tube.y2 + 10), PAPER)
    painter.disc(one.id, Point(tube.center.x, tube.y2 + 24), 18, INK)
    painter.disc(one.id, Point(tube.center.x, tube.y2 + 24), 16, colour)
    painter.rectangle(one.id, Box(tube.x1, round(level), tube.x2, tube.y2 + 14), colour)


def paint_tank(painter: Painter, one: Element) -> None:
    """An open vessel, filled in the instrument's colour."""
    tube, level = _upright(painter, one, 32)
    painter.rectangle(one.id, Box(tube.x1 - 3, tube.y1 - 10, tube.x2 + 3, tube.y2 + 3), INK)
    painter.rectangle(one.id, Box(tube.x1, tube.y1 - 10, tube.x2, tube.y2), PAPER)
    painter.rectangle(one.id, Box(tube.x1, round(level), tube.x2, tube.y2), COLOURS[one.attributes["colour"]])


def paint_ruled(painter: Painter, one: Element) -> None:
    """A bar that begins at the zero of the ruler below."""
    slots = int(one.numbers["slots"])
    left, right, bottom = 30, painter.width - 24, painter.height - 60
    pitch = (bottom - 20) // slots
    y = 20 + int(one.numbers["slot"]) * pitch
    end = round(left + share(one) * (right - left))
    painter.rectangle(one.id, Box(left, y, end, y + min(26, pitch - 12)), COLOURS[one.attributes["colour"]])
    if int(one.numbers["slot"]):
        return
    painter.line("", [Point(left, bottom), Point(right, bottom)], 2, INK)
    for place, number in ticks(one):
        x = left + place * (right - left)
        painter.line("", [Point(x, bottom), Point(x, bottom + (14 if number else 8))], 2, INK)
        if number:
            painter.text("", number, Point(x, bottom + 26), 13)


def paint_clock(painter: Painter, one: Element, *, has_numbers: bool) -> None:
    """A face with ticks or numbers, a short and a long hand."""
    assert one.center is not None
    middle, radius = one.center, one.numbers["radius"]
    painter.disc(one.id, middle, radius, COLOURS[one.attributes["colour"]])
    painter.disc(one.id, middle, radius * 0.92, PAPER)
    for minute in range(60):
        is_hour = minute % 5 == 0
        inner = on_circle(middle, radius * (0.82 if is_hour else 0.88), minute * 6 - 90)
        painter.line(one.id, [inner, on_circle(middle, radius * 0.91, minute * 6 - 90)], 3 if is_hour else 1, INK)
    past = one.numbers["minute"]
    turn = (one.numbers["hour"] + past / 60) * 30 - 90
    painter.line(one.id, [middle, on_circle(middle, radius * 0.45, turn)], radius * 0.07, INK)
    painter.line(one.id, [middle, on_circle(middle, radius * 0.76, past * 6 - 90)], radius * 0.035, INK)
    painter.disc(one.id, middle, radius * 0.06, INK)
    for number in range(1, 13) if has_numbers else ():
        at = on_circle(middle, radius * 0.7, number * 30 - 90)
        painter.text("", str(number), at, round(radius * 0.17), halo=PAPER)


PAINTS: dict[str, Paint] = {
    "dial": paint_dial,
    "thermometer": paint_thermometer,
    "tank": paint_tank,
    "bar": paint_ruled,
}


def _render(state: SceneState, painter: Painter) -> Rendering:
    faces = state.of_kind("face")
    paint_hands: Paint = partial(paint_clock, has_numbers=bool(faces) and faces[0].name == "numbers")
    for one in state.of_kind("clock"):
        paint_hands(painter, one)
    for one in state.of_kind("instrument"):
        PAINTS[one.attributes["instrument"]](painter, one)
    return Rendering(images=(painter.image,), regions=painter.regions())


def render_panel(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On a light grey panel."""
    tone = int(rng.integers(170, 215))
    return _render(state, Painter(state.width, state.height, (tone, tone, tone)))


def render_wall(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
    """On a speckled wall."""
    return _render(state, Painter(state.width, state.height, speckled(rng, state.width, state.height)))


PANEL = Renderer(name="panel", render=render_panel)
WALL = Renderer(name="wall", render=render_wall)
