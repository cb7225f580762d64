"""Task families by name: those that ship, those of installed packages, and the user's own as ``FILE.py:NAME``.

A package offers a family as an entry point of ``saccade.families``; the names of those that ship are taken. Nothing is
imported before its family is asked for.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from saccade.entry_points import Offer, offers_by_name
from saccade.errors import UserError
from saccade.own_code import module_of_file, named_in, own_file
from saccade.tasks.scene import FamilyFunction, HasParts

if TYPE_CHECKING:
    from saccade.tasks.interaction import InteractionFunction

GROUP = "saccade.families"
SHAPE = "a task family is a function def draw(rng: Generator, difficulty: float) -> Scene"
NAME_SHAPE = "FAMILY[/PROGRAM][@LOOK][?AXIS=LEVEL&expert=KIND&unanswerable=SHARE]"

_PARTS = re.compile("[/@?]")
"""What parts a family's name from that of a program, a look or an option of it."""


Drawer = TypeVar("Drawer", FamilyFunction, "InteractionFunction")


class NamedFamilies(Mapping[str, Drawer]):
    """The families of mappings that lie at ``module:attribute``, each imported when no earlier one has a name."""

    def __init__(self, *targets: str) -> None:
        self._targets = targets

    def _mappings(self) -> Iterator[Mapping[str, Drawer]]:
        for module, _, attribute in (target.partition(":") for target in self._targets):
            yield getattr(import_module(module), attribute)

    def __getitem__(self, name: str) -> Drawer:
        for mapping in self._mappings():
            if (draw := mapping.get(name)) is not None:
                return draw
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        for mapping in self._mappings():
            yield from mapping

    def __len__(self) -> int:
        return sum(map(len, self._mappings()))


DRAWN: Mapping[str, FamilyFunction] = NamedFamilies("saccade.gym.drawn:ALL_FAMILIES")
"""Those that ship and are one function each: no function of a user's own has such a name."""

SHIPPED: Mapping[str, FamilyFunction] = NamedFamilies(
    "saccade.gym.drawn:ALL_FAMILIES", "saccade.gym.registry:GYM_FAMILIES"
)

INTERACTIVE: "Mapping[str, InteractionFunction]" = NamedFamilies("saccade.gym.interactive.registry:INTERACTIVE")
"""Families whose draws are acted on."""


def offered_families() -> Mapping[str, Offer]:
    """What installed packages offer, by the family's name."""
    return {name: offer for name, offer in offers_by_name(GROUP, {}).items() if name not in SHIPPED}


def offer_of_family(name: str) -> Offer | None:
    """The offer of a package that the name of a family, or of a part of one, means; None for any other text."""
    return offered_families().get(_PARTS.split(name)[0])


def family_of_name(name: str) -> FamilyFunction:
    """The family of this name, or the part of one; ``UserError`` says which there are."""
    whole = _PARTS.split(name)[0]
    draw = SHIPPED.get(whole)
    if draw is None and (offer := offer_of_family(name)) is not None:
        draw = _checked_function(offer(), f"the package {offer.package}, {offer.target}")
    if draw is None:
        raise UserError(
            f"no task family {name!r}; the families are {', '.join((*SHIPPED, *offered_families()))}; parts of one "
            f"('saccade families') are named {NAME_SHAPE}; one of your own is named FILE.py:NAME"
        )
    return draw if whole == name else _part(draw, name)


def own_family(name: str) -> FamilyFunction:
    """The function that ``FILE.py:NAME`` names; the file is run once. ``UserError`` says what to do."""
    file = own_file(name)
    assert file is not None
    return _load_function(
        file.resolve() if file.is_file() else file, "" if name.endswith(".py") else name.rpartition(":")[2]
    )


def family_name(draw: FamilyFunction) -> str:
    """The name of a family of the user's own: its function's without ``draw_``."""
    name = getattr(draw, "__name__", "")
    if not _PARTS.split(name)[0].isidentifier():
        raise UserError(f"a task family needs a name of its own, and {draw!r} has none; {SHAPE}")
    return name.removeprefix("draw_")


@cache
def _load_function(file: Path, function: str) -> FamilyFunction:
    place, whole = str(file), _PARTS.split(function)[0]
    found = named_in(module_of_file(file, what="task family"), whole, place, what="task family", parameters=2)
    draw = _checked_function(found, f"{place}:{function}")
    return draw if whole == function else _part(draw, function)


def _checked_function(found: object, place: str) -> FamilyFunction:
    if not callable(found):
        raise UserError(f"{place} is not a function but {type(found).__name__}; {SHAPE}")
    try:
        inspect.signature(found).bind(None, 0.5)
    except (TypeError, ValueError) as error:
        raise UserError(f"{place} cannot be called ({error}); {SHAPE}") from None
    draw: FamilyFunction = found
    return draw


def _part(draw: object, name: str) -> FamilyFunction:
    if not isinstance(draw, HasParts):
        raise UserError(f"{name!r} asks for a part of a family, and {draw!r} is no GymFamily; leave the part out")
    return draw.part(name)
