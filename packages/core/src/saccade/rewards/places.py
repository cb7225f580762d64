"""Parts of a question's pictures, and where pictures that were made of them lie on them."""

from collections.abc import Sequence
from dataclasses import dataclass

from saccade.geometry import Box
from saccade.types import ImageRef, Page


@dataclass(frozen=True, kw_only=True, slots=True)
class Patch:
    """A region of ``Task.images[image_index]``, in pixels of its original."""

    image_index: int
    box: Box


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenParts:
    """What was returned of the question's pictures and of its documents."""

    patches: tuple[Patch, ...] = ()
    pages: tuple[Page, ...] = ()
    is_known: bool = True
    """False where the record does not say what was returned."""

    @staticmethod
    def union(parts: Sequence["SeenParts"]) -> "SeenParts":
        return SeenParts(
            patches=tuple(patch for one in parts for patch in one.patches),
            pages=tuple(dict.fromkeys(page for one in parts for page in one.pages)),
            is_known=all(one.is_known for one in parts),
        )


NOTHING, UNKNOWN = SeenParts(), SeenParts(is_known=False)


@dataclass(frozen=True, slots=True)
class PicturePlace:
    """Where a picture lies on one of the question's: its top left corner and its sides there, in pixels."""

    image_index: int
    corner: tuple[float, float]
    right: tuple[float, float]
    down: tuple[float, float]

    def part(self, x1: float, y1: float, x2: float, y2: float, size: tuple[int, int] = (1, 1)) -> "PicturePlace":
        """The place of a part, whose sides count so many to the picture's own; mirrored where they are inverted."""
        (cx, cy), wide, tall = self.corner, x2 - x1, y2 - y1
        # The sides of one pixel: exactly 1 on the question's own picture.
        (rx, ry), (dx, dy) = [[side / count for side in one] for one, count in zip((self.right, self.down), size)]
        return PicturePlace(
            self.image_index,
            (cx + x1 * rx + y1 * dx, cy + x1 * ry + y1 * dy),
            (wide * rx, wide * ry),
            (tall * dx, tall * dy),
        )

    def turned(self, quarters: int) -> "PicturePlace":
        """After so many quarter turns anticlockwise: the right side comes to the top."""
        place = self
        for _ in range(quarters):
            (x, y), (rx, ry) = place.corner, place.right
            place = PicturePlace(place.image_index, (x + rx, y + ry), place.down, (-rx, -ry))
        return place

    @property
    def patch(self) -> Patch:
        (x, y), (rx, ry), (dx, dy) = self.corner, self.right, self.down
        across, along = sorted((x, x + rx + dx)), sorted((y, y + ry + dy))
        return Patch(image_index=self.image_index, box=Box(across[0], along[0], across[1], along[1]))


@dataclass(frozen=True, slots=True)
class ShownPicture:
    """A picture of the episode."""

    width: int
    height: int
    whole: SeenParts
    """What it shows of the question."""
    place: PicturePlace | None = None
    """None where places on it cannot be followed."""

    def region(self, box: Box) -> SeenParts:
        """What a region of it shows, in its pixels; clipped, and nothing where that leaves none."""
        inside = box.clipped(self.width, self.height)
        if not inside.is_ordered:
            return NOTHING
        return self.whole if self.place is None else SeenParts(patches=(self._part(inside).patch,))

    def cut(self, box: Box) -> PicturePlace | None:
        inside = box.clipped(self.width, self.height)
        return self._part(inside) if self.place is not None and inside.is_ordered else None

    def _part(self, inside: Box) -> PicturePlace:
        assert self.place is not None
        return self.place.part(*inside.as_tuple(), size=(self.width, self.height))


def question_picture(index: int, image: ImageRef) -> ShownPicture:
    """``Task.images[index]`` itself."""
    place = PicturePlace(index, (0.0, 0.0), (float(image.width), 0.0), (0.0, float(image.height)))
    return ShownPicture(image.width, image.height, SeenParts(patches=(place.patch,)), place)
