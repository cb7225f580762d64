"""Bar charts whose bars are asked for by colour: one bar's value, the difference or the sum of two.

Difficulty: bars 3 at 0, 5 at 0.5, 7 at 1; values are multiples of 5 below 0.25 and any whole number above; sums stay
below 100 up to 0.5.
"""

from numpy.random import Generator

from saccade.geometry import Box
from saccade.tasks import chart_axes
from saccade.tasks.code_experts import one_run
from saccade.tasks.code_methods import DIFFERENCE, SUM_OF_BARS, VALUE
from saccade.tasks.drawing import Canvas
from saccade.tasks.palette import COLOUR_NAMES, COLOURS
from saccade.tasks.scene import Scene, SceneQuestion, pick, pick_several, rectangle_target, whole_knob
from saccade.tasks.words import ITEMS

VALUES = range(5, 96)


def draw_colour_bars(rng: Generator, difficulty: float) -> Scene:
    """Bars of different colours and heights over an axis from 0 to 100."""
    count = whole_knob(difficulty, 3, 5, 7)
    items, colours = pick_several(rng, ITEMS, count), pick_several(rng, COLOUR_NAMES, count)
    allowed = VALUES[:: 5 if difficulty < 0.25 else 1]
    values = [allowed[int(i)] for i in rng.permutation(len(allowed))[:count]]
    canvas = Canvas()
    chart_axes.draw_axes(canvas, items)
    half_width = (chart_axes.RIGHT_PX - chart_axes.LEFT_PX) * 3 // (count * 10)
    bars = []
    for colour, value, x in zip(colours, values, chart_axes.slot_centers(count)):
        box = Box(x - half_width, chart_axes.height_of(value), x + half_width, chart_axes.BOTTOM_PX)
        canvas.rectangle(box, COLOURS[colour])
        bars.append((value, colour, rectangle_target(f"{colour} bar", box)))
    chosen = [bars[int(i)] for i in rng.permutation(count)[:2]]
    kind = pick(rng, ("value", "difference", "sum"))
    if kind == "sum" and difficulty <= 0.5:
        small = [(one, two) for one in bars for two in bars if one is not two and one[0] + two[0] < 100]
        chosen = list(small[int(rng.integers(len(small)))]) if small else chosen[:1]
        kind = "sum" if small else "value"
    if kind == "value":
        chosen = chosen[:1]
        answer, question = chosen[0][0], VALUE.asked(colour=chosen[0][1])
    elif kind == "difference":
        (high, colour, _), (low, other, _) = sorted(chosen, key=lambda bar: -bar[0])
        answer, question = high - low, DIFFERENCE.asked(colour=colour, other=other)
    else:
        (one, colour, _), (two, other, _) = chosen
        answer, question = one + two, SUM_OF_BARS.asked(colour=colour, other=other)
    asked = SceneQuestion(
        question=question,
        answer=str(answer),
        answer_kind="integer",
        targets=tuple(target for _, _, target in chosen),
        looks=one_run(question),
        conclusion="",
    )
    return Scene(images=(canvas.image,), asked=asked)
