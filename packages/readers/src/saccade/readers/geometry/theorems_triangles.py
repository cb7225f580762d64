"""Theorems about triangles: Pythagoras, trigonometry, similarity, midsegments, bisectors."""

from collections.abc import Iterator
from itertools import combinations

from saccade.readers.geometry.facts import Equation, Facts
from saccade.readers.geometry.knowledge import Knowledge, Reason
from saccade.readers.geometry.plain import polygon
from saccade.readers.geometry.terms import Node, call, length
from saccade.readers.geometry.values import names_of

Corners = tuple[str, str, str]


def segment_theorems(facts: Facts) -> Iterator[Equation]:
    """Parts of a segment, midsegments, centroids: what the figure alone gives."""
    for line in facts.lines:
        for a, middle, b in combinations(line, 3):
            because = f"{middle} is between {a} and {b}"
            parts = length(a, middle) + length(middle, b)
            yield Equation(theorem="parts of a segment add up", because=because, left=parts, right=length(a, b))
    for a, b, c in facts.triangles:
        for apex, one, other in ((a, b, c), (b, c, a), (c, a, b)):
            yield from _midsegment(facts, (apex, one, other))
    for said in facts.figure.given:
        if said.name == "Trapezoid":
            yield from _trapezoid_midsegment(facts, names_of(said))
        if said.name == "IsCentroidOf":
            yield from _centroid(facts, names_of(said)[0], names_of(said.args[1]))


def law_theorems(facts: Facts) -> Iterator[Equation]:
    """The laws of sines and cosines, for every triangle."""
    for a, b, c in facts.triangles:
        because = f"triangle {a}{b}{c}"
        for apex, one, other in ((a, b, c), (b, c, a), (c, a, b)):
            p, q, opposite = length(apex, one), length(apex, other), length(one, other)
            at_apex, at_one = facts.angle(one, apex, other), facts.angle(apex, one, other)
            cosine = p**2 + q**2 - 2 * p * q * call("CosOf", at_apex)
            yield Equation(theorem="law of cosines", because=because, left=opposite**2, right=cosine, cost=6)
            sines = (opposite * call("SinOf", at_one), q * call("SinOf", at_apex))
            yield Equation(theorem="law of sines", because=because, left=sines[0], right=sines[1], cost=5)


def right_triangle_theorems(facts: Facts, known: Knowledge) -> Iterator[Equation]:
    """Pythagoras and the ratios of sides, where an angle is known to be right; Pythagoras' converse."""
    for triangle in facts.triangles:
        for corner in triangle:
            one, other = (name for name in triangle if name != corner)
            right = facts.angle(one, corner, other)
            legs, hypotenuse = (length(corner, one), length(corner, other)), length(one, other)
            if known.value(right) == 90:
                because = f"triangle {''.join(triangle)} has a right angle at {corner}"
                squares = legs[0] ** 2 + legs[1] ** 2
                yield Equation(
                    theorem="Pythagoras", because=because, left=squares, right=hypotenuse**2, cost=2, needs=(right,)
                )
                for middle in facts.figure.points:
                    if _is_circumcentre(facts, middle, (one, corner, other)):
                        yield Equation(
                            theorem="the middle of the hypotenuse is equally far from all corners",
                            because=f"{because}, and {middle} is the middle of {one}{other}",
                            left=hypotenuse,
                            right=2 * length(corner, middle),
                            cost=2,
                            needs=(right,),
                        )
                yield from _ratios(facts, (one, corner, other), because, right)
                yield from _ratios(facts, (other, corner, one), because, right)


def bisector_theorems(facts: Facts, known: Knowledge) -> Iterator[Equation]:
    """A bisector divides the opposite side in the ratio of the other two."""
    for a, b, c in facts.triangles:
        for apex, one, other in ((a, b, c), (b, c, a), (c, a, b)):
            for foot in facts.line_through(one, other):
                if foot in (one, other) or not facts.is_between(foot, one, other):
                    continue
                halves = facts.angle(one, apex, foot), facts.angle(foot, apex, other)
                if not facts.is_joined(apex, foot) or (reason := known.why_equal(*halves)) is None:
                    continue
                yield Equation(
                    theorem="angle bisector theorem",
                    because=f"{apex}{foot} bisects the angle at {apex} of triangle {apex}{one}{other}",
                    left=length(one, foot) * length(apex, other),
                    right=length(foot, other) * length(apex, one),
                    cost=3,
                    needs=reason.needs,
                    support=reason.support,
                )


def _midsegment(facts: Facts, triangle: Corners) -> Iterator[Equation]:
    apex, b, c = triangle
    middles = [[m for m in facts.line_through(apex, end) if _is_middle(facts, m, apex, end)] for end in (b, c)]
    for d in middles[0]:
        for e in middles[1]:
            because = f"{d} and {e} are the midpoints of {apex}{b} and {apex}{c}"
            if ((d, e), (b, c), "midsegment") not in facts.parallels:
                facts.parallels.append(((d, e), (b, c), "midsegment"))
            areas = (polygon("AreaOf", (apex, b, c)), 4 * polygon("AreaOf", (apex, d, e)))
            theorem = "a midsegment cuts off a quarter of the area"
            yield Equation(theorem=theorem, because=because, left=areas[0], right=areas[1], cost=2)
            theorem = "a midsegment is half as long as the third side"
            yield Equation(theorem=theorem, because=because, left=length(b, c), right=2 * length(d, e))


def _trapezoid_midsegment(facts: Facts, names: tuple[str, ...]) -> Iterator[Equation]:
    for a, b, c, d in (names, (*names[1:], names[0])):
        ends = [[m for m in facts.line_through(*leg) if _is_middle(facts, m, *leg)] for leg in ((a, d), (b, c))]
        is_base = any(
            {a, b, c, d} == {*one, *other} and {a, b} in ({*one}, {*other}) for one, other, _ in facts.parallels
        )
        for m in ends[0] if is_base else ():
            for n in ends[1]:
                yield Equation(
                    theorem="the midsegment of a trapezoid is the mean of its bases",
                    because=f"{m} and {n} are the midpoints of {a}{d} and {b}{c}",
                    left=2 * length(m, n),
                    right=length(a, b) + length(c, d),
                )


def _is_circumcentre(facts: Facts, middle: str, right_at_second: Corners) -> bool:
    """By the statements: the middle of the hypotenuse, or the circumcentre."""
    one, corner, other = right_at_second
    centres = [said for said in facts.figure.given if said.name == "IsCircumcenterOf" and names_of(said)[0] == middle]
    is_said = any(set(names_of(said.args[1])) == {one, corner, other} for said in centres)
    return is_said or (middle in facts.line_through(one, other) and _is_middle(facts, middle, one, other))


def _is_middle(facts: Facts, middle: str, a: str, b: str) -> bool:
    """By the statements: the midpoint of a segment, or the foot of a median or midsegment."""
    if middle in (a, b) or not facts.holds(length(a, middle), length(middle, b)):
        return False
    said = facts.figure.given
    named = any(
        one.name == "IsMidpointOf" and {middle, a, b} == {*names_of(one), *names_of(one.args[1])} for one in said
    )
    return named or any(
        one.name in ("IsMidsegmentOf", "IsMedianOf") and middle in names_of(one.args[0]) for one in said
    )


def _centroid(facts: Facts, centroid: str, corners: tuple[str, ...]) -> Iterator[Equation]:
    for apex in corners:
        one, other = (name for name in corners if name != apex)
        for foot in facts.line_through(one, other):
            if foot not in (one, other) and facts.holds(length(one, foot), length(foot, other)):
                because = f"{centroid} is the centroid of triangle {''.join(corners)} and {apex}{foot} a median"
                theorem = "the centroid divides a median in the ratio 2 to 1"
                parts = (length(apex, centroid), length(centroid, foot))
                yield Equation(theorem=theorem, because=because, left=parts[0], right=2 * parts[1])
                yield Equation(theorem=theorem, because=because, left=2 * length(apex, foot), right=3 * parts[0])


def _ratios(facts: Facts, at: Corners, because: str, right: Node) -> Iterator[Equation]:
    """Sine, cosine and tangent of the first corner of a triangle whose second corner is right."""
    one, corner, other = at
    near, far, hypotenuse = length(one, corner), length(corner, other), length(one, other)
    sharp = facts.angle(corner, one, other)
    for word, left, top in (("SinOf", hypotenuse, far), ("CosOf", hypotenuse, near), ("TanOf", near, far)):
        yield Equation(
            theorem={"SinOf": "sine", "CosOf": "cosine", "TanOf": "tangent"}[word] + " in a right triangle",
            because=because,
            left=left * call(word, sharp),
            right=top,
            cost=3,
            needs=(right,),
        )


def similar_theorems(facts: Facts, known: Knowledge) -> Iterator[Equation]:
    """Proportional sides of triangles that share two angles."""
    for one, other in facts.similar:
        reason = _shares_two_angles(facts, known, one, other)
        if reason is not None:
            yield from _proportions(facts, one, other, reason)


def _shares_two_angles(facts: Facts, known: Knowledge, one: Corners, other: Corners) -> Reason | None:
    (a, b, c), (d, e, f) = one, other
    corners = (
        (facts.angle(b, a, c), facts.angle(e, d, f)),
        (facts.angle(a, b, c), facts.angle(d, e, f)),
        (facts.angle(a, c, b), facts.angle(d, f, e)),
    )
    found = [reason for pair in corners if (reason := known.why_equal(*pair)) is not None]
    return found[0] + found[1] if len(found) >= 2 else None


def _proportions(facts: Facts, one: Corners, other: Corners, reason: Reason) -> Iterator[Equation]:
    because = f"triangles {''.join(one)} and {''.join(other)} share two angles"
    yield Equation(
        theorem="areas of similar triangles are as the squares of sides",
        because=because,
        left=polygon("AreaOf", one) * length(other[0], other[1]) ** 2,
        right=polygon("AreaOf", other) * length(one[0], one[1]) ** 2,
        cost=4,
        needs=reason.needs,
        support=reason.support,
    )
    for i, j in ((0, 1), (1, 2), (0, 2)):
        for k, m in ((0, 1), (1, 2), (0, 2)):
            if (i, j) < (k, m):
                yield Equation(
                    theorem="sides of similar triangles are proportional",
                    because=because,
                    left=length(one[i], one[j]) * length(other[k], other[m]),
                    right=length(other[i], other[j]) * length(one[k], one[m]),
                    cost=3,
                    needs=reason.needs,
                    support=reason.support,
                )
        corner = next(index for index in range(3) if index not in (i, j))
        left, right = _angle_at(facts, one, corner), _angle_at(facts, other, corner)
        if left != right:
            yield Equation(
                theorem="angles of similar triangles are equal",
                because=because,
                left=left,
                right=right,
                cost=2,
                needs=reason.needs,
                support=reason.support,
            )


def _angle_at(facts: Facts, triangle: Corners, corner: int) -> Node:
    one, other = (name for index, name in enumerate(triangle) if index != corner)
    return facts.angle(one, triangle[corner], other)
