"""Pictures of solids on a floor by casting rays: colours, which solid each pixel shows, and its depth.

Bodies are spheres, boxes, cylinders and cones that stand upright. All is numpy in single precision: no threads, no
other library, the same bytes in every process.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from saccade.gym.grammars.solids import Viewpoint

Floats = NDArray[np.float32]
Hits = tuple[Floats, Floats]
Floor = tuple[tuple[int, int, int], tuple[int, int, int]]

OVERSAMPLING = 2
LIGHT: Floats = (np.array([0.45, -0.35, 0.82]) / np.linalg.norm([0.45, -0.35, 0.82])).astype(np.float32)
"""Towards the lamp."""

GREY: Floor = ((150, 150, 150), (138, 138, 138))
SKY = (205, 210, 216)
TILE = 1.5
FAR = np.float32(1e9)
FARTHEST = np.float32(60)


@dataclass(frozen=True, kw_only=True, slots=True)
class Body:
    """A solid in the world: z is up, the floor is z = 0."""

    kind: str
    """"sphere", "cube", "cylinder" or "cone"."""
    x: float
    y: float
    z: float
    """Height of its lowest point."""
    half: float
    """Half of its width and of its height."""
    yaw: float = 0.0
    """Turn of a cube about the vertical, in radians."""
    rgb: tuple[int, int, int] = (128, 128, 128)
    gloss: float = 0.0

    @property
    def center(self) -> tuple[float, float, float]:
        return (self.x, self.y, self.z + self.half)


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


def _hit(body: Body, origins: Floats, rays: Floats) -> Hits:
    """How far along each ray (rows of origins and directions) the body is met first, and its normal there."""
    o = origins - np.array(body.center, dtype=np.float32)
    return {"sphere": _sphere, "cube": _cube, "cylinder": _cylinder, "cone": _cone}[body.kind](body, o, rays)


def _sphere(body: Body, o: Floats, d: Floats) -> Hits:
    b = (o * d).sum(1)
    c = (o * o).sum(1) - body.half**2
    disc = b * b - c
    near = -b - np.sqrt(np.maximum(disc, 0))
    t: Floats = np.where((disc > 0) & (near > 1e-3), near, FAR).astype(np.float32)
    n: Floats = ((o + t[:, None] * d) / body.half).astype(np.float32)
    return t, n


def _turned(v: Floats, yaw: float) -> Floats:
    c, s = np.float32(np.cos(yaw)), np.float32(np.sin(yaw))
    return np.stack([c * v[:, 0] + s * v[:, 1], -s * v[:, 0] + c * v[:, 1], v[:, 2]], 1)


def _cube(body: Body, o: Floats, d: Floats) -> Hits:
    o, d = _turned(o, body.yaw), _turned(d, body.yaw)
    safe = np.where(np.abs(d) < 1e-9, np.float32(1e-9), d)
    a, b = (-body.half - o) / safe, (body.half - o) / safe
    near = np.minimum(a, b)
    t, far = near.max(1), np.maximum(a, b).min(1)
    axis = near.argmax(1)
    ok = (far > t) & (t > 1e-3)
    n: Floats = np.zeros(d.shape, dtype=np.float32)
    rows = np.arange(len(d))
    n[rows, axis] = -np.sign(d[rows, axis])
    found: Floats = np.where(ok, t, FAR).astype(np.float32)
    return found, _turned(n, -body.yaw)


def _cylinder(body: Body, o: Floats, d: Floats) -> Hits:
    r = h = body.half
    a = np.maximum(d[:, 0] ** 2 + d[:, 1] ** 2, 1e-9)
    b = o[:, 0] * d[:, 0] + o[:, 1] * d[:, 1]
    c = o[:, 0] ** 2 + o[:, 1] ** 2 - r * r
    disc = b * b - a * c
    t = (-b - np.sqrt(np.maximum(disc, 0))) / a
    z = o[:, 2] + t * d[:, 2]
    t = np.where((disc > 0) & (np.abs(z) <= h) & (t > 1e-3), t, FAR)
    n = np.stack([(o[:, 0] + t * d[:, 0]) / r, (o[:, 1] + t * d[:, 1]) / r, np.zeros_like(t)], 1)
    level: Floats = (-np.sign(d[:, 2]) * h).astype(np.float32)
    return _capped(o, d, t, n, level, r)


def _capped(o: Floats, d: Floats, t: Floats, n: Floats, level: Floats, r: float) -> Hits:
    dz = np.where(np.abs(d[:, 2]) < 1e-9, np.float32(1e-9), d[:, 2])
    s = (level - o[:, 2]) / dz
    x, y = o[:, 0] + s * d[:, 0], o[:, 1] + s * d[:, 1]
    cap = (x * x + y * y <= r * r) & (s > 1e-3) & (s < t)
    n[cap] = 0
    n[cap, 2] = -np.sign(d[cap, 2])
    return np.where(cap, s, t).astype(np.float32), n


def _cone(body: Body, o: Floats, d: Floats) -> Hits:
    h = body.half
    k = np.float32(0.25)  # (r / height)^2 with r = half, height = 2 half
    oz, dz = o[:, 2] - h, d[:, 2]
    a = d[:, 0] ** 2 + d[:, 1] ** 2 - k * dz * dz
    b = o[:, 0] * d[:, 0] + o[:, 1] * d[:, 1] - k * oz * dz
    c = o[:, 0] ** 2 + o[:, 1] ** 2 - k * oz * oz
    a = np.where(np.abs(a) < 1e-9, np.float32(1e-9), a)
    disc = b * b - a * c
    root = np.sqrt(np.maximum(disc, 0))
    best = np.full(len(d), FAR, dtype=np.float32)
    for t in ((-b - root) / a, (-b + root) / a):
        z = o[:, 2] + t * dz
        best = np.where((disc > 0) & (np.abs(z) <= h) & (t > 1e-3) & (t < best), t, best)
    p = o + best[:, None] * d
    n = np.stack([p[:, 0], p[:, 1], k * (h - p[:, 2])], 1)
    n /= np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-9)
    return _capped(o, d, best, n, np.full(len(d), -h, dtype=np.float32), body.half)


def _window(body: Body, lens: Lens, side: int) -> tuple[int, int, int, int]:
    """Rows and columns of pixels around the body's ball."""
    place, right, up, ahead = lens.place, lens.right, lens.up, lens.ahead
    to = np.array(body.center, dtype=np.float32) - place
    z = float(to @ ahead)
    radius = body.half * 1.75
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
    colours = _shaded(bodies, rays, points, ids, depth, normal, floor)
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


def _rays(lens: Lens, side: int) -> Floats:
    """Unit vectors through the middles of the pixels, (side, side, 3)."""
    at = ((np.arange(side, dtype=np.float32) + 0.5) / side * 2 - 1) * np.float32(lens.reach)
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
        far, facing = _hit(body, np.broadcast_to(lens.place, part.shape), part)
        shape = (bottom - top, right - left)
        far, facing = far.reshape(shape), facing.reshape(*shape, 3)
        nearer = far < depth[top:bottom, left:right]
        depth[top:bottom, left:right][nearer] = far[nearer]
        normal[top:bottom, left:right][nearer] = facing[nearer]
        ids[top:bottom, left:right][nearer] = number
    return ids, depth, normal


def _shaded(
    bodies: Sequence[Body],
    rays: Floats,
    points: Floats,
    ids: NDArray[np.uint8],
    depth: Floats,
    normal: Floats,
    floor: Floor,
) -> Floats:
    """Colours: light of the sky and of one lamp with its shadows, gloss, and haze far away."""
    lit = np.maximum((normal * LIGHT).sum(2), 0)
    lit *= ~_shadow(bodies, points, normal, LIGHT, lit > 0.02)
    tile = (np.floor(points[..., 0] / TILE) + np.floor(points[..., 1] / TILE)) % 2 < 1
    colour = np.where(tile[..., None], _rgb(floor[0]), _rgb(floor[1]))
    gloss = np.zeros(ids.shape, dtype=np.float32)
    for number, body in enumerate(bodies, 1):
        colour[ids == number] = body.rgb
        gloss[ids == number] = body.gloss
    mirrored = 2 * (normal * LIGHT).sum(2)[..., None] * normal - LIGHT
    shine = np.maximum(-(mirrored * rays).sum(2), 0) ** 24 * gloss * (lit > 0)
    sky = np.float32(0.38) + np.float32(0.14) * normal[..., 2]
    shaded = colour * (sky + np.float32(0.62) * lit)[..., None] + 200 * shine[..., None]
    haze = (np.clip((depth - 14) / 22, 0, 1) * (ids == 0))[..., None]
    hazy: Floats = (shaded * (1 - haze) + _rgb(SKY) * haze).astype(np.float32)
    return hazy


def _rgb(colour: tuple[int, int, int]) -> Floats:
    return np.array(colour, dtype=np.float32)


def _shadow(
    bodies: Sequence[Body], points: Floats, normal: Floats, light: Floats, wanted: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Where a body stands between a point and the light."""
    dark = np.zeros(wanted.shape, dtype=bool)
    flat = points + 2e-3 * normal
    for body in bodies:
        # Only points inside the tube that the body's ball sweeps along the light.
        off = flat - np.array(body.center, dtype=np.float32)
        along = off @ light
        near = wanted & ~dark & ((off * off).sum(2) - along * along < (1.75 * body.half) ** 2) & (along < body.half)
        if near.any():
            o = flat[near]
            t, _ = _hit(body, o, np.broadcast_to(light, o.shape))
            dark[near] = t < FAR
    return dark
