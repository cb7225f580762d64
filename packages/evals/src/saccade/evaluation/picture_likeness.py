"""Pictures that look the same: 256-bit perceptual hashes of a picture and its parts inside borders, and mean colours.

A hash (``imagehash.phash`` of 16 x 16) says which low frequencies of the grey picture are strong. Two pictures are one
where few bits differ. A regular grid whose shapes are as bright as their ground has hardly any frequencies of its own,
and JPEG decides many of its bits: where more bits differ, the mean colours of 16 x 16 cells decide, which JPEG leaves.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.errors import missing_extra
from saccade.types import ImageRef

HASH_SIDE = 16
MAX_DISTANCE = 32
"""Bits of 256 up to which two pictures are one: finds JPEG 75 and half size; tables of one kind lie farther."""
BORDER_TOLERANCES = (1, 16)
"""Spreads of values within a border's row or column: of one that is exact, and of one in which JPEG wrote noise."""
LEAST_CONTRAST = 0.3
"""Standard deviation of values below which a picture says too little to be told by a hash."""
BLOCK = 512
COLOUR_TOO, COLOUR_ALONE = 3.0, 6.0
"""Contrast of a colour over that of the greys, from which on it is looked at as well, and from which on alone."""
NEARLY_STRONGEST = 0.8
CELLS_SIDE = 16
FAR_DISTANCE = 64
"""Bits up to which two pictures are one if their cells have the same colours."""
SAME_COLOUR = 4
"""Of 255, in any channel of any cell, up to which two cells have the same colour."""
PAIRS_AT_ONCE = 1 << 15

Hash = tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class PictureViews:
    """A picture whole and without its borders, each as a hash and the mean colours of its cells."""

    hashes: tuple[Hash, ...] = ()
    """256 bits each, as four numbers; none of a picture of one colour."""
    cells: tuple[bytes, ...] = ()
    """RGB of 16 x 16 cells, of the same views."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PicturePair:
    """A picture of the test questions and one of the training data that is the same."""

    test: ImageRef
    train: ImageRef
    distance: int
    """Bits that differ, of 256."""
    is_identical: bool
    """Every pixel is the same."""


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


def views_of(picture: Image.Image) -> PictureViews:
    """Several views, since a border may have the colour of the picture's own margin or another one."""
    try:
        import imagehash
    except ImportError as error:
        raise missing_extra("evals", "imagehash", needed_for="perceptual hashes") from error
    found: dict[Hash, bytes] = {}
    for view in (picture, *(trimmed(picture, tolerance) for tolerance in BORDER_TOLERANCES)):
        cells = view.convert("RGB").resize((CELLS_SIDE, CELLS_SIDE), Image.Resampling.BOX).tobytes()
        for shades in _shades(view):
            bits = imagehash.phash(shades, hash_size=HASH_SIDE).hash.flatten()
            found.setdefault(tuple(int(word) for word in np.packbits(bits).view(np.uint64)), cells)
    return PictureViews(hashes=tuple(found), cells=tuple(found.values()))


def _shades(view: Image.Image) -> Iterator[Image.Image]:
    """What hashes are made of: the greys, the strong colours where those have little of their contrast, or both."""
    greys = view.convert("L")
    colours = view.convert("RGB").split()
    contrast, strongest = _contrast(greys), max(map(_contrast, colours))
    if contrast >= LEAST_CONTRAST and strongest < COLOUR_ALONE * contrast:
        yield greys
    if strongest >= max(LEAST_CONTRAST, COLOUR_TOO * contrast):
        # All that a copy may find the strongest: JPEG changes a little.
        yield from (colour for colour in colours if _contrast(colour) >= NEARLY_STRONGEST * strongest)


def _contrast(shades: Image.Image) -> float:
    return float(np.asarray(shades, dtype=np.float64).std())


def picture_pairs(
    train: Sequence[ImageRef],
    test: Sequence[ImageRef],
    hashes: Mapping[str, Sequence[Hash]],
    *,
    cells: Mapping[str, Sequence[bytes]] | None = None,
    max_distance: int = MAX_DISTANCE,
) -> Iterator[PicturePair]:
    """Pairs within the distance, by the nearest of their hashes, test pictures in their order; all against all.

    Where ``cells`` are given, of the same views, those whose cells have the same colours are pairs as well.
    """
    plain = {image.hash: image for image in train if not hashes[image.hash]}
    words, owners = _arrays(train, hashes)
    colours = None if cells is None else _colours(train, cells)
    for start in range(0, len(test), BLOCK):
        block = test[start : start + BLOCK]
        nearest: dict[tuple[int, int], int] = {}
        own, places = _arrays(block, hashes)
        # A word at a time, so that a block against a hundred thousand pictures fits in memory.
        distance = np.zeros((len(places), len(owners)), dtype=np.uint16)
        for word in range(4):
            distance += np.bitwise_count(own[:, word, None] ^ words[None, :, word])
        near = distance <= max_distance
        if cells is not None and colours is not None:
            near |= _of_same_colours(_colours(block, cells), colours, (distance <= FAR_DISTANCE) & ~near)
        for row, column in np.argwhere(near):
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


def _of_same_colours(own: NDArray[np.uint8], others: NDArray[np.uint8], asked: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which of the asked pairs have the same colour in every cell."""
    rows, columns = np.nonzero(asked)
    found = np.zeros_like(asked)
    for start in range(0, len(rows), PAIRS_AT_ONCE):
        row, column = rows[start : start + PAIRS_AT_ONCE], columns[start : start + PAIRS_AT_ONCE]
        found[row, column] = np.abs(own[row].astype(np.int16) - others[column]).max(axis=1) <= SAME_COLOUR
    return found


def _arrays(
    images: Sequence[ImageRef], hashes: Mapping[str, Sequence[Hash]]
) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """All hashes of the images, and the place of the image that each is of."""
    found = [(words, place) for place, image in enumerate(images) for words in hashes[image.hash]]
    words = np.array([one for one, _ in found], dtype=np.uint64).reshape(-1, 4)
    return words, np.array([place for _, place in found], dtype=np.int64)


def _colours(images: Sequence[ImageRef], cells: Mapping[str, Sequence[bytes]]) -> NDArray[np.uint8]:
    """The cells of all views of the images, a row for each."""
    rows = b"".join(row for image in images for row in cells[image.hash])
    return np.frombuffer(rows, dtype=np.uint8).reshape(-1, 3 * CELLS_SIDE**2)
