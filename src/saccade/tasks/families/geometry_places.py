"""Places in a picture: how far they are apart, and where angles open."""

import math

from saccade.geometry import Point


def opening(first: Point, vertex: Point, second: Point) -> tuple[float, float]:
    """Where the angle starts and how far it goes, in degrees clockwise in the picture, less than half a turn."""
    one, other = (math.degrees(math.atan2(at.y - vertex.y, at.x - vertex.x)) for at in (first, second))
    sweep = (other - one) % 360
    return (one, sweep) if sweep < 180 else (other, 360 - sweep)


def towards(start: Point, end: Point, far: float) -> Point:
    share = far / distance(start, end)
    return Point(start.x + share * (end.x - start.x), start.y + share * (end.y - start.y))


def distance(one: Point, other: Point) -> float:
    return math.hypot(one.x - other.x, one.y - other.y)


def to_segment(point: Point, start: Point, end: Point) -> float:
    long = distance(start, end)
    share = ((point.x - start.x) * (end.x - start.x) + (point.y - start.y) * (end.y - start.y)) / long**2
    return distance(point, towards(start, end, min(1.0, max(0.0, share)) * long))
