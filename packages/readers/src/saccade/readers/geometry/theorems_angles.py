"""Theorems about angles: at a point, in polygons, between parallels, in isosceles triangles."""

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from saccade.readers.geometry.facts import Equation, Facts
from saccade.readers.geometry.knowledge import Knowledge
from saccade.readers.geometry.plain import plain
from saccade.readers.geometry.terms import Node, length, number
from saccade.readers.geometry.values import cross, dot, names_of

MAX_RAYS = 9
"""At one point."""


def angle_theorems(facts: Facts) -> Iterator[Equation]:
    """Equations that the figure alone gives."""
    for vertex in facts.figure.points:
        yield from _at_a_point(facts, vertex)
    for a, b, c in facts.triangles:
        corners = (facts.angle(c, a, b), facts.angle(a, b, c), facts.angle(b, c, a))
        because = f"triangle {a}{b}{c}"
        total = corners[0] + corners[1] + corners[2]
        yield Equation(theorem="angle sum of a triangle", because=because, left=total, right=number(180))
        yield from _exterior(facts, (a, b, c))
    yield from _polygons(facts)
    yield from _parallels(facts)


def isosceles_theorems(facts: Facts, known: Knowledge) -> Iterator[Equation]:
    """Equal sides have equal opposite angles, and the other way round."""
    for triangle in facts.triangles:
        for apex in triangle:
            b, c = (name for name in triangle if name != apex)
            sides = (length(apex, b), length(apex, c))
            corners = (facts.angle(apex, b, c), facts.angle(apex, c, b))
            because = f"triangle {''.join(triangle)} with "
            if (reason := known.why_equal(*sides)) is not None:
                yield Equation(
                    theorem="base angles of an isosceles triangle are equal",
                    because=because + f"{plain(sides[0])} = {plain(sides[1])}",
                    left=corners[0],
                    right=corners[1],
                    needs=reason.needs,
                    support=reason.support,
                )
            if (reason := known.why_equal(*corners)) is not None:
                yield Equation(
                    theorem="sides opposite to equal angles are equal",
                    because=because + f"{plain(corners[0])} = {plain(corners[1])}",
                    left=sides[0],
                    right=sides[1],
                    needs=reason.needs,
                    support=reason.support,
                )


def _at_a_point(facts: Facts, vertex: str) -> Iterator[Equation]:
    rays = facts.neighbours(vertex)[:MAX_RAYS]
    for a, b in combinations(rays, 2):
        for middle in rays:
            if middle not in (a, b) and _lies_inside(facts, middle, a, vertex, b):
                parts = facts.angle(a, vertex, middle) + facts.angle(middle, vertex, b)
                whole = facts.angle(a, vertex, b)
                if whole == number(180):
                    theorem, because = "a straight angle has 180°", f"{a}, {vertex} and {b} are on one line"
                else:
                    theorem, because = "angles add up", f"{vertex}{middle} runs inside {plain(whole)}"
                yield Equation(theorem=theorem, because=because, left=parts, right=whole)
    flat = [(a, b) for a, b in combinations(rays, 2) if facts.angle(a, vertex, b) == number(180)]
    for (a, b), (c, d) in combinations(flat, 2):
        because = f"the lines {a}{b} and {c}{d} cross at {vertex}"
        for first, second in (((a, c), (b, d)), ((a, d), (b, c))):
            left, right = facts.angle(first[0], vertex, first[1]), facts.angle(second[0], vertex, second[1])
            yield Equation(theorem="vertical angles are equal", because=because, left=left, right=right)


def _lies_inside(facts: Facts, middle: str, a: str, vertex: str, b: str) -> bool:
    if facts.angle(a, vertex, b) == number(180):
        return middle not in facts.line_through(a, b)
    first, second, inner = (facts.state.vector(vertex, name) for name in (a, b, middle))
    turn = cross(first, second)
    inside = (cross(first, inner) * turn > 0) & (cross(inner, second) * turn > 0)
    return bool(inside.all())


def _exterior(facts: Facts, triangle: tuple[str, str, str]) -> Iterator[Equation]:
    for corner in triangle:
        one, other = (name for name in triangle if name != corner)
        for inner, outer in ((one, other), (other, one)):
            line = facts.line_through(inner, corner)
            for point in line:
                if facts.is_between(corner, inner, point) and point != corner:
                    left = facts.angle(outer, corner, point)
                    right = facts.angle(corner, inner, outer) + facts.angle(inner, outer, corner)
                    because = f"{plain(left)} is outside of triangle {''.join(triangle)}"
                    yield Equation(
                        theorem="an exterior angle is the sum of the two opposite angles",
                        because=because,
                        left=left,
                        right=right,
                    )
                    break


def _polygons(facts: Facts) -> Iterator[Equation]:
    seen = {names_of(said) for said in facts.figure.given if len(names_of(said)) > 3}
    for names in seen:
        if not _is_convex(facts, names):
            continue
        corners = [facts.angle(a, b, c) for a, b, c in zip((names[-1], *names), names, (*names[1:], names[0]))]
        total: Node = corners[0]
        for corner in corners[1:]:
            total = total + corner
        sum_of = number(180 * (len(names) - 2))
        because = f"polygon {''.join(names)} has {len(names)} corners"
        yield Equation(theorem="angle sum of a polygon", because=because, left=total, right=sum_of, cost=2)


def _is_convex(facts: Facts, names: tuple[str, ...]) -> bool:
    if not set(names) <= set(facts.figure.points):
        return False
    turns = []
    for a, b, c in zip((names[-1], *names), names, (*names[1:], names[0])):
        turns.append(np.sign(cross(facts.state.vector(a, b), facts.state.vector(b, c))))
    return bool((np.abs(np.sum(turns, axis=0)) == len(names)).all())


def _parallels(facts: Facts) -> Iterator[Equation]:
    for first, second, why in facts.parallels:
        one, other = facts.line_through(*first), facts.line_through(*second)
        if set(one) & set(other):
            continue
        because = f"{first[0]}{first[1]} ∥ {second[0]}{second[1]} ({why})"
        for p in one:
            for q in other:
                if facts.is_joined(p, q):
                    yield from _transversal(facts, (one, other), (p, q), because)


def _transversal(
    facts: Facts, lines: tuple[tuple[str, ...], tuple[str, ...]], cut: tuple[str, str], because: str
) -> Iterator[Equation]:
    p, q = cut
    ends = [sorted({facts.ray(point, name) for name in line if name != point}) for point, line in zip((p, q), lines)]
    because = f"{because}, cut by {p}{q}"
    for a in ends[0]:
        for b in ends[1]:
            same_side = facts.on_same_side((p, q), a, b)
            if same_side is None:
                continue
            left, right = facts.angle(a, p, q), facts.angle(p, q, b)
            if same_side:
                theorem = "interior angles on one side between parallels make 180°"
                yield Equation(theorem=theorem, because=because, left=left + right, right=number(180))
            else:
                yield Equation(
                    theorem="alternate angles between parallels are equal", because=because, left=left, right=right
                )
            yield from _corresponding(facts, (p, q), a, b, because)


def _corresponding(facts: Facts, cut: tuple[str, str], a: str, b: str, because: str) -> Iterator[Equation]:
    """Angles in the same place at both crossings, where the cutting line goes on beyond."""
    p, q = cut
    pointing = dot(facts.state.vector(p, a), facts.state.vector(q, b))
    if not ((pointing > 0).all()):
        return
    for near, far in ((p, q), (q, p)):
        beyond = [name for name in facts.line_through(p, q) if facts.is_between(near, far, name) and name != near]
        if beyond:
            arm, other_arm = (a, b) if near == p else (b, a)
            left, right = facts.angle(arm, near, beyond[0]), facts.angle(other_arm, far, near)
            yield Equation(
                theorem="corresponding angles at parallels are equal", because=because, left=left, right=right
            )
