"""Pictures of solids on a floor by casting rays: colours, which solid each pixel shows, and its depth.

Bodies are spheres, boxes, cylinders and cones that stand upright. All is numpy in single precision: no threads, no
other library, the same bytes in every process.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from saccade.gym.grammars.solids import Viewpoint
from saccade.gym.looks.bodies import BALL, FAR, Body, Floats, hit
from saccade.gym.looks.lighting import Floor, shaded_colours

OVERSAMPLING = 2
GREY: Floor = ((150, 150, 150), (138, 138, 138))
FARTHEST = np.float32(60)


@dataclass(frozen=True, kw_only=True, slots=True)
class Shot:
    """What the camera took."""

    pixels: NDArray[np.uint8]
    """RGB, (height, width, 3)."""
    ids: NDArray[np.int32]
    """The number of the body that a pixel shows, from 1; 0 where it is the floor or the sky."""
    depth: Floats
    """Distance from the camera along the ray."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lens:
    """The camera's place, unit vectors to its right, up and ahead, and the half width of what it sees at distance 1."""

    place: Floats
    right: Floats
    up: Floats
    ahead: Floats
    reach: float


def lens_of(viewpoint: Viewpoint) -> Lens:
    """The camera of a viewpoint."""
    turn, lift = math.radians(viewpoint.azimuth), math.radians(viewpoint.elevation)
    ahead = np.array([math.sin(turn) * math.cos(lift), math.cos(turn) * math.cos(lift), -math.sin(lift)])
    right = np.array([math.cos(turn), -math.sin(turn), 0.0])
    return Lens(
        place=np.array(viewpoint.place(), dtype=np.float32),
        right=right.astype(np.float32),
        up=np.cross(right, ahead).astype(np.float32),
        ahead=ahead.astype(np.float32),
        reach=math.tan(math.radians(viewpoint.opening / 2)),
    )


def _window(body: Body, lens: Lens, side: int) -> tuple[int, int, int, int]:
    """Rows and columns of pixels around the body's ball."""
    place, right, up, ahead = lens.place, lens.right, lens.up, lens.ahead
    to = np.array(body.center, dtype=np.float32) - place
    z = float(to @ ahead)
    radius = body.half * BALL
    scale = side / 2 / lens.reach
    x, y = side / 2 + scale * float(to @ right) / z, side / 2 - scale * float(to @ up) / z
    r = scale * radius / max(z - radius, 0.1) + 2
    return max(0, int(y - r)), min(side, int(y + r) + 1), max(0, int(x - r)), min(side, int(x + r) + 1)


def cast_rays(bodies: Sequence[Body], viewpoint: Viewpoint, size_px: int, floor: Floor = GREY) -> Shot:
    """The picture of bodies on a floor."""
    lens = lens_of(viewpoint)
    rays = _rays(lens, size_px * OVERSAMPLING)
    ids, depth, normal = _first_hits(bodies, lens, rays)
    points: Floats = (lens.place + np.minimum(depth, FARTHEST)[..., None] * rays).astype(np.float32)
    colours = shaded_colours(bodies, rays, points, ids, depth, normal, floor)
    shape = (size_px, OVERSAMPLING, size_px, OVERSAMPLING, 3)
    half = OVERSAMPLING // 2
    return Shot(
        pixels=np.clip(colours, 0, 255).reshape(shape).mean((1, 3)).round().astype(np.uint8),
        ids=ids[half::OVERSAMPLING, half::OVERSAMPLING].astype(np.int32),
        depth=np.minimum(depth[half::OVERSAMPLING, half::OVERSAMPLING], FARTHEST),
    )


def bodies_shown(bodies: Sequence[Body], viewpoint: Viewpoint, size_px: int) -> NDArray[np.uint8]:
    """The number of the body that each pixel shows, from 1, without colours."""
    lens = lens_of(viewpoint)
    return _first_hits(bodies, lens, _rays(lens, size_px))[0]


@lru_cache(maxsize=64)
def pixels_shown(bodies: tuple[Body, ...], viewpoint: Viewpoint, size_px: int) -> tuple[int, ...]:
    """How many pixels of ``cast_rays`` show each body, without colours: a tenth of its time."""
    lens = lens_of(viewpoint)
    # The second of the two rays of a pixel, whose body is the one that the pixel's id names.
    ids = _first_hits(bodies, lens, _rays(lens, size_px, middle=(OVERSAMPLING // 2 + 0.5) / OVERSAMPLING))[0]
    return tuple(np.bincount(ids.ravel(), minlength=len(bodies) + 1)[1:].tolist())


def _rays(lens: Lens, side: int, *, middle: float = 0.5) -> Floats:
    """Unit vectors through the middles of the pixels, (side, side, 3)."""
    at = ((np.arange(side, dtype=np.float32) + np.float32(middle)) / side * 2 - 1) * np.float32(lens.reach)
    rays = lens.ahead + at[None, :, None] * lens.right - at[:, None, None] * lens.up
    unit: Floats = (rays / np.linalg.norm(rays, axis=2, keepdims=True)).astype(np.float32)
    return unit


def _first_hits(bodies: Sequence[Body], lens: Lens, rays: Floats) -> tuple[NDArray[np.uint8], Floats, Floats]:
    """For each ray the number of the body that it meets first (0: the floor), how far away, and the normal there."""
    side = rays.shape[0]
    ids = np.zeros((side, side), dtype=np.uint8)
    depth = (-lens.place[2] / np.minimum(rays[..., 2], np.float32(-1e-6))).astype(np.float32)
    depth[depth > FARTHEST] = FAR
    normal = np.zeros((side, side, 3), dtype=np.float32)
    normal[..., 2] = 1
    for number, body in enumerate(bodies, 1):
        top, bottom, left, right = _window(body, lens, side)
        if top >= bottom or left >= right:
            continue
        part = rays[top:bottom, left:right].reshape(-1, 3)
        far, facing = hit(body, np.broadcast_to(lens.place, part.shape), part)
        shape = (bottom - top, right - left)
        far, facing = far.reshape(shape), facing.reshape(*shape, 3)
        nearer = far < depth[top:bottom, left:right]
        depth[top:bottom, left:right][nearer] = far[nearer]
        normal[top:bottom, left:right][nearer] = facing[nearer]
        ids[top:bottom, left:right][nearer] = number
    return ids, depth, normal
