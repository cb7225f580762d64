"""Tools in a checkpoint's record: the making, by makers that packages offer (``saccade.tools.making``).

A record may come from anywhere: walls that it asks for are never weaker than ``full``, and what it reaches needs the
user's yes (``saccade.runs.reaches``).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.errors import UserError
from saccade.runs.asking import ToolRecord
from saccade.runs.reaches import Permission
from saccade.tools.making import ToolBench, makers_of
from saccade.tools.reaches import ReachError
from saccade.tools.tool import EpisodeTool, Tool


@dataclass(kw_only=True)
class Toolmaker(ToolBench):
    """Makes tools from their records; ``resources`` are what a run enters for them."""

    permission: Permission = field(default_factory=Permission)

    def made(self, records: Sequence[ToolRecord]) -> tuple[Tool | EpisodeTool, ...]:
        """The tools, in this order. UnknownOriginError, and UserError for one that cannot be made here, or that reaches
        what the user has not allowed."""
        return tuple(map(self._make, records))

    def _make(self, record: ToolRecord) -> Tool | EpisodeTool:
        name, origin = record.spec.name, record.origin
        for reach in self.permission.lacking(name, origin):
            raise ReachError(name, reach)
        allowed = None if self.permission.is_own(name, origin) else self.permission.allowed
        try:
            return makers_of(name, origin)[0].make(name, Fields(origin, f"the origin of {name}"), self, allowed)
        except (BrokenRecordError, TypeError, LookupError) as error:
            raise UserError(f"the record of the tool {name} cannot be read: {error}") from error
