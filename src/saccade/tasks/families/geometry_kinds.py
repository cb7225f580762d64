"""The geometry problems by kind: each function thinks one up, with its figure true to its numbers."""

import cmath
import math
from collections.abc import Callable, Mapping
from types import MappingProxyType

from numpy.random import Generator

from saccade.tasks.families.geometry_sketch import Sketch

Draft = Callable[[Generator], Sketch]
TRIPLES = ((3, 4, 5), (6, 8, 10), (5, 12, 13), (8, 15, 17), (9, 12, 15), (7, 24, 25), (20, 21, 29))


def _at(length: float, degrees: float) -> complex:
    return cmath.rect(length, math.radians(degrees))


def _whole(rng: Generator, least: int, most: int, step: int = 1) -> int:
    return step * int(rng.integers(-(-least // step), most // step + 1))


def _triple(rng: Generator) -> tuple[int, int, int]:
    a, b, c = TRIPLES[int(rng.integers(len(TRIPLES)))]
    return (a, b, c) if rng.integers(2) else (b, a, c)


def _corners(at_first: float, at_second: float) -> tuple[complex, complex, complex]:
    """A triangle with these angles at its second and third corner."""
    apex = 180 - at_first - at_second
    return _at(math.sin(math.radians(at_second)) / math.sin(math.radians(apex)), at_first), 0j, 1 + 0j


def _triangle(places: tuple[complex, complex, complex], **more: object) -> Sketch:
    fixed: dict[str, object] = {
        "places": dict(zip("αβγ", places)),
        "lines": ("αβ", "βγ", "αγ"),
        "polygons": ("αβγ",),
    }
    return Sketch(**{**fixed, **more})  # type: ignore[arg-type]


def _in_x(value: int, x: int, factor: int) -> str:
    """An expression of this value, as ``3x-2``."""
    rest = value - factor * x
    return f"{factor if factor > 1 else ''}x" + (f"{rest:+d}" if rest else "")


def angle_sum(rng: Generator) -> Sketch:
    beta, gamma = _whole(rng, 35, 80), _whole(rng, 35, 80)
    return _triangle(
        _corners(beta, gamma),
        angles={"αβγ": str(beta), "βγα": str(gamma)},
        question="Find the measure of angle βαγ.",
        goal="MeasureOf(Angle(β,α,γ))",
        answer=180 - beta - gamma,
    )


def pythagoras(rng: Generator) -> Sketch:
    a, b, c = _triple(rng)
    lengths = {"αγ": a, "βγ": b, "αβ": c}
    asked = ("αγ", "βγ", "αβ")[int(rng.integers(3))]
    return _triangle(
        (a * 1j, b + 0j, 0j),
        right_angles=("αγβ",),
        lengths={line: str(value) for line, value in lengths.items() if line != asked},
        question=f"Find the length of {asked}.",
        goal=f"LengthOf(Line({asked[0]},{asked[1]}))",
        answer=lengths[asked],
    )


def isosceles(rng: Generator) -> Sketch:
    apex = _whole(rng, 40, 110, 2)
    base = (180 - apex) / 2
    return _triangle(
        _corners(base, base),
        equal_lengths=(("αβ", "αγ"),),
        angles={"βαγ": str(apex)},
        question="What is the measure of angle αβγ in degrees?",
        goal="MeasureOf(Angle(α,β,γ))",
        answer=base,
    )


def cosine_law(rng: Generator) -> Sketch:
    one, two, between = _whole(rng, 5, 12), _whole(rng, 5, 12), _whole(rng, 40, 110, 5)
    places = (_at(one, between), 0j, two + 0j)
    return _triangle(
        places,
        lengths={"αβ": str(one), "βγ": str(two)},
        angles={"αβγ": str(between)},
        question="In triangle αβγ, find αγ. Round to the nearest hundredth.",
        goal="LengthOf(Line(α,γ))",
        answer=abs(places[0] - places[2]),
    )


def right_with_angle(rng: Generator) -> Sketch:
    long, beta = _whole(rng, 6, 30), _whole(rng, 32, 60)
    leg = long * math.sin(math.radians(beta))
    return _triangle(
        (leg * 1j, -long * math.cos(math.radians(beta)) + 0j, 0j),
        right_angles=("αγβ",),
        lengths={"αβ": str(long)},
        angles={"αβγ": str(beta)},
        question="Triangle αβγ is a right triangle. How long is αγ?",
        said=("Right(Triangle(α,β,γ))",),
        goal="LengthOf(Line(α,γ))",
        answer=leg,
    )


def angles_in_x(rng: Generator) -> Sketch:
    beta, gamma = _whole(rng, 40, 75), _whole(rng, 40, 75)
    x = _whole(rng, 10, 30)
    texts = {"βαγ": _in_x(180 - beta - gamma, x, _whole(rng, 1, 3)), "αβγ": _in_x(beta, x, _whole(rng, 1, 3))}
    return _triangle(
        _corners(beta, gamma),
        angles={**texts, "βγα": str(gamma)},
        question="Find x.",
        goal="x",
        answer=x,
    )


def midsegment(rng: Generator) -> Sketch:
    whole = _whole(rng, 8, 40)
    alpha, beta, gamma = (whole * at for at in _corners(_whole(rng, 50, 75), _whole(rng, 50, 75)))
    return Sketch(
        places={"α": alpha, "β": beta, "γ": gamma, "δ": (alpha + beta) / 2, "ε": (alpha + gamma) / 2},
        lines=("αδβ", "αεγ", "βγ", "δε"),
        polygons=("αδε", "δβγε"),
        equal_lengths=(("αδ", "δβ"), ("αε", "εγ")),
        lengths={"βγ": str(whole)},
        question="In the figure, find the length of δε.",
        goal="LengthOf(Line(δ,ε))",
        answer=whole / 2,
    )


def parallel_inside(rng: Generator) -> Sketch:
    upper, lower, other = _whole(rng, 4, 9), _whole(rng, 3, 9), _whole(rng, 4, 12)
    rest = other * lower / upper
    between = _whole(rng, 45, 80)
    alpha, beta, gamma = 0j, _at(upper + lower, 0), _at(other + rest, between)
    return Sketch(
        places={"α": alpha, "β": beta, "γ": gamma, "δ": _at(upper, 0), "ε": _at(other, between)},
        lines=("αδβ", "αεγ", "βγ", "δε"),
        polygons=("αδε", "δβγε"),
        parallels=(("δε", "βγ"),),
        lengths={"αδ": str(upper), "δβ": str(lower), "αε": str(other)},
        question="Find the length of εγ.",
        goal="LengthOf(Line(ε,γ))",
        answer=rest,
    )


def altitude(rng: Generator) -> Sketch:
    height, foot, side = _triple(rng)
    rest = _whole(rng, max(3, height // 2), 2 * height)
    return Sketch(
        places={"α": height * 1j, "β": -foot + 0j, "γ": rest + 0j, "δ": 0j},
        lines=("αβ", "αγ", "βδγ", "αδ"),
        polygons=("αβδ", "αδγ"),
        right_angles=("αδγ",),
        lengths={"αβ": str(side), "αδ": str(height), "δγ": str(rest)},
        question="Find βγ.",
        goal="LengthOf(Line(β,γ))",
        answer=foot + rest,
    )


def bisector(rng: Generator) -> Sketch:
    beta, gamma = _whole(rng, 35, 65), _whole(rng, 35, 65)
    alpha, at_beta, at_gamma = _corners(beta, gamma)
    foot = at_beta + (at_gamma - at_beta) * abs(alpha - at_beta) / (abs(alpha - at_beta) + abs(alpha - at_gamma))
    return Sketch(
        places={"α": alpha, "β": at_beta, "γ": at_gamma, "δ": foot},
        lines=("αβ", "αγ", "βδγ", "αδ"),
        polygons=("αβδ", "αδγ"),
        angles={"αβδ": str(beta), "αγδ": str(gamma)},
        question="In triangle αβγ, αδ bisects angle βαγ. Find the measure of angle αδγ.",
        said=("Triangle(α,β,γ)", "BisectsAngle(Line(α,δ),Angle(β,α,γ))"),
        goal="MeasureOf(Angle(α,δ,γ))",
        answer=beta + (180 - beta - gamma) / 2,
    )


def marked_bisector(rng: Generator) -> Sketch:
    sketch = bisector(rng)
    alpha = 180 - int(sketch.angles["αβδ"]) - int(sketch.angles["αγδ"])
    return Sketch(
        places=sketch.places,
        lines=sketch.lines,
        polygons=sketch.polygons,
        angles={"αβδ": sketch.angles["αβδ"], "αγδ": sketch.angles["αγδ"]},
        equal_angles=(("βαδ", "δαγ"),),
        question="What is the measure of angle βαδ?",
        goal="MeasureOf(Angle(β,α,δ))",
        answer=alpha / 2,
    )


def exterior(rng: Generator) -> Sketch:
    alpha, beta = _whole(rng, 40, 75), _whole(rng, 40, 70)
    top, left, right = _corners(beta, 180 - alpha - beta)
    return Sketch(
        places={"α": top, "β": left, "γ": right, "δ": right + 0.6},
        lines=("αβ", "αγ", "βγδ"),
        polygons=("αβγ",),
        angles={"βαγ": str(alpha), "αγδ": str(alpha + beta)},
        question="Find the measure of angle αβγ.",
        goal="MeasureOf(Angle(α,β,γ))",
        answer=beta,
    )


def transversal(rng: Generator) -> Sketch:
    degrees = _whole(rng, 45, 80)
    slant = _at(1.0 / math.sin(math.radians(degrees)), degrees)
    low, high = 0j, slant
    asked, answer = (("γθη", 180 - degrees), ("ηθδ", degrees))[int(rng.integers(2))]
    is_marked = bool(rng.integers(2))
    return Sketch(
        places={
            "α": high - 1.0,
            "β": high + 1.1,
            "γ": low - 1.1,
            "δ": low + 1.0,
            "ε": high + 0.75 * slant,
            "ζ": low - 0.75 * slant,
            "η": high,
            "θ": low,
        },
        lines=("αηβ", "γθδ", "εηθζ"),
        parallels=(("αβ", "γδ"),) if is_marked else (),
        angles={"εηβ": str(degrees)},
        question=f"{'' if is_marked else 'αβ is parallel to γδ. '}What is the measure of angle {asked}?",
        said=() if is_marked else ("Parallel(Line(α,β),Line(γ,δ))",),
        goal=f"MeasureOf(Angle({','.join(asked)}))",
        answer=answer,
    )


def crossing(rng: Generator) -> Sketch:
    at_alpha, at_beta = _whole(rng, 35, 60), _whole(rng, 35, 60)
    middle, left, right = _corners(at_alpha, at_beta)
    share = float(rng.uniform(0.8, 1.3))
    return Sketch(
        places={
            "α": left,
            "β": right,
            "ε": middle,
            "δ": middle + share * (middle - left),
            "γ": middle + share * (middle - right),
        },
        lines=("αβ", "γδ", "αεδ", "βεγ"),
        polygons=("αβε", "γεδ"),
        angles={"βαε": str(at_alpha), "εγδ": str(at_beta)},
        question="αβ is parallel to γδ. Find the measure of angle αεβ.",
        said=("Parallel(Line(α,β),Line(γ,δ))",),
        goal="MeasureOf(Angle(α,ε,β))",
        answer=180 - at_alpha - at_beta,
    )


def zigzag(rng: Generator) -> Sketch:
    upper, lower = _whole(rng, 25, 60), _whole(rng, 25, 60)
    knee = 0j
    beta, delta = _at(1.0, 180 - upper), _at(1.1, 180 + lower)
    return Sketch(
        places={"α": beta + 1.3, "β": beta, "γ": delta + 1.4, "δ": delta, "ε": knee},
        lines=("αβ", "βε", "εδ", "γδ"),
        angles={"αβε": str(upper), "εδγ": str(lower)},
        question="αβ is parallel to γδ. Find the measure of angle βεδ.",
        said=("Parallel(Line(α,β),Line(γ,δ))",),
        goal="MeasureOf(Angle(β,ε,δ))",
        answer=upper + lower,
    )


def inscribed(rng: Generator) -> Sketch:
    middle = _whole(rng, 70, 150, 2)
    third = float(rng.uniform(160, 200))
    return Sketch(
        places={"ο": 0j, "α": _at(1, -middle / 2), "β": _at(1, middle / 2), "γ": _at(1, third)},
        lines=("οα", "οβ", "αγ", "βγ"),
        circles={"ο": "αβγ"},
        angles={"αοβ": str(middle)},
        question="Points α, β and γ lie on circle ο. Find the measure of angle αγβ.",
        said=tuple(f"PointLiesOnCircle({name},Circle(ο))" for name in "αβγ"),
        goal="MeasureOf(Angle(α,γ,β))",
        answer=middle / 2,
    )


def thales(rng: Generator) -> Sketch:
    a, b, c = _triple(rng)
    if c % 2:
        a, b, c = 2 * a, 2 * b, 2 * c
    radius = c / 2
    return Sketch(
        places={"ο": 0j, "α": -radius + 0j, "β": radius + 0j, "γ": _at(radius, math.degrees(2 * math.atan2(a, b)))},
        lines=("αοβ", "αγ", "βγ"),
        circles={"ο": "αβγ"},
        polygons=("αβγ",),
        lengths={"αο": f"{c // 2}", "βγ": str(a)},
        question="αβ is a diameter of circle ο. Find the length of αγ.",
        said=("IsDiameterOf(Line(α,β),Circle(ο))",),
        goal="LengthOf(Line(α,γ))",
        answer=b,
    )


def diameter_angle(rng: Generator) -> Sketch:
    degrees = _whole(rng, 28, 62)
    return Sketch(
        places={"ο": 0j, "α": -1 + 0j, "β": 1 + 0j, "γ": _at(1, 2 * degrees)},
        lines=("αοβ", "αγ", "βγ"),
        circles={"ο": "αβγ"},
        polygons=("αβγ",),
        angles={"γαο": str(degrees)},
        question="αβ is a diameter of circle ο. What is the measure of angle αβγ?",
        said=("IsDiameterOf(Line(α,β),Circle(ο))",),
        goal="MeasureOf(Angle(α,β,γ))",
        answer=90 - degrees,
    )


def tangent(rng: Generator) -> Sketch:
    radius, way, far = (6, 8, 10) if rng.integers(2) else (8, 15, 17) if rng.integers(2) else (9, 12, 15)
    return Sketch(
        places={"ο": 0j, "α": radius * 1j, "β": way + radius * 1j},
        lines=("οα", "αβ", "οβ"),
        circles={"ο": "α"},
        polygons=("οαβ",),
        lengths={"οα": str(radius), "αβ": str(way)},
        question="βα is tangent to circle ο at α. Find the length of οβ.",
        said=("Tangent(Line(β,α),Circle(ο))", "PointLiesOnCircle(α,Circle(ο))"),
        goal="LengthOf(Line(ο,β))",
        answer=far,
    )


def chord(rng: Generator) -> Sketch:
    half, away, radius = ((8, 6, 10), (12, 9, 15), (4, 3, 5), (12, 16, 20))[int(rng.integers(4))]
    return Sketch(
        places={"ο": 0j, "α": -half + away * 1j, "β": half + away * 1j, "γ": away * 1j},
        lines=("αγβ", "ογ", "οα"),
        circles={"ο": "αβ"},
        right_angles=("ογβ",),
        lengths={"ογ": str(away), "οα": str(radius)},
        question="αβ is a chord of circle ο. Find the length of αβ.",
        said=("IsChordOf(Line(α,β),Circle(ο))",),
        goal="LengthOf(Line(α,β))",
        answer=2 * half,
    )


def cyclic(rng: Generator) -> Sketch:
    turns = [float(rng.uniform(-12, 12)) + base for base in (20, 115, 200, 290)]
    asked = _whole(rng, 70, 110)
    turns[3] = turns[1] + 2 * asked
    return Sketch(
        places={"ο": 0j, **{name: _at(1, turn) for name, turn in zip("αβγδ", turns)}},
        lines=("αβ", "βγ", "γδ", "αδ"),
        circles={"ο": "αβγδ"},
        polygons=("αβγδ",),
        angles={"βαδ": str(asked)},
        question="Quadrilateral αβγδ is inscribed in circle ο. Find the measure of angle βγδ.",
        said=("InscribedIn(Quadrilateral(α,β,γ,δ),Circle(ο))",),
        goal="MeasureOf(Angle(β,γ,δ))",
        answer=180 - asked,
    )


def parallelogram(rng: Generator) -> Sketch:
    degrees = _whole(rng, 50, 80)
    across, up = 1.4 + 0j, _at(1, degrees)
    return Sketch(
        places={"α": 0j, "β": across, "γ": across + up, "δ": up},
        lines=("αβ", "βγ", "γδ", "αδ"),
        polygons=("αβγδ",),
        angles={"βαδ": str(degrees)},
        question="Quadrilateral αβγδ is a parallelogram. Find the measure of angle αβγ.",
        said=("Parallelogram(α,β,γ,δ)",),
        goal="MeasureOf(Angle(α,β,γ))",
        answer=180 - degrees,
    )


def rectangle(rng: Generator) -> Sketch:
    a, b, c = _triple(rng)
    return Sketch(
        places={"α": 0j, "β": a + 0j, "γ": a + b * 1j, "δ": b * 1j},
        lines=("αβ", "βγ", "γδ", "αδ", "αγ"),
        polygons=("αβγ", "αγδ"),
        lengths={"αβ": str(a), "βγ": str(b)},
        question="αβγδ is a rectangle. Find αγ.",
        said=("Rectangle(α,β,γ,δ)",),
        goal="LengthOf(Line(α,γ))",
        answer=c,
    )


def rhombus(rng: Generator) -> Sketch:
    a, b, c = ((3, 4, 5), (6, 8, 10), (9, 12, 15), (8, 15, 17))[int(rng.integers(4))]
    return Sketch(
        places={"α": -a + 0j, "β": -b * 1j, "γ": a + 0j, "δ": b * 1j, "ε": 0j},
        lines=("αβ", "βγ", "γδ", "αδ", "αεγ", "βεδ"),
        polygons=("αβε", "βγε", "γδε", "δαε"),
        lengths={"αε": str(a), "βε": str(b)},
        question="In rhombus αβγδ, the diagonals αγ and βδ intersect at ε. Find the length of αβ.",
        said=("Rhombus(α,β,γ,δ)", "IntersectAt(Line(α,γ),Line(β,δ),ε)"),
        goal="LengthOf(Line(α,β))",
        answer=c,
    )


def middle_of_trapezoid(rng: Generator) -> Sketch:
    below, above = _whole(rng, 14, 24, 2), _whole(rng, 6, 12, 2)
    shift, up = float(rng.uniform(1, below - above - 1)), 0.5 * below * 1j
    alpha, beta, gamma, delta = 0j, below + 0j, shift + above + up, shift + up
    return Sketch(
        places={
            "α": alpha,
            "β": beta,
            "γ": gamma,
            "δ": delta,
            "ε": (alpha + delta) / 2,
            "ζ": (beta + gamma) / 2,
        },
        lines=("αβ", "βζγ", "γδ", "αεδ", "εζ"),
        polygons=("αβζε", "εζγδ"),
        parallels=(("αβ", "δγ"),),
        equal_lengths=(("αε", "εδ"), ("βζ", "ζγ")),
        lengths={"αβ": str(below), "εζ": str((below + above) // 2)},
        question="Find the length of γδ.",
        goal="LengthOf(Line(γ,δ))",
        answer=above,
    )


def sides_in_x(rng: Generator) -> Sketch:
    side, x = _whole(rng, 10, 30), _whole(rng, 3, 9)
    across, up = side + 0j, _at(0.75 * side, _whole(rng, 55, 80))
    one, other = (_in_x(side, x, 1 + int(factor)) for factor in rng.permutation(4)[:2])
    return Sketch(
        places={"α": 0j, "β": across, "γ": across + up, "δ": up},
        lines=("αβ", "βγ", "γδ", "αδ"),
        polygons=("αβγδ",),
        lengths={"αβ": one, "γδ": other},
        question="αβγδ is a parallelogram. Find the value of x.",
        said=("Parallelogram(α,β,γ,δ)",),
        goal="x",
        answer=x,
    )


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
