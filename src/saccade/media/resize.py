"""The size at which a model family sees an image."""

import math
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.geometry import CoordinateConvention, Frame
from saccade.types import ImageRef

MAX_ASPECT_RATIO = 200.0


def smart_resize(width: int, height: int, *, factor: int, min_pixels: int, max_pixels: int) -> tuple[int, int]:
    """(width, height) of the view: multiples of ``factor``, area within the limits, aspect ratio nearly kept.

    The rule of the Qwen-VL families. ``factor`` is patch size times merge size, so a view is whole image tokens.
    """
    if max(width, height) > MAX_ASPECT_RATIO * min(width, height):
        raise UserError(
            f"an image of {width} x {height} px is more than {MAX_ASPECT_RATIO:.0f} times longer than wide;"
            " crop it first"
        )
    view_height = round(height / factor) * factor
    view_width = round(width / factor) * factor
    if view_height * view_width > max_pixels:
        shrink = math.sqrt(height * width / max_pixels)
        view_height = max(factor, math.floor(height / shrink / factor) * factor)
        view_width = max(factor, math.floor(width / shrink / factor) * factor)
    elif view_height * view_width < min_pixels:
        grow = math.sqrt(min_pixels / (height * width))
        view_height = math.ceil(height * grow / factor) * factor
        view_width = math.ceil(width * grow / factor) * factor
    return view_width, view_height


@dataclass(frozen=True, kw_only=True, slots=True)
class ViewRule:
    """How a model family sees images: the resize rule and the convention in which it writes coordinates."""

    factor: int
    min_pixels: int
    max_pixels: int
    convention: CoordinateConvention

    def view_size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) in pixels that the vision tower gets for an original of this size."""
        return smart_resize(width, height, factor=self.factor, min_pixels=self.min_pixels, max_pixels=self.max_pixels)

    def frame_for(self, image: ImageRef) -> Frame:
        view_width, view_height = self.view_size(image.width, image.height)
        return Frame(
            width=image.width,
            height=image.height,
            view_width=view_width,
            view_height=view_height,
            convention=self.convention,
        )

    def token_count(self, image: ImageRef) -> int:
        """Image tokens that the view takes in the prompt."""
        view_width, view_height = self.view_size(image.width, image.height)
        return (view_width // self.factor) * (view_height // self.factor)
