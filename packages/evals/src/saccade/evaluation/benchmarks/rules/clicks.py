"""Rules for clicks on screens: a point inside the box of the element, which is in pixels in the column ``bbox``.

A point with a number above 1 is in pixels of the published picture, any other in shares of its width and height.
"""

import re
from collections.abc import Callable
from functools import partial

from saccade.evaluation.benchmarks.benchmark import BenchmarkRow, Extracted, Reading, ReadingName
from saccade.evaluation.benchmarks.rules.strict import strict_answer
from saccade.geometry import Box, Point
from saccade.tasks.rows.fields import as_number, listed, literal

_NUMBER = r"-?\d+(?:\.\d+)?"
_SHARE = rf"({_NUMBER}%?)"
_BOX_TAG = re.compile(r"<\s*bbox[^>]*>(.*?)<\s*/\s*bbox\s*>", re.IGNORECASE | re.DOTALL)
_PAIR = re.compile(rf"[\[\(]\s*{_SHARE}\s*(?:,|\s)\s*{_SHARE}\s*[\]\)]")
_NAMED = re.compile(rf"['\"]?x['\"]?\s*[:=]\s*{_SHARE}.*?['\"]?y['\"]?\s*[:=]\s*{_SHARE}", re.IGNORECASE | re.DOTALL)
_CLICK = re.compile(r"x=([\d.]+), y=([\d.]+)")
_WHOLE = re.compile(rf"[\[(]?\s*(?:x\s*=\s*)?({_NUMBER})\s*,\s*(?:y\s*=\s*)?({_NUMBER})\s*[\])]?")


def _pyautogui_point(reply: str) -> Point | None:
    """VLMEvalKit's: the first ``x=.., y=..``; the corner (0, 0) of a reply without one, and none that is no number."""
    found = _CLICK.search(reply)
    try:
        return Point(float(found[1]), float(found[2])) if found else Point(0.0, 0.0)
    except ValueError:
        return None


def _lmms_point(reply: str) -> Point | None:
    """lmms-eval's: the centre of tagged boxes, the first pair in brackets, x and y by name, else the first numbers."""
    tag = _BOX_TAG.search(reply)
    inside = re.findall(f"{_NUMBER}%?", tag[1]) if tag else []
    if len(inside) >= 4:
        return _centre(inside)
    found = _PAIR.search(reply) or _NAMED.search(reply)
    if found:
        return Point(_share(found[1]), _share(found[2]))
    numbers = re.findall(f"{_NUMBER}%?", reply)
    if len(numbers) >= 4 and any(word in reply.lower() for word in ("box", "rect")):
        return _centre(numbers)
    return Point(_share(numbers[0]), _share(numbers[1])) if len(numbers) >= 2 else None


def _strict_point(reply: str) -> Point | None:
    """Ours: the answer is one point and nothing else."""
    found = _WHOLE.fullmatch(strict_answer(reply))
    return Point(float(found[1]), float(found[2])) if found else None


def _share(text: str) -> float:
    return float(text[:-1]) / 100 if text.endswith("%") else float(text)


def _centre(numbers: list[str]) -> Point:
    x1, y1, x2, y2 = map(_share, numbers[:4])
    return Point((x1 + x2) / 2, (y1 + y2) / 2)


def _hits(
    row: BenchmarkRow, reply: str, *, point_of: Callable[[str], Point | None], last_pixel: float = 0.0
) -> Extracted:
    """Whether the point lies in the box, its edges included; ``last_pixel`` is what the rule takes off at the end."""
    point = point_of(reply)
    if point is None:
        return Extracted("", 0.0)
    width, height = _size(row)
    if point.x > 1 or point.y > 1:
        point = Point(point.x / width, point.y / height)
    corners = [as_number(one) or 0.0 for one in listed(literal(row.column("bbox"), "bbox"), "bbox")]
    box = Box(*corners)
    is_inside = (
        box.x1 / width <= point.x <= (box.x2 - last_pixel) / width
        and box.y1 / height <= point.y <= (box.y2 - last_pixel) / height
    )
    return Extracted(f"{point.x:.4f}, {point.y:.4f}", float(is_inside))


def _size(row: BenchmarkRow) -> tuple[float, float]:
    """Of the published picture, in pixels."""
    if row.pictures:
        return row.pictures[0].width, row.pictures[0].height
    width, height = (as_number(one) or 1.0 for one in listed(literal(row.column("img_size"), "img_size"), "img_size"))
    return width, height


def _reading(name: ReadingName, point_of: Callable[[str], Point | None], last_pixel: float = 0.0) -> Reading:
    return Reading(name=name, rule=partial(_hits, point_of=point_of, last_pixel=last_pixel))


SCREENSPOT_V2 = (
    _reading("vlmevalkit", _pyautogui_point, 1.0),
    _reading("lmms-eval", _lmms_point),
    _reading("strict", _strict_point),
)
SCREENSPOT_PRO = (_reading("vlmevalkit", _pyautogui_point), *SCREENSPOT_V2[1:])
