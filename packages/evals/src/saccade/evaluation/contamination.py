"""Contamination of test questions by training data: equal pixels, pictures that look the same, equal words.

Pictures are compared by a perceptual hash of 256 bits (``imagehash.phash`` of 16 x 16) after uniform borders are cut
off, and where that says little by the mean colours of their parts (``picture_likeness.py``). It finds copies in another
size, format or frame. It does not find crops, rotations and mirror images, nor the same scene drawn or photographed
again; pictures of one colour are compared by their pixels alone.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saccade.evaluation.picture_likeness import MAX_DISTANCE, PicturePair, picture_pairs, views_of
from saccade.media.store import MediaStore
from saccade.types import ImageRef, Json, Task

CANNOT_FIND = (
    "Not found: crops, rotations and mirror images of a picture, the same scene drawn or photographed again, a few "
    "copies of pictures without contrast, and questions in other words."
)


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
            f"by look: {len(self.by_look):,} of {n:,} (within {MAX_DISTANCE} of 256 bits, or the same colours; "
            "borders cut off)",
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
    views = {image.hash: views_of(media.get(image)) for image in {*train_pictures, *test_pictures}}
    hashes = {key: one.hashes for key, one in views.items()}
    cells = {key: one.cells for key, one in views.items()}
    pairs = list(picture_pairs(train_pictures, test_pictures, hashes, cells=cells, max_distance=max_distance))
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
