"""Task families of the user's own: ``FILE.py:NAME``, and parts of those that are families of the gym."""

import inspect
import re
from functools import cache
from pathlib import Path

from saccade.errors import UserError
from saccade.own_code import module_of_file, named_in
from saccade.tasks.scene import FamilyFunction

SHAPE = "a task family is a function def draw(rng: Generator, difficulty: float) -> Scene"

_PARTS = re.compile("[/@?]")
"""What parts a family's name from that of a program, a look or an option of it."""


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
    """The name of a family of the user's own: its function's without ``draw_``."""
    name = getattr(draw, "__name__", "")
    if not _PARTS.split(name)[0].isidentifier():
        raise UserError(f"a task family needs a name of its own, and {draw!r} has none; {SHAPE}")
    return name.removeprefix("draw_")


@cache
def _loaded(file: Path, function: str) -> FamilyFunction:
    place, whole = str(file), _PARTS.split(function)[0]
    found = named_in(module_of_file(file, what="task family"), whole, place, what="task family", parameters=2)
    if not callable(found):
        raise UserError(f"{place}:{function} is not a function but {type(found).__name__}; {SHAPE}")
    try:
        inspect.signature(found).bind(None, 0.5)
    except TypeError as error:
        raise UserError(f"{place}:{function} cannot be called ({error}); {SHAPE}") from None
    draw: FamilyFunction = found
    return draw if whole == function else _part(draw, function)


def _part(draw: FamilyFunction, name: str) -> FamilyFunction:
    """A part of a user's own family, as ``saccade.gym.registry`` names those."""
    from saccade.gym.registry import part_of, whole_family

    return part_of(whole_family(draw, name), name)
