"""One large shape: what colour is it? A glance is enough, and code is superfluous.

Difficulty: radius 72 px at 0, 56 at 0.5, 40 at 1.
"""

from numpy.random import Generator

from saccade.geometry import Point
from saccade.tasks.code_experts import one_run
from saccade.tasks.code_methods import BIG_COLOUR
from saccade.tasks.drawing import SHAPES, Canvas
from saccade.tasks.palette import COLOUR_NAMES
from saccade.tasks.scattering import Thing
from saccade.tasks.scene import SIZE_PX, Scene, SceneQuestion, knob, pick, target_of


def draw_big_shape(rng: Generator, difficulty: float) -> Scene:
    """A shape of any colour, somewhere in the picture."""
    radius = knob(difficulty, 72, 56, 40)
    low, high = int(radius) + 4, SIZE_PX - int(radius) - 4
    x, y = (int(at) for at in rng.integers(low, high + 1, size=2))
    thing = Thing(colour=pick(rng, COLOUR_NAMES), shape=pick(rng, SHAPES), center=Point(x, y), radius=radius)
    canvas = Canvas()
    covered = thing.draw(canvas)
    question = BIG_COLOUR.asked()
    asked = SceneQuestion(
        question=question,
        answer=thing.colour,
        targets=(target_of(thing.name, covered),),
        looks=one_run(question),
        conclusion="",
    )
    return Scene(images=(canvas.image,), asked=asked)
