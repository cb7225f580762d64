"""The lines, parallels and tangents of a problem, from its statements and its figures."""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

import numpy as np

from saccade.readers.geometry.facts import MAX_TRIANGLES, Facts, nodes_of
from saccade.readers.geometry.figure import Figure
from saccade.readers.geometry.state import FigureBatch, dot
from saccade.readers.geometry.terms import Call, Node, length
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import CORNERS

Corners = tuple[str, str, str]
MAX_SIMILAR_PAIRS = 400
"""Pairs of triangles that are compared."""


def facts_of(figure: Figure, state: FigureBatch) -> Facts:
    """What the statements say, ordered as in the figures."""
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
    found = dict.fromkeys(_sorted(names) for names in named)
    for triple in combinations(facts.figure.points, 3):
        if all(facts.is_joined(a, b) for a, b in combinations(triple, 2)):
            found[_sorted(triple)] = None
    flat = {(a, b, c) for a, b, c in found if c in facts.line_through(a, b)}
    return tuple(triple for triple in found if triple not in flat)[:MAX_TRIANGLES]


def _sorted(names: Sequence[str]) -> Corners:
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
        for line in _said_lines(said, facts.figure):
            merged = set(line)
            for other in [other for other in found if len(other & merged) >= 2]:
                merged |= other
                found.remove(other)
            found.append(merged)
    for line in found:
        ordered = _in_order(facts.state, sorted(line))
        if ordered:
            facts.lines.append(ordered)


def _said_lines(said: Call, figure: Figure) -> Iterator[set[str]]:
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
    """Along the line as all figures have it; None where they differ."""
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
