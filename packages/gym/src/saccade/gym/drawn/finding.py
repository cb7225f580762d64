"""Finding: where named things, lines or words are, each said in turn.

Lessons in looking more than questions: all that is asked for can be seen from afar, and the expert says of every thing
where it is, so that a model that starts from nothing learns from one picture what takes it many with a question on one
thing. Each lesson asks by one sort of cue alone: in a mixture none is learned, and the model only rules out places that
were said before.
"""

import math
from collections.abc import Sequence

from numpy.random import Generator

from saccade.geometry import Point
from saccade.tasks.drawing import (
    COLOUR_NAMES,
    COLOURS,
    COLUMNS,
    DAYS,
    ITEMS,
    MONTHS,
    PEOPLE,
    PLACES,
    SHAPES,
    Canvas,
    Thing,
    scattered,
    text_box,
)
from saccade.tasks.scene import (
    SIZE_PX,
    Scene,
    SceneQuestion,
    knob,
    pick,
    pick_several,
    place_of,
    rectangle_target,
    target_of,
    whole_knob,
)
from saccade.types import Target

WORD_SETS = (ITEMS, DAYS, PLACES, PEOPLE, COLUMNS, MONTHS)
LARGEST_WORD_PX = 60
BORDER_PX = 12
SHORTEST_LINE_PX = 40


def draw_finding_colours(rng: Generator, difficulty: float) -> Scene:
    """Things of different colours: 2 at 0, 4 at 0.5, 7 at 1, with radii from 26, 16 and 9 px."""
    count = whole_knob(difficulty, 2, 4, 7)
    colours = pick_several(rng, COLOUR_NAMES, count)
    things = _things(rng, colours, [pick(rng, SHAPES) for _ in colours], knob(difficulty, 26, 16, 9))
    return _scene_of_things(things, colours)


def draw_finding_shapes(rng: Generator, difficulty: float) -> Scene:
    """Things of different shapes: 2 at 0, 4 at 0.5, 6 at 1, with radii from 30, 20 and 12 px."""
    count = whole_knob(difficulty, 2, 4, 6)
    shapes = pick_several(rng, SHAPES, count)
    things = _things(rng, [pick(rng, COLOUR_NAMES) for _ in shapes], shapes, knob(difficulty, 30, 20, 12))
    return _scene_of_things(things, shapes)


def draw_finding_lines(rng: Generator, difficulty: float) -> Scene:
    """Lines of different colours, 1 at 0, 2 at 0.5, 4 at 1: where the left end and the right end of each is."""
    canvas, said = Canvas(), []
    colours = pick_several(rng, COLOUR_NAMES, whole_knob(difficulty, 1, 2, 4))
    for colour in colours:
        start, end = _ends(rng)
        target = target_of(colour, canvas.line(start, end, float(rng.uniform(2, 5)), COLOURS[colour]))
        said.append((colour, f"{place_of(start)} {place_of(end)}"))
    return scene_of_findings(canvas, "Trace", said, "Where is the last one?", target)


def draw_finding_words(rng: Generator, difficulty: float) -> Scene:
    """Words and numbers, one below the other: where each is, or which is at each place.

    2 at 0, 3 at 0.5, 5 at 1, down to 52, 44 and 36 px high, as words of 13 to 9 px are in a crop.
    """
    canvas, height = Canvas(), int(rng.integers(whole_knob(difficulty, 52, 44, 36), LARGEST_WORD_PX + 1))
    rows = SIZE_PX // (height + 4)
    written: dict[str, str] = {}
    for row in rng.permutation(rows)[: whole_knob(difficulty, 2, 3, 5)].tolist():
        text = printed_word(rng)
        half = math.ceil(text_box(text, Point(0, 0), height).width / 2) + 2
        if 2 * half >= SIZE_PX or text in written:
            continue
        center = Point(int(rng.integers(half, SIZE_PX - half)), int((row + 0.5) * SIZE_PX / rows))
        if place_of(center) not in written.values():
            written[text] = place_of(center)
            # The tail of a letter in the lowest row may hang out of the picture.
            target = rectangle_target(text, canvas.text(text, center, height).clipped(SIZE_PX, SIZE_PX))
    if not written:
        return draw_finding_words(rng, difficulty)
    if rng.integers(2):
        return scene_of_findings(canvas, "Find", list(written.items()), "Where is the last one?", target)
    by_place = [(place, text) for text, place in written.items()]
    return scene_of_findings(canvas, "Read", by_place, "What is at the last place?", target)


def _things(rng: Generator, colours: Sequence[str], shapes: Sequence[str], least_radius: float) -> list[Thing]:
    radius = least_radius + float(rng.uniform(0, 5))
    centers = scattered(rng, len(colours), radius)
    return [Thing(colour=c, shape=s, center=at, radius=radius) for c, s, at in zip(colours, shapes, centers)]


def _scene_of_things(things: Sequence[Thing], cues: Sequence[str]) -> Scene:
    canvas = Canvas()
    covered = [thing.draw(canvas) for thing in things]
    pairs = [(cue, place_of(thing.center)) for cue, thing in zip(cues, things)]
    return scene_of_findings(canvas, "Find", pairs, "Where is the last one?", target_of(cues[-1], covered[-1]))


def scene_of_findings(
    canvas: Canvas, verb: str, pairs: Sequence[tuple[str, str]], question: str, target: Target
) -> Scene:
    """``pairs`` are what is asked for and what is found; the answer is the last, which ``target`` shows."""
    asked = SceneQuestion(
        question=f"{verb}: {', '.join(cue for cue, _ in pairs)}. {question}",
        answer=pairs[-1][1],
        targets=(target,),
        looks=(),
        conclusion=" ".join(f"{cue} {finding}" for cue, finding in pairs),
    )
    return Scene(images=(canvas.image,), asked=asked)


def _ends(rng: Generator) -> tuple[Point, Point]:
    """Ends of a line, the left one first."""
    while True:
        x1, y1, x2, y2 = (int(at) for at in rng.integers(BORDER_PX, SIZE_PX - BORDER_PX, size=4))
        if x1 < x2 and math.hypot(x2 - x1, y2 - y1) >= SHORTEST_LINE_PX:
            return Point(x1, y1), Point(x2, y2)


def printed_word(rng: Generator) -> str:
    """A word of the drawn pictures, a whole number or a price."""
    chance = rng.random()
    if chance < 0.6:
        return pick(rng, WORD_SETS[int(rng.integers(len(WORD_SETS)))])
    if chance < 0.85:
        return str(int(rng.integers(1, 100)))
    return f"{int(rng.integers(1, 10))}.{int(rng.integers(20)) * 5:02d}"
