"""Responses that were written elsewhere, read as trajectories, so that any reward can score them."""

from collections.abc import Sequence

from saccade.media.resize import ViewRule
from saccade.protocols.box_text import answer_to_original
from saccade.protocols.coordinates import mentions_to_original
from saccade.protocols.points import points_to_original
from saccade.protocols.protocol import ChatProtocol
from saccade.types import Answer, Task, Trajectory, Turn


def response_of(
    task: Task, texts: Sequence[str], protocol: ChatProtocol, *, view: ViewRule | None = None, sample: int = 0
) -> Trajectory:
    """The trajectory of these turns of a model, as the protocol reads them; what its tools did is not known.

    Coordinates are converted from ``view``, how the model sees pictures, to pixels of the originals; without a view
    they are such pixels. Turns after an answer are left out; without an answer the turns ran out.
    """
    turns: list[Turn] = []
    for index, text in enumerate(texts):
        parsed = protocol.parse(text)
        boxes, points, action = parsed.boxes, parsed.points, parsed.action
        if view is not None:
            boxes = mentions_to_original(boxes, task.images, view)
            points = points_to_original(points, task.images, view)
            action = answer_to_original(action, task, view) if isinstance(action, Answer) else action
        turns.append(
            Turn(
                index=index,
                text=text,
                thought=parsed.thought,
                action=action,
                is_well_formed=parsed.is_well_formed,
                boxes=boxes,
                points=points,
            )
        )
        if isinstance(parsed.action, Answer):
            break
    is_answered = bool(turns) and isinstance(turns[-1].action, Answer)
    return Trajectory(
        task_id=task.id,
        family=task.family,
        stream="main",
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=tuple(turns),
        status="answered" if is_answered else "turn_limit",
    )
