"""Places that a diagram shows, in the frame and at the scale of a search."""

from collections.abc import Mapping

import numpy as np

from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.terms import Call, Number
from saccade.readers.geometry.values import names_of

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
