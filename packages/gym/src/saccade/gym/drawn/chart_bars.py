"""Bar charts: bars named by goods (``chart_bars``) or by their colours (``colour_bars``), over axes from 0 to 100.

Line charts have the same axes: 2 px to a unit, values from the bottom to the top.

Difficulty of ``chart_bars``: bars 3 at 0, 5 at 0.5, 7 at 1; values are multiples of 20, 10 and 5.

Difficulty of ``colour_bars``: as many bars; values are multiples of 5 below 0.25 and any whole number above; sums stay
below 100 up to 0.5.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.code_experts import DIFFERENCE, SUM_OF_BARS, VALUE, coded_scene
from saccade.tasks.drawing import COLOUR_NAMES, COLOURS, FAINT, INK, ITEMS, Canvas
from saccade.tasks.scene import (
    Scene,
    SceneQuestion,
    call,
    crop_turn,
    look_box,
    pick,
    pick_several,
    place_of,
    rectangle_target,
    whole_knob,
)
from saccade.types import ExpertTurn, Target

LEFT_PX, RIGHT_PX, TOP_PX, BOTTOM_PX = 40, 248, 20, 220
PX_PER_UNIT = 2
TOLERANCE = 0.05
"""Relative; values are at most 95 and at least 5 apart, so that no other value is ever accepted."""

LABEL_SIZE_PX = 11
LINE = 50
"""Bars may be asked to reach above this value; none ends on it."""

VALUES = range(5, 96)


def values_for(difficulty: float) -> range:
    """The values that a chart of this difficulty may show."""
    # On the grid lines below 0.25.
    step = 20 if difficulty < 0.25 else 10 if difficulty < 0.75 else 5
    return range(step, 100, step)


def height_of(value: int) -> int:
    """The y coordinate of a value."""
    return BOTTOM_PX - PX_PER_UNIT * value


def slot_centers(count: int) -> list[int]:
    """The x coordinates of so many categories."""
    return [round(LEFT_PX + (RIGHT_PX - LEFT_PX) * (i + 0.5) / count) for i in range(count)]


def draw_axes(canvas: Canvas, categories: Sequence[str]) -> list[Box]:
    """Draw grid lines, axes and labels; the boxes of the categories' labels."""
    for value in range(20, 101, 20):
        canvas.rectangle(Box(LEFT_PX, height_of(value), RIGHT_PX, height_of(value) + 1), FAINT)
    for value in range(0, 101, 20):
        canvas.text(str(value), Point(LEFT_PX - 5, height_of(value)), LABEL_SIZE_PX, anchor="rm")
    canvas.rectangle(Box(LEFT_PX - 2, TOP_PX, LEFT_PX, BOTTOM_PX), INK)
    canvas.rectangle(Box(LEFT_PX - 2, BOTTOM_PX, RIGHT_PX, BOTTOM_PX + 2), INK)
    return [
        canvas.text(category, Point(x, BOTTOM_PX + 16), LABEL_SIZE_PX)
        for category, x in zip(categories, slot_centers(len(categories)))
    ]


def measure_turns(what: str, x: int, from_value: int, to_value: int) -> tuple[ExpertTurn, ExpertTurn]:
    """Measure the axis, then a span of values above one place: their ratio is the span in hundredths."""
    thought = f"{what} {place_of(Point(x, height_of(to_value)))}"
    return (
        call("measure the axis", "measure", start=[LEFT_PX, BOTTOM_PX], end=[LEFT_PX, TOP_PX]),
        call(thought, "measure", start=[x, height_of(from_value)], end=[x, height_of(to_value)]),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _ChartBar:
    item: str
    value: int
    box: Box
    label: Box


def draw_chart_bars(rng: Generator, difficulty: float) -> Scene:
    """Bars of different colours with the names of goods below them."""
    count = whole_knob(difficulty, 3, 5, 7)
    items = pick_several(rng, ITEMS, count)
    colours = pick_several(rng, COLOUR_NAMES, count)
    allowed = [value for value in values_for(difficulty) if value != LINE]
    values = _values(rng, allowed, count)
    canvas = Canvas()
    labels = draw_axes(canvas, items)
    half_width = (RIGHT_PX - LEFT_PX) * 3 // (count * 10)
    bars: list[_ChartBar] = []
    for item, value, x, label in zip(items, values, slot_centers(count), labels):
        box = Box(x - half_width, height_of(value), x + half_width, BOTTOM_PX)
        canvas.rectangle(box, COLOURS[colours[len(bars)]])
        bars.append(_ChartBar(item=item, value=value, box=box, label=label))
    asked = _ASKS[int(rng.integers(len(_ASKS)))](rng, bars)
    return Scene(images=(canvas.image,), asked=asked)


def _values(rng: Generator, allowed: list[int], count: int) -> list[int]:
    """Random values whose largest and smallest occur once."""
    while True:
        values = [allowed[int(i)] for i in rng.integers(len(allowed), size=count)]
        if values.count(max(values)) == values.count(min(values)) == 1:
            return values


def _target(bar: _ChartBar) -> Target:
    return rectangle_target(bar.item, bar.box)


def _ask_extreme(rng: Generator, bars: list[_ChartBar]) -> SceneQuestion:
    word = pick(rng, ("tallest", "shortest"))
    find = max if word == "tallest" else min
    bar = find(bars, key=lambda bar: bar.value)
    return SceneQuestion(
        question=f"Which bar is the {word}?",
        answer=bar.item,
        targets=(_target(bar),),
        looks=(crop_turn(look_box(bar.label), f"{word} name"),),
    )


def _ask_value(rng: Generator, bars: list[_ChartBar]) -> SceneQuestion:
    bar = bars[int(rng.integers(len(bars)))]
    template = pick(rng, ("What is the value of {}?", "How high is the bar of {}?"))
    return SceneQuestion(
        question=template.format(bar.item),
        answer=str(bar.value),
        answer_kind="number",
        tolerance=TOLERANCE,
        targets=(_target(bar),),
        looks=measure_turns(bar.item, int(bar.box.center.x), 0, bar.value),
    )


def _ask_difference(rng: Generator, bars: list[_ChartBar]) -> SceneQuestion:
    pairs = [(high, low) for high in bars for low in bars if high.value > low.value]
    high, low = pairs[int(rng.integers(len(pairs)))]
    return SceneQuestion(
        question=f"How much higher is {high.item} than {low.item}?",
        answer=str(high.value - low.value),
        answer_kind="number",
        tolerance=TOLERANCE,
        targets=(_target(high), _target(low)),
        looks=measure_turns(high.item, int(high.box.center.x), low.value, high.value),
    )


def _ask_above(rng: Generator, bars: list[_ChartBar]) -> SceneQuestion:
    """How many bars end above or below the line; the side with at least one bar is asked for."""
    above = tuple(bar for bar in bars if bar.value > LINE)
    below = tuple(bar for bar in bars if bar.value < LINE)
    word, asked = ("above", above) if (rng.integers(2) and above) or not below else ("below", below)
    points = [[int(bar.box.center.x), int(bar.box.y1)] for bar in asked]
    return SceneQuestion(
        question=f"How many bars have a value {word} {LINE}?",
        answer=str(len(asked)),
        answer_kind="integer",
        targets=tuple(_target(bar) for bar in asked),
        looks=(call("mark each", "draw_points", points=points),),
    )


_ASKS: tuple[Callable[[Generator, list[_ChartBar]], SceneQuestion], ...] = (
    _ask_extreme,
    _ask_value,
    _ask_difference,
    _ask_above,
)


def draw_colour_bars(rng: Generator, difficulty: float) -> Scene:
    """Bars of different colours and heights over an axis from 0 to 100."""
    count = whole_knob(difficulty, 3, 5, 7)
    items, colours = pick_several(rng, ITEMS, count), pick_several(rng, COLOUR_NAMES, count)
    allowed = VALUES[:: 5 if difficulty < 0.25 else 1]
    values = [allowed[int(i)] for i in rng.permutation(len(allowed))[:count]]
    canvas = Canvas()
    draw_axes(canvas, items)
    half_width = (RIGHT_PX - LEFT_PX) * 3 // (count * 10)
    bars = []
    for colour, value, x in zip(colours, values, slot_centers(count)):
        box = Box(x - half_width, height_of(value), x + half_width, BOTTOM_PX)
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
    return coded_scene(canvas, question, answer, [target for _, _, target in chosen])
