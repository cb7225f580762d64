"""Makers of tools: how a tool is made again in another process, from what a record keeps of it.

A tool names its maker in its ``origin``, ``{"NAME": settings}``, and a plain function needs none. What is offered for
``saccade.tools`` (``saccade.entry_points``) is a class of ``ToolMaker``, or a tuple of tools made by ``tool_from``.

=====================================  ==========================================================================
origin                                 what makes it
=====================================  ==========================================================================
``{"function": "saccade.tools.…:f"}``  a function of tools that are offered, with its ``deadline_s``
``{"python": {…}}``                    Python in a sandbox, with the settings of ``python_tool`` and the isolation
``{"catalogue": {…}}``                 the catalogue's tool, with back end, options and the folder that paths start at
``{"service": URL}``                   a tool service
``{…, "package": PACKAGE}``            the same of another package: its function, or its maker by name
``{}``                                 unknown: a tool of the recipe's own
=====================================  ==========================================================================
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from saccade.codec.fields import Fields
from saccade.entry_points import OWN, Offer, offer_named, offers
from saccade.errors import UserError
from saccade.tools.tool import EpisodeTool, Returned, Tool, tool_from
from saccade.types import Json

if TYPE_CHECKING:
    from saccade.tools.reaches import Reach

GROUP = "saccade.tools"
PACKAGE = "package"
"""Key of an origin that names the package of its maker; no maker has this name."""
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}")

Resource = TypeVar("Resource", bound=AbstractContextManager[object])


class UnknownOriginError(Exception):
    """The record does not tell how this tool is made."""


@dataclass(kw_only=True)
class ToolBench:
    """What the tools of one run share."""

    isolation: str | None = None
    """The user's word on the isolation of what runs code; None for ``full``, whatever a record says."""
    sandbox_server: str = ""
    """Address of a server that runs the code (``saccade.sandbox.RemoteSandbox``); empty: this machine."""
    evidence_runs: int = 0
    """Runs of code that are made again for each call, to say what of the pictures its output depends on."""
    resources: list[AbstractContextManager[object]] = field(default_factory=list, init=False)
    """What the run enters for its tools."""
    warnings: set[str] = field(default_factory=set, init=False)
    """Warnings that were logged, each once."""
    _shared: dict[tuple[type, str], object] = field(default_factory=dict, init=False)

    def shared(self, kind: type[Resource], key: str, make: Callable[[], Resource]) -> Resource:
        """The resource of this kind and key, made for the first tool that needs it."""
        found = self._shared.get((kind, key))
        if not isinstance(found, kind):
            found = self._shared[kind, key] = make()
            self.resources.append(found)
        return found


class ToolMaker:
    """Makes tools of one kind of origin; a package derives its own and offers the class.

    A record may come from anywhere: its texts are no code, and no tool reaches what ``reaches`` leaves out.
    """

    def make(
        self, name: str, origin: Fields, bench: ToolBench, allowed: frozenset[str] | None = None
    ) -> Tool | EpisodeTool:
        """The tool of this name and origin. UserError, or BrokenRecordError, for one that cannot be made here.

        ``allowed`` has values of ``--allow``, by which optional secrets may be sent; None for what is the user's own.
        """
        raise NotImplementedError

    def reaches(self, origin: Fields) -> "Iterator[Reach]":
        """What tools of this origin reach outside: any text of their settings, unless a maker knows better."""
        from saccade.tools.reaches import option_reach

        for key, value in origin.values.items():
            for name, text in value.items() if isinstance(value, Mapping) else ((key, value),):
                if key != PACKAGE and (reach := option_reach(name, text, Path())) is not None:
                    yield reach

    def wished(self, wish: str, bench: ToolBench) -> Sequence[Tool | EpisodeTool]:
        """Tools that a user's ``--tools`` means by this text; none where another maker is meant."""
        return ()


class _FunctionMaker(ToolMaker):
    """Makes tools of functions that a package lists as its tools."""

    def make(
        self, name: str, origin: Fields, bench: ToolBench, allowed: frozenset[str] | None = None
    ) -> Tool | EpisodeTool:
        found = _listed_function(origin.text("function"))
        if found is None:
            raise _unknown(name, origin.values)
        return tool_from(found[1], origin.number("deadline_s"))

    def reaches(self, origin: Fields) -> "Iterator[Reach]":
        return iter(())


def origin_of(tool: Tool | EpisodeTool) -> dict[str, Json]:
    """Origin from which the tool is made again, by the table above."""
    # A tool with a state is any class of anybody's, with an origin of whatever kind.
    origin: object = getattr(tool, "origin", None)
    if isinstance(origin, Mapping):
        offer = next((offer for offer in map(_offer, origin) if offer is not None), None)
        return {**origin, **_package(offer)} if offer is not None else {}
    place = _place_of(tool) if isinstance(tool, Tool) else ""
    if not isinstance(tool, Tool) or (found := _listed_function(place)) is None:
        return {}
    # One that was made from theirs and says something else of itself is somebody's own.
    is_theirs = tool_from(found[1], tool.deadline_s).spec == tool.spec
    return {"function": place, "deadline_s": tool.deadline_s, **_package(found[0])} if is_theirs else {}


def makers_of(name: str, origin: Mapping[str, Json]) -> list[ToolMaker]:
    """Makers that the origin of this tool names, of which the first makes it.

    UserError where the package of its maker is missing, UnknownOriginError where it names none.
    """
    offered = [offer() for offer in map(_offer, origin) if offer is not None]
    makers = [one for one in offered if isinstance(one, type) and issubclass(one, ToolMaker)]
    if not makers and "function" not in origin:
        raise _unknown(name, origin)
    return [*(make() for make in makers), *([_FunctionMaker()] if "function" in origin else [])]


def wished_tools(wish: str, bench: ToolBench) -> Sequence[Tool | EpisodeTool]:
    """The tools that a user's ``--tools`` means by this text, those of a package by its offer's name; UserError for
    none."""
    refusal = UserError(f"there is no tool {wish!r}; `saccade tools` lists them")
    for offer in offers(GROUP):
        if offer.package != OWN and offer.name != wish:
            continue
        offered = offer()
        try:
            if isinstance(offered, type) and issubclass(offered, ToolMaker):
                found = offered().wished(wish, bench)
            else:
                found = _listed_tools(offered) if offer.package != OWN else ()
        except UserError as error:
            # Another package may offer this name.
            refusal = error
            continue
        if found:
            return found
    raise refusal


def _offer(name: str) -> Offer | None:
    return None if name == PACKAGE else offer_named(GROUP, name)


def _package(offer: Offer) -> dict[str, Json]:
    return {} if offer.package == OWN else {PACKAGE: offer.package}


def _listed_tools(offered: object) -> tuple[Tool, ...]:
    return tuple(one for one in offered if isinstance(one, Tool)) if isinstance(offered, tuple) else ()


def _listed_function(place: str) -> tuple[Offer, Callable[..., Returned]] | None:
    """The function ``module:name`` of a tool that is offered, and its offer: no other module is imported."""
    module = place.partition(":")[0]
    for offer in offers(GROUP):
        if offer.target.partition(":")[0] == module:
            for tool in _listed_tools(offer()):
                if _place_of(tool) == place:
                    return offer, tool.function
    return None


def _place_of(tool: Tool) -> str:
    return f"{getattr(tool.function, '__module__', '')}:{getattr(tool.function, '__qualname__', '')}"


def _unknown(name: str, origin: Mapping[str, Json]) -> Exception:
    package = origin.get(PACKAGE)
    if not isinstance(package, str) or not _PACKAGE_NAME.fullmatch(package):
        return UnknownOriginError(name)
    return UserError(
        f"the tool {name} is made by the package {package}, which is not installed here or does not offer it; install "
        "it if you trust it, or give other tools with --tools"
    )
