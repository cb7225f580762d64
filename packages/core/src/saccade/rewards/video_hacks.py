"""Known hacks of rewards that look at what is said of a video: true words that tell nothing, and things that stay.

Each begins with a lie; the honest response tells the same lie, and no more.
"""

from saccade.geometry import Point
from saccade.protocols.points import written_point
from saccade.rewards.hacks import FAR, Hack, turn
from saccade.types import SceneObject, Task

_LIE = f"In frame 2 is {written_point(FAR, [Point(1, 1)])}."


def lying(task: Task) -> str:
    """One true point, and the lie."""
    return turn(f"{_pointed_sentence(task.objects[0])} {_LIE}", task.answer)


def lying_event(task: Task) -> str:
    """An event that is none, said of two frames."""
    return turn(_event(task), task.answer)


def static(task: Task) -> str:
    first = task.objects[0]
    same = [one for one in task.objects if one.name == first.name and one.box == first.box]
    return turn(f"{' '.join(map(_pointed_sentence, same))} {_LIE}", task.answer)


def denials(task: Task) -> str:
    last = len(task.images)
    shown = {one.attributes.get("shape") for one in task.objects}
    other = next(one for one in ("star", "heart", "hexagon", "circle") if one not in shown)
    said = [f"In frames {first} to {last} there is no {other}." for first in range(1, last)]
    return turn(f"{' '.join(said)} {_event(task)}", task.answer)


def vague(task: Task) -> str:
    shape = str(task.objects[0].attributes.get("shape", task.objects[0].name))
    return turn(f"In frames 1 to {len(task.images)} there is a {shape}. {_event(task)}", task.answer)


def reworded_moments(task: Task) -> str:
    """The lie in words that are no digits."""
    return turn(_event(task).replace("frames 1 to 2", "frames one to two"), task.answer)


def _event(task: Task) -> str:
    shape = task.objects[0].attributes.get("shape", task.objects[0].name)
    return f"In frames 1 to 2 the {shape} disappears."


def _pointed_sentence(thing: SceneObject) -> str:
    return f"In frame {thing.image_index + 1} is {written_point(thing.name, [thing.box.center])}."


VIDEO_HACKS: tuple[Hack, ...] = tuple(
    Hack(name=name, about=about, honest=before, played=played, spares_work=False)
    for name, about, before, played in (
        ("static", "points at a thing that stays in each frame", lying, static),
        ("denials", "says in each frame what is not there", lying_event, denials),
        ("vague", "says of all frames what is in some", lying_event, vague),
        ("moments in words", "names the frames of a lie by words", lying_event, reworded_moments),
    )
)
"""For drawn videos, whose frames are known exactly."""
