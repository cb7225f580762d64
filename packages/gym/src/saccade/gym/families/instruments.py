"""Families of instruments that are read: dials, thermometers, tanks, bars over a ruler, clocks."""

from saccade.gym.family import GymFamily
from saccade.gym.grammars.instruments import CLOCKS, DIAL, RULED, TANK, THERMOMETER, Instrument, instruments_grammar
from saccade.gym.looks.instruments import PANEL, WALL
from saccade.gym.programs.clocks import CLOCK_PROGRAMS
from saccade.gym.programs.readings import Readings, reading_programs


def _family(name: str, about: str, domain: str, instrument: Instrument, readings: Readings) -> GymFamily:
    return GymFamily(
        name=name,
        about=about,
        domain=domain,
        grammar=instruments_grammar(instrument),
        renderers=(PANEL, WALL),
        programs=reading_programs(readings),
    )


FAMILIES = (
    _family(
        "dials",
        "round gauges with needles: what they show, which shows more",
        "gauges and clocks",
        DIAL,
        Readings(kind="instrument", many="dials"),
    ),
    _family(
        "thermometers",
        "thermometers: what they show, which is warmer, by how much",
        "gauges and clocks",
        THERMOMETER,
        Readings(kind="instrument", many="thermometers", value="temperature"),
    ),
    _family(
        "tanks",
        "vessels with a scale: how full they are",
        "gauges and clocks",
        TANK,
        Readings(kind="instrument", many="tanks", value="level"),
    ),
    _family(
        "ruled_bars",
        "bars over a ruler: how long they are",
        "size and distance",
        RULED,
        Readings(kind="instrument", many="bars", value="length", most="largest", least="smallest"),
    ),
    GymFamily(
        name="clocks",
        about="clocks with hands: the time, which is later, how long until",
        domain="gauges and clocks",
        grammar=CLOCKS,
        renderers=(PANEL, WALL),
        programs=CLOCK_PROGRAMS,
    ),
)
