"""Quantities in words (lengths, angles, areas, sums of them), translated to logic forms."""

import re

from saccade.errors import ToolError
from saccade.readers.geometry.language import parse_expression
from saccade.readers.geometry.terms import written

LINE_WORDS = (
    r"(?:(?:the )?(?:lengths? of )?(?:the )?(?:(?:line )?segments?|lines?|sides?|chords?|diameters?|radius|radii"
    r"|rays?|hypotenuse|legs?|bases?|diagonals?|medians?|altitudes?|heights?|tangents?|edges?|midsegment) )?"
    r"(?:the length of )?"
)
SEGMENT = rf"{LINE_WORDS}[A-Z]{{2}}(?![A-Za-z])"
POLYGONS = {
    "triangle": "Triangle",
    "quadrilateral": "Quadrilateral",
    "parallelogram": "Parallelogram",
    "rectangle": "Rectangle",
    "square": "Square",
    "rhombus": "Rhombus",
    "trapezoid": "Trapezoid",
    "trapezium": "Trapezoid",
    "kite": "Kite",
    "pentagon": "Pentagon",
    "hexagon": "Hexagon",
    "octagon": "Octagon",
    "polygon": "Polygon",
}
NOUN = "|".join(POLYGONS)
UNIT = (
    r"(?: ?(?:cm|mm|km|dm|m|inches|inch|feet|ft|units?|met(?:er|re)s?|centimet(?:er|re)s?|yards?|miles?|degrees?)\b)?"
)
# Possessive, so that a long row of digits or numbers has one reading and not exponentially many.
VALUE = (
    r"(?:[(-]{0,3}(?:\d++(?:\.\d++)?|[b-ln-z](?![A-Za-z'])|pi\b|sqrt\(\d++(?:\.\d++)?\))"
    r"(?: ?[-+*/^()]{0,3} ?(?:\d++(?:\.\d++)?|[b-ln-z](?![A-Za-z'])|pi\b|sqrt\(\d++(?:\.\d++)?\)))*+\)?)"
)
ANGLE = (
    r"(?:the )?(?:(?:measure|size|degree|degrees|value|degree measure) of )?(?:the )?"
    r"angle (?:[A-Z]{3}|[A-Z]|\d)(?![A-Za-z])"
)
ARC = r"(?:the )?(?:(?:measure|length|degree) of )?(?:the )?(?:minor |major )?arc [A-Z]{2,3}(?![A-Za-z])"
OF_SHAPE = (
    r"(?:the )?(?:area|perimeter|circumference|radius|diameter) of (?:the )?"
    rf"(?:circle [A-Z]|(?:(?:{NOUN}) )?[A-Z]{{3,8}}|(?:{NOUN}))(?![A-Za-z])"
)
RATIO = r"(?:sin|cos|tan) ?(?:angle )?(?:[A-Z]{3}|[A-Z])(?![A-Za-z])"
TIMES = r"(?:(?:twice|double|half(?: of)?|one half of|\d+(?:\.\d+)? times|\d+(?:\.\d+)? ?\*?) ?(?:that of |the )?)?"
ATOM = rf"(?:{TIMES}(?:{ANGLE}|{ARC}|{OF_SHAPE}|{RATIO}|{SEGMENT})|{VALUE}{UNIT})"
SUM = rf"{ATOM}(?: ?[+-] ?{ATOM}){{0,5}}"

_TERM = re.compile(rf"(?P<sign>[+-])? ?(?P<atom>{ATOM})")
_SCALED = re.compile(rf"(?P<times>{TIMES})(?P<atom>{ANGLE}|{ARC}|{OF_SHAPE}|{RATIO}|{SEGMENT})")
_HALVES = ("half", "half of", "one half of")
_UNITS = re.compile(
    r"(?<=[\d)a-z ]) ?(?:cm|mm|km|dm|m|inch(?:es)?|feet|ft|units?|[a-z]*met(?:er|re)s?|yards?|miles?|degrees?)\b"
)
_POINTS = re.compile(r"\b[A-Z]{1,8}\b(?=[^A-Z]*$)")


def in_logic_form(words: str) -> str:
    """The quantity as an expression of logic forms; ``ToolError`` when it is none."""
    terms: list[str] = []
    for match in _TERM.finditer(words):
        atom = _atom(match["atom"])
        terms.append(f"{match['sign'] or ('+' if terms else '')}{atom}")
    return written(parse_expression("".join(terms), f'"{words}"'))


def segments_in(words: str) -> list[str]:
    """Pairs of points, in order."""
    return re.findall(r"(?<![A-Za-z])[A-Z]{2}(?![A-Za-z])", words)


def points_in(words: str) -> list[str]:
    """Single points, in order."""
    return re.findall(r"(?<![A-Za-z])[A-Z](?![A-Za-z])", words)


def line(names: str) -> str:
    return f"Line({','.join(names)})"


def angle(names: str) -> str:
    return f"Angle({','.join(names)})"


def shape(noun: str, names: str) -> str:
    return f"{noun}({','.join(names)})"


def polygon_of(names: str) -> str:
    """A polygon of which only the corners are said."""
    return shape({3: "Triangle", 4: "Quadrilateral"}.get(len(names), "Polygon"), names)


def _atom(words: str) -> str:
    scaled = _SCALED.fullmatch(words.strip())
    if scaled is None:
        return f"({_UNITS.sub('', words).strip()})"
    times = scaled["times"].removesuffix("the ").removesuffix("that of ").strip()
    factor = (
        "(1/2)"
        if times in _HALVES
        else "2"
        if times in ("twice", "double")
        else times.removesuffix("times").strip(" *")
    )
    measured = _measure_form(scaled["atom"])
    return f"{factor}*{measured}" if factor else measured


def _measure_form(words: str) -> str:
    of_shape = re.fullmatch(
        r"(?:the )?(?P<what>\w+) of (?:the )?"
        rf"(?:circle (?P<circle>[A-Z])|(?:(?P<noun>{NOUN}) ?)?(?P<names>[A-Z]{{3,8}})?)",
        words,
    )
    if of_shape and of_shape["what"] in ("area", "perimeter", "circumference", "radius", "diameter"):
        what = f"{of_shape['what'].title()}Of"
        if of_shape["circle"]:
            return f"{what}(Circle({of_shape['circle']}))"
        if of_shape["noun"] and not of_shape["names"]:
            return f"{what}({POLYGONS[of_shape['noun']]}($))"
        names = of_shape["names"]
        return f"{what}({shape(POLYGONS[of_shape['noun']], names) if of_shape['noun'] else polygon_of(names)})"
    found = _POINTS.search(words)
    names = found[0] if found else words[-1]
    if re.search(r"\barc\b", words):
        kind = "LengthOf" if "length" in words else "MeasureOf"
        return f"{kind}(Arc({','.join(names)}))"
    ratio = re.match(r"sin|cos|tan", words)
    if ratio:
        return f"{ratio[0].title()}Of(MeasureOf({angle(names)}))"
    if re.search(r"\bangle\b", words):
        return f"MeasureOf({angle(names)})"
    if len(names) != 2:
        raise ToolError(f'"{words}" is no quantity')
    return f"LengthOf({line(names)})"
