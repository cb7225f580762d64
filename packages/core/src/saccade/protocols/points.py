"""Points in a model's reasoning: ``<points x1="408" y1="179" alt="jeep">jeep</points>``, and the frame that each is in.

===============================================  ==================================================================
what the model wrote                             what becomes of it
===============================================  ==================================================================
``<points x1= y1= …>``, ``<point x= y= …>``,     one mention for each pair; indices may run on from tag to tag;
several pairs in a tag, ``<points …/>``          quotes may be double, single, curly or missing
text between the tags; else ``alt``              the label; with neither it is empty
out of range, negative                           a point as written; the reward counts a miss
no pair, an x without its y, an index twice,     unreadable: ``PointMention.point`` is None, the turn is not
words, exponents, ``NaN``, a number over         well-formed
``MAX_COORDINATE``
a tag never closed, one that closes nothing,     ignored; the turn is not well-formed
one inside another
more than ``MAX_POINTS`` points                  the first ``MAX_POINTS`` are read; the turn is not well-formed
===============================================  ==================================================================

A point belongs to the single frame, time or picture ("frame 24", "18.71 seconds", "image 2", "second image") that is
named nearest to it in its sentence, else in the last clause of the sentence before. Ranges ("frames 1 to 6") are no
single frame.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from saccade.geometry import Frame, Point
from saccade.media.resize import ViewRule
from saccade.protocols.coordinates import MAX_COORDINATE
from saccade.protocols.moments import POINT_SIGN, NamedMoment, NamedMoments
from saccade.types import ImageRef, PointMention

MAX_POINTS = 64
MAX_LABEL_CHARS = 200

_TAG = re.compile(r"<(/?)points?\b([^<>]{0,4000})>")
_ANY_TAG = re.compile(r"</?points?\b")
_ATTRIBUTE = re.compile(
    r"([a-zA-Z]{1,10})([0-9]{0,6})\s*=\s*(\"[^\"]*\"|'[^']*'|[\u201c\u201d][^\u201c\u201d]*[\u201c\u201d]|[^\s\"'/]+)"
)
_NUMBER = re.compile(r"[+-]?[0-9]{1,12}(?:\.[0-9]{1,12})?")
_QUOTES = "\"'\u201c\u201d"


class FoundPoints(tuple[PointMention, ...]):
    """The points of a text in their order; ``is_well_formed`` says whether all of it was in order."""

    is_well_formed: bool = True


def find_points(text: str) -> FoundPoints:
    """All points in their order, by the table above; linear in the text, never raises.

    Coordinates are as written. ``image_index`` is that of the picture that the sentence names, else 0.
    """
    mentions: list[PointMention] = []
    is_well_formed = True
    opened: re.Match[str] | None = None
    places = NamedMoments(without_tags(text))
    tags = list(_TAG.finditer(text))
    for tag in tags:
        closes, attributes = bool(tag.group(1)), tag.group(2)
        if closes and opened is None:
            is_well_formed = False
            continue
        if not closes:
            is_well_formed &= opened is None
            opened = tag
            if not attributes.rstrip().endswith("/"):
                continue
        assert opened is not None
        inner = "" if tag is opened else text[opened.end() : tag.start()]
        found = _mentions(text[opened.start() : tag.end()], opened.group(2), inner, places.of(opened.start()))
        opened = None
        if (room := MAX_POINTS - len(mentions)) == 0:
            is_well_formed = False
            break
        mentions += found[:room]
        is_well_formed &= len(found) <= room and all(one.point is not None for one in found)
    result = FoundPoints(mentions)
    result.is_well_formed = is_well_formed and opened is None and len(tags) == count_point_tags(text)
    return result


def count_points(text: str) -> int:
    """Number of points in a text, those beyond ``MAX_POINTS`` too: pairs of coordinates, and tags without any."""
    return sum(max(1, len(_read(tag.group(2)).pairs)) for tag in _TAG.finditer(text) if not tag.group(1))


def has_point_tag(text: str) -> bool:
    """Whether a tag of a point stands anywhere in the text."""
    return _ANY_TAG.search(text) is not None


def count_point_tags(text: str) -> int:
    """Opening and closing tags of points, in pairs or not."""
    return len(_ANY_TAG.findall(text))


def without_points(text: str) -> str:
    """The text with each point's label in place of its tags."""
    kept = []
    end = 0
    for tag in _TAG.finditer(text):
        kept.append(text[end : tag.start()])
        end = tag.end()
    return "".join([*kept, text[end:]])


def written_point(label: str, points: Sequence[Point]) -> str:
    """Points of one label with their tags, in whole numbers; quotes and angle brackets of the label are left out."""
    plain = re.sub(r"[<>\"]", "", label).strip()[:MAX_LABEL_CHARS]
    pairs = " ".join(f'x{index}="{round(one.x)}" y{index}="{round(one.y)}"' for index, one in enumerate(points, 1))
    return f'<points {pairs} alt="{plain}">{plain}</points>'


def with_points(thought: str, mentions: Sequence[PointMention], *, in_one_form: bool = False) -> str:
    """The well-formed thought with these points in place of its own, in their order; they are in another frame, say.

    Tags keep their form, coordinates have up to two decimals; ``in_one_form`` they are as ``written_point`` writes
    them, in the whole pixels that the points lie in. ValueError where there are not as many points.
    """
    left = list(mentions)
    pieces, end = [], 0
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(thought):
        if not tag.group(1):
            opened = tag
            if not tag.group(2).rstrip().endswith("/"):
                continue
        indices = [] if opened is None else list(_read(opened.group(2)).pairs)
        points = [one.point for one in left[: len(indices)] if one.point]
        if opened is None or not points or len(points) < len(indices):
            raise ValueError(f"the thought's points are not in order, or are others than the {len(mentions)} given")
        pieces.append(thought[end : opened.start()])
        if in_one_form:
            pixels = [Point(math.floor(one.x), math.floor(one.y)) for one in points]
            pieces.append(written_point(left[0].label, pixels))
        else:
            pieces += [_with_values(opened, dict(zip(indices, points))), thought[opened.end() : tag.end()]]
        left, end, opened = left[len(indices) :], tag.end(), None
    if left or opened is not None:
        raise ValueError(f"the thought holds other points than the {len(mentions)} given")
    return "".join([*pieces, thought[end:]])


def points_to_model(thought: str, images: Sequence[ImageRef], view: ViewRule) -> str:
    """An expert's thought with its points, which are in pixels of their pictures' originals, as the model writes them.

    What is no point stays as it is.
    """
    if not images or not has_point_tag(thought):
        return thought
    named = NamedMoments(without_tags(thought))

    def converted_tag(tag: re.Match[str]) -> str:
        read = _read(tag.group(2))
        frame = frame_of_mention(named.of(tag.start()), images, view)
        if tag.group(1) or not read.pairs or frame is None:
            return tag.group()
        return _with_values(tag, {index: frame.point_to_model(Point(x, y)) for index, (x, y) in read.pairs.items()})

    return _TAG.sub(converted_tag, thought)


def points_to_original(
    mentions: Sequence[PointMention], images: Sequence[ImageRef], view: ViewRule
) -> tuple[PointMention, ...]:
    """Points of a thought in pixels of the originals of the pictures that they are on; not clipped.

    A point on a picture or a frame that the question does not have stays as it was written: it is a miss.
    """

    def converted_mention(mention: PointMention) -> PointMention:
        frame = frame_of_mention(mention, images, view)
        if mention.point is None or frame is None:
            return mention
        return replace(mention, point=frame.point_to_original(mention.point))

    return tuple(map(converted_mention, mentions))


def frame_of_mention(named: NamedMoment | PointMention, images: Sequence[ImageRef], view: ViewRule) -> Frame | None:
    """The coordinate frame of the picture that is named; a time alone is on the first, as large as all of a video."""
    index = named.image_index if named.frame is None else named.frame - 1
    return view.frame_for(images[index]) if 0 <= index < len(images) else None


def _mentions(text: str, attributes: str, inner: str, moment: NamedMoment) -> list[PointMention]:
    """One for each pair of coordinates; a single unreadable one where the pairs are in no order."""
    read = _read(attributes)
    label = (inner.strip() or read.alt)[:MAX_LABEL_CHARS]
    return [
        PointMention(
            text=text[:MAX_LABEL_CHARS],
            label=label,
            point=None if pair is None else Point(*pair),
            frame=moment.frame,
            time_s=moment.time_s,
            image_index=moment.image_index,
        )
        for pair in (read.pairs.values() if read.pairs else [None])
    ]


def _with_values(tag: re.Match[str], points: Mapping[str, Point]) -> str:
    """An opening tag with other coordinates, by the indices of its pairs."""

    def side(attribute: re.Match[str]) -> str:
        name, index, _ = attribute.groups()
        if name not in ("x", "y"):
            return attribute.group()
        value = points[index].x if name == "x" else points[index].y
        return f'{name}{index}="{round(value, 2):g}"'

    return tag.group().replace(tag.group(2), _ATTRIBUTE.sub(side, tag.group(2)))


@dataclass(frozen=True, slots=True)
class _Attributes:
    """Attributes of an opening tag: pairs of coordinates by their index, none where they are in no order; the name."""

    pairs: Mapping[str, tuple[float, float]]
    alt: str


def _read(attributes: str) -> _Attributes:
    sides: dict[str, dict[str, float | None]] = {"x": {}, "y": {}}
    alt, is_readable = "", True
    for name, index, value in _ATTRIBUTE.findall(attributes):
        plain = value.strip(_QUOTES).strip()
        if name == "alt" and not index:
            alt = plain
        elif name in sides:
            is_readable &= index not in sides[name]
            sides[name][index] = _number(plain)
    pairs = {index: (x, sides["y"].get(index)) for index, x in sides["x"].items()}
    readable = {index: (x, y) for index, (x, y) in pairs.items() if x is not None and y is not None}
    is_readable &= len(readable) == len(pairs) and sides["x"].keys() == sides["y"].keys()
    return _Attributes(readable if is_readable else {}, alt)


def _number(text: str) -> float | None:
    if _NUMBER.fullmatch(text) is None or abs(float(text)) > MAX_COORDINATE:
        return None
    return float(text)


def without_tags(text: str) -> str:
    """The text with ``POINT_SIGN`` and spaces in place of points and labels, which name no frame; as long."""
    parts, end = [], 0
    is_open = False
    for tag in _TAG.finditer(text):
        if not is_open:
            parts.append(text[end : tag.start()].replace(POINT_SIGN, " "))
            end = tag.start()
        is_open = not tag.group(1) and not tag.group(2).rstrip().endswith("/")
        if not is_open:
            parts.append(POINT_SIGN + " " * (tag.end() - end - 1))
            end = tag.end()
    return "".join([*parts, text[end:].replace(POINT_SIGN, " ")])
