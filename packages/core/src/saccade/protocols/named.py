"""The protocols by name: for the command line, and for checkpoints that say how they are asked."""

import inspect
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from saccade.entry_points import OWN, Offer, offer_named, own_targets
from saccade.errors import UserError
from saccade.own_code import module_of_file, named_in, own_file
from saccade.protocols.box_text import BoxForm
from saccade.protocols.instructions import Style
from saccade.protocols.protocol import ChatProtocol, Reading, ToolboxOfWords
from saccade.protocols.readings import with_reading
from saccade.types import Json

_GROUP = "saccade.protocols"

ProtocolName = str
"""One of ``PROTOCOLS``, a name that an installed package offers, or ``FILE.py:NAME``."""

PROTOCOLS: tuple[str, ...] = tuple(own_targets(_GROUP))


def protocol_named(
    name: ProtocolName,
    *,
    style: Style,
    max_turns: int | None,
    box_form: BoxForm = "lenient",
    toolbox: ToolboxOfWords | Mapping[str, Json] | None = None,
    reading: Reading = "strict",
) -> ChatProtocol:
    """The protocol of this name, whose maker takes of ``name``, ``style``, ``max_turns``, ``form`` (of boxes) and
    ``toolbox`` those that its parameters name.

    UserError for a name that nobody offers, for what is no protocol, and for chains without a toolbox.
    """
    file, offer = own_file(name), offer_named(_GROUP, name)
    found = offer() if offer else file and _in_file(file, name)
    if found is None:
        raise UserError(f"there is no protocol {name!r}; the protocols are {', '.join(PROTOCOLS)}, or FILE.py:NAME")
    if callable(found):
        values = {"name": name, "style": style, "max_turns": max_turns, "form": box_form, "toolbox": toolbox}
        wanted = inspect.signature(found).parameters
        found = found(**{key: value for key, value in values.items() if key in wanted})
    if not isinstance(found, ChatProtocol):
        raise UserError(
            f"the protocol {name} is a {type(found).__name__}; it must be a ChatProtocol or a function that returns it"
        )
    # Records know it by the name that it was found by.
    named = found if offer is None or found.name == name else replace(found, name=name)
    return with_reading(named, reading)


@cache
def _in_file(file: Path, name: str) -> object:
    return named_in(
        module_of_file(file, what="protocol"), name.partition(".py:")[2], name, what="protocol", parameters=0
    )


def name_of(protocol: ChatProtocol) -> ProtocolName | None:
    """The name by which ``protocol_named`` gives the same protocol; None for one of somebody's own.

    One that was made from a named one and asks, reads or shows otherwise is somebody's own too.
    """
    parts = (protocol.prompt, protocol.parse, protocol.observe)
    modules = [f"{getattr(part, '__module__', '')}." for part in parts]
    if all(module.startswith("saccade.protocols.") for module in modules) and protocol.name in PROTOCOLS:
        return protocol.name
    offer = _foreign_offer(protocol.name)
    homes = ("saccade.protocols.", f"{offer.target.partition(':')[0].partition('.')[0]}.") if offer else ()
    return protocol.name if offer and all(module.startswith(homes) for module in modules) else None


def package_of(name: ProtocolName) -> str | None:
    """The package beside Saccade that offers the protocol of this name; None for one of Saccade's own."""
    offer = _foreign_offer(name)
    return offer.package if offer else None


def known_name(text: str) -> ProtocolName | None:
    """The text as the name of a protocol; None for an unknown one."""
    return text if text in PROTOCOLS or _foreign_offer(text) else None


def _foreign_offer(name: str) -> Offer | None:
    offer = None if name in PROTOCOLS else offer_named(_GROUP, name)
    return None if offer is None or offer.package == OWN else offer
