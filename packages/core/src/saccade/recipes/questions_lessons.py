"""What the recipe for your own questions imitates: a look at what a question's boxes mark, or the answer alone."""

import logging
from collections.abc import Sequence

from saccade.geometry import Point
from saccade.tasks.scene import SIZE_PX, call, place_of
from saccade.types import Answer, Example, ExpertTurn, Target, Task, bare_answer

logger = logging.getLogger(__name__)


def examples_to_imitate(tasks: Sequence[Task], *, looks: int, warns: bool) -> list[Example]:
    """Of the questions with boxes, experts that crop up to ``looks`` of them and answer; answers alone where none has
    any, or without tools (``looks=0``). ``warns`` says in the log that answers alone teach a policy not to look."""
    boxed = [task for task in tasks if task.targets] if looks else []
    if looks and warns and not boxed:
        logger.warning(
            "sft imitates %d answers alone, so the policy unlearns its tools: give some rows `boxes` of what to see "
            "(then the box is cropped before the answer), or set sft.steps=0, or with_tools=false",
            len(tasks),
        )
    return [looking_answer(task, looks) for task in boxed] or [bare_answer(task) for task in tasks]


def looking_answer(task: Task, looks: int) -> Example:
    """An expert that names each of the first ``looks`` boxes and its place, crops it, and then answers."""
    answer = ExpertTurn(thought="clear now", action=Answer(text=task.answer))
    return Example(task=task, turns=(*(_look(task, target) for target in task.targets[:looks]), answer))


def _look(task: Task, target: Target) -> ExpertTurn:
    image, center = task.images[target.image_index], target.box.center
    place = place_of(Point(center.x * SIZE_PX / image.width, center.y * SIZE_PX / image.height))
    sides = [int(side) for side in target.box.as_tuple()]
    return call(f"{target.label} {place}".strip(), "crop", target.image_index + 1, bbox_2d=sides)
