"""Pictures with a part of them blackened, to ask what a model would say without it."""

import numpy as np
from PIL import Image

from saccade.seeding import seed_for


def with_black_patches(picture: Image.Image, *, share: float, patch_px: int, seed: int) -> Image.Image:
    """A copy in RGB: of its squares of ``patch_px`` pixels each is black with the probability ``share``."""
    pixels = np.array(picture.convert("RGB"))
    rows, columns = (-(-side // patch_px) for side in pixels.shape[:2])
    chance = np.random.default_rng(seed_for(seed, "black patches", picture.width, picture.height))
    is_black = chance.random((rows, columns)) < share
    blown = is_black.repeat(patch_px, axis=0).repeat(patch_px, axis=1)
    pixels[blown[: pixels.shape[0], : pixels.shape[1]]] = 0
    return Image.fromarray(pixels)
