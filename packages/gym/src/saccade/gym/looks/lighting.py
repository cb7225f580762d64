"""Light on bodies and their floor: the sky, one lamp with its shadows, gloss, and haze far away."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from saccade.gym.looks.bodies import BALL, FAR, Body, Floats, dot, hit

Floor = tuple[tuple[int, int, int], tuple[int, int, int]]

LIGHT: Floats = (np.array([0.45, -0.35, 0.82]) / np.linalg.norm([0.45, -0.35, 0.82])).astype(np.float32)
"""Towards the lamp."""
ACROSS: Floats = (np.array([0.35, 0.45, 0.0]) / np.linalg.norm([0.35, 0.45, 0.0])).astype(np.float32)
ASIDE: Floats = np.cross(LIGHT, ACROSS).astype(np.float32)
"""At right angles to the light and to each other."""

SKY = (205, 210, 216)
TILE = 1.5


def shaded_colours(
    bodies: Sequence[Body],
    rays: Floats,
    points: Floats,
    ids: NDArray[np.uint8],
    depth: Floats,
    normal: Floats,
    floor: Floor,
) -> Floats:
    """Colours: light of the sky and of one lamp with its shadows, gloss, and haze far away."""
    facing = dot(normal, LIGHT)
    lit = np.maximum(facing, 0)
    lit *= ~_shadow(bodies, points, normal, lit > 0.02)
    tile = (np.floor(points[..., 0] / TILE) + np.floor(points[..., 1] / TILE)) % 2 < 1
    colour = np.where(tile[..., None], _rgb(floor[0]), _rgb(floor[1]))
    gloss = np.zeros(len(bodies) + 1, dtype=np.float32)
    for number, body in enumerate(bodies, 1):
        colour[ids == number] = body.rgb
        gloss[number] = body.gloss
    sky = np.float32(0.38) + np.float32(0.14) * normal[..., 2]
    shaded: Floats = (colour * (sky + np.float32(0.62) * lit)[..., None]).astype(np.float32, copy=False)
    shiny = (gloss[ids] > 0) & (lit > 0)
    mirrored = 2 * facing[shiny][:, None] * normal[shiny] - LIGHT
    shine = np.maximum(-dot(mirrored, rays[shiny]), 0) ** 24 * gloss[ids[shiny]]
    shaded[shiny] += 200 * shine[:, None]
    ground = ids == 0
    haze = np.clip((depth[ground] - 14) / 22, 0, 1)[:, None]
    shaded[ground] = shaded[ground] * (1 - haze) + _rgb(SKY) * haze
    return shaded


def _rgb(colour: tuple[int, int, int]) -> Floats:
    return np.array(colour, dtype=np.float32)


def _shadow(bodies: Sequence[Body], points: Floats, normal: Floats, wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Where a body stands between a point and the lamp."""
    dark = np.zeros(wanted.shape, dtype=bool)
    flat = points + np.float32(2e-3) * normal
    across, aside = dot(flat, ACROSS), dot(flat, ASIDE)
    along = dot(flat, LIGHT)
    for body in bodies:
        # Only points inside the tube that the body's ball sweeps away from the lamp.
        center = np.array(body.center, dtype=np.float32)
        reach = np.float32(BALL * body.half)
        near = (across - dot(center, ACROSS)) ** 2 + (aside - dot(center, ASIDE)) ** 2 < reach**2
        near &= along < dot(center, LIGHT) + reach
        near &= wanted
        near &= ~dark
        if near.any():
            o = flat[near]
            t, _ = hit(body, o, np.broadcast_to(LIGHT, o.shape))
            dark[near] = t < FAR
    return dark
