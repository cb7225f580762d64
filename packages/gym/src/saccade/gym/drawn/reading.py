"""Reading: what large print says, digits and short words, each as it looks in a crop of a document, table or chart.

Lessons more than questions, as those of ``finding``: print is large enough to be read from afar. Digits come alone
before they come as numbers, for a model learns the shape of a word by its letters' places.
"""

from collections.abc import Sequence

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.drawn.finding import printed_word, scene_of_findings
from saccade.tasks.drawing import Canvas, text_box
from saccade.tasks.scene import SIZE_PX, Scene, SceneQuestion, place_of, rectangle_target, whole_knob

LARGEST_PX = 72
MARGIN_PX = 4
TRIES = 20


def draw_reading_digits(rng: Generator, difficulty: float) -> Scene:
    """Single digits at different places: 1 at 0, 3 at 0.5, 5 at 1, down to 64, 52 and 40 px high."""
    canvas, least_px = Canvas(), whole_knob(difficulty, 64, 52, 40)
    found: dict[str, tuple[str, Box]] = {}
    for digit in rng.integers(10, size=whole_knob(difficulty, 1, 3, 5)).tolist():
        height = int(rng.integers(least_px, LARGEST_PX + 1))
        at = _free_place(rng, str(digit), height, [box for _, box in found.values()])
        if at is not None and place_of(at) not in found:
            found[place_of(at)] = (str(digit), canvas.text(str(digit), at, height))
    target = rectangle_target(*list(found.values())[-1])
    said = [(place, digit) for place, (digit, _) in found.items()]
    return scene_of_findings(canvas, "Read", said, "Which digit is at the last place?", target)


def draw_reading_print(rng: Generator, difficulty: float) -> Scene:
    """One word, number or price: down to 60 px high at 0, 48 at 0.5, 36 at 1."""
    canvas, words = Canvas(), printed_word(rng)
    height = int(rng.integers(whole_knob(difficulty, 60, 48, 36), LARGEST_PX + 1))
    at = _free_place(rng, words, height, [])
    assert at is not None  # The longest word at the largest size fits into the picture.
    target = rectangle_target(words, canvas.text(words, at, height))
    asked = SceneQuestion(
        question="What is written here?", answer=words, targets=(target,), looks=(), conclusion=f"it says {words}"
    )
    return Scene(images=(canvas.image,), asked=asked)


def _free_place(rng: Generator, words: str, height: int, taken: Sequence[Box]) -> Point | None:
    """The middle of print that lies inside the picture and touches none of the boxes; None when none is found."""
    size = text_box(words, Point(0, 0), height)
    for _ in range(TRIES):
        x = int(rng.integers(int(-size.x1) + MARGIN_PX, int(SIZE_PX - size.x2) - MARGIN_PX))
        y = int(rng.integers(int(-size.y1) + MARGIN_PX, int(SIZE_PX - size.y2) - MARGIN_PX))
        box = Box(size.x1 + x, size.y1 + y, size.x2 + x, size.y2 + y)
        if all(box.x2 < o.x1 or o.x2 < box.x1 or box.y2 < o.y1 or o.y2 < box.y1 for o in taken):
            return Point(x, y)
    return None
