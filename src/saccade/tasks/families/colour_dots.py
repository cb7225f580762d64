"""Many dots in several colours; how many have one colour? Code counts them exactly, a glance does not.

Difficulty: dots to count 2-12 at 0, 8-24 at 0.5, 8-40 at 1; as many others at most; radius 10, 8 and 6 px.
"""

from numpy.random import Generator

from saccade.tasks.code_experts import one_run
from saccade.tasks.code_methods import COUNT
from saccade.tasks.drawing import Canvas
from saccade.tasks.palette import COLOUR_NAMES
from saccade.tasks.scattering import Thing, scattered
from saccade.tasks.scene import Scene, SceneQuestion, knob, pick, pick_several, target_of, whole_knob

OTHER_COLOURS = 3
"""Dots that are not counted have up to so many colours."""


def draw_colour_dots(rng: Generator, difficulty: float) -> Scene:
    """Dots of one colour to count among dots of others."""
    least, most = whole_knob(difficulty, 2, 8, 8), whole_knob(difficulty, 12, 24, 40)
    count = int(rng.integers(least, most + 1))
    others = int(rng.integers(most // 2, most + 1))
    radius = knob(difficulty, 10, 8, 6)
    colour, *different = pick_several(rng, COLOUR_NAMES, 1 + OTHER_COLOURS)
    canvas = Canvas()
    targets = []
    for index, center in enumerate(scattered(rng, count + others, radius)):
        own = colour if index < count else pick(rng, tuple(different))
        dot = Thing(colour=own, shape="circle", center=center, radius=float(rng.uniform(0.6, 1.0)) * radius)
        covered = dot.draw(canvas)
        if index < count:
            targets.append(target_of(dot.name, covered))
    question = COUNT.asked(colour=colour)
    asked = SceneQuestion(
        question=question,
        answer=str(count),
        answer_kind="integer",
        targets=tuple(targets),
        looks=one_run(question),
        conclusion="",
    )
    return Scene(images=(canvas.image,), asked=asked)
