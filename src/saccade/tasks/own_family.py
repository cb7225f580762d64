"""Task families of the user's own, named ``FILE.py:NAME`` wherever a family is named."""

import inspect
from functools import cache
from pathlib import Path

from saccade.errors import UserError
from saccade.own_code import module_of_file, named_in
from saccade.tasks.scene import FamilyFunction, Scene

SHAPE = "a task family is a function def draw(rng: Generator, difficulty: float) -> Scene"


def own_family_file(name: str) -> Path | None:
    """The file of ``FILE.py:NAME`` or ``FILE.py``; None for any other text."""
    place = name if name.endswith(".py") else name.rpartition(":")[0]
    return Path(place) if place.endswith(".py") else None


def own_family(name: str) -> FamilyFunction:
    """The function that ``FILE.py:NAME`` names; the file is run once. ``UserError`` says what to do."""
    file = own_family_file(name)
    assert file is not None
    return _loaded(file.resolve() if file.is_file() else file, "" if name.endswith(".py") else name.rpartition(":")[2])


def family_name(draw: FamilyFunction) -> str:
    """What tasks of a family of one's own say of it: its function's name without ``draw_``."""
    name = getattr(draw, "__name__", "")
    if not name.isidentifier():
        raise UserError(f"a task family needs a name of its own, and {draw!r} has none; {SHAPE}")
    return name.removeprefix("draw_")


def checked_scene(scene: object, name: str) -> Scene:
    """What a family drew; ``UserError`` when it is no scene."""
    if not isinstance(scene, Scene):
        raise UserError(f"the task family {name!r} returned {type(scene).__name__}, not a Scene; {SHAPE}")
    return scene


@cache
def _loaded(file: Path, function: str) -> FamilyFunction:
    place = str(file)
    found = named_in(module_of_file(file, what="task family"), function, place, what="task family", parameters=2)
    if not callable(found):
        raise UserError(f"{place}:{function} is not a function but {type(found).__name__}; {SHAPE}")
    try:
        inspect.signature(found).bind(None, 0.5)
    except TypeError as error:
        raise UserError(f"{place}:{function} cannot be called ({error}); {SHAPE}") from None
    draw: FamilyFunction = found
    return draw
