"""Circuits: a battery, perhaps a main switch, and branches in parallel with parts in series.

Axes: ``branches``, ``parts`` (in a branch at most).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.levels import Levels
from saccade.gym.state import Element, SceneState

AXES = ("branches", "parts")
MAIN = -1
"""The branch of what lies in the main line."""

LETTERS = {"resistor": "R", "capacitor": "C", "inductor": "L", "lamp": "H", "switch": "S"}
UNITS = {"resistor": "\u03a9", "capacitor": "\u00b5F", "inductor": "mH"}
SORTS = ("resistor", "resistor", "resistor", "capacitor", "inductor", "lamp", "switch")
SERIES = (10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82)
VOLTS = (3, 5, 6, 9, 12, 15, 18, 24, 36, 48)


@dataclass(frozen=True, kw_only=True, slots=True)
class CircuitState(SceneState):
    """Elements of the kinds "battery" (number ``volts``) and "part".

    A part has the attribute ``part``, the numbers ``branch`` and ``place`` (from the top), and a ``value`` where its
    sort has one; a switch says in ``is`` whether it is open.
    """

    branches: int = 0

    def branch(self, number: float) -> list[Element]:
        """The parts of a branch, from the top."""
        return [one for one in self.of_kind("part") if one.numbers["branch"] == number]

    def sort(self, sort: str) -> list[Element]:
        """All parts of a sort."""
        return [one for one in self.of_kind("part") if one.attributes["part"] == sort]

    def part(self, name: str) -> Element:
        """The part of this name; ValueError where there is none."""
        (found,) = [one for one in self.of_kind("part") if one.name == name]
        return found


def draw_circuit(rng: Generator, levels: Levels) -> CircuitState:
    """2 to 5 branches of 1 to 3 parts; no two values of a sort are equal."""
    count = int(rng.integers(2, levels.whole("branches", 3, 4, 5) + 1))
    most = levels.whole("parts", 2, 2, 3)
    sorts: list[tuple[int, int, str]] = []
    if rng.integers(2):
        sorts.append((MAIN, 0, "switch"))
    for branch in range(count):
        for place in range(int(rng.integers(1, most + 1))):
            sorts.append((branch, place, SORTS[int(rng.integers(len(SORTS)))]))
    numbers = dict.fromkeys(LETTERS, 0)
    values = {sort: [int(at) for at in rng.permutation(2 * len(SERIES))] for sort in UNITS}
    parts = []
    for branch, place, sort in sorts:
        numbers[sort] += 1
        attributes, given = {"part": sort}, {"branch": float(branch), "place": float(place)}
        if sort in UNITS:
            decade, step = divmod(values[sort][numbers[sort]], len(SERIES))
            value = SERIES[step] * 10**decade
            given["value"] = float(value)
            attributes["value"] = f"{value} {UNITS[sort]}"
        elif sort == "switch":
            attributes["is"] = "open" if rng.integers(3) == 0 else "closed"
        name = f"{LETTERS[sort]}{numbers[sort]}"
        parts.append(Element(id=name, kind="part", name=name, attributes=attributes, numbers=given))
    volts = VOLTS[int(rng.integers(len(VOLTS)))]
    battery = Element(
        id="battery",
        kind="battery",
        name="battery",
        attributes={"value": f"{volts} V"},
        numbers={"volts": float(volts)},
    )
    return CircuitState(elements=(battery, *parts), branches=count, width=190 + 116 * count, height=400)


CIRCUIT = Grammar(name="circuit", draw=draw_circuit, axes=AXES)
