"""Pie charts: the largest or smallest slice, the share of one, which of two is larger.

Difficulty: slices 2 at 0, 4 at 0.5, 6 at 1; shares are multiples of 10 % below 0.5 and of 5 % from there.
"""

from collections.abc import Callable
from dataclasses import dataclass

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.tasks.drawing import COLOUR_NAMES, COLOURS, ITEMS, Canvas, Coverage, on_circle
from saccade.tasks.scene import (
    SIZE_PX,
    Scene,
    SceneQuestion,
    call,
    crop_turn,
    look_box,
    pick,
    pick_several,
    place_of,
    target_of,
    whole_knob,
)
from saccade.types import ExpertTurn, Target

CENTER = Point(SIZE_PX / 2, SIZE_PX / 2)
RADIUS_PX = 88
LABEL_RADIUS_PX = 108
LABEL_SIZE_PX = 13
LEAST_SHARE = 10
TOLERANCE = 0.05
"""Relative; shares are at most 90 %, so the next multiple of 5 % is never accepted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Slice:
    item: str
    share: int
    start: float
    """The angle at which it starts, in degrees from the x axis, clockwise."""
    covered: Coverage
    label: Box


def draw_chart_pie(rng: Generator, difficulty: float) -> Scene:
    """Slices of different colours with the names of goods beside them."""
    count = whole_knob(difficulty, 2, 4, 6)
    shares = _shares(rng, count, 10 if difficulty < 0.5 else 5)
    items = pick_several(rng, ITEMS, count)
    colours = pick_several(rng, COLOUR_NAMES, count)
    start = float(rng.integers(360))
    canvas = Canvas()
    slices = []
    for item, share, colour in zip(items, shares, colours):
        end = start + 3.6 * share
        covered = canvas.wedge(CENTER, RADIUS_PX, start, end, COLOURS[colour])
        label = canvas.text(item, on_circle(CENTER, LABEL_RADIUS_PX, (start + end) / 2), LABEL_SIZE_PX)
        slices.append(_Slice(item=item, share=share, start=start, covered=covered, label=label))
        start = end
    asked = _ASKS[int(rng.integers(len(_ASKS)))](rng, slices)
    return Scene(images=(canvas.image,), asked=asked)


def _shares(rng: Generator, count: int, step: int) -> list[int]:
    """Shares that add up to 100, each at least ``LEAST_SHARE``, whose largest and smallest occur once."""
    free = (100 - LEAST_SHARE * count) // step
    while True:
        parts = rng.multinomial(free, [1 / count] * count)
        shares = [LEAST_SHARE + step * int(part) for part in parts]
        if shares.count(max(shares)) == shares.count(min(shares)) == 1:
            return shares


def _target(slice_: _Slice) -> Target:
    return target_of(slice_.item, slice_.covered)


def _ask_extreme(rng: Generator, slices: list[_Slice]) -> SceneQuestion:
    word = pick(rng, ("largest", "smallest"))
    find = max if word == "largest" else min
    found = find(slices, key=lambda slice_: slice_.share)
    return SceneQuestion(
        question=f"Which slice is the {word}?",
        answer=found.item,
        targets=(_target(found),),
        looks=(crop_turn(look_box(found.label), f"{word} name"),),
    )


def _ask_share(rng: Generator, slices: list[_Slice]) -> SceneQuestion:
    asked = slices[int(rng.integers(len(slices)))]
    template = pick(rng, ("What share is {}, in percent?", "How many percent is {}?"))
    return SceneQuestion(
        question=template.format(asked.item),
        answer=str(asked.share),
        answer_kind="number",
        tolerance=TOLERANCE,
        targets=(_target(asked),),
        looks=(
            _measure_edge(f"{asked.item} from", asked.start),
            _measure_edge("to", asked.start + 3.6 * asked.share),
        ),
    )


def _ask_larger(rng: Generator, slices: list[_Slice]) -> SceneQuestion:
    pairs = [(first, second) for first in slices for second in slices if first.share != second.share]
    first, second = pairs[int(rng.integers(len(pairs)))]
    larger = max(first, second, key=lambda slice_: slice_.share)
    return SceneQuestion(
        question=f"Which slice is larger: {first.item} or {second.item}?",
        answer=larger.item,
        targets=(_target(first), _target(second)),
        looks=(crop_turn(look_box(larger.label), larger.item),),
    )


def _measure_edge(thought: str, degrees: float) -> ExpertTurn:
    rim = on_circle(CENTER, RADIUS_PX, degrees)
    center = [round(CENTER.x), round(CENTER.y)]
    return call(f"{thought} {place_of(rim)}", "measure", start=center, end=[round(rim.x), round(rim.y)])


_ASKS: tuple[Callable[[Generator, list[_Slice]], SceneQuestion], ...] = (_ask_extreme, _ask_share, _ask_larger)
