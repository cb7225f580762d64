"""Overlays: copies of a question's pictures with marks and their coordinates, which a teacher reads off (section 4.1).

Coordinates are those of the original whatever size the copy has. Frames of a video have their number and time too.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Sequence

from PIL import Image, ImageDraw

from saccade.curation.argos.marks import Mark
from saccade.media.store import MediaStore
from saccade.tasks.drawing import font
from saccade.types import ImageRef, Task

LEAST_LONG_SIDE_PX = 768
"""Smaller pictures are enlarged, so that coordinates can be written beside the things and not over them."""

MAX_PIXELS = 1 << 24

TEXT_SHARE = 45
"""The long side, divided by the height of the letters: they stay legible when a server shrinks a large picture."""


class Overlays:
    """Copies of pictures with marks, in the store while a question about them is out: there is one for each picture."""

    def __init__(self, media: MediaStore, originals: Iterable[ImageRef]) -> None:
        """``originals`` are never taken out of the store: a large picture without marks is its own copy."""
        self._media = media
        self._originals = {image.hash for image in originals}
        self._out: Counter[str] = Counter()
        self._lock = threading.Lock()

    def lend(self, task: Task, marks: Sequence[Mark]) -> tuple[ImageRef, ...]:
        """A copy of each picture of the task; safe to call from many threads."""
        lent = []
        for index, image in enumerate(task.images):
            heading = ""
            if task.frame_times_s:
                heading = f"frame {index + 1}   {task.frame_times_s[index]:.2f} s"
            of_image = [mark for mark in marks if mark.image_index == index]
            copy = overlaid(self._media.get(image), of_image, heading)
            with self._lock:
                reference = self._media.add(copy)
                self._out[reference.hash] += 1
            lent.append(reference)
        return tuple(lent)

    def take_back(self, lent: Iterable[ImageRef]) -> None:
        """The question is over."""
        with self._lock:
            for reference in lent:
                self._out[reference.hash] -= 1
                if not self._out[reference.hash]:
                    del self._out[reference.hash]
                    if reference.hash not in self._originals:
                        self._media.forget(reference)


def overlaid(picture: Image.Image, marks: Sequence[Mark], heading: str = "") -> Image.Image:
    """An RGB copy, enlarged by a whole number where it is small, with a cross and its coordinates at each mark."""
    times = _enlargement(picture.size)
    copy = picture.convert("RGB").resize((picture.width * times, picture.height * times), Image.Resampling.NEAREST)
    draw = ImageDraw.Draw(copy)
    size = min(96, max(12, max(copy.size) // TEXT_SHARE))
    taken: list[tuple[float, float, float, float]] = []
    if heading:
        taken.append(_write_words(draw, heading, (0, 0), size))
    arm, width = size // 2, max(1, size // 8)
    for mark in marks:
        x, y = ((side + 0.5) * times for side in (mark.point.x, mark.point.y))
        for colour, more in (("black", width), ("yellow", 0)):
            draw.line([(x - arm, y), (x + arm, y)], fill=colour, width=width + more)
            draw.line([(x, y - arm), (x, y + arm)], fill=colour, width=width + more)
    for mark in marks:
        words = f"({mark.point.x:.0f}, {mark.point.y:.0f})"
        x, y = ((side + 0.5) * times for side in (mark.point.x, mark.point.y))
        taken.append(_write_words(draw, words, _free_place(draw, words, (x, y), size, taken), size))
    return copy


def _enlargement(size: tuple[int, int]) -> int:
    wanted = -(-LEAST_LONG_SIDE_PX // max(size))
    return max(1, min(wanted, int((MAX_PIXELS / (size[0] * size[1])) ** 0.5)))


def _free_place(
    draw: ImageDraw.ImageDraw,
    words: str,
    at: tuple[float, float],
    size: int,
    taken: Sequence[tuple[float, float, float, float]],
) -> tuple[float, float]:
    """Upper left corner for words beside a mark: inside of the picture, over no other words where there is room."""
    left, top, right, bottom = draw.textbbox((0, 0), words, font=font(size))
    width, height = right - left + 4, bottom - top + 4
    gap = size * 0.6
    beside = [
        (at[0] + gap, at[1] - height / 2),
        (at[0] - gap - width, at[1] - height / 2),
        (at[0] - width / 2, at[1] + gap),
        (at[0] - width / 2, at[1] - gap - height),
        (at[0] + gap, at[1] + gap),
        (at[0] - gap - width, at[1] - gap - height),
    ]
    inside = [
        (max(0.0, min(x, draw.im.size[0] - width)), max(0.0, min(y, draw.im.size[1] - height))) for x, y in beside
    ]

    def is_free(corner: tuple[float, float]) -> bool:
        x, y = corner
        return all(x + width <= a or c <= x or y + height <= b or d <= y for a, b, c, d in taken)

    return next(filter(is_free, inside), inside[0])


def _write_words(
    draw: ImageDraw.ImageDraw, words: str, corner: tuple[float, float], size: int
) -> tuple[float, float, float, float]:
    """Writes words on a dark ground; the box that they take."""
    left, top, right, bottom = draw.textbbox((0, 0), words, font=font(size))
    x, y = round(corner[0]), round(corner[1])
    box = (x, y, x + round(right - left) + 4, y + round(bottom - top) + 4)
    draw.rectangle(box, fill="black")
    draw.text((x + 2 - left, y + 2 - top), words, fill="yellow", font=font(size))
    return box
