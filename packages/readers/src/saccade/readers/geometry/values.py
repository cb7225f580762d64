"""Values of expressions in a batch of figures: lengths in the problem's unit, angles in degrees, areas in unit squares.

A batch holds many figures at once: arrays of coordinates, radii and unknowns with one entry per figure.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from saccade.readers.geometry.terms import Call, Name, Node, Number, Operation
from saccade.readers.geometry.vocabulary import FUNCTIONS, unwrapped

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]
Vector = tuple[Array, Array]

TINY = 1e-30
"""Keeps quotients of a collapsed figure finite."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FigureBatch:
    """A batch of figures; all arrays have the shape (batch,)."""

    points: Mapping[str, Vector]
    radii: Mapping[str, Array]
    """Radii of circles, by centre."""
    symbols: Mapping[str, Array]
    members: Mapping[str, tuple[str, ...]]
    """Points that are said to lie on a circle, by its centre; the same in all figures."""
    choice: Ints
    """Which reading of statements that can be read in several ways; a different digit for each of them."""
    size: float
    """The length that coordinates are of the order of."""

    def vector(self, start: str, end: str) -> Vector:
        """The vector from one point to another."""
        (x, y), (u, v) = self.points[start], self.points[end]
        return u - x, v - y

    def distance(self, start: str, end: str) -> Array:
        """Distance of two points."""
        return norm(self.vector(start, end))

    def sine(self, first: tuple[str, str], second: tuple[str, str]) -> Array:
        """Sine of the directed angle between two lines; 0 where they are parallel."""
        a, b = self.vector(*first), self.vector(*second)
        return cross(a, b) / (norm(a) * norm(b))

    def cosine(self, first: tuple[str, str], second: tuple[str, str]) -> Array:
        """Cosine of the angle between two lines; 0 where they are perpendicular."""
        a, b = self.vector(*first), self.vector(*second)
        return dot(a, b) / (norm(a) * norm(b))

    def degrees(self, first: str, vertex: str, second: str) -> Array:
        """The angle at a vertex, from 0 to 180."""
        a, b = self.vector(vertex, first), self.vector(vertex, second)
        return np.degrees(np.arctan2(np.abs(cross(a, b)), dot(a, b)))

    def height(self, point: str, line: tuple[str, str]) -> Array:
        """The signed distance of a point from a line."""
        along = self.vector(*line)
        return cross(along, self.vector(line[0], point)) / norm(along)

    def signed_area(self, corners: tuple[str, ...]) -> Array:
        """Signed area of a polygon, positive where the corners go round counterclockwise."""
        total = np.zeros_like(self.points[corners[0]][0])
        for first, second in zip(corners, (*corners[1:], corners[0])):
            total = total + cross(self.points[first], self.points[second])
        return total / 2

    def perimeter(self, corners: tuple[str, ...]) -> Array:
        """Perimeter of a polygon."""
        sides = [self.distance(first, second) for first, second in zip(corners, (*corners[1:], corners[0]))]
        total: Array = np.sum(sides, axis=0)
        return total


def cross(a: Vector, b: Vector) -> Array:
    """The cross product; positive where ``b`` is to the left of ``a``."""
    return a[0] * b[1] - a[1] * b[0]


def dot(a: Vector, b: Vector) -> Array:
    """The scalar product."""
    return a[0] * b[0] + a[1] * b[1]


def norm(a: Vector) -> Array:
    """The length of a vector; a little above 0 where it is 0."""
    return np.sqrt(dot(a, a) + TINY)


Dimension = Literal["length", "angle", "area"]

_DIMENSIONS: Mapping[str, Dimension] = {
    "LengthOf": "length",
    "PerimeterOf": "length",
    "RadiusOf": "length",
    "DiameterOf": "length",
    "CircumferenceOf": "length",
    "HeightOf": "length",
    "SideOf": "length",
    "MeasureOf": "angle",
    "AreaOf": "area",
}


def value_of(node: Node, state: FigureBatch) -> Array:
    """The expression in every figure of the batch; not finite where it has no value."""
    match node:
        case Number(value):
            return np.full(state.choice.shape, float(value))
        case Name("pi"):
            return np.full(state.choice.shape, np.pi)
        case Name(text):
            return state.symbols[text]
        case Operation(sign, args):
            return _OPERATIONS[sign](*[value_of(arg, state) for arg in args])
        case Call(name, args) if name in _SIZES:
            return _SIZES[name](args, state)
        case Call(name, args):
            return _FUNCTIONS[FUNCTIONS.get(name, name)](*[value_of(arg, state) for arg in args])


def dimension_of(node: Node, symbols: Mapping[str, Dimension | None]) -> Dimension | None:
    """The dimension of an expression, as far as its quantities tell; None for a ratio, a mixture or the unknown."""
    match node:
        case Number():
            return None
        case Name(text):
            return symbols.get(text)
        case Operation("*", args):
            found = [kind for arg in args if (kind := dimension_of(arg, symbols))]
            return found[0] if len(found) == 1 else "area" if found == ["length", "length"] else None
        case Operation("+" | "-", args):
            return next((kind for arg in args if (kind := dimension_of(arg, symbols))), None)
        case Operation("/", (above, below)):
            return dimension_of(above, symbols) if dimension_of(below, symbols) is None else None
        case Operation("^", (base, Number(value))) if value == 2 and dimension_of(base, symbols) == "length":
            return "area"
        case Call("Add" | "SumOf" | "AverageOf" | "Sub" | "HalfOf" | "Mul" | "Div", args):
            found = [kind for arg in args if (kind := dimension_of(arg, symbols))]
            return found[0] if node.name not in ("Mul", "Div") or len(found) == 1 else None
        case Call(name):
            return _DIMENSIONS.get(name)
    return None


def names_of(shape: Node) -> tuple[str, ...]:
    """The points that a shape is written with."""
    inner = unwrapped(shape)
    assert isinstance(inner, Call)
    return tuple(arg.text for arg in inner.args if isinstance(arg, Name))


def circle_of(points: tuple[str, ...], state: FigureBatch) -> str | None:
    """The centre of the circle on which all the points are said to lie."""
    return next((o for o, members in state.members.items() if set(points) <= set(members)), None)


def _power(base: Array, exponent: Array) -> Array:
    power: Array = np.power(base, exponent)
    return power


def _product(*factors: Array) -> Array:
    product: Array = np.prod(factors, axis=0)
    return product


def _sum(*terms: Array) -> Array:
    total: Array = np.sum(terms, axis=0)
    return total


_OPERATIONS: Mapping[str, Callable[..., Array]] = {
    "+": _sum,
    "*": _product,
    "/": np.divide,
    "^": _power,
    "-": np.negative,
}
_FUNCTIONS: Mapping[str, Callable[..., Array]] = {
    "SinOf": lambda a: np.sin(np.radians(a)),
    "CosOf": lambda a: np.cos(np.radians(a)),
    "TanOf": lambda a: np.tan(np.radians(a)),
    "CotOf": lambda a: 1 / np.tan(np.radians(a)),
    "HalfOf": lambda a: a / 2,
    "SquareOf": lambda a: a * a,
    "SqrtOf": np.sqrt,
    "RatioOf": np.divide,
    "Div": np.divide,
    "Sub": np.subtract,
    "Pow": _power,
    "Add": _sum,
    "SumOf": _sum,
    "AverageOf": lambda *a: _sum(*a) / len(a),
    "Mul": _product,
}


def _length(args: tuple[Node, ...], state: FigureBatch) -> Array:
    (shape,) = args
    assert isinstance(shape, Call)
    if shape.name == "Line":
        return state.distance(*names_of(shape))
    return np.radians(_arc_degrees(shape, state)) * state.radii[_centre(shape, state)]


def _measure(args: tuple[Node, ...], state: FigureBatch) -> Array:
    (shape,) = args
    assert isinstance(shape, Call)
    if shape.name == "Arc":
        return _arc_degrees(shape, state)
    first, vertex, second = names_of(shape)
    return state.degrees(first, vertex, second)


def _arc_degrees(arc: Call, state: FigureBatch) -> Array:
    """``Arc(A,B)`` is the lesser arc, ``Arc(A,C,B)`` runs through C, ``Arc(Circle(O),A,B)`` counterclockwise."""
    centre, names = _centre(arc, state), names_of(arc)
    if len(names) == 2 and not isinstance(arc.args[0], Call):
        return state.degrees(names[0], centre, names[1])
    turns = []
    for name in names:
        across, up = state.vector(centre, name)
        turns.append(np.degrees(np.arctan2(up, across)))
    sweep = np.mod(turns[-1] - turns[0], 360)
    if isinstance(arc.args[0], Call):
        return np.asarray(sweep)
    return np.asarray(np.where(np.mod(turns[1] - turns[0], 360) < sweep, sweep, 360 - sweep))


def _centre(arc: Call, state: FigureBatch) -> str:
    if isinstance(arc.args[0], Call):
        return names_of(arc.args[0])[0]
    centre = circle_of(names_of(arc), state)
    assert centre is not None
    return centre


def _area(args: tuple[Node, ...], state: FigureBatch) -> Array:
    shape, names = unwrapped(args[0]), names_of(args[0])
    assert isinstance(shape, Call)
    if shape.name == "Circle":
        return np.asarray(np.pi * state.radii[names[0]] ** 2)
    if shape.name == "Sector":
        radius, middle = state.distance(names[0], names[1]), state.degrees(names[1], names[0], names[2])
        return np.asarray(np.pi * radius**2 * middle / 360)
    return np.asarray(np.abs(state.signed_area(names)))


def _perimeter(args: tuple[Node, ...], state: FigureBatch) -> Array:
    shape, names = unwrapped(args[0]), names_of(args[0])
    assert isinstance(shape, Call)
    if shape.name == "Circle":
        return 2 * np.pi * state.radii[names[0]]
    if shape.name == "Sector":
        radius, middle = state.distance(names[0], names[1]), state.degrees(names[1], names[0], names[2])
        return np.asarray(radius * (2 + np.radians(middle)))
    return state.perimeter(names)


def _height(args: tuple[Node, ...], state: FigureBatch) -> Array:
    top, first, second = names_of(args[0])[:3]
    return np.abs(state.height(top, (first, second)))


_SIZES: Mapping[str, Callable[[tuple[Node, ...], FigureBatch], Array]] = {
    "LengthOf": _length,
    "MeasureOf": _measure,
    "AreaOf": _area,
    "PerimeterOf": _perimeter,
    "RadiusOf": lambda args, state: state.radii[names_of(args[0])[0]],
    "DiameterOf": lambda args, state: 2 * state.radii[names_of(args[0])[0]],
    "CircumferenceOf": lambda args, state: 2 * np.pi * state.radii[names_of(args[0])[0]],
    "HeightOf": _height,
    "SideOf": lambda args, state: state.distance(*names_of(args[0])[:2]),
    "ScaleFactorOf": lambda args, state: (
        state.distance(*names_of(args[0])[:2]) / state.distance(*names_of(args[1])[:2])
    ),
}
