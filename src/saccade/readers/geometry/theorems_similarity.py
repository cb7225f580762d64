"""Similar triangles: found by two equal angles, used for sides, angles and areas."""

from collections.abc import Iterator

from saccade.readers.geometry.facts import Equation, Facts
from saccade.readers.geometry.knowledge import Knowledge, Reason
from saccade.readers.geometry.plain import polygon
from saccade.readers.geometry.terms import Node, length

Corners = tuple[str, str, str]


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
