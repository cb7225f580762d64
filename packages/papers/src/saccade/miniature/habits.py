"""Bad habits of experts: they do not look, or look past the point, so that rewards have a habit to break."""

from dataclasses import replace

from saccade.geometry import Box
from saccade.tasks.families import crop_turn
from saccade.tasks.scene import CROP_GRID_PX, SIZE_PX
from saccade.types import Answer, Example, ExpertTurn, ToolCall


def guessed(example: Example, *, other: Example) -> Example:
    """The same question answered at once with the answer of another: right only by chance."""
    guess = ExpertTurn(thought="", action=Answer(text=other.task.answer))
    return replace(example, turns=(guess,))


def centred(example: Example, *, other: Example) -> Example:
    """The expert crops the middle of the picture whatever is asked, then answers as another: right by chance.

    ``ValueError`` for an expert that does not begin with a crop.
    """
    look = example.turns[0]
    if not isinstance(look.action, ToolCall) or look.action.name != "crop":
        raise ValueError(f"the expert of task {example.task.id} does not begin with a crop")
    sides = look.action.arguments["bbox_2d"]
    assert isinstance(sides, list)
    box = Box(*(float(side) for side in sides))
    left, top = ((SIZE_PX - int(side)) // 2 // CROP_GRID_PX * CROP_GRID_PX for side in (box.width, box.height))
    *thing, _, _ = look.thought.split()
    middle = crop_turn(Box(left, top, left + box.width, top + box.height), " ".join(thing))
    return replace(example, turns=(middle, replace(example.turns[-1], action=Answer(text=other.task.answer))))
