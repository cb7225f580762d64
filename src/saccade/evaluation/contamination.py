"""Contamination of test questions by training data: equal pixels, pictures that look the same, equal words.

Pictures are compared by a perceptual hash of 256 bits (``imagehash.phash`` of 16 x 16) after uniform borders are cut
off. It finds copies in another size, format or frame. It does not find crops, rotations and mirror images, nor the same
scene drawn or photographed again; pictures of one colour are compared by their pixels alone. A regular grid whose
shapes are as bright as their ground has hardly any frequencies of its own: JPEG decides many of its bits.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import missing_extra
from saccade.media.store import MediaStore
from saccade.types import ImageRef, Json, Task

HASH_SIDE = 16
MAX_DISTANCE = 32
"""Bits of 256 up to which two pictures are one: finds JPEG 75 and half size; tables of one kind lie farther."""
BORDER_TOLERANCES = (1, 16)
"""Spreads of values within a border's row or column: of one that is exact, and of one in which JPEG wrote noise."""
LEAST_CONTRAST = 0.3
"""Standard deviation of grey values below which a picture says too little to be told by a hash."""
BLOCK = 512

CANNOT_FIND = (
    "Not found: crops, rotations and mirror images of a picture, the same scene drawn or photographed again, some "
    "copies by JPEG of regular grids whose shapes are as bright as their ground, and questions in other words."
)

Hash = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PicturePair:
    """A picture of the test questions and one of the training data that is the same."""

    test: ImageRef
    train: ImageRef
    distance: int
    """Bits that differ, of 256."""
    is_identical: bool
    """Every pixel is the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Contamination:
    """What test questions share with training data."""

    test_questions: int
    train_questions: int
    test_pictures: int
    train_pictures: int
    plain_pictures: int
    """Pictures of one colour, compared by pixels alone."""
    pairs: tuple[PicturePair, ...]
    by_pixels: tuple[str, ...]
    """Test questions with a picture whose pixels are in the training data, by id."""
    by_look: tuple[str, ...]
    """Test questions with a picture that looks like one of the training data, those by pixels among them."""
    by_words: tuple[str, ...]
    """Test questions whose words and options are in the training data, whatever their pictures."""
    by_both: tuple[str, ...]
    """Test questions whose words are asked of a picture that looks the same: these were trained on."""

    def as_json(self) -> dict[str, Json]:
        return {
            "test_questions": self.test_questions,
            "train_questions": self.train_questions,
            "test_pictures": self.test_pictures,
            "train_pictures": self.train_pictures,
            "plain_pictures": self.plain_pictures,
            "by_pixels": list(self.by_pixels),
            "by_look": list(self.by_look),
            "by_words": list(self.by_words),
            "by_both": list(self.by_both),
            "pairs": [
                {
                    "test": one.test.hash,
                    "train": one.train.hash,
                    "distance": one.distance,
                    "identical": one.is_identical,
                }
                for one in self.pairs
            ],
            "not_found": CANNOT_FIND,
        }

    def describe(self) -> str:
        """Lines for the terminal."""
        n = self.test_questions
        lines = [
            f"{n:,} test questions on {self.test_pictures:,} pictures, {self.train_questions:,} training questions on "
            f"{self.train_pictures:,} pictures",
            f"by pixels: {len(self.by_pixels):,} of {n:,} test questions have a picture of the training data",
            f"by look: {len(self.by_look):,} of {n:,} (within {MAX_DISTANCE} of 256 bits, borders cut off)",
            f"by words: {len(self.by_words):,} of {n:,} are asked in the training data in the same words",
            f"by words and look: {len(self.by_both):,} of {n:,}",
        ]
        if self.plain_pictures:
            lines.append(f"{self.plain_pictures:,} pictures of one colour were compared by pixels alone")
        return "\n".join([*lines, CANNOT_FIND])


def contamination(
    train: Sequence[Task], test: Sequence[Task], *, media: MediaStore, max_distance: int = MAX_DISTANCE
) -> Contamination:
    """What the test questions share with the training questions; the pictures are in ``media``."""
    train_pictures, test_pictures = _pictures(train), _pictures(test)
    hashes = {image.hash: perceptual_hashes(media.get(image)) for image in {*train_pictures, *test_pictures}}
    pairs = list(picture_pairs(train_pictures, test_pictures, hashes, max_distance=max_distance))
    like: dict[str, set[str]] = {}
    for pair in pairs:
        like.setdefault(pair.test.hash, set()).add(pair.train.hash)
    known = {image.hash for image in train_pictures}
    asked_of: dict[str, set[str]] = {}
    for task in train:
        asked_of.setdefault(words_of(task), set()).update(image.hash for image in task.images)
    by_look = [task for task in test if any(image.hash in like for image in task.images)]
    by_words = [task for task in test if words_of(task) in asked_of]
    return Contamination(
        test_questions=len(test),
        train_questions=len(train),
        test_pictures=len(test_pictures),
        train_pictures=len(train_pictures),
        plain_pictures=sum(not found for found in hashes.values()),
        pairs=tuple(pairs),
        by_pixels=tuple(task.id for task in test if any(image.hash in known for image in task.images)),
        by_look=tuple(task.id for task in by_look),
        by_words=tuple(task.id for task in by_words),
        by_both=tuple(task.id for task in by_words if _shares_pictures(task, asked_of[words_of(task)], like)),
    )


def _shares_pictures(task: Task, pictures: set[str], like: Mapping[str, set[str]]) -> bool:
    """Of a question without pictures its words are all there is."""
    return not task.images or any(pictures & like.get(image.hash, set()) for image in task.images)


def _pictures(tasks: Iterable[Task]) -> list[ImageRef]:
    return list({image.hash: image for task in tasks for image in task.images}.values())


def words_of(task: Task) -> str:
    """Question and options in small letters, without marks and spaces between words."""
    text = " ".join([task.question, *task.choices])
    return " ".join(re.findall(r"\w+", text.casefold()))


def trimmed(picture: Image.Image, tolerance: int = BORDER_TOLERANCES[-1]) -> Image.Image:
    """The picture without borders of one colour; the whole of it where nothing else is there."""
    pixels = np.asarray(picture.convert("RGB"), dtype=np.int16)
    top, bottom = _content(pixels, tolerance)
    left, right = _content(pixels.transpose(1, 0, 2), tolerance)
    if bottom - top < 2 or right - left < 2:
        return picture
    return picture.crop((left, top, right, bottom))


def _content(lines: NDArray[np.int16], tolerance: int) -> tuple[int, int]:
    """First line that is no border, and the one after the last: a border's lines have the outermost line's colour."""
    middle = np.median(lines, axis=1)
    spread = np.abs(lines - middle[:, None, :]).max(axis=(1, 2))
    return _border(spread, middle, tolerance), len(lines) - _border(spread[::-1], middle[::-1], tolerance)


def _border(spread: NDArray[np.float64], middle: NDArray[np.float64], tolerance: int) -> int:
    is_border = (spread <= tolerance) & (np.abs(middle - middle[0]).max(axis=1) <= tolerance)
    return int(np.argmin(is_border)) if not is_border.all() else len(is_border)


def perceptual_hashes(picture: Image.Image) -> tuple[Hash, ...]:
    """256 bits each, as four numbers: of the whole picture, and of it without its borders; none of one colour.

    Several, since a border may have the colour of the picture's own margin or another one.
    """
    try:
        import imagehash
    except ImportError as error:
        raise missing_extra("contamination", "imagehash", needed_for="perceptual hashes") from error
    found: list[Hash] = []
    for view in (picture, *(trimmed(picture, tolerance) for tolerance in BORDER_TOLERANCES)):
        if float(np.asarray(view.convert("L"), dtype=np.float64).std()) >= LEAST_CONTRAST:
            bits = imagehash.phash(view, hash_size=HASH_SIDE).hash.flatten()
            found.append(tuple(int(word) for word in np.packbits(bits).view(np.uint64)))
    return tuple(dict.fromkeys(found))


def picture_pairs(
    train: Sequence[ImageRef],
    test: Sequence[ImageRef],
    hashes: Mapping[str, Sequence[Hash]],
    *,
    max_distance: int = MAX_DISTANCE,
) -> Iterator[PicturePair]:
    """Pairs within the distance, by the nearest of their hashes, test pictures in their order; all against all."""
    plain = {image.hash: image for image in train if not hashes[image.hash]}
    words, owners = _arrays(train, hashes)
    for start in range(0, len(test), BLOCK):
        block = test[start : start + BLOCK]
        nearest: dict[tuple[int, int], int] = {}
        own, places = _arrays(block, hashes)
        # A word at a time, so that a block against a hundred thousand pictures fits in memory.
        distance = np.zeros((len(places), len(owners)), dtype=np.uint16)
        for word in range(4):
            distance += np.bitwise_count(own[:, word, None] ^ words[None, :, word])
        for row, column in np.argwhere(distance <= max_distance):
            pair = int(places[row]), int(owners[column])
            nearest[pair] = min(nearest.get(pair, HASH_SIDE**2), int(distance[row, column]))
        like_it: dict[int, list[int]] = {}
        for one, owner in sorted(nearest):
            like_it.setdefault(one, []).append(owner)
        for place, image in enumerate(block):
            if image.hash in plain:
                yield PicturePair(test=image, train=plain[image.hash], distance=0, is_identical=True)
            for other in like_it.get(place, ()):
                like = train[other]
                yield PicturePair(
                    test=image, train=like, distance=nearest[place, other], is_identical=image.hash == like.hash
                )


def _arrays(
    images: Sequence[ImageRef], hashes: Mapping[str, Sequence[Hash]]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """All hashes of the images, and the place of the image that each is of."""
    found = [(words, place) for place, image in enumerate(images) for words in hashes[image.hash]]
    words = np.array([one for one, _ in found], dtype=np.uint64).reshape(-1, 4)
    return words, np.array([place for _, place in found], dtype=np.int64)
