"""Places that a diagram shows: where a search starts, and how much a figure looks like the diagram."""

from collections.abc import Mapping

import numpy as np

from saccade.tools.geometry.figure import Figure
from saccade.tools.geometry.state import Array, State
from saccade.tools.geometry.terms import Call, Number
from saccade.tools.geometry.values import names_of

Place = tuple[float, float]


def start_at(places: Mapping[str, Place], figure: Figure) -> dict[str, Place]:
    """The places turned, moved and enlarged so that they fit the search: its first point is the origin."""
    names = [name for name in figure.points if name in places]
    spots = np.array([complex(*places[name]) for name in names])
    spots -= spots[0]
    if len(spots) > 1 and abs(spots[1]) > 0:
        spots *= abs(spots[1]) / spots[1]
    spots *= _enlargement(dict(zip(names, spots)), figure)
    return {name: (float(spot.real), float(spot.imag)) for name, spot in zip(names, spots)}


def _enlargement(spots: Mapping[str, complex], figure: Figure) -> float:
    """From the diagram's unit to the problem's, by the lengths that are given."""
    ratios = []
    for said in figure.given:
        match said:
            case Call("Equals", (Call("LengthOf", (Call("Line") as line,)), Number(value))):
                first, second = names_of(line)
                if first in spots and second in spots and spots[first] != spots[second]:
                    ratios.append(float(value) / abs(spots[first] - spots[second]))
    if ratios:
        return float(np.median(ratios))
    extent = max(abs(spot) for spot in spots.values())
    return figure.size / extent if extent else 1.0


def distances_to(places: Mapping[str, Place], state: State) -> Array:
    """How far the points of every figure are from the diagram's, as a share of its size; turned as fits best."""
    names = [name for name in state.points if name in places]
    wanted = np.array([complex(*places[name]) for name in names])
    found = np.array([state.points[name][0] + 1j * state.points[name][1] for name in names])
    wanted, found = wanted - wanted.mean(), found - found.mean(axis=0)
    wanted = wanted / max(float(np.linalg.norm(wanted)), 1e-300)
    found = found / np.maximum(np.linalg.norm(found, axis=0), 1e-300)
    # Of two shapes of norm 1 that are turned upon each other, the distance is sqrt(2 - 2 |inner product|).
    likeness = np.abs((np.conj(wanted)[:, None] * found).sum(axis=0))
    gaps: Array = np.sqrt(np.maximum(0.0, 2 - 2 * likeness))
    return gaps
