"""Looks of questionnaires filled in by hand: with boxes or with circles to mark."""

from functools import partial

from numpy.random import Generator

from saccade.geometry import Box, Point
from saccade.gym.grammars.questionnaires import QuestionnaireState
from saccade.gym.levels import Levels
from saccade.gym.looks.ink import MARKS, PENS, draw_scribble
from saccade.gym.painter import Painter
from saccade.gym.rendering import Renderer, Rendering
from saccade.gym.state import SceneState, as_state
from saccade.tasks.drawing import Colour

INK: Colour = (30, 30, 34)
RULE: Colour = (176, 176, 180)
LEFT, FIRST, ROW, TOP = 36, 390, 40, 120
"""In pixels: left edge, middle of the first column, height of rows, middle of the first one."""


def render_sheet(state: SceneState, rng: Generator, levels: Levels, *, has_circles: bool) -> Rendering:
    """A page of printed questions; ink lies above the print."""
    known = as_state(state, QuestionnaireState)
    tint = int(rng.integers(238, 254))
    painter = Painter(known.width, known.height, (tint, tint, tint - 3))
    size, ink = levels.whole("print", 16, 15, 13), PENS[int(rng.integers(len(PENS)))]
    painter.text("", known.title, Point(LEFT, 44), 24, INK, anchor="lm")
    pitch = (known.width - FIRST - 50) / (len(known.scale) - 1)
    columns = [FIRST + pitch * index for index in range(len(known.scale))]
    for index, option in enumerate(known.scale):
        painter.text(f"option:{index}", option, Point(columns[index], 86), size - 1, INK)
    for index, row in enumerate(known.rows):
        y = TOP + ROW * index
        painter.rectangle("", Box(LEFT, y - ROW // 2, known.width - 20, y - ROW // 2 + 1), RULE)
        painter.text(f"row:{index}", f"{index + 1}. {row.statement}", Point(LEFT, y), size, INK, anchor="lm")
        boxes = [_spot(painter, x, y, has_circles=has_circles) for x in columns]
        if row.marked < 0:
            for box in boxes:
                painter.rectangle(f"empty:{index}", box, (tint, tint, tint - 3))
                _outline(painter, f"empty:{index}", box, has_circles=has_circles)
        else:
            MARKS[known.hand](painter, f"mark:{index}", boxes[row.marked], ink, rng)
        if row.changed >= 0:
            MARKS[known.hand](painter, f"old:{index}", boxes[row.changed], ink, rng)
            draw_scribble(painter, f"old:{index}", boxes[row.changed], ink, rng)
    return Rendering(images=(painter.image,), regions=painter.regions())


def _spot(painter: Painter, x: float, y: float, *, has_circles: bool) -> Box:
    """What may be marked, without a region of its own."""
    box = Box(round(x) - 9, y - 9, round(x) + 9, y + 9)
    _outline(painter, "", box, has_circles=has_circles)
    return box


def _outline(painter: Painter, element: str, box: Box, *, has_circles: bool) -> None:
    if not has_circles:
        painter.rectangle(element, box, INK, border=1)
        return
    painter.disc(element, box.center, 9, INK)
    painter.disc(element, box.center, 7.6, (250, 250, 248))


BOXES = Renderer(name="boxes", render=partial(render_sheet, has_circles=False), axes=("print",))
CIRCLES = Renderer(name="circles", render=partial(render_sheet, has_circles=True), axes=("print",))
