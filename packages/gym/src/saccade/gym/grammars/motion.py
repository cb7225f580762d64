"""Balls that roll at steady speeds in a box and bounce off its walls: short videos.

Axes: ``clutter`` (how many balls), ``pace`` (how near their speeds are to each other), ``size`` (how small they are).
"""

from dataclasses import dataclass

from numpy.random import Generator

from saccade.gym.family import Grammar
from saccade.gym.grammars.words import PALETTE
from saccade.gym.levels import Levels
from saccade.gym.state import Element, SceneState
from saccade.tasks.scene import pick_several

AXES = ("clutter", "pace", "size")
SIDE_PX, WALL_PX = 192, 6
FRAMES, EVERY_S = 8, 0.5


@dataclass(frozen=True, kw_only=True, slots=True)
class MotionState(SceneState):
    """Elements of the kind "ball" with numbers x (at the start), y, radius and speed (px per s, to the right where
    positive).

    Balls roll in lanes of their own, so that none hides or touches another.
    """


def draw_motion(rng: Generator, levels: Levels) -> MotionState:
    """Balls of different colours and speeds, each in its lane."""
    most = levels.whole("clutter", 3, 4, 6)
    count = int(rng.integers(max(3, most - 1), most + 1))
    radius = levels.whole("size", 11, 9, 6)
    low, high = _span(radius)
    step = levels.knob("pace", 16, 11, 8)
    slowest = float(rng.uniform(18, 26))
    speeds = [round(slowest + step * int(place), 2) for place in rng.permutation(count + 2)[:count]]
    lanes = rng.permutation(count)
    balls = tuple(
        Element(
            id=f"ball{index}",
            kind="ball",
            name=f"{colour} ball",
            attributes={"colour": colour},
            numbers={
                "x": float(round(rng.uniform(low + 8, high - 8), 1)),
                "y": round(low + (high - low) * (int(lanes[index]) + 0.5) / count, 1),
                "radius": float(radius),
                "speed": speeds[index] * (1 if rng.integers(2) else -1),
            },
        )
        for index, colour in enumerate(pick_several(rng, tuple(PALETTE), count))
    )
    return MotionState(elements=balls, width=SIDE_PX, height=SIDE_PX, views=FRAMES)


def _span(radius: float) -> tuple[float, float]:
    """How far to the left and to the right the middle of a ball rolls."""
    return WALL_PX + radius, SIDE_PX - WALL_PX - radius


def place_at(ball: Element, time_s: float) -> float:
    """Where a ball is, from the left, after so long: its way without walls, folded at them."""
    low, high = _span(ball.numbers["radius"])
    span = high - low
    way = (ball.numbers["x"] - low + ball.numbers["speed"] * time_s) % (2 * span)
    return low + (way if way <= span else 2 * span - way)


def bounce_times(ball: Element) -> list[float]:
    """When a ball meets a wall, in seconds, as long as the video lasts."""
    low, high = _span(ball.numbers["radius"])
    span, speed = high - low, ball.numbers["speed"]
    first = (high - ball.numbers["x"]) / speed if speed > 0 else (ball.numbers["x"] - low) / -speed
    every = span / abs(speed)
    last = (FRAMES - 1) * EVERY_S
    return [first + every * turn for turn in range(20) if first + every * turn < last]


MOTION = Grammar(name="video_bounces", draw=draw_motion, axes=AXES)
