"""Evidence covered up: a picture that no longer tells what it was asked for."""

from dataclasses import replace

import numpy as np
from numpy.random import Generator
from PIL import Image

from saccade.geometry import Box
from saccade.gym.rendering import Rendering

MARGIN_PX = 3
COVER = ((88, 88, 92), (112, 112, 116))
STRIPE_PX = 6


def covered_up(rendering: Rendering, evidence: tuple[str, ...], rng: Generator) -> Rendering:
    """The pictures with striped patches over the evidence; the regions stay, for they say where one would look."""
    images = [image.copy() for image in rendering.images]
    phase = int(rng.integers(2 * STRIPE_PX))
    for identity in evidence:
        for region in rendering.of(identity):
            image = images[region.image_index]
            x1, y1, x2, y2 = (int(side) for side in _wider(region.box, image.size).as_tuple())
            at = np.add.outer(np.arange(y1, y2), np.arange(x1, x2)) + phase
            stripes = np.asarray(COVER, dtype=np.uint8)[at // STRIPE_PX % 2]
            image.paste(Image.fromarray(stripes), (x1, y1))
    return replace(rendering, images=tuple(images))


def _wider(box: Box, size: tuple[int, int]) -> Box:
    return Box(box.x1 - MARGIN_PX, box.y1 - MARGIN_PX, box.x2 + MARGIN_PX, box.y2 + MARGIN_PX).clipped(*size)
