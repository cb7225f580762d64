"""Bar charts: the tallest or shortest bar, one bar's value, the difference of two, how many reach above a line.

Difficulty: bars 3 at 0, 5 at 0.5, 7 at 1; values are multiples of 20, 10 and 5 (see ``chart_axes``).
"""

from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Box
from saccade.tasks import chart_axes
from saccade.tasks.drawing import Canvas
from saccade.tasks.palette import COLOUR_NAMES, COLOURS
from saccade.tasks.scene import (
    Scene,
    SceneQuestion,
    call,
    crop_turn,
    look_box,
    pick,
    pick_several,
    rectangle_target,
    whole_knob,
)
from saccade.tasks.words import ITEMS
from saccade.types import Target

LINE = 50
"""Bars may be asked to reach above this value; none ends on it."""


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
    allowed = [value for value in chart_axes.values_for(difficulty) if value != LINE]
    values = _values(rng, allowed, count)
    canvas = Canvas()
    labels = chart_axes.draw_axes(canvas, items)
    half_width = (chart_axes.RIGHT_PX - chart_axes.LEFT_PX) * 3 // (count * 10)
    bars: list[_ChartBar] = []
    for item, value, x, label in zip(items, values, chart_axes.slot_centers(count), labels):
        box = Box(x - half_width, chart_axes.height_of(value), x + half_width, chart_axes.BOTTOM_PX)
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
        tolerance=chart_axes.TOLERANCE,
        targets=(_target(bar),),
        looks=chart_axes.measure_turns(bar.item, int(bar.box.center.x), 0, bar.value),
    )


def _ask_difference(rng: Generator, bars: list[_ChartBar]) -> SceneQuestion:
    pairs = [(high, low) for high in bars for low in bars if high.value > low.value]
    high, low = pairs[int(rng.integers(len(pairs)))]
    return SceneQuestion(
        question=f"How much higher is {high.item} than {low.item}?",
        answer=str(high.value - low.value),
        answer_kind="number",
        tolerance=chart_axes.TOLERANCE,
        targets=(_target(high), _target(low)),
        looks=chart_axes.measure_turns(high.item, int(high.box.center.x), low.value, high.value),
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
