"""Boxes in the texts and calls of other trainers' models, in pixels of the picture by the convention that they follow.

Where a convention names its frame, that is taken: Qwen2-VL's and InternVL's tags and Gemini's ``box_2d`` (0 to 1000,
the last with y first), PaliGemma's ``<loc…>`` (of 1024, y first). Where none does (``bbox_2d``, ``bbox``), numbers of
at most 1 are shares of the sides, numbers inside of the picture are pixels, and others up to 1000 are thousandths: a
model of thousandths is misread on pictures of more than 1000 pixels, and no file says so.
"""

import re
from collections.abc import Iterator, Sequence

from saccade.geometry import Box
from saccade.types import BoxMention, ImageRef

MAX_BOXES = 100
"""Of one turn."""
_N = r"-?\d{1,6}(?:\.\d{1,9})?"
_FOUR = rf"{_N}\s*,\s*{_N}\s*,\s*{_N}\s*,\s*{_N}"
_WRITTEN = re.compile(
    rf"<\|box_start\|>\s*(?P<thousand>\(\s*{_N}\s*,\s*{_N}\s*\)\s*,\s*\(\s*{_N}\s*,\s*{_N}\s*\))"
    rf"|<box>\s*(?P<tagged>\[?\[\s*{_FOUR}\s*\]\]?|\(\s*{_N}\s*,\s*{_N}\s*\)\s*,\s*\(\s*{_N}\s*,\s*{_N}\s*\))"
    r"|(?P<loc>(?:<loc\d{4}>){4})"
    rf"|\"(?P<key>box_2d|bbox_2d|bbox|box)\"\s*:\s*(?P<listed>\[\s*{_FOUR}\s*\])"
)
_NUMBER = re.compile(_N)


def boxes_in(text: str, image: ImageRef) -> tuple[BoxMention, ...]:
    """The boxes that a text names, each with the words that give it, in pixels of ``image``."""
    return tuple(mention for mention, _ in zip(_boxes(text, image), range(MAX_BOXES)))


def _boxes(text: str, image: ImageRef) -> Iterator[BoxMention]:
    for found in _WRITTEN.finditer(text):
        kind = next(name for name in ("thousand", "tagged", "loc", "listed") if found[name])
        numbers = [float(one) for one in _NUMBER.findall(found[kind])]
        if kind == "listed":
            shape = in_pixels(found["key"], numbers, image)
        elif kind == "loc":
            shape = _scaled(_x_first(numbers), 1024, image)
        else:
            shape = _scaled(numbers, 1000, image)
        yield BoxMention(text=found[kind], box=None if shape is None else Box(*shape))


def in_pixels(key: str, numbers: Sequence[float], image: ImageRef) -> tuple[float, ...] | None:
    """Two or four numbers that stand behind ``key``, in pixels; None where no frame fits."""
    if key == "box_2d" and len(numbers) == 4:
        return _scaled(_x_first(numbers), 1000, image)
    most = max(map(abs, numbers), default=0.0)
    if most <= 1.0:
        return _scaled(numbers, 1.0, image)
    if max(numbers[0::2]) <= image.width + 1 and max(numbers[1::2]) <= image.height + 1:
        return _from_corner(key, numbers)
    return _scaled(numbers, 1000, image) if most <= 1000 else None


def _from_corner(key: str, numbers: Sequence[float]) -> tuple[float, ...]:
    """COCO's ``bbox`` is a corner, a width and a height, which shows where it would be no box otherwise."""
    if key == "bbox" and len(numbers) == 4 and (numbers[2] <= numbers[0] or numbers[3] <= numbers[1]):
        x, y, width, height = numbers
        return x, y, x + width, y + height
    return tuple(numbers)


def _x_first(numbers: Sequence[float]) -> tuple[float, ...]:
    return numbers[1], numbers[0], numbers[3], numbers[2]


def _scaled(numbers: Sequence[float], whole: float, image: ImageRef) -> tuple[float, ...]:
    sides = (image.width, image.height)
    return tuple(one * sides[place % 2] / whole for place, one in enumerate(numbers))
