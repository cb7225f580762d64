"""Photographs with coloured tags on them, and a question about the texture of one: what ``saccade init`` begins with.

At 64 x 64 pixels, which is what the shipped base model sees of a whole picture, all textures look alike: only a crop of
the right tag tells the answer.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image

from saccade.gym.drawn.plates import CELL_PX, TEXTURES, draw_plate, plate_corner
from saccade.tasks.scene import SIZE_PX

PHOTOGRAPHS = Path(__file__).parent / "photographs"
COLOURS = ("red", "green", "blue", "yellow")
MOST_TAGS = 3
GREY, SPREAD = 128.0, 35.0
"""Mean and standard deviation of the photographs' grey."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TaggedPhoto:
    """A picture with a question; ``box`` is where to look for the answer: left, top, right, bottom in pixels."""

    image: Image.Image
    question: str
    answer: str
    colour: str
    box: tuple[int, int, int, int]


def tagged_photo(rng: Generator) -> TaggedPhoto:
    """A part of a photograph with one to three tags of different colours; the first one drawn is asked about."""
    names = sorted(file.stem for file in PHOTOGRAPHS.glob("*.webp"))
    pixels = _part(_photograph(names[int(rng.integers(len(names)))]), rng)
    count = int(rng.integers(1, MOST_TAGS + 1))
    cells = [int(cell) for cell in rng.permutation((SIZE_PX // CELL_PX) ** 2)[:count]]
    colours = [COLOURS[int(one)] for one in rng.permutation(len(COLOURS))[:count]]
    textures = [TEXTURES[int(one)] for one in rng.integers(len(TEXTURES), size=count)]
    for cell, colour, texture in zip(cells, colours, textures):
        draw_plate(pixels, *plate_corner(cell, 0, 0), colour, texture)
    row, column = divmod(cells[0], SIZE_PX // CELL_PX)
    left, top = column * CELL_PX, row * CELL_PX
    return TaggedPhoto(
        image=Image.fromarray(pixels),
        question=f"Which texture is on the {colours[0]} plate: rows, columns, checks or plain?",
        answer=textures[0],
        colour=colours[0],
        box=(left, top, left + CELL_PX, top + CELL_PX),
    )


@cache
def _photograph(name: str) -> Image.Image:
    with Image.open(PHOTOGRAPHS / f"{name}.webp") as file:
        return file.convert("L")


def _part(photograph: Image.Image, rng: Generator) -> NDArray[np.uint8]:
    """A square of it at the size of a picture, with the same mean and spread of grey everywhere."""
    side = int(rng.integers(SIZE_PX, min(photograph.size) + 1))
    left, top = (int(rng.integers(length - side + 1)) for length in photograph.size)
    part = photograph.crop((left, top, left + side, top + side)).resize((SIZE_PX, SIZE_PX), Image.Resampling.LANCZOS)
    grey = np.asarray(part, dtype=np.float64)
    even = GREY + SPREAD * (grey - grey.mean()) / max(1.0, float(grey.std()))
    return np.repeat(np.clip(even, 0, 255).astype(np.uint8)[:, :, None], 3, axis=2)
