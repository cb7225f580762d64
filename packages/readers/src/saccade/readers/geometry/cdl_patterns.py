"""Words of FormalGeo's CDL and their logic forms, as pairs of patterns whose capital letters stand for points.

A word may say more than one statement does: the first is its counterpart, the others are what it says besides.
"""

import re

from saccade.readers.geometry.language import parse_statements
from saccade.readers.geometry.terms import Call, Name, Node

PAIRS: tuple[tuple[str, ...], ...] = (
    ("LengthOfLine(AB)", "LengthOf(Line(A,B))"),
    ("MeasureOfAngle(ABC)", "MeasureOf(Angle(A,B,C))"),
    ("LengthOfArc(OAB)", "LengthOf(Arc(Circle(O),A,B))"),
    ("MeasureOfArc(OAB)", "MeasureOf(Arc(Circle(O),A,B))"),
    ("RadiusOfCircle(O)", "RadiusOf(Circle(O))"),
    ("DiameterOfCircle(O)", "DiameterOf(Circle(O))"),
    ("PerimeterOfCircle(O)", "CircumferenceOf(Circle(O))"),
    ("AreaOfCircle(O)", "AreaOf(Circle(O))"),
    ("AreaOfSector(OAB)", "AreaOf(Sector(O,A,B))"),
    ("PerimeterOfSector(OAB)", "PerimeterOf(Sector(O,A,B))"),
    ("AreaOfTriangle(ABC)", "AreaOf(Triangle(A,B,C))"),
    ("PerimeterOfTriangle(ABC)", "PerimeterOf(Triangle(A,B,C))"),
    ("HeightOfTriangle(ABC)", "HeightOf(Triangle(A,B,C))"),
    ("AreaOfQuadrilateral(ABCD)", "AreaOf(Polygon(A,B,C,D))"),
    ("PerimeterOfQuadrilateral(ABCD)", "PerimeterOf(Polygon(A,B,C,D))"),
    ("HeightOfQuadrilateral(ABCD)", "HeightOf(Polygon(A,B,C,D))"),
    ("RatioOfSimilarTriangle(ABC,DEF)", "ScaleFactorOf(Triangle(A,B,C),Triangle(D,E,F))"),
    ("RatioOfMirrorSimilarTriangle(ABC,DEF)", "ScaleFactorOf(Triangle(A,B,C),Triangle(D,E,F))"),
    ("Line(AB)", "Line(A,B)"),
    ("Polygon(ABC)", "Triangle(A,B,C)"),
    ("Polygon(ABCD)", "Quadrilateral(A,B,C,D)"),
    ("EquilateralTriangle(ABC)", "Equilateral(Triangle(A,B,C))"),
    ("RightTriangle(ABC)", "Right(Triangle(A,B,C))", "Perpendicular(Line(A,B),Line(B,C))"),
    ("IsoscelesTriangle(ABC)", "Isosceles(Triangle(A,B,C))", "Equals(LengthOf(Line(A,B)),LengthOf(Line(A,C)))"),
    (
        "IsoscelesRightTriangle(ABC)",
        "Isosceles(Right(Triangle(A,B,C)))",
        "Equals(LengthOf(Line(A,B)),LengthOf(Line(A,C)))",
        "Perpendicular(Line(A,B),Line(A,C))",
    ),
    (
        "Kite(ABCD)",
        "Kite(A,B,C,D)",
        "Equals(LengthOf(Line(A,B)),LengthOf(Line(A,D)))",
        "Equals(LengthOf(Line(B,C)),LengthOf(Line(C,D)))",
    ),
    ("Parallelogram(ABCD)", "Parallelogram(A,B,C,D)"),
    ("Rhombus(ABCD)", "Rhombus(A,B,C,D)"),
    ("Rectangle(ABCD)", "Rectangle(A,B,C,D)"),
    ("Square(ABCD)", "Square(A,B,C,D)"),
    ("Trapezoid(ABCD)", "Trapezoid(A,B,C,D)", "Parallel(Line(A,D),Line(B,C))"),
    (
        "IsoscelesTrapezoid(ABCD)",
        "Isosceles(Trapezoid(A,B,C,D))",
        "Parallel(Line(A,D),Line(B,C))",
        "Equals(LengthOf(Line(A,B)),LengthOf(Line(C,D)))",
    ),
    (
        "RightTrapezoid(ABCD)",
        "Right(Trapezoid(A,B,C,D))",
        "Parallel(Line(A,D),Line(B,C))",
        "Perpendicular(Line(A,B),Line(B,C))",
    ),
    ("ParallelBetweenLine(AB,CD)", "Parallel(Line(A,B),Line(C,D))"),
    ("PerpendicularBetweenLine(AB,CD)", "Perpendicular(Line(A,B),Line(C,D))"),
    ("IsMidpointOfLine(M,AB)", "IsMidpointOf(M,Line(A,B))"),
    ("IsMidpointOfArc(M,OAB)", "Equals(MeasureOf(Arc(Circle(O),A,M)),MeasureOf(Arc(Circle(O),M,B)))"),
    ("IsPerpendicularBisectorOfLine(CD,AB)", "IsPerpendicularBisectorOf(Line(C,D),Line(A,B))"),
    ("IsBisectorOfAngle(BD,ABC)", "BisectsAngle(Line(B,D),Angle(A,B,C))"),
    ("IsMedianOfTriangle(DE,ABC)", "IsMedianOf(Line(D,E),Triangle(A,B,C))"),
    ("IsAltitudeOfTriangle(DE,ABC)", "IsAltitudeOf(Line(D,E),Triangle(A,B,C))"),
    (
        "IsMidsegmentOfTriangle(DE,ABC)",
        "IsMidsegmentOf(Line(D,E),Triangle(A,B,C))",
        "IsMidpointOf(D,Line(A,B))",
        "IsMidpointOf(E,Line(A,C))",
    ),
    (
        "IsMidsegmentOfQuadrilateral(EF,ABCD)",
        "IsMidsegmentOf(Line(E,F),Quadrilateral(A,B,C,D))",
        "IsMidpointOf(E,Line(A,B))",
        "IsMidpointOf(F,Line(C,D))",
    ),
    ("IsAltitudeOfQuadrilateral(EF,ABCD)", "IsAltitudeOf(Line(E,F),Quadrilateral(A,B,C,D))"),
    ("IsCircumcenterOfTriangle(O,ABC)", "IsCircumcenterOf(O,Triangle(A,B,C))"),
    ("IsIncenterOfTriangle(O,ABC)", "IsIncenterOf(O,Triangle(A,B,C))"),
    ("IsCentroidOfTriangle(O,ABC)", "IsCentroidOf(O,Triangle(A,B,C))"),
    ("IsOrthocenterOfTriangle(O,ABC)", "IsOrthocenterOf(O,Triangle(A,B,C))"),
    ("CongruentBetweenTriangle(ABC,DEF)", "Congruent(Triangle(A,B,C),Triangle(D,E,F))"),
    ("MirrorCongruentBetweenTriangle(ABC,DEF)", "Congruent(Triangle(A,B,C),Triangle(D,E,F))"),
    ("SimilarBetweenTriangle(ABC,DEF)", "Similar(Triangle(A,B,C),Triangle(D,E,F))"),
    ("MirrorSimilarBetweenTriangle(ABC,DEF)", "Similar(Triangle(A,B,C),Triangle(D,E,F))"),
    ("CongruentBetweenQuadrilateral(ABCD,EFGH)", "Congruent(Polygon(A,B,C,D),Polygon(E,F,G,H))"),
    ("MirrorCongruentBetweenQuadrilateral(ABCD,EFGH)", "Congruent(Polygon(A,B,C,D),Polygon(E,F,G,H))"),
    ("SimilarBetweenQuadrilateral(ABCD,EFGH)", "Similar(Polygon(A,B,C,D),Polygon(E,F,G,H))"),
    ("MirrorSimilarBetweenQuadrilateral(ABCD,EFGH)", "Similar(Polygon(A,B,C,D),Polygon(E,F,G,H))"),
    ("CongruentBetweenArc(OAB,PCD)", "Congruent(Arc(Circle(O),A,B),Arc(Circle(P),C,D))"),
    ("IsDiameterOfCircle(AB,O)", "IsDiameterOf(Line(A,B),Circle(O))"),
    ("IsTangentOfCircle(PA,O)", "Tangent(Line(P,A),Circle(O))", "PointLiesOnCircle(A,Circle(O))"),
    ("IsCentreOfCircle(O,O)", "Circle(O)"),
)

ARITHMETIC = {
    "Add": "Add",
    "Sub": "Sub",
    "Mul": "Mul",
    "Div": "Div",
    "Pow": "Pow",
    "Sqrt": "SqrtOf",
    "Sin": "SinOf",
    "Cos": "CosOf",
    "Tan": "TanOf",
    "Equal": "Equals",
    "Value": "Find",
}
"""Words whose arguments are expressions."""


POINTS = re.compile(r"[A-Z]+")

Binding = dict[str, str]
"""Letters of a pattern to points."""

_QUADRILATERALS = ("Quadrilateral", "Parallelogram", "Rhombus", "Rectangle", "Square", "Trapezoid", "Kite")
PATTERNS = tuple(tuple(parse_statements(text)[0] for text in pair) for pair in PAIRS)
"""A word of CDL, its counterpart, and what it says besides."""


def binding_of(pattern: Call, node: Call) -> Binding | None:
    """The points that the letters of a CDL pattern stand for; None when the words are not of its lengths."""
    if len(pattern.args) != len(node.args):
        return None
    binding: Binding = {}
    for wanted, given in zip(pattern.args, node.args):
        if not (isinstance(wanted, Name) and isinstance(given, Name) and POINTS.fullmatch(given.text)):
            return None
        if len(wanted.text) != len(given.text):
            return None
        for letter, point in zip(wanted.text, given.text):
            if binding.setdefault(letter, point) != point:
                return None
    return binding


def with_points(pattern: Call, binding: Binding) -> Call:
    """The pattern with points for its letters."""
    args = [with_points(arg, binding) if isinstance(arg, Call) else arg for arg in pattern.args]
    return Call(
        pattern.name, tuple(Name(binding.get(arg.text, arg.text)) if isinstance(arg, Name) else arg for arg in args)
    )


def matches(pattern: Node, node: Node, binding: Binding) -> bool:
    """Whether a logic form is what a pattern describes; adds what its letters stand for to ``binding``."""
    if isinstance(pattern, Name) and isinstance(node, Name):
        return POINTS.fullmatch(node.text) is not None and binding.setdefault(pattern.text, node.text) == node.text
    if isinstance(pattern, Call) and isinstance(node, Call) and len(pattern.args) == len(node.args):
        same = pattern.name == node.name or (pattern.name == "Polygon" and node.name in _QUADRILATERALS)
        return same and all(matches(one, other, binding) for one, other in zip(pattern.args, node.args))
    return False
