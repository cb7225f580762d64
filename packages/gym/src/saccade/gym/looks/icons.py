"""Icons of tool bars, drawn with lines and areas on a square of 24 units."""

from collections.abc import Mapping

from saccade.geometry import Box, Point
from saccade.gym.painter import Painter
from saccade.tasks.drawing import Colour, on_circle

Strokes = tuple[tuple[tuple[float, float], ...], ...]


def _arc(x: float, y: float, radius: float, start: float, end: float) -> tuple[tuple[float, float], ...]:
    places = (on_circle(Point(x, y), radius, start + (end - start) * step / 12) for step in range(13))
    return tuple((place.x, place.y) for place in places)


def _box(left: float, top: float, right: float, bottom: float) -> tuple[tuple[float, float], ...]:
    return ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))


def _spokes(count: int, inner: float, outer: float) -> Strokes:
    ends = [[on_circle(Point(12, 12), reach, 360 / count * i) for reach in (inner, outer)] for i in range(count)]
    return tuple(tuple((place.x, place.y) for place in pair) for pair in ends)


STROKES: Mapping[str, Strokes] = {
    "save": (_box(3, 3, 21, 21), _box(7, 3, 16, 9), _box(6, 13, 18, 21)),
    "print": (_box(7, 2, 17, 8), _box(3, 8, 21, 17), _box(7, 14, 17, 22)),
    "search": (_arc(10, 10, 7, 0, 360), ((15, 15), (22, 22))),
    "bin": (((3, 6), (21, 6)), ((9, 6), (9, 3), (15, 3), (15, 6)), ((5, 6), (7, 21), (17, 21), (19, 6)), ((10, 10),
        (10, 18)), ((14, 10), (14, 18))),
    "undo": (_arc(13, 14, 7, 180, 400), ((2, 10), (6, 15), (11, 10))),
    "plus": (((12, 3), (12, 21)), ((3, 12), (21, 12))),
    "gear": (_arc(12, 12, 3, 0, 360), _arc(12, 12, 7, 0, 360), *_spokes(8, 7, 10)),
    "house": (((2, 12), (12, 3), (22, 12)), ((5, 10), (5, 21), (19, 21), (19, 10)), _box(10, 14, 14, 21)),
    "star": (((12, 2), (15, 9), (22, 9.5), (16.5, 14), (18.5, 21), (12, 17), (5.5, 21), (7.5, 14), (2, 9.5), (9, 9),
        (12, 2)),),
    "bell": (((4, 18), (6, 15), (6, 10), (9, 5), (12, 4), (15, 5), (18, 10), (18, 15), (20, 18), (4, 18)), ((10,
        20.5), (14, 20.5))),
    "envelope": (_box(2, 5, 22, 19), ((2, 5), (12, 13), (22, 5))),
    "padlock": (_box(5, 11, 19, 21), ((8, 11), (8, 7), (10, 4), (14, 4), (16, 7), (16, 11)), ((12, 14), (12, 18))),
    "chart": (((3, 3), (3, 21), (22, 21)), ((8, 21), (8, 13)), ((13, 21), (13, 7)), ((18, 21), (18, 10))),
    "calendar": (_box(3, 5, 21, 21), ((3, 10), (21, 10)), ((8, 2), (8, 7)), ((16, 2), (16, 7)), ((8, 15), (10, 15)),
        ((14, 15), (16, 15))),
    "download": (((12, 2), (12, 15)), ((6, 10), (12, 16), (18, 10)), ((3, 17), (3, 21), (21, 21), (21, 17))),
    "pencil": (((3, 21), (5, 15), (17, 3), (21, 7), (9, 19), (3, 21)), ((14, 6), (18, 10))),
    "tick": (((4, 12), (10, 18), (20, 5)),),
}  # fmt: skip


def paint_icon(painter: Painter, element: str, icon: str, box: Box, colour: Colour) -> None:
    """An icon in the middle of a box, as large as fits."""
    side = min(box.width, box.height)
    left, top = box.center.x - side / 2, box.center.y - side / 2
    for stroke in STROKES[icon]:
        places = [Point(left + x / 24 * side, top + y / 24 * side) for x, y in stroke]
        painter.line(element, places, max(1.2, side / 13), colour)
