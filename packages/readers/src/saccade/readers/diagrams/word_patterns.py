"""Patterns of words for shapes and relations, each with its meaning in logic forms."""

import re
from collections.abc import Callable

from saccade.readers.diagrams.quantities import (
    ANGLE,
    NOUN,
    POLYGONS,
    SEGMENT,
    angle,
    line,
    points_in,
    polygon_of,
    segments_in,
    shape,
)

Meaning = Callable[[re.Match[str]], list[str]]

AND = r"(?:, and |, | and )"
POINTS = rf"(?:the )?(?:points? )?[A-Z](?:{AND}(?:points? )?[A-Z])*(?![A-Za-z])"
SEGMENTS = rf"{SEGMENT}(?:{AND}{SEGMENT})*"
CIRCLE = r"(?:the )?circle (?:with centre |centred at )?[A-Z](?![A-Za-z])"
BE = r"(?:is|are|be|being|as)"
ADJECTIVE = r"isosceles|equilateral|right-angled|right|regular"
IN_LINE = r"(?: respectively)?"
_CENTRES = {
    "centroid": "IsCentroidOf",
    "incenter": "IsIncenterOf",
    "incentre": "IsIncenterOf",
    "circumcenter": "IsCircumcenterOf",
    "circumcentre": "IsCircumcenterOf",
    "orthocenter": "IsOrthocenterOf",
    "orthocentre": "IsOrthocenterOf",
}


def _midpoints(match: re.Match[str]) -> list[str]:
    points, segments = points_in(match["points"]), segments_in(match["segments"])
    if len(segments) == 1:
        segments *= len(points)
    return [f"IsMidpointOf({point},{line(segment)})" for point, segment in zip(points, segments)]


def _on_lines(match: re.Match[str]) -> list[str]:
    points, segments = points_in(match["points"]), segments_in(match["segments"])
    if len(segments) == 1:
        segments *= len(points)
    return [f"PointLiesOnLine({point},{line(segment)})" for point, segment in zip(points, segments)]


def _on_extension(match: re.Match[str]) -> list[str]:
    start, end = tuple(segments_in(match["segment"])[0])
    return [f"PointLiesOnLine({end},Line({start},{match['point']}))"]


def _on_circle(match: re.Match[str]) -> list[str]:
    return [f"PointLiesOnCircle({point},{_circle(match)})" for point in points_in(match["points"])]


def _relation_meaning(word: str) -> Meaning:
    def meaning(match: re.Match[str]) -> list[str]:
        one, other = segments_in(match["one"])[0], segments_in(match["other"])[0]
        said = [f"{word}({line(one)},{line(other)})"]
        if "foot" in match.groupdict() and match["foot"]:
            foot = match["foot"]
            said += [f"PointLiesOnLine({foot},{line(pair)})" for pair in (one, other) if foot not in pair]
        return said

    return meaning


def _intersect(match: re.Match[str]) -> list[str]:
    one, other = segments_in(match["one"])[0], segments_in(match["other"])[0]
    return [f"IntersectAt({line(one)},{line(other)},{match['point']})"]


def _tangent(match: re.Match[str]) -> list[str]:
    segments, contacts = segments_in(match["segments"]), points_in(match["contacts"] or "")
    said = []
    for index, segment in enumerate(segments):
        contact = contacts[index] if index < len(contacts) else ""
        if contact and contact not in segment:
            said += [f"PointLiesOnLine({contact},{line(segment)})", f"PointLiesOnCircle({contact},{_circle(match)})"]
        elif contact:
            segment = segment.replace(contact, "") + contact
            said.append(f"PointLiesOnCircle({contact},{_circle(match)})")
        said.append(f"Tangent({line(segment)},{_circle(match)})")
    return said


def _part_of_circle(match: re.Match[str]) -> list[str]:
    word = {"diameter": "IsDiameterOf", "radius": "IsRadiusOf", "chord": "IsChordOf", "secant": "Secant"}
    kind = word[match["kind"].removesuffix("s").replace("radii", "radius")]
    return [f"{kind}({line(segment)},{_circle(match)})" for segment in segments_in(match["segments"])]


def _bisects(match: re.Match[str]) -> list[str]:
    segment, corner = segments_in(match["segment"])[0], points_of_angle(match["angle"])
    if len(corner) == 3 and segment[1] == corner[1]:
        segment = segment[::-1]
    return [f"BisectsAngle({line(segment)},{angle(corner)})"]


def _from_corner(match: re.Match[str]) -> list[str]:
    word = "IsMedianOf" if match["kind"] == "median" else "IsAltitudeOf"
    return [f"{word}({line(segments_in(match['segment'])[0])},{shape('Triangle', match['triangle'])})"]


def _polygon(match: re.Match[str]) -> list[str]:
    noun = POLYGONS[match["noun2"] or match["noun"]] if (match["noun2"] or match["noun"]) else ""
    body = shape(noun, match["names"]) if noun else polygon_of(match["names"])
    for adjective in f"{match['before'] or ''} {match['after'] or ''} {match['only'] or ''}".split():
        body = f"{adjective.removesuffix('-angled').title()}({body})"
    return [body]


def _same_form(match: re.Match[str]) -> list[str]:
    word = "Similar" if match["how"] == "similar" else "Congruent"
    return [f"{word}({polygon_of(match['one'])},{polygon_of(match['other'])})"]


def _inscribed(match: re.Match[str]) -> list[str]:
    noun = POLYGONS[match["noun"]] if match["noun"] else ""
    body = shape(noun, match["names"]) if noun else polygon_of(match["names"])
    return [f"InscribedIn({body},{_circle(match)})"]


def _centre(match: re.Match[str]) -> list[str]:
    return [f"{_CENTRES[match['kind']]}({match['point']},{shape('Triangle', match['triangle'])})"]


def _right(match: re.Match[str]) -> list[str]:
    return [f"RightAngle({angle(points_of_angle(match['angle']))})"]


def _ratio(match: re.Match[str]) -> list[str]:
    one, other = segments_in(match["one"])[0], segments_in(match["other"])[0]
    return [f"Equals({match['second']}*LengthOf({line(one)}),{match['first']}*LengthOf({line(other)}))"]


def _circle(match: re.Match[str]) -> str:
    """The circle that is named, or the only one there is."""
    return f"Circle({match['circle'].split()[-1] if match['circle'] else '$'})"


def points_of_angle(words: str) -> str:
    """The points by which an angle is named."""
    return str(re.findall(r"[A-Z]+", words)[-1])


_TO_POINT = r"(?:at|meeting it at|with foot|where the foot is) (?:the )?(?:point )?(?P<foot>[A-Z])(?![A-Za-z])"
_ONE, _OTHER, _SEGMENT = rf"(?P<one>{SEGMENT})", rf"(?P<other>{SEGMENT})", rf"(?P<segment>{SEGMENT})"
_SEGMENTS, _POINTS, _CIRCLE = rf"(?P<segments>{SEGMENTS})", rf"(?P<points>{POINTS})", rf"(?P<circle>{CIRCLE})"
_AT_POINT = r"at (?:the )?(?:point )?(?P<point>[A-Z])(?![A-Za-z])"
_OF_TRIANGLE = r"of (?:the )?triangle (?P<triangle>[A-Z]{3})"
_LIE = rf"(?:(?:lies?|lying) |{BE} )(?:all )?(?:(?:an? |the |any |three |four )?points? )?(?:located )?on"
_CORNERS = rf"(?:(?P<noun>{NOUN}) )?(?P<names>[A-Z]{{3,8}})"
_IS_A = rf"(?P<after>(?:(?:{ADJECTIVE}) ?)+)?(?P<noun2>{NOUN})"
_RELATIONS: tuple[tuple[str, Meaning], ...] = (
    (rf"{_POINTS} {BE} (?:the )?(?:respective )?mid-?points? of {_SEGMENTS}{IN_LINE}", _midpoints),
    (rf"(?:the )?mid-?point (?P<points>[A-Z]) of (?P<segments>{SEGMENT})", _midpoints),
    (rf"(?:the )?mid-?point of (?P<segments>{SEGMENT}) is (?P<points>[A-Z])(?![A-Za-z])", _midpoints),
    (rf"{_SEGMENT} (?:{BE} (?:the |an? )?(?:angle )?bisector of|bisects|bisecting) (?P<angle>{ANGLE})", _bisects),
    (rf"{_ONE} {BE} (?:the |a )?perpendicular bisector of {_OTHER}", _relation_meaning("IsPerpendicularBisectorOf")),
    (rf"{_ONE} (?:{BE} )?parallel(?: to| with)? {_OTHER}", _relation_meaning("Parallel")),
    (rf"{_ONE} and {_OTHER} {BE} parallel(?: to each other)?", _relation_meaning("Parallel")),
    (rf"{_ONE} (?:{BE} )?perpendicular(?: to| with)? {_OTHER}(?: {_TO_POINT})?", _relation_meaning("Perpendicular")),
    (
        rf"{_ONE} and {_OTHER} {BE} perpendicular(?: to each other)?(?: {_TO_POINT})?",
        _relation_meaning("Perpendicular"),
    ),
    (
        rf"{_SEGMENTS} (?:{BE} )?(?:both )?(?:an? |the )?tangents? (?:to|of) {_CIRCLE}"
        rf"(?: at (?P<contacts>{POINTS}))?{IN_LINE}",
        _tangent,
    ),
    (
        rf"{_SEGMENTS} {BE} (?:an? |the |two )?(?P<kind>diameters?|radius|radii|chords?|secants?)"
        rf"(?: (?:of|to|in) {_CIRCLE})?(?![a-z])",
        _part_of_circle,
    ),
    (rf"(?P<kind>diameter|radius|chord) (?P<segments>[A-Z]{{2}}) (?:of|in) {_CIRCLE}", _part_of_circle),
    (
        rf"{_CIRCLE} (?:with|has) (?:a )?(?P<kind>diameter|radius|chord) (?P<segments>[A-Z]{{2}})(?![A-Za-z])",
        _part_of_circle,
    ),
    (rf"{_POINTS} (?:all )?{_LIE} {_CIRCLE}", _on_circle),
    (rf"{_CIRCLE} passes through {_POINTS}", _on_circle),
    (
        rf"(?:point )?(?P<point>[A-Z]) (?:lies|{BE})(?: an? point)?(?: located)? on "
        rf"(?:the )?extension (?:line )?of {_SEGMENT}",
        _on_extension,
    ),
    (rf"{_POINTS} {_LIE} {_SEGMENTS}{IN_LINE}", _on_lines),
    (rf"{_ONE} and {_OTHER} (?:intersect|meet|cross)(?: each other)? {_AT_POINT}", _intersect),
    (rf"{_ONE} (?:intersects|meets|crosses) {_OTHER} {_AT_POINT}", _intersect),
    (rf"{_SEGMENT} {BE} (?:an? |the )?(?P<kind>median|altitude|height) {_OF_TRIANGLE}", _from_corner),
    (rf"(?P<kind>median|altitude|height) (?P<segment>[A-Z]{{2}}) {_OF_TRIANGLE}", _from_corner),
    (rf"(?:point )?(?P<point>[A-Z]) {BE} (?:the )?(?P<kind>{'|'.join(_CENTRES)}) {_OF_TRIANGLE}", _centre),
    (
        r"(?:(?:triangles?|quadrilaterals?|polygons?) )?(?P<one>[A-Z]{3,6}) (?:is |are )?(?P<how>similar|congruent) to "
        r"(?:(?:triangle|quadrilateral|polygon) )?(?P<other>[A-Z]{3,6})(?![A-Za-z])",
        _same_form,
    ),
    (
        r"(?:triangles|quadrilaterals|polygons) (?P<one>[A-Z]{3,6}) and (?P<other>[A-Z]{3,6}) are "
        r"(?P<how>similar|congruent)",
        _same_form,
    ),
    (rf"{_CORNERS} (?:{BE} )?inscribed in {_CIRCLE}", _inscribed),
    (
        rf"{_CIRCLE} (?:{BE} )?(?:circumscribed (?:about|around)|the circumscribed circle of|the circumcircle of) "
        rf"(?:the )?{_CORNERS}(?![A-Za-z])",
        _inscribed,
    ),
    (rf"(?P<angle>{ANGLE}) {BE} (?:an? )?right(?: angle)?(?![a-z-])", _right),
    (r"right (?P<angle>angle [A-Z]{1,3})(?![A-Za-z])", _right),
    (rf"{_ONE} ?: ?{_OTHER} = (?P<first>\d{{1,6}}) ?: ?(?P<second>\d{{1,6}})", _ratio),
)
_SHAPES: tuple[tuple[str, Meaning], ...] = (
    (
        rf"(?P<before>(?:(?:{ADJECTIVE}) )*)(?P<noun>{NOUN}) (?P<names>[A-Z]{{3,8}})(?![A-Za-z])"
        rf"(?: {BE} (?:an? )?(?:{_IS_A}|(?P<only>(?:{ADJECTIVE})))(?![a-z]))?",
        _polygon,
    ),
    (rf"(?P<before>)(?P<noun>)(?P<only>)(?P<names>[A-Z]{{4,8}}) {BE} (?:an? ){_IS_A}(?![a-z])", _polygon),
    (
        r"(?:point )?(?P<point>[A-Z]) (?:is|be) (?:the )?centre of (?:the |this )?circle(?: [A-Z])?(?![A-Za-z])",
        lambda match: [f"Circle({match['point']})"],
    ),
    (_CIRCLE, lambda match: [_circle(match)]),
)


def compiled(patterns: tuple[tuple[str, Meaning], ...]) -> tuple[tuple[re.Pattern[str], Meaning], ...]:
    """The patterns compiled, matching only where no word is cut."""
    return tuple((re.compile(rf"(?<![A-Za-z]){pattern}"), meaning) for pattern, meaning in patterns)


RELATIONS = compiled(_RELATIONS)
"""The more particular ones first."""

SHAPES = compiled(_SHAPES)
"""Patterns that are tried after quantities: ``the perimeter of triangle ABC`` is one of them."""
