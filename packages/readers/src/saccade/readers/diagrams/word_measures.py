"""Patterns of words that compare measures, as in "angles A and B are in the ratio 1 : 2", or place triangles' lines."""

import re
from itertools import pairwise

from saccade.readers.diagrams.quantities import ANGLE, SEGMENT, UNIT, VALUE, angle, in_logic_form, line, segments_in
from saccade.readers.diagrams.word_patterns import AND, BE, Meaning, compiled, points_of_angle

_PART = r"\d{1,6}(?:\.\d{1,3})?"
_PARTS = rf"(?P<parts>{_PART}(?: ?: ?{_PART}){{1,3}})"
_IN_RATIO = rf"(?:{BE} )?in (?:the |a )?ratio (?:of )?{_PARTS}"
_MEASURED = rf"(?:{ANGLE}|{SEGMENT})"
_NAMED = r"(?P<names>[A-Z]{1,3}(?:, [A-Z]{1,3}){0,3}(?:, and |, | and )[A-Z]{1,3})(?![A-Za-z])"
_OF_TRIANGLE = (
    r"(?:of|in) (?:the |an? )?(?:right |right-angled |isosceles |acute )?triangle (?P<triangle>[A-Z]{3})(?![A-Za-z])"
)
_RIGHT_AT = r"right[- ]angled? at (?:the )?(?:point |vertex )?(?P<at>[A-Z])(?![A-Za-z])"
_AT = r"at (?:the )?(?:point )?(?P<at>[A-Z])(?![A-Za-z])"
_CUTS = r"(?:intersects|meets|crosses|cuts)"
_MORE = r"(?P<more>more|greater|larger|longer|less|smaller|shorter)"


def _in_ratio(quantities: list[str], parts: str) -> list[str]:
    shares = re.findall(_PART, parts)
    if len(shares) != len(quantities):
        return []
    pairs = pairwise(zip(quantities, shares))
    return [f"Equals({second}*{one},{first}*{other})" for (one, first), (other, second) in pairs]


def _ratio(match: re.Match[str]) -> list[str]:
    sides = re.findall(_MEASURED, match["sides"])
    return _in_ratio([in_logic_form(side) for side in sides], match["parts"])


def _ratio_of_angles(match: re.Match[str]) -> list[str]:
    names = re.findall(r"[A-Z]+", match["names"])
    return _in_ratio([f"MeasureOf({angle(name)})" for name in names], match["parts"])


def _ratio_of_sides(match: re.Match[str]) -> list[str]:
    names = segments_in(match["names"])
    return _in_ratio([f"LengthOf({line(name)})" for name in names], match["parts"])


def _ratio_in_triangle(match: re.Match[str]) -> list[str]:
    names = match["triangle"]
    angles = [f"MeasureOf({angle(names[i - 1] + names[i] + names[(i + 1) % 3])})" for i in range(3)]
    return [f"Triangle({','.join(names)})", *_in_ratio(angles, match["parts"])]


def _difference(match: re.Match[str]) -> list[str]:
    one, other, gap = (in_logic_form(match[name]) for name in ("one", "other", "gap"))
    is_less = "more" in match.groupdict() and match["more"] in ("less", "smaller", "shorter")
    return [f"Equals({one},{other}{'-' if is_less else '+'}({gap}))"]


def _right_at(match: re.Match[str]) -> list[str]:
    names, at = match["triangle"], match["at"]
    if at not in names:
        return []
    others = names.replace(at, "")
    return [f"Triangle({','.join(names)})", f"RightAngle({angle(others[0] + at + others[1])})"]


def _hypotenuse(match: re.Match[str]) -> list[str]:
    names, side = match["triangle"], segments_in(match["side"])[0]
    if not set(side) < set(names):
        return []
    corner = f"Triangle({','.join(names)})"
    return [f"Right({corner})", f"IsHypotenuseOf({line(side)},{corner})"]


def _to_side(match: re.Match[str]) -> list[str]:
    apex_line, side = match["line"], segments_in(match["side"])[0]
    ends = [name for name in apex_line if name not in side]
    if len(ends) == 2:
        ends = [apex_line[0]]
    word = "IsMedianOf" if match["kind"] == "median" else "IsAltitudeOf"
    return [f"{word}({line(apex_line)},Triangle({ends[0]},{side[0]},{side[1]}))"] if len(ends) == 1 else []


def _perpendicular_bisector(match: re.Match[str]) -> list[str]:
    a, b = tuple(segments_in(match["of"])[0])
    other, at = segments_in(match["other"])[0], match["at"]
    return [f"Equals(LengthOf(Line({a},{at})),LengthOf(Line({at},{b})))", f"PointLiesOnLine({at},{line(other)})"]


def _bisector(match: re.Match[str]) -> list[str]:
    corner, other, at = points_of_angle(match["angle"]), segments_in(match["other"])[0], match["at"]
    vertex = corner[len(corner) // 2]
    return [f"PointLiesOnLine({at},{line(other)})", f"BisectsAngle({line(vertex + at)},{angle(corner)})"]


_PATTERNS: tuple[tuple[str, Meaning], ...] = (
    (rf"(?P<sides>{_MEASURED}(?: ?: ?{_MEASURED}){{1,3}}) ?(?:=|is|are) ?{_PARTS}", _ratio),
    (
        rf"(?:the )?(?:measures? of )?(?:the )?(?:three |interior )*angles {_OF_TRIANGLE} {_IN_RATIO}",
        _ratio_in_triangle,
    ),
    (
        rf"(?:the )?(?:measures? of )?(?:the )?angles {_NAMED}(?: of (?:the )?triangle [A-Z]{{3}})? {_IN_RATIO}",
        _ratio_of_angles,
    ),
    (
        rf"(?:the )?(?:lengths? of )?(?:the )?(?:sides |segments )?"
        rf"(?P<names>[A-Z]{{2}}(?:{AND}[A-Z]{{2}})+) {_IN_RATIO}",
        _ratio_of_sides,
    ),
    (rf"(?P<one>{_MEASURED}) exceeds (?P<other>{_MEASURED}) by (?P<gap>{VALUE}{UNIT})", _difference),
    (rf"(?P<one>{_MEASURED}) is (?P<gap>{VALUE}{UNIT}) {_MORE} than (?P<other>{_MEASURED})", _difference),
    (rf"(?:right )?triangle (?P<triangle>[A-Z]{{3}}),? (?:(?:is|which is) )?(?:an? )?{_RIGHT_AT}", _right_at),
    (rf"triangle (?P<triangle>[A-Z]{{3}}) (?:has|with) (?:an? |its |the )?right angle {_AT}", _right_at),
    (rf"(?:the )?hypotenuse {_OF_TRIANGLE} is (?P<side>{SEGMENT})", _hypotenuse),
    (
        r"right(?:-angled)? triangle (?P<triangle>[A-Z]{3}) with (?:the )?hypotenuse (?P<side>[A-Z]{2})(?![A-Za-z])",
        _hypotenuse,
    ),
    (
        rf"(?P<line>[A-Z]{{2}}) (?:is|be) (?:the |an? )?(?P<kind>median|altitude|height)(?: drawn)? (?:on|to|of) "
        rf"(?P<side>{SEGMENT})",
        _to_side,
    ),
    (
        rf"(?:the )?perpendicular bisector of (?P<of>{SEGMENT}) {_CUTS} (?P<other>{SEGMENT}) {_AT}",
        _perpendicular_bisector,
    ),
    (rf"(?:the )?(?:angle )?bisector of (?P<angle>{ANGLE}) {_CUTS} (?P<other>{SEGMENT}) {_AT}", _bisector),
)

MEASURES = compiled(_PATTERNS)
"""Looked for before all others: what they take would be misread in parts."""
