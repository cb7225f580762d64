"""Evidence covered up, so that a picture no longer tells what it was asked for; or as much of what is nothing."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from PIL import Image

from saccade.geometry import Box, iou
from saccade.gym.rendering import Rendering, SeenRegion

MARGIN_PX = 3
COVER = ((88, 88, 92), (112, 112, 116))
STRIPE_PX = 6
TRIES = 60
FLAT_LEVELS = 48
"""Grey levels by which a patch of ground may vary, as paper does."""


def covered_up(rendering: Rendering, evidence: tuple[str, ...], rng: Generator) -> Rendering:
    """The pictures with striped patches over the evidence; the regions stay, for they say where one would look."""
    patches = []
    for identity in evidence:
        for region in rendering.of(identity):
            size = rendering.images[region.image_index].size
            patches.append((region.image_index, _wider(region.box, size)))
    return _with_stripes(rendering, patches, rng)


def ground_covered_up(rendering: Rendering, evidence: tuple[str, ...], rng: Generator) -> Rendering:
    """The pictures with as many striped patches on empty ground as there is evidence, where they find room.

    Pictures that answer their question show stripes as well, or stripes alone would say that one does not.
    """
    patches: list[tuple[int, Box]] = []
    for identity in evidence:
        for region in rendering.of(identity):
            place = _empty_place(rendering, region, patches, rng)
            patches += [] if place is None else [(region.image_index, place)]
    return _with_stripes(rendering, patches, rng)


def _with_stripes(rendering: Rendering, patches: Sequence[tuple[int, Box]], rng: Generator) -> Rendering:
    images = [image.copy() for image in rendering.images]
    phase = int(rng.integers(2 * STRIPE_PX))
    for index, box in patches:
        x1, y1, x2, y2 = (int(side) for side in box.as_tuple())
        at = np.add.outer(np.arange(y1, y2), np.arange(x1, x2)) + phase
        stripes = np.asarray(COVER, dtype=np.uint8)[at // STRIPE_PX % 2]
        images[index].paste(Image.fromarray(stripes), (x1, y1))
    return replace(rendering, images=tuple(images))


def _empty_place(
    rendering: Rendering, region: SeenRegion, taken: Sequence[tuple[int, Box]], rng: Generator
) -> Box | None:
    """A place for a patch of the region's size, or half or a quarter of it, that hides nothing; None where there is
    none."""
    image = rendering.images[region.image_index]
    pixels = np.asarray(image.convert("RGB"), dtype=np.int16)
    full = [one.box for one in rendering.regions if one.image_index == region.image_index]
    full += [box for index, box in taken if index == region.image_index]
    for part in (1.0, 0.5, 0.25):
        wide, high = (max(8, round(part * side) + 2 * MARGIN_PX) for side in (region.box.width, region.box.height))
        if wide >= image.width or high >= image.height:
            continue
        for _ in range(TRIES):
            x, y = int(rng.integers(image.width - wide)), int(rng.integers(image.height - high))
            box = Box(x, y, x + wide, y + high)
            there = pixels[y : y + high, x : x + wide].reshape(-1, 3)
            is_flat = int(np.ptp(there, axis=0).max()) <= FLAT_LEVELS
            if is_flat and all(iou(box, other) == 0 for other in full):
                return box
    return None


def _wider(box: Box, size: tuple[int, int]) -> Box:
    return Box(box.x1 - MARGIN_PX, box.y1 - MARGIN_PX, box.x2 + MARGIN_PX, box.y2 + MARGIN_PX).clipped(*size)
