"""Bodies that stand upright, and where rays meet them: spheres, boxes, cylinders and cones.

All is numpy in single precision: no threads, no other library, the same bytes in every process.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Hits = tuple[Floats, Floats]

FAR = np.float32(1e9)
BALL = 1.75
"""Radius of a ball around any body, in halves of its width."""


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


def hit(body: Body, origins: Floats, rays: Floats) -> Hits:
    """How far along each ray (rows of origins and directions) the body is met first, and its normal there."""
    o = origins - np.array(body.center, dtype=np.float32)
    return {"sphere": _sphere, "cube": _cube, "cylinder": _cylinder, "cone": _cone}[body.kind](body, o, rays)


def _sphere(body: Body, o: Floats, d: Floats) -> Hits:
    b = dot(o, d)
    c = dot(o, o) - body.half**2
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


def dot(first: Floats, second: Floats) -> Floats:
    """Scalar products of vectors in the last axis; a sum over an axis of three is several times slower."""
    product: Floats = first[..., 0] * second[..., 0] + (first[..., 1] * second[..., 1] + first[..., 2] * second[..., 2])
    return product
