"""The geometry problems by kind: each function thinks one up, with its figure true to its numbers."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from numpy.random import Generator

from saccade.tasks.families.geometry_figures import (
    chord,
    crossing,
    cyclic,
    diameter_angle,
    inscribed,
    middle_of_trapezoid,
    parallelogram,
    rectangle,
    rhombus,
    sides_in_x,
    tangent,
    thales,
    transversal,
    zigzag,
)
from saccade.tasks.families.geometry_sketch import Sketch
from saccade.tasks.families.geometry_triangles import (
    altitude,
    angle_sum,
    angles_in_x,
    bisector,
    cosine_law,
    exterior,
    isosceles,
    marked_bisector,
    midsegment,
    parallel_inside,
    pythagoras,
    right_with_angle,
)

Draft = Callable[[Generator], Sketch]

KINDS: Mapping[str, tuple[Draft, ...]] = MappingProxyType(
    {
        "triangle": (angle_sum, pythagoras, isosceles, right_with_angle, cosine_law, angles_in_x),
        "divided_triangle": (altitude, exterior, midsegment, parallel_inside, bisector, marked_bisector),
        "parallels": (transversal, crossing, zigzag),
        "circle": (inscribed, diameter_angle, thales, tangent, chord, cyclic),
        "quadrilateral": (parallelogram, rectangle, rhombus, middle_of_trapezoid, sides_in_x),
    }
)
"""Problems by kind of figure, the easier ones first."""
