"""What the tools of a record, or its environment, reach outside, and what of it the user has allowed.

A record may come from anywhere. Its addresses, environment variables and paths count only by the user's word: his
command (``--allow``), or a run of his own that wrote the same tool (``saccade.runs.own_origins``).
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.runs.asking import ToolRecord
from saccade.runs.own_origins import origin_key, own_origins, remember
from saccade.tools.making import UnknownOriginError, makers_of
from saccade.tools.reaches import Reach
from saccade.types import Json

_ADDRESS = re.compile(r"https?://[A-Za-z0-9._\[\]:-]+(?:[/?][!-~]*)?")
"""An address whose host is what one reads: no user before an @, no letters that look like others."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, kw_only=True, slots=True)
class Permission:
    """What the user has said yes to."""

    allowed: frozenset[str] = frozenset()
    """Values of ``--allow``."""
    own: frozenset[str] = field(default_factory=own_origins)
    """Hashes of origins that the user's own runs have written."""

    def is_own(self, name: str, origin: Mapping[str, Json]) -> bool:
        return origin_key(name, origin) in self.own

    def lacking(self, name: str, origin: Mapping[str, Json]) -> tuple[Reach, ...]:
        """What a tool reaches without the user's yes. UserError for a reach that cannot be shown as it is."""
        if self.is_own(name, origin):
            return ()
        reaches = tuple(reaches_of(name, origin))
        for reach in reaches:
            _check_shown(name, reach)
        return tuple(reach for reach in reaches if reach.is_needed and reach.allowed_by not in self.allowed)

    def notice(self, checkpoint: Path, held_back: Sequence[ToolRecord]) -> str:
        """The tools that are left out, what they reach, and the options that allow it; in lines."""
        lacking = [(one.spec.name, self.lacking(one.spec.name, one.origin)) for one in held_back]
        options = dict.fromkeys(reach.option for _, reaches in lacking for reach in reaches)
        secrets = dict.fromkeys(
            reach.option
            for one in held_back
            for reach in reaches_of(one.spec.name, one.origin)
            if not reach.is_needed and reach.value in os.environ and f"env:{reach.value}" not in self.allowed
        )
        return "\n".join(
            [
                f"{checkpoint} names tools that reach outside. They are left out until you allow it:",
                *(f"  {name}: {', '.join(map(str, reaches))}" for name, reaches in lacking),
                f"To play with them, add: {' '.join(options)}",
                *(f"No key or token of yours is sent there, unless you also add: {option}" for option in secrets),
            ]
        )


def reaches_of(name: str, origin: Mapping[str, Json]) -> Iterator[Reach]:
    """What a tool, or an environment, of this origin reaches, needed or not. UserError for one that cannot be read."""
    fields = Fields(origin, f"the origin of {name}")
    try:
        if fields.has("environment"):
            opened = fields.fields("environment")
            if opened.has("python"):
                yield Reach(kind="path", value=opened.text("python"))
            if opened.text("arguments"):
                yield Reach(kind="text", value=opened.text("arguments"))
        with suppress(UnknownOriginError):
            for maker in makers_of(name, origin):
                yield from maker.reaches(fields)
    except BrokenRecordError as error:
        raise UserError(f"the record of the tool {name} cannot be read: {error}") from error


def remember_own(origins: Iterable[tuple[str, Mapping[str, Json]]]) -> None:
    """Remember tools of the user's own run, by name and origin, if they reach outside."""
    remember(origin_key(name, origin) for name, origin in origins if any(reaches_of(name, origin)))


def _check_shown(name: str, reach: Reach) -> None:
    """UserError for a value that a terminal would show as another."""
    form = {"address": _ADDRESS, "variable": _VARIABLE}.get(reach.kind)
    if not reach.value.isprintable() or (form is not None and not form.fullmatch(reach.value)):
        raise UserError(
            f"the record of the tool {name} names the {reach.kind} {ascii(reach.value)[:200]}, which a terminal would "
            "show as another; it is refused. Give other tools with --tools"
        )
