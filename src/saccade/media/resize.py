"""The size at which a model family sees an image: what every rule gives, and the rule of the Qwen-VL families."""

import math
from dataclasses import dataclass
from typing import Protocol

from saccade.errors import UserError
from saccade.geometry import Box, CoordinateConvention, Frame
from saccade.types import ImageRef

MAX_ASPECT_RATIO = 200.0


@dataclass(frozen=True, slots=True)
class TokenBlock:
    """Image tokens that lie over a part of an image as a grid of equal cells, one row after the other."""

    rows: int
    columns: int
    part: Box
    """In pixels of the original."""


class ViewRule(Protocol):
    """How a model family sees images and in which convention it writes coordinates; ``ResizeRule`` or ``TileRule``."""

    @property
    def convention(self) -> CoordinateConvention: ...

    @property
    def largest_pixels(self) -> int:
        """No view has more pixels than this."""
        ...

    def view_size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) in pixels of the whole image as the vision tower gets it."""
        ...

    def frame_for(self, image: ImageRef) -> Frame:
        """What turns the coordinates that a model writes about the whole image into pixels of the original."""
        ...

    def token_grid(self, image: ImageRef) -> tuple[int, int]:
        """(rows, columns) in which the image's tokens lie; one row where a family strings them in a line."""
        ...

    def token_count(self, image: ImageRef) -> int:
        """Image tokens in the prompt: rows times columns of their grid."""
        ...

    def token_blocks(self, image: ImageRef) -> tuple[TokenBlock, ...]:
        """What the image's tokens show, in their order; parts may overlap where a family shows a thing twice."""
        ...


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


def frame_of_view(image: ImageRef, view_size: tuple[int, int], convention: CoordinateConvention) -> Frame:
    """The frame of an image whose view has this (width, height)."""
    return Frame(
        width=image.width,
        height=image.height,
        view_width=view_size[0],
        view_height=view_size[1],
        convention=convention,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ResizeRule:
    """A view of whole image tokens, as large as the image within limits: the Qwen-VL families."""

    factor: int
    """Pixels along one side of an image token."""
    min_pixels: int
    max_pixels: int
    convention: CoordinateConvention

    @property
    def largest_pixels(self) -> int:
        # A view may pass max_pixels by its rounding to whole tokens, most when it is long and thin.
        largest = max(self.min_pixels, self.max_pixels)
        return largest + 16 * self.factor * (int(largest**0.5) + 1) + self.factor**2

    def view_size(self, width: int, height: int) -> tuple[int, int]:
        """(width, height) in pixels that the vision tower gets for an original of this size."""
        return smart_resize(width, height, factor=self.factor, min_pixels=self.min_pixels, max_pixels=self.max_pixels)

    def frame_for(self, image: ImageRef) -> Frame:
        return frame_of_view(image, self.view_size(image.width, image.height), self.convention)

    def token_grid(self, image: ImageRef) -> tuple[int, int]:
        """(rows, columns) of image tokens."""
        view_width, view_height = self.view_size(image.width, image.height)
        return view_height // self.factor, view_width // self.factor

    def token_count(self, image: ImageRef) -> int:
        """Image tokens that the view takes in the prompt."""
        rows, columns = self.token_grid(image)
        return rows * columns

    def token_blocks(self, image: ImageRef) -> tuple[TokenBlock, ...]:
        """One block over the whole image."""
        rows, columns = self.token_grid(image)
        return (TokenBlock(rows, columns, Box(0, 0, image.width, image.height)),)
