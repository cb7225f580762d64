"""Short videos: an object moves, and something happens that has a start and an end.

The object changes its colour for a while, another object is there for a while, or the object stays at a wall for a
while. An event starts at the time of the first frame that shows it and ends at the time of the first frame after
that does not. Frames are 0.5 s apart and show their time. The skyline below is the same in all frames of a video
and never covered: it decides the split, so that not even two single frames are shared.

``Task.objects`` names what each frame shows: the moving things with their pixels, by colour and shape, as they are in
that frame; the wall and the clock. The houses of the skyline have no names.

Difficulty: frames 4 at 0, 6 at 0.5, 8 at 1; the objects' radius 26, 18 and 10 px.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.tasks.drawing import COLOUR_NAMES, FAINT, INK, Canvas, Coverage, Thing
from saccade.tasks.scene import (
    SIZE_PX,
    Scene,
    SceneQuestion,
    crop_turn,
    look_box,
    pick,
    pick_several,
    place_of,
    target_of,
    whole_knob,
)
from saccade.types import SceneObject, Target

FRAMES_PER_S = 2
CLOCK_BOX = Box(0, 0, 64, 64)
CLOCK_SIZE_PX = 17
SKY_BOTTOM_PX = 216
HOUSE_PX = 16
WALL_PX = 8
LEAST_GAP_PX = 12
"""Between the object and the wall in every frame in which they do not touch."""

EVENTS = ("colour change", "new object", "touch")
LETTERS = "ABC"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Event:
    """The things in each frame, the one that is in the event, and the questions on it."""

    kind: str
    things: tuple[tuple[Thing, ...], ...]
    subject: int
    """Index of the thing that the event is about, in the frames of the event."""
    starts: str
    ends: str
    lasts: str


@dataclass(frozen=True, kw_only=True, slots=True)
class _Stage:
    """Where things may be. ``wall_x`` is the wall's face; with ``is_mirrored`` all is seen in a mirror."""

    radius: int
    frames: int
    first: int
    after: int
    """The event is seen in frames ``first`` up to, not including, ``after``."""
    wall_x: int
    is_mirrored: bool

    def place(self, x: float, y: float) -> Point:
        return Point(SIZE_PX - x if self.is_mirrored else x, y)


def draw_video_event(rng: Generator, difficulty: float) -> Scene:
    """Frames with a wall, a moving object, and one event that starts after the first frame and ends by the last."""
    frames = whole_knob(difficulty, 4, 6, 8)
    lasting = int(rng.integers(1, frames - 1))
    first = int(rng.integers(1, frames - lasting))
    stage = _Stage(
        radius=whole_knob(difficulty, 26, 18, 10),
        frames=frames,
        first=first,
        after=first + lasting,
        wall_x=int(rng.integers(190, 230)),
        is_mirrored=bool(rng.integers(2)),
    )
    background = _background(rng, stage)
    event = _EVENTS[int(rng.integers(len(_EVENTS)))](rng, stage)
    times = tuple(frame / FRAMES_PER_S for frame in range(frames))
    canvases, targets, objects = [], [], []
    for frame, (time_s, things) in enumerate(zip(times, event.things)):
        canvas = Canvas(background.image)
        clock = canvas.text(f"{time_s:.1f} s", Point(6, 6), CLOCK_SIZE_PX, anchor="la")
        covered = [thing.draw(canvas) for thing in things]
        is_during = stage.first <= frame < stage.after
        touches = event.kind == "touch" and is_during
        objects += [_scene_object(*one, frame, touches=touches) for one in zip(things, covered)]
        objects.append(SceneObject(name="wall", box=_wall(stage), image_index=frame))
        objects.append(SceneObject(name="clock", box=clock, attributes={"time": f"{time_s:.1f} s"}, image_index=frame))
        if is_during:
            targets.append(target_of(things[event.subject].name, covered[event.subject], frame))
        canvases.append(canvas)
    return Scene(
        images=tuple(canvas.image for canvas in canvases),
        asked=_ASKS[int(rng.integers(len(_ASKS)))](rng, event, stage, tuple(targets)),
        frame_times_s=times,
        event_s=(times[stage.first], times[stage.after]),
        split_key=background.image.tobytes(),
        objects=tuple(objects),
    )


def _scene_object(thing: Thing, covered: Coverage, frame: int, *, touches: bool) -> SceneObject:
    target = target_of(thing.name, covered, frame)
    attributes = {"colour": thing.colour, "shape": thing.shape, "place": place_of(target.box.center)}
    return SceneObject(
        name=thing.name,
        box=target.box,
        attributes=attributes | ({"touches": "wall"} if touches else {}),
        image_index=frame,
        mask=target.mask,
    )


def _wall(stage: _Stage) -> Box:
    near, far = stage.place(stage.wall_x, 0).x, stage.place(stage.wall_x + WALL_PX, 0).x
    return Box(min(near, far), 40, max(near, far), SKY_BOTTOM_PX)


def _background(rng: Generator, stage: _Stage) -> Canvas:
    """The wall, and houses of random heights along the bottom."""
    canvas = Canvas()
    for house, height in enumerate(rng.integers(6, SIZE_PX - SKY_BOTTOM_PX - 6, size=SIZE_PX // HOUSE_PX)):
        left = house * HOUSE_PX
        canvas.rectangle(Box(left, SIZE_PX - int(height), left + HOUSE_PX - 1, SIZE_PX), FAINT)
    canvas.rectangle(_wall(stage), INK)
    return canvas


def _half_width(shape: str, radius: float) -> float:
    return radius if shape == "circle" else 0.78 * radius


def _moving(rng: Generator, stage: _Stage) -> tuple[Thing, ...]:
    """One thing that moves through the upper half, never near the wall, one entry per frame."""
    colour, shape = pick(rng, COLOUR_NAMES), pick(rng, ("circle", "square"))
    most_right = stage.wall_x - stage.radius - LEAST_GAP_PX
    start_x, end_x = rng.permutation([stage.radius + 4, most_right]).tolist()
    start_y, end_y = rng.uniform(44 + stage.radius, 128 - stage.radius / 2, size=2).tolist()
    xs = np.linspace(start_x, end_x, num=stage.frames)
    ys = np.linspace(start_y, end_y, num=stage.frames)
    return tuple(
        Thing(colour=colour, shape=shape, center=stage.place(round(x), round(y)), radius=stage.radius)
        for x, y in zip(xs.tolist(), ys.tolist())
    )


def _colour_change(rng: Generator, stage: _Stage) -> _Event:
    mover = _moving(rng, stage)
    colour = pick(rng, tuple(name for name in COLOUR_NAMES if name != mover[0].colour))
    seen = tuple(
        replace(thing, colour=colour) if stage.first <= frame < stage.after else thing
        for frame, thing in enumerate(mover)
    )
    shape = mover[0].shape
    return _Event(
        kind="colour change",
        things=tuple((thing,) for thing in seen),
        subject=0,
        starts=f"When does the {shape} turn {colour}",
        ends=f"When does the {shape} stop being {colour}",
        lasts=f"For how long is the {shape} {colour}",
    )


def _new_object(rng: Generator, stage: _Stage) -> _Event:
    mover = _moving(rng, stage)
    colour = pick(rng, tuple(name for name in COLOUR_NAMES if name != mover[0].colour))
    shape = pick(rng, ("star", "cross"))
    x = int(rng.integers(stage.radius + 4, stage.wall_x - stage.radius - LEAST_GAP_PX))
    # Below the lowest place that the moving object reaches, so that neither hides the other.
    y = int(rng.integers(136 + stage.radius * 3 // 2, SKY_BOTTOM_PX - stage.radius))
    guest = Thing(colour=colour, shape=shape, center=stage.place(x, y), radius=stage.radius)
    return _Event(
        kind="new object",
        things=tuple(
            (thing, guest) if stage.first <= frame < stage.after else (thing,) for frame, thing in enumerate(mover)
        ),
        subject=1,
        starts=f"When does the {shape} appear",
        ends=f"When does the {shape} disappear",
        lasts=f"For how long is the {shape} there",
    )


def _touch(rng: Generator, stage: _Stage) -> _Event:
    """The object comes to the wall, stays, and goes back."""
    colour, shape = pick(rng, COLOUR_NAMES), pick(rng, ("circle", "square"))
    at_wall = stage.wall_x - _half_width(shape, stage.radius)
    farthest = max(stage.first, stage.frames - stage.after)
    speed = float(rng.uniform(LEAST_GAP_PX + 4, (at_wall - stage.radius - 4) / farthest))
    y = int(rng.integers(44 + stage.radius, SKY_BOTTOM_PX - stage.radius))
    away = [max(stage.first - frame, frame - stage.after + 1, 0) for frame in range(stage.frames)]
    return _Event(
        kind="touch",
        things=tuple(
            (Thing(colour=colour, shape=shape, center=stage.place(at_wall - speed * n, y), radius=stage.radius),)
            for n in away
        ),
        subject=0,
        starts=f"When does the {shape} touch the wall",
        ends=f"When does the {shape} leave the wall",
        lasts=f"For how long does the {shape} touch the wall",
    )


_EVENTS: tuple[Callable[[Generator, _Stage], _Event], ...] = (_colour_change, _new_object, _touch)


def _in_seconds(question: str, frames: int, seen: Sequence[int], targets: tuple[Target, ...]) -> SceneQuestion:
    """A question on a time, which the clock of these frames tells."""
    return SceneQuestion(
        question=f"{question}, in seconds?",
        answer=f"{frames / FRAMES_PER_S:.1f}",
        answer_kind="number",
        targets=targets,
        looks=tuple(crop_turn(CLOCK_BOX, "clock", image=frame + 1) for frame in seen),
    )


def _ask_start(rng: Generator, event: _Event, stage: _Stage, targets: tuple[Target, ...]) -> SceneQuestion:
    return _in_seconds(event.starts, stage.first, [stage.first], targets)


def _ask_end(rng: Generator, event: _Event, stage: _Stage, targets: tuple[Target, ...]) -> SceneQuestion:
    return _in_seconds(event.ends, stage.after, [stage.after], targets)


def _ask_duration(rng: Generator, event: _Event, stage: _Stage, targets: tuple[Target, ...]) -> SceneQuestion:
    return _in_seconds(event.lasts, stage.after - stage.first, [stage.first, stage.after], targets)


def _ask_what(rng: Generator, event: _Event, stage: _Stage, targets: tuple[Target, ...]) -> SceneQuestion:
    choices = pick_several(rng, EVENTS, len(EVENTS))
    options = ", ".join(f"{letter} {choice}" for letter, choice in zip(LETTERS, choices))
    return SceneQuestion(
        question=f"What happens in the video: {options}?",
        answer=LETTERS[choices.index(event.kind)],
        answer_kind="choice",
        choices=choices,
        targets=targets,
        looks=(crop_turn(look_box(targets[0].box), targets[0].label, image=stage.first + 1),),
    )


_ASKS: tuple[Callable[[Generator, _Event, _Stage, tuple[Target, ...]], SceneQuestion], ...] = (
    _ask_start,
    _ask_end,
    _ask_duration,
    _ask_what,
)
