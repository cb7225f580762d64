"""Spaces and task sources of the environment, as Gymnasium knows them."""

from collections.abc import Callable, Sequence

import numpy as np
from gymnasium.spaces import Space
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.procedural import Family, generate
from saccade.types import Task

Picture = NDArray[np.uint8]
"""RGB pixels of shape (height, width, 3)."""

_SAMPLED_CHARS = 64
_SAMPLED_SIDE_PX = 64
_SAMPLED_IMAGES = 3

# Code points that samples are drawn from: control characters, ASCII, accents, symbols, CJK, emoji; no surrogates.
_RANGES = ((0x00, 0x7F), (0x20, 0x7E), (0xA0, 0x24F), (0x2190, 0x22FF), (0x4E00, 0x9FFF), (0x1F300, 0x1F5FF))


class UnicodeText(Space[str]):
    """Any text of at most ``max_chars`` characters that UTF-8 can hold; the empty text is one."""

    def __init__(self, max_chars: int, *, seed: int | None = None) -> None:
        if max_chars < 1:
            raise UserError(f"max_chars={max_chars} holds no text; use 1 or more")
        self.max_chars = max_chars
        super().__init__(shape=None, dtype=None, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: None = None, probability: None = None) -> str:
        """A short text of characters from many scripts."""
        _refuse_masks(mask, probability)
        rng = self.np_random
        length = int(rng.integers(0, min(self.max_chars, _SAMPLED_CHARS) + 1))
        ranges = [_RANGES[int(choice)] for choice in rng.integers(0, len(_RANGES), size=length)]
        return "".join(chr(int(rng.integers(first, last + 1))) for first, last in ranges)

    def contains(self, x: object) -> bool:
        if not isinstance(x, str) or len(x) > self.max_chars:
            return False
        try:
            x.encode()
        except UnicodeEncodeError:
            return False
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UnicodeText) and other.max_chars == self.max_chars

    def __hash__(self) -> int:
        return hash(("UnicodeText", self.max_chars))

    def __repr__(self) -> str:
        return f"UnicodeText({self.max_chars})"


class RgbImages(Space[tuple[Picture, ...]]):
    """A tuple of up to ``max_images`` RGB pictures of any size from 1 to ``max_pixels`` pixels each."""

    def __init__(self, max_images: int, max_pixels: int, *, seed: int | None = None) -> None:
        if max_images < 1 or max_pixels < 1:
            raise UserError(f"max_images={max_images} and max_pixels={max_pixels} must both be 1 or more")
        self.max_images = max_images
        self.max_pixels = max_pixels
        super().__init__(shape=None, dtype=np.uint8, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: None = None, probability: None = None) -> tuple[Picture, ...]:
        """A few small pictures of noise."""
        _refuse_masks(mask, probability)
        count = int(self.np_random.integers(0, min(self.max_images, _SAMPLED_IMAGES) + 1))
        return tuple(self._sample_one() for _ in range(count))

    def contains(self, x: object) -> bool:
        if not isinstance(x, tuple) or len(x) > self.max_images:
            return False
        return all(isinstance(picture, np.ndarray) and self._is_picture(picture) for picture in x)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, RgbImages) and other.max_images == self.max_images and other.max_pixels == self.max_pixels
        )

    def __hash__(self) -> int:
        return hash(("RgbImages", self.max_images, self.max_pixels))

    def __repr__(self) -> str:
        return f"RgbImages({self.max_images}, {self.max_pixels})"

    def _sample_one(self) -> Picture:
        width = int(self.np_random.integers(1, min(self.max_pixels, _SAMPLED_SIDE_PX) + 1))
        height = int(self.np_random.integers(1, min(self.max_pixels // width, _SAMPLED_SIDE_PX) + 1))
        return self.np_random.integers(0, 256, size=(height, width, 3), dtype=np.uint8)

    def _is_picture(self, array: NDArray[np.generic]) -> bool:
        if array.dtype != np.uint8 or array.ndim != 3:
            return False
        return array.shape[2] == 3 and 0 < array.size <= 3 * self.max_pixels


def _refuse_masks(mask: object, probability: object) -> None:
    if mask is not None or probability is not None:
        raise UserError("samples of text and pictures take no mask and no probability; leave both out")


TaskSource = Callable[[np.random.Generator], Task]

INDEX_BOUND = 1 << 31
"""Indices of endless sources are drawn below this."""


def task_source(
    *,
    tasks: Sequence[Task] | Callable[[int], Task] | None,
    family: Family | None,
    split: str,
    seed: int,
    difficulty: float,
    media: MediaStore,
) -> TaskSource | None:
    """Draws from a sequence, a function of an index, or a procedural family; None when neither is given."""
    if tasks is not None and family is not None:
        raise UserError(f"both tasks and family={family!r} are given; pass one of them")
    if family is not None:
        # Here, not at the first reset, so that a wrong name, split or difficulty stops before work starts.
        generate(family, split=split, index=0, seed=seed, media=MediaStore(), difficulty=difficulty)

        def from_family(rng: np.random.Generator) -> Task:
            index = int(rng.integers(INDEX_BOUND))
            return generate(family, split=split, index=index, seed=seed, media=media, difficulty=difficulty).task

        return from_family
    if tasks is None:
        return None
    return _from_function(tasks) if callable(tasks) else _from_sequence(tasks)


def check_stored(task: Task, media: MediaStore) -> None:
    """``UserError`` for a task whose images are not in the store."""
    for image in task.images:
        if image.hash not in media:
            raise UserError(
                f"image {image.hash[:12]} of task {task.id} is not in the environment's media store; pass the "
                "store that the task was made with as media="
            )


def _from_function(tasks: Callable[[int], Task]) -> TaskSource:
    return lambda rng: tasks(int(rng.integers(INDEX_BOUND)))


def _from_sequence(tasks: Sequence[Task]) -> TaskSource:
    if not tasks:
        raise UserError("tasks is empty; pass at least one task")
    return lambda rng: tasks[int(rng.integers(len(tasks)))]
