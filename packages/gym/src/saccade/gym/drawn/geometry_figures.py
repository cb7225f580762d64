"""Problems of parallels, circles and quadrilaterals."""

import math

from numpy.random import Generator

from saccade.gym.drawn.geometry_sketch import Sketch, in_x, polar, triangle_corners, triple, whole


def transversal(rng: Generator) -> Sketch:
    degrees = whole(rng, 45, 80)
    slant = polar(1.0 / math.sin(math.radians(degrees)), degrees)
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
    at_alpha, at_beta = whole(rng, 35, 60), whole(rng, 35, 60)
    middle, left, right = triangle_corners(at_alpha, at_beta)
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
    upper, lower = whole(rng, 25, 60), whole(rng, 25, 60)
    knee = 0j
    beta, delta = polar(1.0, 180 - upper), polar(1.1, 180 + lower)
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
    middle = whole(rng, 70, 150, 2)
    third = float(rng.uniform(160, 200))
    return Sketch(
        places={"ο": 0j, "α": polar(1, -middle / 2), "β": polar(1, middle / 2), "γ": polar(1, third)},
        lines=("οα", "οβ", "αγ", "βγ"),
        circles={"ο": "αβγ"},
        angles={"αοβ": str(middle)},
        question="Points α, β and γ lie on circle ο. Find the measure of angle αγβ.",
        said=tuple(f"PointLiesOnCircle({name},Circle(ο))" for name in "αβγ"),
        goal="MeasureOf(Angle(α,γ,β))",
        answer=middle / 2,
    )


def thales(rng: Generator) -> Sketch:
    a, b, c = triple(rng)
    if c % 2:
        a, b, c = 2 * a, 2 * b, 2 * c
    radius = c / 2
    return Sketch(
        places={
            "ο": 0j,
            "α": -radius + 0j,
            "β": radius + 0j,
            "γ": polar(radius, math.degrees(2 * math.atan2(a, b))),
        },
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
    degrees = whole(rng, 28, 62)
    return Sketch(
        places={"ο": 0j, "α": -1 + 0j, "β": 1 + 0j, "γ": polar(1, 2 * degrees)},
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
    asked = whole(rng, 70, 110)
    turns[3] = turns[1] + 2 * asked
    return Sketch(
        places={"ο": 0j, **{name: polar(1, turn) for name, turn in zip("αβγδ", turns)}},
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
    degrees = whole(rng, 50, 80)
    across, up = 1.4 + 0j, polar(1, degrees)
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
    a, b, c = triple(rng)
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
    below, above = whole(rng, 14, 24, 2), whole(rng, 6, 12, 2)
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
    side, x = whole(rng, 10, 30), whole(rng, 3, 9)
    across, up = side + 0j, polar(0.75 * side, whole(rng, 55, 80))
    one, other = (in_x(side, x, 1 + int(factor)) for factor in rng.permutation(4)[:2])
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
