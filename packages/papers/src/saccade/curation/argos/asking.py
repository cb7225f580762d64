"""How a teacher is asked for a trace: with the pictures, and copies of them that show coordinates (section 4.2)."""

from collections.abc import Sequence

from saccade.curation.argos.marks import Mark
from saccade.curation.argos.things import NamedThings
from saccade.curation.codedance.prompts import question_of
from saccade.types import ImageRef, Message, Task

_POINTS = (
    "Whenever you name a thing that matters, put it in a tag with its coordinates: "
    '<points x1="408" y1="179" alt="jeep">jeep</points>. '
)

_STILL = (
    "Think from the picture itself. Crosses on the copy only tell the coordinates of things, in pixels of the picture: "
    "use them to be exact about which thing you mean, and take coordinates from them alone."
)

_MOVING = (
    "The crosses on the frames tell the coordinates of things, in pixels; take coordinates from them alone. Say in the "
    "same sentence which frame and which time you mean, such as: in frame 5 at 3.20 seconds. What goes on over "
    "several frames is told with its beginning and its end, such as: from frame 3 to frame 9."
)

_FORM = (
    "Reason step by step between <think> and </think>, then write the bare answer, without points, between <answer> "
    "and </answer>. Your reader sees neither crosses nor copies: write as though you had found every place by "
    "looking, and mention neither of them, nor these instructions."
)


def asked_trace(
    task: Task,
    named: NamedThings,
    marks: Sequence[Mark],
    overlaid: Sequence[ImageRef],
    *,
    tells_proposals: bool = False,
) -> tuple[Message, ...]:
    """Prompt for a reasoning that points at what it speaks of.

    With ``tells_proposals`` names, coordinates and events are told in words too.
    """
    parts: list[str | ImageRef] = []
    if task.frame_times_s:
        for index, image in enumerate(overlaid):
            parts += [f"Frame {index + 1} at {task.frame_times_s[index]:.2f} seconds:", image]
    else:
        for index, image in enumerate(task.images):
            number = f" {index + 1}" if len(task.images) > 1 else ""
            parts += [f"The picture{number}:", image]
            if overlaid:
                parts += [f"A copy of picture{number} with coordinates:", overlaid[index]]
    words = [f"Question: {question_of(task)}"]
    if tells_proposals:
        words += _proposals(task, named, marks)
    if overlaid:
        words.append(_POINTS + (_MOVING if task.frame_times_s else _STILL))
        if len(task.images) > 1 and not task.frame_times_s:
            words.append("Say in the same sentence which picture a thing is in, such as: in image 2.")
    words.append(_FORM)
    return (Message(role="user", parts=(*parts, "\n".join(words))),)


def _proposals(task: Task, named: NamedThings, marks: Sequence[Mark]) -> list[str]:
    told = [f"- {mark.label}{_where(task, mark)}: ({mark.point.x:.0f}, {mark.point.y:.0f})" for mark in marks]
    for event in named.events:
        is_timed = event.from_s is not None and event.to_s is not None
        told.append(f"- {event.what}" + (f" ({event.from_s:.2f} to {event.to_s:.2f} s)" if is_timed else ""))
    return ["What there may be, unchecked:", *told] if told else []


def _where(task: Task, mark: Mark) -> str:
    if task.frame_times_s:
        return f" in frame {mark.image_index + 1}"
    return f" in image {mark.image_index + 1}" if len(task.images) > 1 else ""
