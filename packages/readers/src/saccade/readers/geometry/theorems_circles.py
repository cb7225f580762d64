"""Theorems about circles: angles and arcs, chords, tangents, secants, arc lengths."""

from collections.abc import Iterator, Sequence
from itertools import combinations, permutations

from saccade.readers.geometry.facts import Equation, Facts
from saccade.readers.geometry.given import RIGHT, radius_of
from saccade.readers.geometry.knowledge import Knowledge
from saccade.readers.geometry.terms import Call, Name, Node, call, length, number, walk

MAX_MEMBERS = 8
"""Points of one circle that theorems look at."""


def circle_theorems(facts: Facts) -> Iterator[Equation]:
    """Equations that circles give."""
    for centre, members in facts.figure.members.items():
        points = [name for name in members if name != centre][:MAX_MEMBERS]
        yield from _inscribed(facts, centre, points)
        yield from _chords(facts, centre, points)
        yield from _powers(facts, centre, points)
        yield from _sizes(centre)
    yield from _tangents(facts)
    yield from _arcs(facts)


def known_circle_theorems(facts: Facts, known: Knowledge) -> Iterator[Equation]:
    """A chord that is seen under a right angle is a diameter."""
    for centre, members in facts.figure.members.items():
        for a, c, b in permutations(members[:MAX_MEMBERS], 3):
            right = facts.angle(a, c, b)
            if a < b and known.value(right) == 90:
                because = f"{a}, {b} and {c} lie on circle {centre} and the angle at {c} is right"
                left, double = length(a, b), 2 * radius_of(centre)
                theorem = "a chord that is seen under a right angle is a diameter"
                yield Equation(theorem=theorem, because=because, left=left, right=double, cost=2, needs=(right,))


def _inscribed(facts: Facts, centre: str, points: Sequence[str]) -> Iterator[Equation]:
    for a, b in combinations(points, 2):
        others = [name for name in points if name not in (a, b)]
        on_chord = centre in facts.line_through(a, b)
        for c in others:
            seen = facts.angle(a, c, b)
            if not (facts.is_joined(a, c) and facts.is_joined(c, b)):
                continue
            if on_chord and facts.is_between(centre, a, b):
                because = f"{a}{b} is a diameter of circle {centre} and {c} lies on it"
                yield Equation(theorem="Thales", because=because, left=seen, right=RIGHT)
                continue
            middle = facts.angle(a, centre, b)
            same_side = facts.on_same_side((a, b), c, centre)
            because = f"{a}, {b} and {c} lie on circle {centre}"
            if same_side is not None:
                central: Node = middle if same_side else 360 - middle
                theorem = "an inscribed angle is half the central angle"
                yield Equation(theorem=theorem, because=because, left=2 * seen, right=central, cost=2)
        yield from _same_chord(facts, centre, (a, b), others)


def _same_chord(facts: Facts, centre: str, chord: tuple[str, str], others: Sequence[str]) -> Iterator[Equation]:
    a, b = chord
    for c, d in combinations(others, 2):
        if not all(facts.is_joined(x, y) for x in (a, b) for y in (c, d)):
            continue
        left, right = facts.angle(a, c, b), facts.angle(a, d, b)
        because = f"{a}, {b}, {c} and {d} lie on circle {centre}"
        same_side = facts.on_same_side((a, b), c, d)
        if same_side:
            theorem = "inscribed angles on the same arc are equal"
            yield Equation(theorem=theorem, because=because, left=left, right=right)
        elif same_side is False:
            theorem = "opposite angles of an inscribed quadrilateral make 180°"
            yield Equation(theorem=theorem, because=because, left=left + right, right=number(180))


def _chords(facts: Facts, centre: str, points: Sequence[str]) -> Iterator[Equation]:
    for a, b in combinations(points, 2):
        for foot in facts.line_through(a, b):
            if foot in (a, b, centre) or not facts.is_joined(centre, foot):
                continue
            corner = facts.angle(centre, foot, a)
            because = f"{foot} on the chord {a}{b} of circle {centre}"
            if _says_right(facts, centre, foot, (a, b)):
                theorem = "the perpendicular from the centre bisects a chord"
                yield Equation(theorem=theorem, because=because, left=length(a, foot), right=length(foot, b))
            if _says_middle(facts, foot, (a, b)):
                theorem = "the line from the centre to the middle of a chord is perpendicular to it"
                yield Equation(theorem=theorem, because=because, left=corner, right=RIGHT)


def _says_right(facts: Facts, centre: str, foot: str, chord: tuple[str, str]) -> bool:
    for said in facts.figure.given:
        if said.name == "Perpendicular":
            lines = [facts.line_through(*_pair(arg)) for arg in said.args]
            if any({*chord, foot} <= set(x) and {centre, foot} <= set(y) for x, y in (lines, lines[::-1])):
                return True
        elif said == call("Equals", call("MeasureOf", call("Angle", centre, foot, chord[0])), RIGHT):
            return True
    return False


def _says_middle(facts: Facts, foot: str, chord: tuple[str, str]) -> bool:
    for said in facts.figure.given:
        if said.name == "IsMidpointOf" and said.args[0] == Name(foot) and set(_pair(said.args[1])) == set(chord):
            return True
    return False


def _pair(line: Node) -> tuple[str, str]:
    assert isinstance(line, Call)
    first, second = (arg.text for arg in line.args if isinstance(arg, Name))
    return first, second


def _powers(facts: Facts, centre: str, points: Sequence[str]) -> Iterator[Equation]:
    secants = [(a, b) for a, b in combinations(points, 2) if len(facts.line_through(a, b)) > 2]
    for (a, b), (c, d) in combinations(secants, 2):
        common = set(facts.line_through(a, b)) & set(facts.line_through(c, d)) - {a, b, c, d, centre}
        if len({a, b, c, d}) == 4 and len(common) == 1:
            (p,) = common
            is_inside = facts.is_between(p, a, b)
            theorem = "products of the parts of crossing chords are equal" if is_inside else "secants from one point"
            yield Equation(
                theorem=theorem,
                because=f"the lines {a}{b} and {c}{d} of circle {centre} meet at {p}",
                left=length(p, a) * length(p, b),
                right=length(p, c) * length(p, d),
                cost=2,
            )
    for middle, touching, p in facts.tangents:
        for a, b in secants:
            if middle == centre and p in facts.line_through(a, b) and touching not in (a, b) and p not in (a, b):
                yield Equation(
                    theorem="the square on a tangent is the product of the parts of a secant",
                    because=f"{p}{touching} touches circle {centre}, the line {p}{a}{b} cuts it",
                    left=length(p, touching) ** 2,
                    right=length(p, a) * length(p, b),
                    cost=2,
                )


def _tangents(facts: Facts) -> Iterator[Equation]:
    for centre, touching, p in facts.tangents:
        because = f"{p}{touching} touches circle {centre} at {touching}"
        corner = facts.angle(centre, touching, p)
        yield Equation(theorem="a tangent is perpendicular to the radius", because=because, left=corner, right=RIGHT)
        yield from _tangent_and_chord(facts, centre, touching, p, because)
    for (centre, s, p), (other, t, q) in combinations(facts.tangents, 2):
        if centre == other and p == q and s != t:
            because = f"{p}{s} and {p}{t} touch circle {centre}"
            theorem = "tangents from one point are equally long"
            yield Equation(theorem=theorem, because=because, left=length(p, s), right=length(p, t))
            halves = facts.angle(s, p, centre), facts.angle(centre, p, t)
            around = facts.angle(s, p, t) + facts.angle(s, centre, t)
            theorem = "the angle of two tangents and the central angle make 180°"
            yield Equation(theorem=theorem, because=because, left=around, right=number(180))
            theorem = "the line to the centre bisects the angle of two tangents"
            yield Equation(theorem=theorem, because=because, left=halves[0], right=halves[1])


def _tangent_and_chord(facts: Facts, centre: str, touching: str, p: str, because: str) -> Iterator[Equation]:
    points = [name for name in facts.figure.members[centre] if name not in (touching, p)][:MAX_MEMBERS]
    for a in points:
        for c in points:
            drawn = facts.is_joined(touching, a) and facts.is_joined(a, c) and facts.is_joined(c, touching)
            if a != c and drawn and facts.on_same_side((touching, a), p, c) is False:
                left, right = facts.angle(p, touching, a), facts.angle(touching, c, a)
                theorem = "the angle of tangent and chord is the inscribed angle on the chord"
                yield Equation(theorem=theorem, because=because, left=left, right=right)


def _sizes(centre: str) -> Iterator[Equation]:
    radius, circle, pi = radius_of(centre), call("Circle", centre), Name("pi")
    because = f"circle {centre}"
    for theorem, left, right in (
        ("a diameter is two radii", call("DiameterOf", circle), 2 * radius),
        ("circumference of a circle", call("CircumferenceOf", circle), 2 * pi * radius),
        ("area of a circle", call("AreaOf", circle), pi * radius**2),
    ):
        yield Equation(theorem=theorem, because=because, left=left, right=right)
    yield Equation(theorem="circumference", because=because, left=call("PerimeterOf", circle), right=2 * pi * radius)


def _arcs(facts: Facts) -> Iterator[Equation]:
    """Arcs that are spoken of, by their central angles; arcs through a third point by their sum."""
    nodes = {node for root in (*facts.figure.given, *facts.figure.goals) for node in walk(root)}
    for arc in sorted((node for node in nodes if isinstance(node, Call) and node.name == "Arc"), key=str):
        is_directed = isinstance(arc.args[0], Call)
        names = [arg.text for arg in arc.args if isinstance(arg, Name)]
        inner = arc.args[0]
        if is_directed and isinstance(inner, Call) and isinstance(inner.args[0], Name):
            centre = inner.args[0].text
        else:
            centre = next(o for o, members in facts.figure.members.items() if set(names) <= set(members))
        first, last = names[0], names[-1]
        spelled = call("Arc", *sorted(names)) if len(names) == 2 and not is_directed else arc
        measure, middle = call("MeasureOf", spelled), facts.angle(first, centre, last)
        because = f"arc {''.join(names)} of circle {centre}"
        for around in (middle, 360 - middle):
            if facts.holds(measure, around):
                theorem = "an arc measures its central angle"
                yield Equation(theorem=theorem, because=because, left=measure, right=around)
                break
        extent = measure / 360 * 2 * Name("pi") * radius_of(centre)
        long = call("LengthOf", spelled)
        yield Equation(theorem="length of an arc", because=because, left=long, right=extent)
    for node in sorted((n for n in nodes if isinstance(n, Call) and n.name == "Sector"), key=str):
        centre, a, b = (arg.text for arg in node.args if isinstance(arg, Name))
        share = facts.angle(a, centre, b) / 360
        because = f"sector {centre}{a}{b}"
        area = share * Name("pi") * radius_of(centre) ** 2
        yield Equation(theorem="area of a sector", because=because, left=call("AreaOf", node), right=area)
