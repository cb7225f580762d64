"""Worn looks: a picture as a scan, a photograph of a screen, a small JPEG or out of focus; regions move along."""

import io
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from saccade.geometry import Box
from saccade.gym.levels import Levels
from saccade.gym.rendering import Renderer, Rendering, SeenRegion
from saccade.gym.state import SceneState

AXIS = "wear"
Coefficients = tuple[float, float, float, float, float, float, float, float]
"""Of Pillow's perspective: where in the picture each pixel of the result comes from."""

Degrade = Callable[[Image.Image, Generator, Levels], tuple[Image.Image, Coefficients | None]]


def degraded(renderer: Renderer, name: str, degrade: Degrade) -> Renderer:
    """A look that draws as another and then wears its pictures: ``LOOK_scan``."""

    def render(state: SceneState, rng: Generator, levels: Levels) -> Rendering:
        rendering = renderer.render(state, rng, levels)
        images: list[Image.Image] = []
        regions: list[SeenRegion] = []
        for index, image in enumerate(rendering.images):
            worn, warp = degrade(image, rng, levels)
            images.append(worn)
            mine = [one for one in rendering.regions if one.image_index == index]
            regions += (
                mine if warp is None else [moved for one in mine if (moved := _warped_region(one, image.size, warp))]
            )
        return replace(rendering, images=tuple(images), regions=tuple(regions))

    return replace(
        renderer,
        name=f"{renderer.name}_{name}",
        render=render,
        axes=(*renderer.axes, AXIS),
        has_flat_colours=False,
    )


def worn_looks(*renderers: Renderer) -> tuple[Renderer, ...]:
    """Every look in every state of wear."""
    return tuple(degraded(renderer, name, degrade) for renderer in renderers for name, degrade in WEAR.items())


def _jpeg(image: Image.Image, rng: Generator, levels: Levels) -> tuple[Image.Image, Coefficients | None]:
    """Blocks and ringing of a strong compression."""
    return _compressed(image, levels.whole(AXIS, 60, 35, 18)), None


def _blur(image: Image.Image, rng: Generator, levels: Levels) -> tuple[Image.Image, Coefficients | None]:
    """Slightly out of focus."""
    return image.filter(ImageFilter.GaussianBlur(levels.knob(AXIS, 0.5, 0.8, 1.2))), None


def _scan(image: Image.Image, rng: Generator, levels: Levels) -> tuple[Image.Image, Coefficients | None]:
    """Grey, a little askew, with grain and a shadow at one side."""
    angle = math.radians(float(rng.uniform(0.3, 1.0)) * levels.knob(AXIS, 1, 2, 3) * (1 if rng.integers(2) else -1))
    width, height = image.size
    warp = _turn(angle, width / 2, height / 2)
    turned = image.convert("L").transform(
        image.size, Image.Transform.PERSPECTIVE, warp, Image.Resampling.BICUBIC, fillcolor=236
    )
    grain = rng.normal(0, levels.knob(AXIS, 3, 6, 10), size=(height, width))
    shadow = np.linspace(0, float(rng.uniform(8, 26)), width)[None, :]
    pixels = np.clip(np.asarray(turned, dtype=np.float64) + grain - shadow, 0, 255).astype(np.uint8)
    return _compressed(Image.fromarray(pixels).convert("RGB"), 70), warp


def _photo(image: Image.Image, rng: Generator, levels: Levels) -> tuple[Image.Image, Coefficients | None]:
    """A photograph of a screen: seen from a side, with its lines, a tint and dark corners."""
    width, height = image.size
    lean = 0.02 * levels.knob(AXIS, 1, 2, 3)
    corners = [(float(x) * width * lean, float(y) * height * lean) for x, y in rng.uniform(0, 1, size=(4, 2))]
    (ax, ay), (bx, by), (cx, cy), (dx, dy) = corners
    there = [(ax, ay), (width - bx, by), (width - cx, height - cy), (dx, height - dy)]
    warp = _perspective(there, [(0, 0), (width, 0), (width, height), (0, height)])
    seen = image.transform(
        image.size, Image.Transform.PERSPECTIVE, warp, Image.Resampling.BICUBIC, fillcolor=(24, 24, 26)
    )
    y, x = np.mgrid[0:height, 0:width]
    lines = 1 + levels.knob(AXIS, 0.02, 0.04, 0.07) * np.sin(y * float(rng.uniform(1.9, 2.6)) + x * 0.03)
    away = ((x / width - 0.5) ** 2 + (y / height - 0.5) ** 2) * levels.knob(AXIS, 0.3, 0.5, 0.8)
    tint = rng.uniform(0.9, 1.0, size=3)
    shade = (lines * (1 - away))[..., None] * tint
    pixels = np.clip(np.asarray(seen, dtype=np.float64) * shade, 0, 255).astype(np.uint8)
    return _compressed(Image.fromarray(pixels), 75), warp


WEAR: dict[str, Degrade] = {"jpeg": _jpeg, "blur": _blur, "scan": _scan, "photo": _photo}


def _compressed(image: Image.Image, quality: int) -> Image.Image:
    held = io.BytesIO()
    image.save(held, format="JPEG", quality=quality)
    return Image.open(held).convert("RGB")


def _turn(angle: float, x: float, y: float) -> Coefficients:
    cos, sin = math.cos(angle), math.sin(angle)
    return (cos, -sin, x - cos * x + sin * y, sin, cos, y - sin * x - cos * y, 0.0, 0.0)


def _perspective(there: list[tuple[float, float]], here: list[tuple[float, float]]) -> Coefficients:
    """From four corners in the result to those in the picture."""
    rows: list[list[float]] = []
    for (x, y), (u, v) in zip(there, here):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
    a, b, c, d, e, f, g, h = np.linalg.solve(np.array(rows), np.array(here).ravel()).tolist()
    return (a, b, c, d, e, f, g, h)


def _warped_region(region: SeenRegion, size: tuple[int, int], warp: Coefficients) -> SeenRegion | None:
    """The region after a warp; None where nothing of it is left."""
    width, height = size
    x1, y1, x2, y2 = (int(side) for side in region.box.as_tuple())
    whole: NDArray[np.uint8] = np.zeros((height, width), dtype=np.uint8)
    whole[y1:y2, x1:x2] = 255 if region.cover is None else region.cover * np.uint8(255)
    moved = np.asarray(Image.fromarray(whole).transform(size, Image.Transform.PERSPECTIVE, warp)) > 127
    rows, columns = np.flatnonzero(moved.any(axis=1)), np.flatnonzero(moved.any(axis=0))
    if not len(rows):
        return None
    top, bottom, left, right = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
    cover = moved[top:bottom, left:right]
    return replace(region, box=Box(left, top, right, bottom), cover=None if cover.all() else cover)
