"""Theorems about areas and perimeters of the polygons that the statements name."""

from collections.abc import Iterator

from saccade.readers.geometry.facts import Equation, Facts
from saccade.readers.geometry.given import radius_of
from saccade.readers.geometry.knowledge import Knowledge
from saccade.readers.geometry.plain import polygon
from saccade.readers.geometry.terms import Call, Node, call, length, walk
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import CORNERS, unwrapped

_SIDED = ("Parallelogram", "Rhombus", "Rectangle", "Square")


def area_theorems(facts: Facts, known: Knowledge) -> Iterator[Equation]:
    """Perimeters, and areas by height, by two sides, by three sides, by diagonals."""
    for names in _shapes_with(facts, "PerimeterOf"):
        total: Node = length(names[0], names[1])
        for a, b in zip(names[1:], (*names[2:], names[0])):
            total = total + length(a, b)
        because = f"polygon {''.join(names)}"
        left = polygon("PerimeterOf", names)
        yield Equation(theorem="perimeter", because=because, left=left, right=total)
    incircles = _incircles(facts)
    for centre, names in incircles:
        total = length(names[0], names[1]) + length(names[1], names[2]) + length(names[2], names[0])
        because = f"circle {centre} touches all sides of triangle {''.join(names)}"
        left, right = 2 * polygon("AreaOf", names), radius_of(centre) * total
        yield Equation(theorem="area of a triangle by its incircle", because=because, left=left, right=right, cost=3)
    for names in [*_shapes_with(facts, "AreaOf"), *(names for _, names in incircles)]:
        if len(names) == 3:
            yield from _triangle(facts, known, names)
        elif len(names) == 4:
            yield from _quadrilateral(facts, known, names)
    yield from _heights(facts)


def _shapes_with(facts: Facts, quantity: str) -> list[tuple[str, ...]]:
    found: dict[tuple[str, ...], None] = {}
    for root in (*facts.figure.given, *facts.figure.goals):
        for node in walk(root):
            if isinstance(node, Call) and node.name == quantity:
                shape = unwrapped(node.args[0])
                if isinstance(shape, Call) and shape.name in CORNERS:
                    found[names_of(shape)] = None
    return list(found)


def _incircles(facts: Facts) -> list[tuple[str, tuple[str, ...]]]:
    """Circles in triangles, by centre and corners."""
    found = []
    for said in facts.figure.given:
        if said.name in ("InscribedIn", "CircumscribedTo"):
            inner, outer = said.args if said.name == "InscribedIn" else said.args[::-1]
            shape = unwrapped(inner)
            if isinstance(shape, Call) and shape.name == "Circle" and len(names_of(outer)) == 3:
                found.append((names_of(shape)[0], names_of(outer)))
    return found


def _triangle(facts: Facts, known: Knowledge, names: tuple[str, ...]) -> Iterator[Equation]:
    a, b, c = names
    area, because = polygon("AreaOf", names), f"triangle {a}{b}{c}"
    for apex, one, other in ((a, b, c), (b, c, a), (c, a, b)):
        base = length(one, other)
        for foot in facts.line_through(one, other):
            right = facts.angle(apex, foot, one if foot != one else other)
            if known.value(right) == 90:
                yield Equation(
                    theorem="area of a triangle by base and height",
                    because=f"{because}, {apex}{foot} is perpendicular to {one}{other}",
                    left=2 * area,
                    right=base * length(apex, foot),
                    cost=2,
                    needs=(right,),
                )
        corner = facts.angle(one, apex, other)
        if known.value(corner) != 90:
            product = length(apex, one) * length(apex, other) * call("SinOf", corner)
            theorem = "area of a triangle by two sides and their angle"
            yield Equation(theorem=theorem, because=because, left=2 * area, right=product, cost=4)
    x, y, z = length(a, b), length(b, c), length(c, a)
    heron = (x + y + z) * (y + z - x) * (z + x - y) * (x + y - z)
    yield Equation(theorem="Heron's formula", because=because, left=16 * area**2, right=heron, cost=4)


def _quadrilateral(facts: Facts, known: Knowledge, names: tuple[str, ...]) -> Iterator[Equation]:
    kinds = [said.name for said in facts.figure.given if names_of(said) == names]
    kind = next(
        (kind for kind in ("Square", "Rectangle", "Rhombus", "Parallelogram", "Kite", "Trapezoid") if kind in kinds), ""
    )
    area, because = polygon("AreaOf", names), f"{kind.lower()} {''.join(names)}"
    a, b, c, d = names
    if kind in ("Square", "Rectangle"):
        product = length(a, b) * length(b, c)
        yield Equation(theorem="area of a rectangle", because=because, left=area, right=product)
    if kind in ("Square", "Rhombus", "Kite"):
        product = length(a, c) * length(b, d)
        theorem = "area by perpendicular diagonals"
        yield Equation(theorem=theorem, because=because, left=2 * area, right=product)
    if kind in ("Parallelogram", "Rhombus"):
        product = length(a, b) * length(a, d) * call("SinOf", facts.angle(d, a, b))
        theorem = "area of a parallelogram by two sides and their angle"
        yield Equation(theorem=theorem, because=because, left=area, right=product, cost=4)
    for top, base in (((a, b), (d, c)), ((b, c), (a, d))):
        if any({*top, *base} == {*one, *other} and {*top} in ({*one}, {*other}) for one, other, _ in facts.parallels):
            yield from _between_parallels(facts, known, area, top, base, because)


def _between_parallels(
    facts: Facts, known: Knowledge, area: Node, top: tuple[str, str], base: tuple[str, str], because: str
) -> Iterator[Equation]:
    """Half the sum of the bases times a height that is drawn."""
    upper, lower = facts.line_through(*top), facts.line_through(*base)
    for p in upper:
        for q in lower:
            end = base[0] if q != base[0] else base[1]
            right = facts.angle(p, q, end)
            if known.value(right) == 90:
                yield Equation(
                    theorem="area is half the sum of the parallel sides times the height",
                    because=f"{because}, {p}{q} is perpendicular to {base[0]}{base[1]}",
                    left=2 * area,
                    right=(length(*top) + length(*base)) * length(p, q),
                    cost=2,
                    needs=(right,),
                )
                return


def _heights(facts: Facts) -> Iterator[Equation]:
    """``HeightOf`` a polygon: from its first corner to the line of the next two."""
    for root in (*facts.figure.given, *facts.figure.goals):
        for node in walk(root):
            if not isinstance(node, Call) or node.name != "HeightOf":
                continue
            names = names_of(node.args[0])
            area = polygon("AreaOf", names)
            because = f"polygon {''.join(names)}"
            base = length(names[1], names[2])
            if len(names) == 3:
                theorem = "area of a triangle by base and height"
                yield Equation(theorem=theorem, because=because, left=2 * area, right=base * node)
            elif any(said.name in _SIDED and set(names_of(said)) == set(names) for said in facts.figure.given):
                yield Equation(theorem="area of a parallelogram", because=because, left=area, right=base * node)
