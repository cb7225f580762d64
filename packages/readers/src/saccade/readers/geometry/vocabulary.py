"""Vocabulary of the logic forms, with the check that statements use it rightly.

A word's signature lists the kinds of its arguments. ``polygon`` is any shape with corners, ``figure`` a polygon, a
circle or a sector, ``value`` an expression, ``measured`` whatever has a size; an adjective in front of a shape is a
shape of the same kind.
"""

from collections.abc import Mapping

from saccade.errors import nearest
from saccade.readers.geometry.terms import Call, LanguageError, Name, Node, Number, Operation, written

CORNERS: Mapping[str, int] = {
    "Triangle": 3,
    "Quadrilateral": 4,
    "Parallelogram": 4,
    "Rectangle": 4,
    "Square": 4,
    "Rhombus": 4,
    "Trapezoid": 4,
    "Kite": 4,
    "Pentagon": 5,
    "Hexagon": 6,
    "Heptagon": 7,
    "Octagon": 8,
    "Polygon": 0,
    "Shape": 0,
}
"""Polygons by their number of corners; 0 for any."""

ADJECTIVES = ("Isosceles", "Equilateral", "Right", "Regular", "Shaded", "Counterclockwise")
"""``Counterclockwise`` is ours: how the diagram shows the corners, which CDL tells and logic forms cannot."""

STATEMENTS: Mapping[str, tuple[str, ...]] = {
    "Equals": ("value", "value"),
    "Find": ("value",),
    "PointLiesOnLine": ("point", "line"),
    "PointLiesOnCircle": ("point", "circle"),
    "Parallel": ("line", "line"),
    "Perpendicular": ("line", "line"),
    "IntersectAt": ("line", "line", "point"),
    "BisectsAngle": ("line", "angle"),
    "Congruent": ("shape", "shape"),
    "Similar": ("polygon", "polygon"),
    "Tangent": ("line", "circle"),
    "Secant": ("line", "circle"),
    "CircumscribedTo": ("figure", "figure"),
    "InscribedIn": ("figure", "figure"),
    "RightAngle": ("angle",),
    "IsMidpointOf": ("point", "line"),
    "IsCentroidOf": ("point", "polygon"),
    "IsIncenterOf": ("point", "polygon"),
    "IsCircumcenterOf": ("point", "polygon"),
    "IsOrthocenterOf": ("point", "polygon"),
    "IsRadiusOf": ("line", "circle"),
    "IsDiameterOf": ("line", "circle"),
    "IsChordOf": ("line", "circle"),
    "IsMidsegmentOf": ("line", "polygon"),
    "IsMedianOf": ("line", "polygon"),
    "IsAltitudeOf": ("line", "polygon"),
    "IsPerpendicularBisectorOf": ("line", "line"),
    "IsHypotenuseOf": ("line", "polygon"),
    "IsBaseOf": ("line", "polygon"),
    "IsLegOf": ("line", "polygon"),
    "IsSideOf": ("line", "polygon"),
    "IsDiagonalOf": ("line", "polygon"),
}

QUANTITIES: Mapping[str, tuple[str, ...]] = {
    "LengthOf": ("segment",),
    "MeasureOf": ("opening",),
    "AreaOf": ("figure",),
    "PerimeterOf": ("figure",),
    "RadiusOf": ("circle",),
    "DiameterOf": ("circle",),
    "CircumferenceOf": ("circle",),
    "HeightOf": ("polygon",),
    "SideOf": ("polygon",),
    "ScaleFactorOf": ("polygon", "polygon"),
    "SinOf": ("value",),
    "CosOf": ("value",),
    "TanOf": ("value",),
    "CotOf": ("value",),
    "HalfOf": ("value",),
    "SquareOf": ("value",),
    "SqrtOf": ("value",),
    "RatioOf": ("value", "value"),
    "Sub": ("value", "value"),
    "Div": ("value", "value"),
    "Pow": ("value", "value"),
}

MANY_VALUES = ("SumOf", "AverageOf", "Add", "Mul")
"""Quantities of one value or more."""

FUNCTIONS: Mapping[str, str] = {"sqrt": "SqrtOf", "sin": "SinOf", "cos": "CosOf", "tan": "TanOf", "cot": "CotOf"}
"""Common spellings of quantities of the language."""

_NAMED = {"Point": (1, 1), "Line": (1, 2), "Angle": (1, 3), "Circle": (1, 2), "Arc": (2, 3), "Sector": (3, 3)}
_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "line": ("Line",),
    "angle": ("Angle",),
    "circle": ("Circle",),
    "polygon": tuple(CORNERS),
    "figure": (*CORNERS, "Circle", "Sector"),
    "segment": ("Line", "Arc"),
    "opening": ("Angle", "Arc"),
    "shape": (*CORNERS, "Line", "Angle", "Arc", "Circle"),
}
_EXAMPLES: Mapping[str, str] = {
    "point": "a point such as A",
    "line": "a line such as Line(A,B)",
    "angle": "an angle such as Angle(A,B,C)",
    "circle": "a circle such as Circle(O)",
    "polygon": "a polygon such as Triangle(A,B,C)",
    "figure": "a polygon, Circle(O) or Sector(O,A,B)",
    "segment": "Line(A,B) or Arc(A,B)",
    "opening": "Angle(A,B,C) or Arc(A,B)",
    "shape": "a shape such as Triangle(A,B,C)",
    "value": "a value such as 5, x or LengthOf(Line(A,B))",
}
_ARITHMETIC = {"Div": "/", "RatioOf": "/", "Pow": "^"}
MAX_EXPONENT = 20
WORDS = (*STATEMENTS, *QUANTITIES, *MANY_VALUES, *CORNERS, *ADJECTIVES, *_NAMED)


def check_statement(statement: Call, what: str) -> None:
    """``LanguageError`` names ``what`` and the place when a word is unknown or has wrong arguments."""
    name = statement.name
    if name in STATEMENTS:
        _check_args(statement, STATEMENTS[name], what)
    elif name in CORNERS or name in _NAMED or name in ADJECTIVES:
        _check_shape(statement, (*CORNERS, *_NAMED), what)
    elif name in QUANTITIES or name in MANY_VALUES:
        raise _error(statement, f"{name} is a value, no statement; write Find({name}(...)) or Equals", what)
    else:
        raise _unknown(statement, what)


def unwrapped(shape: Node) -> Node:
    """The shape without its adjectives; a statement that is a shape is one already."""
    while isinstance(shape, Call) and shape.name in ADJECTIVES and len(shape.args) == 1:
        shape = shape.args[0]
    return shape


def _check_args(node: Call, kinds: tuple[str, ...], what: str) -> None:
    if len(node.args) != len(kinds):
        wanted = ", ".join(_EXAMPLES[kind] for kind in kinds)
        raise _error(node, f"{node.name} has {len(node.args)} arguments, expected {len(kinds)}: {wanted}", what)
    for arg, kind in zip(node.args, kinds):
        if kind == "value":
            _check_value(arg, what)
        elif kind == "point":
            _check_point(arg, what)
        else:
            _check_kind(arg, kind, what)


def _check_kind(arg: Node, kind: str, what: str) -> None:
    if not isinstance(arg, Call) or not isinstance(inner := unwrapped(arg), Call) or inner.name not in _ALLOWED[kind]:
        if isinstance(arg, Call) and arg.name not in WORDS:
            raise _unknown(arg, what)
        raise _error(arg, f"found {_short_text(arg)}, expected {_EXAMPLES[kind]}", what)
    _check_shape(arg, _ALLOWED[kind], what)


def _check_shape(shape: Call, allowed: tuple[str, ...], what: str) -> None:
    inner = shape
    while inner.name in ADJECTIVES:
        if len(inner.args) != 1 or not isinstance(inner.args[0], Call):
            raise _error(inner, f"{inner.name} has to be followed by one shape, as in Right(Triangle(A,B,C))", what)
        inner = inner.args[0]
    if inner.name not in allowed:
        if inner.name not in WORDS:
            raise _unknown(inner, what)
        raise _error(inner, f"found {inner.name}, expected a shape such as Triangle(A,B,C)", what)
    least, most = _NAMED.get(inner.name) or (CORNERS[inner.name] or 3, CORNERS[inner.name] or 26)
    if [arg.text for arg in inner.args if isinstance(arg, Name)] == ["$"]:
        return
    if not least <= len(inner.args) <= most or (inner.name == "Angle" and len(inner.args) == 2):
        wanted = f"{least}" if least == most else "1 or 3" if inner.name == "Angle" else f"{least} to {most}"
        raise _error(inner, f"{inner.name} has {len(inner.args)} names, expected {wanted}", what)
    args = inner.args
    if inner.name == "Arc" and isinstance(args[0], Call):
        _check_kind(args[0], "circle", what)
        args = args[1:]
    if inner.name == "Circle" and len(args) == 2:
        args = args[:1]
    if inner.name == "Angle" and len(args) == 1 and isinstance(args[0], Number):
        return
    for arg in args:
        _check_point(arg, what)
    names = [arg.text for arg in map(_bare_point, args) if isinstance(arg, Name)]
    if len(set(names)) < len(names):
        raise _error(inner, f"{written(inner)} names a point twice", what)


def _bare_point(arg: Node) -> Node:
    return arg.args[0] if isinstance(arg, Call) and arg.name == "Point" and len(arg.args) == 1 else arg


def _check_point(arg: Node, what: str) -> None:
    bare = _bare_point(arg)
    if not isinstance(bare, Name) or bare.text == "pi":
        raise _error(arg, f"found {_short_text(arg)}, expected {_EXAMPLES['point']}", what)


def _check_value(node: Node, what: str) -> None:
    match node:
        case Number() | Name():
            return
        case Operation(sign, args):
            _check_arithmetic(sign, args[-1], what)
            for arg in args:
                _check_value(arg, what)
        case Call(name, args) if name in MANY_VALUES:
            if not args:
                raise _error(node, f"{name} has no arguments, expected one value or more", what)
            for arg in args:
                _check_value(arg, what)
        case Call(name) if FUNCTIONS.get(name, name) in QUANTITIES:
            if name in _ARITHMETIC and node.args:
                _check_arithmetic(_ARITHMETIC[name], node.args[-1], what)
            _check_args(node, QUANTITIES[FUNCTIONS.get(name, name)], what)
        case Call(name) if name in ("Line", "Angle", "Arc"):
            # The public texts leave LengthOf and MeasureOf out at times.
            _check_shape(node, (name,), what)
        case Call(name) if name in WORDS:
            raise _error(node, f"found {name}, expected {_EXAMPLES['value']}", what)
        case Call():
            raise _unknown(node, what)


def _check_arithmetic(sign: str, last: Node, what: str) -> None:
    if sign == "/" and isinstance(last, Number) and last.value == 0:
        raise _error(last, "a division by zero", what)
    if sign == "^" and isinstance(last, Number) and abs(last.value) > MAX_EXPONENT:
        raise _error(last, f"found the exponent {written(last)}, expected one of at most {MAX_EXPONENT}", what)
    if sign == "^" and isinstance(last, Operation) and last.sign == "^":
        raise _error(last, "found a power in an exponent, expected a number", what)


def _short_text(node: Node) -> str:
    text = written(node)
    return text if len(text) <= 40 else f"{text[:40]}…"


def _error(node: Node, why: str, what: str) -> LanguageError:
    return LanguageError(f"{what}, character {node.at + 1}: {why}")


def _unknown(node: Call, what: str) -> LanguageError:
    suggestion = nearest(node.name, [word.lower() for word in WORDS])
    meant = next((word for word in WORDS if word.lower() == suggestion), None)
    hint = f"; did you mean {meant}?" if meant else "; statements are for example Equals, Perpendicular and Find"
    return _error(node, f"there is no word {_short_text(Name(node.name))}{hint}", what)
