"""Facts that the theorems reason from: lines with their points in order, triangles, parallels, tangents, equations.

That points lie on a line or a circle is taken from the statements alone; in which order they lie there, and on which
side, is taken from the figures that were found, as a reader takes it from the diagram, and only where all agree.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np

from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.plain import kind_of, polygon
from saccade.readers.geometry.terms import Call, Name, Node, Number, Operation, angle, call, length, number, walk
from saccade.readers.geometry.values import FigureBatch, cross, dot, names_of, value_of
from saccade.readers.geometry.vocabulary import CORNERS

MAX_TRIANGLES = 60
STRAIGHT = number(180)


@dataclass(frozen=True, kw_only=True, slots=True)
class Equation:
    """One equation that a theorem or a statement gives."""

    theorem: str
    because: str
    """Its premises, in words."""
    left: Node
    right: Node
    cost: int = 1
    """Theorems that a reader would try last cost most."""
    needs: tuple[Node, ...] = ()
    """Quantities whose value is a premise."""
    support: tuple["Equation", ...] = ()
    """Equations that are premises."""


@dataclass(kw_only=True, slots=True)
class Facts:
    """Facts of one problem; theorems add the parallels that they find. Equations are kept elsewhere."""

    figure: Figure
    state: FigureBatch
    lines: list[tuple[str, ...]] = field(default_factory=list)
    parallels: list[tuple[tuple[str, str], tuple[str, str], str]] = field(default_factory=list)
    """Two lines and why they are parallel."""
    tangents: list[tuple[str, str, str]] = field(default_factory=list)
    """Centre, touching point, another point of the tangent."""
    segments: set[frozenset[str]] = field(default_factory=set)
    triangles: tuple[tuple[str, str, str], ...] = ()
    """Triples of points that are joined by lines and not on one line, those that are named first."""
    similar: tuple[tuple[tuple[str, str, str], tuple[str, str, str]], ...] = ()
    """Pairs of triangles that look similar in all figures, corners in the order in which they correspond."""

    def line_through(self, first: str, second: str) -> tuple[str, ...]:
        """All points of a line, in order."""
        return next((line for line in self.lines if first in line and second in line), (first, second))

    def ray(self, vertex: str, point: str) -> str:
        """The name that stands for all points on the same side of the vertex."""
        line = self.line_through(vertex, point)
        middle, side = line.index(vertex), line.index(point)
        return min(line[:middle] if side < middle else line[middle + 1 :])

    def angle(self, first: str, vertex: str, second: str) -> Node:
        """The angle, by the first names of its rays; a number when it is flat."""
        if second in self.line_through(vertex, first):
            return STRAIGHT if self.ray(vertex, first) != self.ray(vertex, second) else number(0)
        return angle(self.ray(vertex, first), vertex, self.ray(vertex, second))

    def is_between(self, point: str, first: str, second: str) -> bool:
        """Whether a point is on the segment, by the order on the line."""
        line = self.line_through(first, second)
        return point in line and sorted(map(line.index, (first, point, second)))[1] == line.index(point)

    def on_same_side(self, line: tuple[str, str], first: str, second: str) -> bool | None:
        """Whether two points lie on one side of a line; None where the figures differ or a point is on it."""
        along = self.state.vector(*line)
        sides = [cross(along, self.state.vector(line[0], point)) for point in (first, second)]
        product = np.sign(sides[0]) * np.sign(sides[1])
        scale = np.minimum(*map(np.abs, sides)) / np.maximum(dot(along, along), 1e-300)
        if (scale < 1e-6).any():
            return None
        return True if (product > 0).all() else False if (product < 0).all() else None

    def holds(self, left: Node, right: Node, tolerance: float = 1e-5) -> bool:
        """Whether an equation is true of all figures."""
        with np.errstate(all="ignore"):
            one, other = value_of(left, self.state), value_of(right, self.state)
            return bool((np.abs(one - other) <= tolerance * (1e-3 + np.abs(one) + np.abs(other))).all())

    def is_joined(self, first: str, second: str) -> bool:
        """Whether the diagram has a line between the points."""
        return frozenset((first, second)) in self.segments or len(self.line_through(first, second)) > 2

    def neighbours(self, point: str) -> list[str]:
        """One point on each ray that leaves a point."""
        others = [name for name in self.figure.points if name != point and self.is_joined(point, name)]
        return sorted({self.ray(point, name) for name in others})

    def canonical(self, node: Node) -> Node:
        """The expression with every quantity written in one way."""
        match node:
            case Number() | Name():
                return node
            case Operation(sign, args):
                return Operation(sign, tuple(map(self.canonical, args)))
            case Call("LengthOf", (Call("Line") as line,)):
                return length(*names_of(line))
            case Call("MeasureOf", (Call("Angle") as corner,)):
                first, vertex, second = names_of(corner)
                return self.angle(first, vertex, second)
            case Call("MeasureOf" | "LengthOf", (Call("Arc", (Name(a), Name(b))),)):
                return call(node.name, call("Arc", *sorted((a, b))))
            case Call("AreaOf" | "PerimeterOf", (Call() as shape,)) if kind_of(shape) in CORNERS:
                return polygon(node.name, names_of(shape))
            case Call("SideOf", (shape,)):
                return length(*names_of(shape)[:2])
            case Call("ScaleFactorOf", (one, other)):
                return length(*names_of(one)[:2]) / length(*names_of(other)[:2])
            case Call(name, args) if name in _AS_OPERATION:
                operation: Node = _AS_OPERATION[name](*map(self.canonical, args))
                return operation
            case Call("SinOf" | "CosOf" | "TanOf", args):
                return Call(node.name, tuple(map(self.canonical, args)))
            case _:
                return node


def nodes_of(figure: Figure) -> Iterator[Call]:
    """All calls in the givens and goals."""
    for root in (*figure.given, *figure.goals):
        for node in walk(root):
            if isinstance(node, Call):
                yield node


def _sum(*terms: Node) -> Node:
    return Operation("+", terms)


_AS_OPERATION: Mapping[str, Callable[..., Node]] = {
    "HalfOf": lambda a: a / 2,
    "SquareOf": lambda a: a**2,
    "SqrtOf": lambda a: Operation("^", (a, Number(Fraction(1, 2)))),
    "RatioOf": lambda a, b: a / b,
    "Div": lambda a, b: a / b,
    "Sub": lambda a, b: a - b,
    "Pow": lambda a, b: Operation("^", (a, b)),
    "Add": _sum,
    "SumOf": _sum,
    "AverageOf": lambda *a: _sum(*a) / len(a),
    "Mul": lambda *a: Operation("*", a),
    "CotOf": lambda a: number(1) / call("TanOf", a),
}


Corners = tuple[str, str, str]
MAX_SIMILAR_PAIRS = 400
"""Pairs of triangles that are compared."""


def facts_of(figure: Figure, state: FigureBatch) -> Facts:
    """The facts that the statements say, ordered as in the figures."""
    facts = Facts(figure=figure, state=state)
    _collect_segments(facts)
    _collect_lines(facts)
    facts.triangles = _triangles(facts)
    facts.similar = tuple(_similar(facts))
    for said in figure.given:
        match said:
            case Call("Parallel", (one, other)):
                facts.parallels.append((_two(one), _two(other), "given"))
            case Call("Parallelogram" | "Rhombus" | "Rectangle" | "Square"):
                a, b, c, d = names_of(said)
                kind = said.name.lower()
                facts.parallels.append(((a, b), (d, c), f"opposite sides of the {kind} {a}{b}{c}{d}"))
                facts.parallels.append(((b, c), (a, d), f"opposite sides of the {kind} {a}{b}{c}{d}"))
            case Call("Tangent", (line, circle)):
                _collect_tangent(facts, _two(line), names_of(circle)[0])
    return facts


def _triangles(facts: Facts) -> tuple[Corners, ...]:
    named = [names_of(node) for node in nodes_of(facts.figure) if node.name == "Triangle"]
    found = dict.fromkeys(_sorted_corners(names) for names in named)
    for triple in combinations(facts.figure.points, 3):
        if all(facts.is_joined(a, b) for a, b in combinations(triple, 2)):
            found[_sorted_corners(triple)] = None
    flat = {(a, b, c) for a, b, c in found if c in facts.line_through(a, b)}
    return tuple(triple for triple in found if triple not in flat)[:MAX_TRIANGLES]


def _sorted_corners(names: Sequence[str]) -> Corners:
    a, b, c = sorted(names)
    return a, b, c


def _similar(facts: Facts) -> Iterator[tuple[Corners, Corners]]:
    for one, other in list(combinations(facts.triangles, 2))[:MAX_SIMILAR_PAIRS]:
        for d, e, f in permutations(other):
            a, b, c = one
            sides = [(length(a, b), length(d, e)), (length(b, c), length(e, f)), (length(a, c), length(d, f))]
            (p, q), (r, s), (t, u) = sides
            if facts.holds(p * s, q * r) and facts.holds(p * u, q * t):
                yield one, (d, e, f)


def _collect_tangent(facts: Facts, line: tuple[str, str], centre: str) -> None:
    points = facts.line_through(*line)
    for touching in points:
        if touching in facts.figure.members.get(centre, ()):
            others = [point for point in points if point != touching]
            facts.tangents.extend((centre, touching, other) for other in others)
            return


def _collect_segments(facts: Facts) -> None:
    figure = facts.figure
    for node in nodes_of(figure):
        names = names_of(node)
        if node.name == "Line" and len(names) == 2:
            facts.segments.add(frozenset(names))
        elif node.name in CORNERS:
            facts.segments.update(frozenset(pair) for pair in zip(names, (*names[1:], names[0])))
        elif node.name == "Angle" and len(names) == 3:
            facts.segments.update((frozenset(names[:2]), frozenset(names[1:])))
    for centre, members in figure.members.items():
        facts.segments.update(frozenset((centre, member)) for member in members)


def _collect_lines(facts: Facts) -> None:
    found: list[set[str]] = []
    for said in facts.figure.given:
        for line in _said_lines(said):
            merged = set(line)
            for other in [other for other in found if len(other & merged) >= 2]:
                merged |= other
                found.remove(other)
            found.append(merged)
    for line in found:
        ordered = _in_order(facts.state, sorted(line))
        if ordered:
            facts.lines.append(ordered)


def _said_lines(said: Call) -> Iterator[set[str]]:
    args = said.args
    match said.name:
        case "PointLiesOnLine" | "IsMidpointOf":
            yield {*names_of(said)[:1], *names_of(args[1])}
        case "IntersectAt":
            point = names_of(said)[0]
            yield {point, *names_of(args[0])}
            yield {point, *names_of(args[1])}
        case "IsDiameterOf":
            yield {*names_of(args[0]), *names_of(args[1])}
        case "IsMedianOf" | "IsAltitudeOf" if len(names_of(args[1])) == 3:
            line, corners = names_of(args[0]), names_of(args[1])
            feet = [name for name in line if name not in corners]
            apexes = [name for name in line if name in corners]
            if feet and apexes:
                yield {feet[0], *(corner for corner in corners if corner != apexes[0])}


def _in_order(state: FigureBatch, names: Sequence[str]) -> tuple[str, ...] | None:
    """The points in their order along the line; None where the figures differ."""
    if len(names) < 3:
        return None
    far = max(combinations(names, 2), key=lambda pair: float(state.distance(*pair)[0]))
    along = state.vector(*far)
    shares = np.array([dot(state.vector(far[0], name), along) / dot(along, along) for name in names])
    orders = np.argsort(shares, axis=0)
    if (orders != orders[:, :1]).any():
        return None
    return tuple(names[i] for i in orders[:, 0])


def _two(line: Node) -> tuple[str, str]:
    first, second = names_of(line)
    return first, second
