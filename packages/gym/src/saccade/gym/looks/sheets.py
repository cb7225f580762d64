"""A sheet that is drawn figure by figure with Pillow, and knows of every pixel which element it shows.

Figures are drawn at ``SCALE`` times the size, once in colours and once in the numbers of their elements.
"""

from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageColor, ImageDraw

from saccade.gym.looks.fonts import pillow_font
from saccade.gym.rendering import Rendering, regions_of

MODULES = ("matplotlib",)
"""What a look that is drawn by this module needs, for its fonts; the extra is ``gym``."""

SCALE = 2

Places = Sequence[tuple[float, float]]


class Sheet:
    """What is drawn later lies above. ``element`` names what is drawn; "" draws what belongs to no element.

    Colours are written as in CSS; "" is none.
    """

    def __init__(self, width: int, height: int, ground: str = "#ffffff") -> None:
        self.width, self.height = width, height
        size = (width * SCALE, height * SCALE)
        self._image, self._shown = Image.new("RGB", size, ground), Image.new("L", size)
        self._pen, self._marker = ImageDraw.Draw(self._image, "RGBA"), _marker(self._shown)
        self._numbers = {"": 0}

    def rect(
        self,
        element: str,
        x: float,
        y: float,
        width: float,
        height: float,
        *,
        fill: str = "",
        stroke: str = "",
        stroke_width: float = 1,
        rx: float = 0,
    ) -> None:
        """A rectangle; ``rx`` rounds its corners. Its stroke lies around its edge."""
        around = stroke_width / 2 if stroke else 0.0
        left, top, right, bottom = _box(x - around, y - around, x + width + around, y + height + around)
        number, line = self._number(element), _width(stroke_width) if stroke else 0
        box = (left, top, max(left, right), max(top, bottom))
        self._pen.rounded_rectangle(box, rx * SCALE, fill=_paint(fill), outline=_paint(stroke), width=line)
        inside = number if fill else None
        self._marker.rounded_rectangle(box, rx * SCALE, fill=inside, outline=number if stroke else None, width=line)

    def circle(
        self,
        element: str,
        x: float,
        y: float,
        radius: float,
        *,
        fill: str,
        opacity: float = 1.0,
        stroke: str = "",
        stroke_width: float = 1,
    ) -> None:
        """A disc, with a ring around its edge where it has a stroke."""
        reach = radius + (stroke_width / 2 if stroke else 0)
        box, line = _box(x - reach, y - reach, x + reach, y + reach), _width(stroke_width) if stroke else 0
        self._pen.ellipse(box, fill=_paint(fill, opacity), outline=_paint(stroke), width=line)
        self._marker.ellipse(box, fill=self._number(element))

    def line(self, element: str, points: Places, *, stroke: str, width: float = 1, is_round: bool = False) -> None:
        """An open run of straight pieces; ``is_round`` says how its ends are."""
        places = [(x * SCALE - 0.5, y * SCALE - 0.5) for x, y in points]
        number = self._number(element)
        self._pen.line(places, fill=_paint(stroke), width=_width(width), joint="curve")
        self._marker.line(places, fill=number, width=_width(width), joint="curve")
        for x, y in (points[0], points[-1]) if is_round else ():
            self.circle(element, x, y, width / 2, fill=stroke)

    def polygon(self, element: str, points: Places, *, fill: str) -> None:
        """A filled polygon."""
        places = [(x * SCALE - 0.5, y * SCALE - 0.5) for x, y in points]
        self._pen.polygon(places, fill=_paint(fill))
        self._marker.polygon(places, fill=self._number(element))

    def text(
        self,
        element: str,
        words: str,
        x: float,
        y: float,
        size: float,
        *,
        fill: str,
        face: str = "sans",
        anchor: str = "middle",
        is_bold: bool = False,
        halo: str = "",
        halo_width: float = 0,
    ) -> None:
        """A line of text whose middle height is about ``y``; ``anchor`` is start, middle or end.

        A halo is a line of another colour around the letters.
        """
        font, place = pillow_font(face, size * SCALE, is_bold=is_bold), (x * SCALE, (y + 0.36 * size) * SCALE)
        side = {"start": "ls", "middle": "ms", "end": "rs"}[anchor]
        line = _width(halo_width / 2) if halo else 0
        self._pen.text(place, words, _paint(fill), font, side, stroke_width=line, stroke_fill=_paint(halo or fill))
        number = self._number(element)
        if not line:
            self._marker.text(place, words, number, font, side)
            return
        # Pillow smooths letters with a stroke whatever the font mode, and half of a number is another element's.
        letters = Image.new("L", self._shown.size)
        ImageDraw.Draw(letters).text(place, words, 255, font, side, stroke_width=line)
        self._shown.paste(number, mask=letters.point(_IS_COVERED, "1"))

    def rendering(self) -> Rendering:
        """The picture and the regions of all elements."""
        shown = self._shown.resize((self.width, self.height), Image.Resampling.NEAREST)
        regions = regions_of(np.asarray(shown, dtype=np.int32), [*self._numbers][1:])
        return Rendering(images=(self._image.reduce(SCALE),), regions=regions)

    def _number(self, element: str) -> int:
        number = self._numbers.setdefault(element, len(self._numbers))
        if number > 255 and self._shown.mode == "L":
            self._shown = self._shown.convert("I")
            self._marker = _marker(self._shown)
        return number


_IS_COVERED = [0] * 128 + [255] * 128
"""Of each opacity, whether the pixel is the element's."""


def _marker(shown: Image.Image) -> ImageDraw.ImageDraw:
    """Draws numbers: nothing of it is smoothed."""
    marker = ImageDraw.Draw(shown)
    marker.fontmode = "1"
    return marker


def _box(left: float, top: float, right: float, bottom: float) -> tuple[int, int, int, int]:
    """In whole pixels of the large picture, the last ones inside."""
    return (round(left * SCALE), round(top * SCALE), round(right * SCALE) - 1, round(bottom * SCALE) - 1)


def _width(width: float) -> int:
    return max(1, round(width * SCALE))


def _paint(colour: str, opacity: float = 1.0) -> tuple[int, ...] | None:
    return (*ImageColor.getrgb(colour), round(255 * opacity)) if colour else None
