"""A family's tasks as an audit draws them, with a thumbnail and a perceptual hash of each picture."""

import resource
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.evaluation.picture_likeness import Hash, views_of
from saccade.media.encode import png_bytes
from saccade.media.store import MediaStore
from saccade.tasks.claims import FamilyClaims, claims_of
from saccade.tasks.procedural import Family, family_named, generate
from saccade.tasks.scene import FamilyFunction
from saccade.types import Example, ImageRef, Task

LEVELS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Difficulties that are drawn in turn."""
THUMBNAIL_PX = 64
MOST_PICTURES = 4
"""Pictures of a task that are looked at: pages and frames beyond are left out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PictureLook:
    """What an audit keeps of a picture."""

    thumbnail: NDArray[np.uint8]
    """(THUMBNAIL_PX, THUMBNAIL_PX, 3)"""
    hashes: tuple[Hash, ...]
    png_size: int
    """Bytes of its PNG per thousand pixels: how much there is to see."""


@dataclass(frozen=True, kw_only=True)
class DrawnFamily:
    """Tasks of a family from two splits, all difficulties in turn."""

    name: str
    draw: FamilyFunction
    seed: int
    train: tuple[Example, ...]
    held_out: tuple[Example, ...]
    media: MediaStore
    seen: Mapping[str, PictureLook]
    """By image hash."""
    cpu_s: float
    """Processor time of drawing all of them."""
    memory_mib: float
    """Growth of the peak of this process while they were drawn; the pictures' PNGs are a part of it."""

    @property
    def claims(self) -> FamilyClaims:
        return claims_of(self.draw)

    @property
    def all(self) -> tuple[Example, ...]:
        return (*self.train, *self.held_out)

    def pictures(self, task: Task) -> tuple[Image.Image, ...]:
        return tuple(self.media.get(image) for image in task.images)

    def at_level(self, level: float) -> list[Example]:
        return [one for one in self.all if one.task.difficulty == level]


def drawn_family(family: Family, *, tasks: int, seed: int) -> DrawnFamily:
    """``tasks`` of the training split and half as many held out; UserError where the family draws none."""
    name, draw = family_named(family)
    # Pictures are kept as PNGs beyond a few decoded ones, for a page of a document takes megabytes.
    media = MediaStore(cache_bytes=64 << 20)
    before_mib, started = _peak_mib(), time.process_time()
    train = tuple(_examples(family, "train", tasks, seed, media))
    held_out = tuple(_examples(family, "held_out", max(1, tasks // 2), seed, media))
    cpu_s, memory_mib = time.process_time() - started, _peak_mib() - before_mib
    images = {image.hash: image for example in (*train, *held_out) for image in example.task.images[:MOST_PICTURES]}
    return DrawnFamily(
        name=name,
        draw=draw,
        seed=seed,
        train=train,
        held_out=held_out,
        media=media,
        seen={key: seen_picture(image, media) for key, image in images.items()},
        cpu_s=cpu_s,
        memory_mib=memory_mib,
    )


def _examples(family: Family, split: str, count: int, seed: int, media: MediaStore) -> Iterator[Example]:
    for index in range(count):
        level = LEVELS[index % len(LEVELS)]
        yield generate(family, split=split, index=index, seed=seed, media=media, difficulty=level)


def seen_picture(image: ImageRef, media: MediaStore) -> PictureLook:
    picture = media.get(image)
    small = picture.resize((THUMBNAIL_PX, THUMBNAIL_PX), Image.Resampling.BOX)
    return PictureLook(
        thumbnail=np.asarray(small, dtype=np.uint8),
        # The hash looks at 64 x 64 pixels, so a thumbnail's is the picture's and takes a tenth of the time.
        hashes=views_of(small).hashes,
        png_size=1000 * len(png_bytes(picture)) // (image.width * image.height),
    )


def _peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
