"""Tiny tasks with known answers and experts, drawn without chance."""

from PIL import Image, ImageDraw

from saccade.geometry import Box
from saccade.media.resize import ResizeRule
from saccade.media.store import MediaStore
from saccade.types import Answer, Example, ExpertTurn, Target, Task, ToolCall

TINY_VIEW = ResizeRule(factor=16, min_pixels=64 * 64, max_pixels=64 * 64, convention="relative_1000")
"""Sees a 256 x 256 scene at 64 x 64, in 16 image tokens."""

_COLOURS = (("red", (220, 40, 40)), ("green", (40, 180, 60)), ("blue", (50, 70, 220)), ("yellow", (230, 210, 40)))


def tiny_example(media: MediaStore, index: int = 0) -> Example:
    """A coloured square on one of 16 cells of a grey scene, and an expert that crops its cell and names its colour."""
    name, colour = _COLOURS[index % 4]
    left, top = 64 * (index % 16 // 4), 64 * (index // 16 % 4)
    scene = Image.new("RGB", (256, 256), (128, 128, 128))
    ImageDraw.Draw(scene).rectangle((left + 16, top + 16, left + 47, top + 47), fill=colour)
    box = Box(left + 16, top + 16, left + 48, top + 48)
    task = Task(
        id=f"tiny/{index:06d}",
        family="tiny",
        question="Which colour has the square?",
        answer=name,
        answer_kind="exact",
        images=(media.add(scene),),
        targets=(Target(label="square", box=box, point=box.center),),
        source="testing",
    )
    cell: list[float] = [left, top, left + 64, top + 64]
    look = ExpertTurn(thought="I look at the square.", action=ToolCall(name="crop", arguments={"bbox_2d": cell}))
    return Example(task=task, turns=(look, ExpertTurn(thought=f"It is {name}.", action=Answer(text=name))))
