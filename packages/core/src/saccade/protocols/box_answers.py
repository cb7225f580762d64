"""Boxes as an answer, between the model's frame of the task's first image and pixels of its original.

What is no box passes unchanged, and is wrong by the rule of its kind.
"""

from saccade.answer_boxes import boxes_in, written_boxes
from saccade.geometry import CoordinateConvention
from saccade.media.resize import ViewRule
from saccade.types import Answer, Task

COORDINATES: dict[CoordinateConvention, str] = {
    "absolute": "in pixels of the image as you see it",
    "relative_1000": "from 0 to 1000 in each direction, whatever the image's size",
}


def answer_to_original(answer: Answer, task: Task, view: ViewRule) -> Answer:
    """The answer as the model meant it: of a task whose answers are boxes, in pixels of the original."""
    boxes = boxes_in(answer.text) if task.answer_kind == "boxes" and task.images else None
    if boxes is None:
        return answer
    frame = view.frame_for(task.images[0])
    return Answer(text=written_boxes([frame.box_to_original(box) for box in boxes]))


def answer_to_model(answer: Answer, task: Task, view: ViewRule) -> Answer:
    """The answer as the model would write it, in whole numbers of its frame."""
    boxes = boxes_in(answer.text) if task.answer_kind == "boxes" and task.images else None
    if boxes is None:
        return answer
    frame = view.frame_for(task.images[0])
    return Answer(text=written_boxes([frame.box_to_model(box) for box in boxes]))


def form_of_boxes(view: ViewRule | None, *, images: int, is_brief: bool) -> str:
    """What a question about boxes asks the model to write, and in which frame; without a view in pixels."""
    if is_brief:
        return "[x1, y1, x2, y2]"
    where = " of image 1" if images > 1 else ""
    frame = COORDINATES["absolute" if view is None else view.convention]
    return (
        f"The answer is a box{where}, [x1, y1, x2, y2] (left, top, right, bottom), {frame}; where several things are "
        "asked for, a list with one box for each. Write the numbers alone, without words."
    )
