"""Problems of triangles, whole or divided by a line."""

import math

from numpy.random import Generator

from saccade.gym.drawn.geometry_sketch import Sketch, in_x, polar, triangle_corners, triple, whole


def _triangle(places: tuple[complex, complex, complex], **more: object) -> Sketch:
    fixed: dict[str, object] = {
        "places": dict(zip("αβγ", places)),
        "lines": ("αβ", "βγ", "αγ"),
        "polygons": ("αβγ",),
    }
    return Sketch(**{**fixed, **more})  # type: ignore[arg-type]


def angle_sum(rng: Generator) -> Sketch:
    beta, gamma = whole(rng, 35, 80), whole(rng, 35, 80)
    return _triangle(
        triangle_corners(beta, gamma),
        angles={"αβγ": str(beta), "βγα": str(gamma)},
        question="Find the measure of angle βαγ.",
        goal="MeasureOf(Angle(β,α,γ))",
        answer=180 - beta - gamma,
    )


def pythagoras(rng: Generator) -> Sketch:
    a, b, c = triple(rng)
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
    apex = whole(rng, 40, 110, 2)
    base = (180 - apex) / 2
    return _triangle(
        triangle_corners(base, base),
        equal_lengths=(("αβ", "αγ"),),
        angles={"βαγ": str(apex)},
        question="What is the measure of angle αβγ in degrees?",
        goal="MeasureOf(Angle(α,β,γ))",
        answer=base,
    )


def cosine_law(rng: Generator) -> Sketch:
    one, two, between = whole(rng, 5, 12), whole(rng, 5, 12), whole(rng, 40, 110, 5)
    places = (polar(one, between), 0j, two + 0j)
    return _triangle(
        places,
        lengths={"αβ": str(one), "βγ": str(two)},
        angles={"αβγ": str(between)},
        question="In triangle αβγ, find αγ. Round to the nearest hundredth.",
        goal="LengthOf(Line(α,γ))",
        answer=abs(places[0] - places[2]),
    )


def right_with_angle(rng: Generator) -> Sketch:
    long, beta = whole(rng, 6, 30), whole(rng, 32, 60)
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
    beta, gamma = whole(rng, 40, 75), whole(rng, 40, 75)
    x = whole(rng, 10, 30)
    texts = {"βαγ": in_x(180 - beta - gamma, x, whole(rng, 1, 3)), "αβγ": in_x(beta, x, whole(rng, 1, 3))}
    return _triangle(
        triangle_corners(beta, gamma),
        angles={**texts, "βγα": str(gamma)},
        question="Find x.",
        goal="x",
        answer=x,
    )


def midsegment(rng: Generator) -> Sketch:
    base = whole(rng, 8, 40)
    alpha, beta, gamma = (base * at for at in triangle_corners(whole(rng, 50, 75), whole(rng, 50, 75)))
    return Sketch(
        places={"α": alpha, "β": beta, "γ": gamma, "δ": (alpha + beta) / 2, "ε": (alpha + gamma) / 2},
        lines=("αδβ", "αεγ", "βγ", "δε"),
        polygons=("αδε", "δβγε"),
        equal_lengths=(("αδ", "δβ"), ("αε", "εγ")),
        lengths={"βγ": str(base)},
        question="In the figure, find the length of δε.",
        goal="LengthOf(Line(δ,ε))",
        answer=base / 2,
    )


def parallel_inside(rng: Generator) -> Sketch:
    upper, lower, other = whole(rng, 4, 9), whole(rng, 3, 9), whole(rng, 4, 12)
    rest = other * lower / upper
    between = whole(rng, 45, 80)
    alpha, beta, gamma = 0j, polar(upper + lower, 0), polar(other + rest, between)
    return Sketch(
        places={"α": alpha, "β": beta, "γ": gamma, "δ": polar(upper, 0), "ε": polar(other, between)},
        lines=("αδβ", "αεγ", "βγ", "δε"),
        polygons=("αδε", "δβγε"),
        parallels=(("δε", "βγ"),),
        lengths={"αδ": str(upper), "δβ": str(lower), "αε": str(other)},
        question="Find the length of εγ.",
        goal="LengthOf(Line(ε,γ))",
        answer=rest,
    )


def altitude(rng: Generator) -> Sketch:
    height, foot, side = triple(rng)
    rest = whole(rng, max(3, height // 2), 2 * height)
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
    beta, gamma = whole(rng, 35, 65), whole(rng, 35, 65)
    alpha, at_beta, at_gamma = triangle_corners(beta, gamma)
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
    alpha, beta = whole(rng, 40, 75), whole(rng, 40, 70)
    top, left, right = triangle_corners(beta, 180 - alpha - beta)
    return Sketch(
        places={"α": top, "β": left, "γ": right, "δ": right + 0.6},
        lines=("αβ", "αγ", "βγδ"),
        polygons=("αβγ",),
        angles={"βαγ": str(alpha), "αγδ": str(alpha + beta)},
        question="Find the measure of angle αβγ.",
        goal="MeasureOf(Angle(α,β,γ))",
        answer=beta,
    )
