"""Instruments with a scale: dials, thermometers, tanks, bars over a ruler; and clocks.

Axes: ``clutter`` (how many instruments), ``reading`` (how fine the scale is).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Point
from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.programs.choosing import chosen, shuffled
from saccade.gym.state import Element, SceneState
from saccade.tasks.drawing import COLOUR_NAMES

AXES = ("clutter", "reading")
SIDE_PX = 384


@dataclass(frozen=True, kw_only=True, slots=True)
class InstrumentScale:
    """A scale from ``low`` to ``high`` with a number at every ``major`` and a tick at every ``minor`` step."""

    low: int
    high: int
    major: int
    minor: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Instrument:
    """A sort of instrument, and its scales at the levels 0, 0.5 and 1."""

    one: str
    scales: tuple[InstrumentScale, InstrumentScale, InstrumentScale]
    most: int = 4


DIAL = Instrument(
    one="dial",
    scales=(
        InstrumentScale(low=0, high=10, major=2, minor=1),
        InstrumentScale(low=0, high=100, major=20, minor=10),
        InstrumentScale(low=0, high=60, major=10, minor=2),
    ),
)
THERMOMETER = Instrument(
    one="thermometer",
    scales=(
        InstrumentScale(low=0, high=50, major=10, minor=10),
        InstrumentScale(low=-20, high=40, major=10, minor=5),
        InstrumentScale(low=-20, high=40, major=10, minor=2),
    ),
    most=5,
)
TANK = Instrument(
    one="tank",
    scales=(
        InstrumentScale(low=0, high=100, major=20, minor=20),
        InstrumentScale(low=0, high=100, major=20, minor=10),
        InstrumentScale(low=0, high=50, major=10, minor=2),
    ),
    most=5,
)
RULED = Instrument(
    one="bar",
    scales=(
        InstrumentScale(low=0, high=10, major=1, minor=1),
        InstrumentScale(low=0, high=20, major=2, minor=1),
        InstrumentScale(low=0, high=40, major=5, minor=1),
    ),
    most=5,
)


def instruments_grammar(instrument: Instrument) -> Grammar:
    """The grammar of instruments of one sort, each of its own colour."""

    def draw(rng: Generator, levels: Levels) -> SceneState:
        count = int(rng.integers(2, levels.whole("clutter", 2, 3, instrument.most) + 1))
        place = levels["reading"]
        scale = instrument.scales[0 if place < 0.25 else 1 if place < 0.75 else 2]
        elements = []
        for index, colour in enumerate(shuffled(rng, COLOUR_NAMES)[:count]):
            steps = (scale.high - scale.low) // scale.minor
            value = scale.low + scale.minor * int(rng.integers(1, steps + 1))
            numbers = {"value": value, "low": scale.low, "high": scale.high}
            numbers |= {"major": scale.major, "minor": scale.minor, "slot": index, "slots": count}
            elements.append(
                Element(
                    id=f"{instrument.one}{index}",
                    kind="instrument",
                    name=f"{colour} {instrument.one}",
                    attributes={"colour": colour, "instrument": instrument.one},
                    numbers={name: float(number) for name, number in numbers.items()},
                )
            )
        return SceneState(elements=tuple(elements), width=SIDE_PX, height=SIDE_PX)

    return Grammar(name=f"{instrument.one}s", draw=draw, axes=AXES)


def draw_clocks(rng: Generator, levels: Levels) -> SceneState:
    """Clocks with hands at whole quarters, five minutes or minutes, each with a rim of its own colour."""
    count = int(rng.integers(1, levels.whole("clutter", 2, 2, 4) + 1))
    step = 15 if levels["reading"] < 0.25 else 5 if levels["reading"] < 0.75 else 1
    elements = []
    for index, colour in enumerate(shuffled(rng, COLOUR_NAMES)[:count]):
        hour, minute = int(rng.integers(1, 13)), step * int(rng.integers(60 // step))
        row, column = divmod(index, 2)
        center = Point(96 + 192 * column, 96 + 192 * row) if count > 1 else Point(192, 192)
        elements.append(
            Element(
                id=f"clock{index}",
                kind="clock",
                name=f"{colour} clock",
                attributes={"colour": colour},
                numbers={"hour": float(hour), "minute": float(minute), "radius": 84.0 if count > 1 else 160.0},
                center=center,
            )
        )
    face = chosen(rng, ("numbers", "ticks"))
    return SceneState(elements=(*elements, Element(id="face", kind="face", name=face)), width=SIDE_PX, height=SIDE_PX)


CLOCKS = Grammar(name="clocks", draw=draw_clocks, axes=AXES)
