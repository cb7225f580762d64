"""Equations that the statements themselves give: the meaning of each shape and relation."""

from collections.abc import Iterator, Sequence
from itertools import combinations

from saccade.readers.geometry.facts import Equation, Facts
from saccade.readers.geometry.plain import polygon
from saccade.readers.geometry.terms import Call, Node, call, length, number, written
from saccade.readers.geometry.values import names_of
from saccade.readers.geometry.vocabulary import unwrapped

RIGHT = number(90)


def given_equations(facts: Facts) -> Iterator[Equation]:
    """The statements as equations of lengths and angles."""
    for said in facts.figure.given:
        because = f"given {written(said)}"
        for left, right in _meaning(said, facts):
            yield Equation(theorem="given", because=because, left=left, right=right, cost=0)
        yield from _properties(said, facts)
        if said.name == "Regular":
            yield from _regular_area(said)
    for centre, members in facts.figure.members.items():
        radius = radius_of(centre)
        for member in members:
            because = f"{member} lies on circle {centre}"
            yield Equation(theorem="radius", because=because, left=length(centre, member), right=radius)


def radius_of(centre: str) -> Node:
    """The radius of the circle with this centre."""
    return call("RadiusOf", call("Circle", centre))


def right_angles(facts: Facts, first: Sequence[str], second: Sequence[str]) -> Iterator[tuple[Node, Node]]:
    """Right angles of two perpendicular lines, at the point that both have."""
    one, other = facts.line_through(*first), facts.line_through(*second)
    common = set(one) & set(other)
    if len(common) == 1:
        (vertex,) = common
        for a in sorted({facts.ray(vertex, name) for name in one if name != vertex}):
            for b in sorted({facts.ray(vertex, name) for name in other if name != vertex}):
                yield facts.angle(a, vertex, b), RIGHT


def _meaning(said: Call, facts: Facts) -> Iterator[tuple[Node, Node]]:
    args = said.args
    match said.name:
        case "Equals":
            yield facts.canonical(args[0]), facts.canonical(args[1])
        case "Perpendicular":
            yield from right_angles(facts, names_of(args[0]), names_of(args[1]))
        case "RightAngle":
            yield facts.canonical(call("MeasureOf", args[0])), RIGHT
        case "IsMidpointOf":
            point, (a, b) = names_of(said)[0], names_of(args[1])
            yield length(a, point), length(point, b)
            yield length(a, b), 2 * length(a, point)
        case "BisectsAngle":
            line, (a, vertex, b) = names_of(args[0]), names_of(args[1])
            end = line[1] if line[0] == vertex else line[0]
            yield facts.angle(a, vertex, end), facts.angle(end, vertex, b)
            yield facts.angle(a, vertex, b), 2 * facts.angle(a, vertex, end)
        case "IsMedianOf" | "IsAltitudeOf" if len(names_of(args[1])) == 3:
            yield from _from_corner(said, facts)
        case "IsHypotenuseOf":
            ends, corners = names_of(args[0]), names_of(args[1])
            (corner,) = (name for name in corners if name not in ends)
            yield facts.angle(ends[0], corner, ends[1]), RIGHT
        case "IsDiameterOf":
            a, b = names_of(args[0])
            yield length(a, b), 2 * radius_of(names_of(args[1])[0])
        case "IsPerpendicularBisectorOf":
            ends, (a, b) = names_of(args[0]), names_of(args[1])
            yield from ((length(end, a), length(end, b)) for end in ends)
        case "IsCircumcenterOf":
            point, corners = names_of(said)[0], names_of(args[1])
            yield from ((length(point, a), length(point, b)) for a, b in combinations(corners, 2))
        case "IsIncenterOf" if len(names_of(args[1])) == 3:
            point = names_of(said)[0]
            for a, b, c in _turns(names_of(args[1])):
                yield facts.angle(b, a, point), facts.angle(c, a, point)
                yield facts.angle(b, a, c), 2 * facts.angle(b, a, point)
        case "Congruent" | "Similar":
            yield from _same_form(said, facts)
        case "Isosceles" | "Equilateral" | "Right" | "Regular":
            yield from _adjective(said, facts)


def _from_corner(said: Call, facts: Facts) -> Iterator[tuple[Node, Node]]:
    line, corners = names_of(said.args[0]), names_of(said.args[1])
    apex, foot = line if line[0] in corners else line[::-1]
    first, second = (name for name in corners if name != apex)
    if said.name == "IsMedianOf":
        yield length(first, foot), length(foot, second)
        yield length(first, second), 2 * length(first, foot)
    else:
        yield from right_angles(facts, (apex, foot), (first, second))


def _same_form(said: Call, facts: Facts) -> Iterator[tuple[Node, Node]]:
    one, other = names_of(said.args[0]), names_of(said.args[1])
    inner = unwrapped(said.args[0])
    assert isinstance(inner, Call)
    if inner.name in ("Angle", "Arc"):
        yield tuple(facts.canonical(call("MeasureOf", arg)) for arg in said.args)  # type: ignore[misc]
    elif inner.name == "Line":
        yield length(*one), length(*other)
    elif len(one) == 3:
        for (a, b, c), (d, e, f) in zip(_turns(one), _turns(other)):
            yield facts.angle(b, a, c), facts.angle(e, d, f)
            if said.name == "Congruent":
                yield length(a, b), length(d, e)
            else:
                yield length(a, b) * length(e, f), length(d, e) * length(b, c)


def _adjective(said: Call, facts: Facts) -> Iterator[tuple[Node, Node]]:
    names = names_of(said)
    sides = [length(a, b) for a, b in zip(names, (*names[1:], names[0]))]
    corners = [facts.angle(a, b, c) for a, b, c in zip((names[-1], *names), names, (*names[1:], names[0]))]
    if said.name == "Right":
        fitting = [corner for corner in corners if facts.holds(corner, RIGHT)]
        yield from ((corner, RIGHT) for corner in fitting)
    elif said.name == "Isosceles":
        chosen = combinations(sides, 2) if len(names) == 3 else ((sides[0], sides[2]), (sides[1], sides[3]))
        fitting_sides = [pair for pair in chosen if facts.holds(*pair)]
        yield from fitting_sides[:1]
    else:
        yield from ((sides[0], side) for side in sides[1:])
        degrees = number(180 * (len(names) - 2)) / len(names)
        if said.name == "Regular" or len(names) == 3:
            yield from ((corner, degrees) for corner in corners)


def _regular_area(said: Call) -> Iterator[Equation]:
    names = names_of(said)
    side, half_turn = length(*names[:2]), number(180) / len(names)
    area = polygon("AreaOf", names) * (4 * call("TanOf", half_turn))
    because = f"{len(names)} equal sides {names[0]}{names[1]}"
    yield Equation(theorem="area of a regular polygon", because=because, left=area, right=len(names) * side**2)


def _properties(said: Call, facts: Facts) -> Iterator[Equation]:
    names = names_of(said)
    if len(names) != 4 or said.name not in ("Parallelogram", "Rhombus", "Rectangle", "Square", "Kite", "Trapezoid"):
        return
    a, b, c, d = names
    kind = f"{said.name.lower()} {a}{b}{c}{d}"
    if said.name in ("Rhombus", "Square"):
        squares = [(length(a, c) ** 2 + length(b, d) ** 2, 4 * length(a, b) ** 2)]
        theorem = f"half diagonals and side of a {said.name.lower()} make a right triangle"
        yield from _each(theorem, kind, squares, cost=3)
        yield from _each(
            f"all sides of a {said.name.lower()} are equal", kind, _chain([(a, b), (b, c), (c, d), (d, a)])
        )
    if said.name in ("Rectangle", "Square"):
        corners = [(facts.angle(*corner), RIGHT) for corner in ((d, a, b), (a, b, c), (b, c, d), (c, d, a))]
        yield from _each(f"a {said.name.lower()} has right angles", kind, corners)
        yield from _each(f"the diagonals of a {said.name.lower()} are equal", kind, [(length(a, c), length(b, d))])
    if said.name == "Trapezoid":
        yield from _trapezoid(names, kind, facts)
    elif said.name == "Kite":
        yield from _kite(names, kind, facts)
    else:
        pairs = [(length(a, b), length(c, d)), (length(b, c), length(a, d))]
        yield from _each("opposite sides of a parallelogram are equal", kind, pairs)
        pairs = [(facts.angle(d, a, b), facts.angle(b, c, d)), (facts.angle(a, b, c), facts.angle(c, d, a))]
        yield from _each("opposite angles of a parallelogram are equal", kind, pairs)
        whole = number(180)
        pairs = [
            (facts.angle(d, a, b) + facts.angle(a, b, c), whole),
            (facts.angle(a, b, c) + facts.angle(b, c, d), whole),
        ]
        yield from _each("neighbouring angles of a parallelogram make 180°", kind, pairs)
        yield from _diagonals(said.name, names, kind, facts)


def _diagonals(name: str, names: Sequence[str], kind: str, facts: Facts) -> Iterator[Equation]:
    a, b, c, d = names
    for middle in facts.figure.points:
        if facts.is_between(middle, a, c) and facts.is_between(middle, b, d):
            halves = [(length(x, middle), length(middle, y)) for x, y in ((a, c), (b, d))]
            halves += [(length(x, y), 2 * length(x, middle)) for x, y in ((a, c), (b, d))]
            yield from _each("the diagonals of a parallelogram bisect each other", kind, halves)
            if name in ("Rhombus", "Square"):
                square = right_angles(facts, (a, c), (b, d))
                yield from _each(f"the diagonals of a {name.lower()} are perpendicular", kind, list(square))
            if name in ("Rectangle", "Square"):
                halves = [(length(a, middle), length(b, middle)), (length(c, middle), length(d, middle))]
                yield from _each(f"the diagonals of a {name.lower()} have equal halves", kind, halves)
    if name in ("Rhombus", "Square"):
        for x, corner, y, end in ((d, a, b, c), (a, b, c, d), (b, c, d, a), (c, d, a, b)):
            halved = [(facts.angle(x, corner, end), facts.angle(end, corner, y))]
            yield from _each(f"a diagonal of a {name.lower()} bisects its angles", kind, halved)


def _kite(names: Sequence[str], kind: str, facts: Facts) -> Iterator[Equation]:
    for a, b, c, d in (names, (*names[1:], names[0])):
        pairs = [(length(a, b), length(a, d)), (length(c, b), length(c, d))]
        if all(facts.holds(*pair) for pair in pairs):
            yield from _each("a kite has two pairs of equal neighbouring sides", kind, pairs)
            pairs = [(facts.angle(a, b, c), facts.angle(a, d, c))]
            yield from _each("a kite has equal angles between unequal sides", kind, pairs)
            halves = [(facts.angle(b, v, w), facts.angle(d, v, w)) for v, w in ((a, c), (c, a))]
            yield from _each("the axis of a kite bisects its angles", kind, halves)
            for middle in facts.figure.points:
                if facts.is_between(middle, a, c) and facts.is_between(middle, b, d):
                    halves = [(length(b, middle), length(middle, d)), *right_angles(facts, (a, c), (b, d))]
                    yield from _each("the axis of a kite bisects the other diagonal at a right angle", kind, halves)
            return


def _trapezoid(names: Sequence[str], kind: str, facts: Facts) -> Iterator[Equation]:
    for a, b, c, d in (names, (*names[1:], names[0])):
        if (abs(facts.state.sine((a, b), (c, d))) < 1e-6).all():
            facts.parallels.append(((a, b), (d, c), f"bases of the {kind}"))
            is_isosceles = any(
                said.name == "Isosceles" and names_of(said) == tuple(names) for said in facts.figure.given
            )
            if is_isosceles:
                pairs = [(facts.angle(d, a, b), facts.angle(a, b, c)), (facts.angle(b, c, d), facts.angle(c, d, a))]
                yield from _each("base angles of an isosceles trapezoid are equal", kind, pairs)
                pairs = [(length(a, c), length(b, d))]
                yield from _each("the diagonals of an isosceles trapezoid are equal", kind, pairs)
                total, gap = length(a, b) + length(c, d), length(a, b) - length(c, d)
                squares = [(16 * polygon("AreaOf", names) ** 2, total**2 * (4 * length(a, d) ** 2 - gap**2))]
                theorem = "area of an isosceles trapezoid by its sides (the height by Pythagoras)"
                yield from _each(theorem, kind, squares, cost=4)
            return


def _chain(sides: Sequence[tuple[str, str]]) -> list[tuple[Node, Node]]:
    return [(length(*sides[0]), length(*side)) for side in sides[1:]]


def _each(theorem: str, because: str, pairs: Sequence[tuple[Node, Node]], cost: int = 1) -> Iterator[Equation]:
    for left, right in pairs:
        yield Equation(theorem=theorem, because=because, left=left, right=right, cost=cost)


def _turns(names: Sequence[str]) -> list[tuple[str, str, str]]:
    a, b, c = names
    return [(a, b, c), (b, c, a), (c, a, b)]
