"""What installed packages add by entry points: objects by name, Saccade's own first."""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, reduce
from importlib.util import find_spec
from pathlib import Path
from typing import Generic, TypeVar

from saccade.errors import UserError

OWN = "saccade"
"""The package of what Saccade offers itself."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, slots=True)
class Offer:
    """One object that a package offers under a name of a group; a call imports it.

    ``target`` is ``module:attribute``; ``rivals`` are other packages that offer the same name.
    """

    group: str
    name: str
    target: str
    package: str = OWN
    rivals: tuple[str, ...] = ()

    def __call__(self) -> object:
        """The object; ``UserError`` names the package where it cannot be imported, or where two offer this name."""
        if self.rivals:
            packages = ", ".join((self.package, *self.rivals))
            raise UserError(f"several packages offer {self.name!r} for {self.group}: {packages}; uninstall all but one")
        try:
            module, _, attributes = self.target.partition(":")
            found: object = importlib.import_module(module)
            return reduce(getattr, attributes.split("."), found) if attributes else found
        # A package of strangers may raise anything at all, or end the process, when it is imported.
        except (Exception, SystemExit) as error:
            if self.package == OWN:
                raise
            raise UserError(
                f"the package {self.package} offers {self.name!r} for {self.group} as {self.target}, which cannot be "
                f"imported: {type(error).__name__}: {error}; update or uninstall {self.package}"
            ) from error


def offers_by_name(group: str, own: Mapping[str, str]) -> dict[str, Offer]:
    """Everything that is offered for ``group`` by name: ``own`` in its order, then other packages' by package and name.

    ``own`` maps a name to ``module:attribute``; no package can take such a name. Nothing is imported before an
    offer is called.
    """
    offers = {name: Offer(group=group, name=name, target=target) for name, target in own.items()}
    for offer in _foreign(group, _path()):
        known = offers.setdefault(offer.name, offer)
        if OWN != known.package != offer.package:
            offers[offer.name] = replace(known, rivals=(*known.rivals, offer.package))
    return offers


@dataclass(frozen=True, kw_only=True, slots=True)
class Loaded(Generic[T]):
    """An object that a package offers."""

    package: str
    value: T


def load_offers(group: str, kind: type[T]) -> tuple[dict[str, Loaded[T]], tuple[str, ...]]:
    """All objects of ``kind`` that are offered for ``group``, by name, in the order of ``offers_by_name``.

    And a sentence on each offer of another package that cannot be used: the others work without it.
    """
    found: dict[str, Loaded[T]] = {}
    unusable = []
    for name, offer in offers_by_name(group, own_targets(group)).items():
        try:
            value = offer()
            if not isinstance(value, kind):
                raise UserError(
                    f"the package {offer.package} offers {name!r} for {group} as {offer.target}, which is a "
                    f"{type(value).__name__} and no {kind.__name__}; update or uninstall {offer.package}"
                )
            found[name] = Loaded(package=offer.package, value=value)
        except UserError as error:
            if offer.package == OWN:
                raise
            unusable.append(str(error))
    return found, tuple(unusable)


@cache
def own_targets(group: str) -> Mapping[str, str]:
    """Names that the parts of Saccade that are here offer for ``group``, with ``module:attribute`` of each."""
    # No part that offers something is here where a leaf is installed alone.
    places = spec.submodule_search_locations if (spec := find_spec(f"{OWN}.offers")) else ()
    modules = (importlib.import_module(f"{OWN}.offers.{one.name}") for one in pkgutil.iter_modules(places))
    tables: list[Mapping[str, Mapping[str, str]]] = [module.OFFERS for module in modules]
    return {name: target for table in tables for name, target in table.get(group, {}).items()}


def offers(group: str) -> Iterator[Offer]:
    """Everything that is offered for ``group``, Saccade's own first; other packages are looked for once, if at all."""
    yield from (Offer(group=group, name=name, target=target) for name, target in own_targets(group).items())
    yield from offers_by_name(group, {}).values()


def offer_named(group: str, name: str) -> Offer | None:
    """The offer of this name, Saccade's own before those of other packages; None where nobody has one."""
    return next((offer for offer in offers(group) if offer.name == name), None)


def part(name: str) -> Callable[..., object]:
    """A function that a part of Saccade offers to parts that may not import it, for ``saccade.parts``.

    UserError where that part is not installed.
    """
    offer = offer_named("saccade.parts", name)
    if offer is None:
        raise UserError(f"{name} takes a part of Saccade that is not installed")
    found = offer()
    assert callable(found)
    return found


def _path() -> tuple[tuple[str, int], ...]:
    """Python's path with the times of its folders, which change when pip installs something there."""
    return tuple((one, place.stat().st_mtime_ns if (place := Path(one)).exists() else 0) for one in sys.path)


@cache
def _foreign(group: str, path: tuple[tuple[str, int], ...]) -> list[Offer]:
    # Takes 50 ms to import, which `saccade --help` need not pay.
    from importlib.metadata import distributions

    offers: dict[tuple[str, str], Offer] = {}
    for distribution in distributions(path=[one for one, _ in path]):
        try:
            # Only what names the group is parsed, and only then is the package's name read: both take time.
            if group not in (distribution.read_text("entry_points.txt") or ""):
                continue
            targets = {point.name: point.value for point in distribution.entry_points.select(group=group)}
        except Exception:
            targets = {"?": "a damaged entry_points.txt"}
        package = distribution.name
        for name, target in targets.items():
            # The first on the path is the one that Python imports.
            offers.setdefault((package, name), Offer(group=group, name=name, target=target, package=package))
    return [offers[key] for key in sorted(offers)]
