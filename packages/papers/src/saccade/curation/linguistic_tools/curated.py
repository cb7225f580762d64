"""What a curation of linguistic tools gives: the toolbox, where its tools came from, and how little it rests on."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self, get_args

from saccade.codec.codecs import PLAIN_CODEC, plain_json
from saccade.codec.fields import Fields
from saccade.codec.wrong import BrokenRecordError
from saccade.curation.linguistic_tools.grammar import Refusal
from saccade.curation.linguistic_tools.sets import SetStatus, ToolOrigin, ToolSet, build_toolbox, refusals
from saccade.errors import UserError
from saccade.protocols.linguistic_tools import LinguisticToolbox
from saccade.protocols.tool_tags import ChainCall
from saccade.types import Json

FEW = 100
"""A toolbox that rests on fewer trajectories says so."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CuratedTools:
    """The outcome of a curation: the sets of all trajectories, in order, and K; everything else follows from them."""

    sets: tuple[ToolSet, ...]
    k: int

    @property
    def toolbox(self) -> LinguisticToolbox:
        """The K most frequent tools (equation 6)."""
        return build_toolbox(self.sets, self.k).toolbox

    @property
    def coverage(self) -> float | None:
        """Share of all uses that the toolbox has, a tool counted once for a trajectory; None without any use."""
        return build_toolbox(self.sets, self.k).coverage

    @property
    def pool(self) -> tuple[ToolOrigin, ...]:
        """All tools with where they came from, the most frequent first."""
        return build_toolbox(self.sets, self.k).pool

    @property
    def applications(self) -> Mapping[str, tuple[ChainCall, ...]]:
        """The trajectories as chains, by their ids: those whose every tool is in the toolbox. Examples to imitate."""
        toolbox = self.toolbox
        return {one.trajectory: one.calls for one in self.sets if one.calls and all(name in toolbox for name in one)}

    @property
    def refused(self) -> Mapping[Refusal, int]:
        """What was refused of the replies, by reason."""
        return refusals(self.sets)

    @property
    def statuses(self) -> Mapping[SetStatus, int]:
        """Trajectories by what became of them."""
        counts = Counter(one.status for one in self.sets)
        statuses: tuple[SetStatus, ...] = get_args(SetStatus)
        return {status: counts[status] for status in statuses}

    @property
    def rests_on(self) -> int:
        """Trajectories that use a tool of the toolbox."""
        toolbox = self.toolbox
        return sum(any(name in toolbox for name in one) for one in self.sets)

    def to_json(self) -> dict[str, Json]:
        """The toolbox's own JSON, which ``LinguisticToolbox.from_json`` reads, with the curation beside it."""
        statuses, pool = self.statuses, self.pool
        return {
            **self.toolbox.to_json(),
            "curation": {
                "k": self.k,
                "coverage": self.coverage,
                "rests_on": self.rests_on,
                "trajectories": len(self.sets),
                **{str(status): count for status, count in statuses.items()},
                "asked": sum(one.asked for one in self.sets),
                "refused": {str(why): count for why, count in self.refused.items()},
                "pool": [plain_json(one) for one in pool],
                "sets": [one.as_json() for one in self.sets],
            },
        }

    @classmethod
    def from_json(cls, value: Json, where: str = "the curation") -> Self:
        """A curation that ``to_json`` wrote; UserError names ``where``."""
        try:
            fields = Fields(value, where).fields("curation")
            sets = tuple(PLAIN_CODEC.reader(ToolSet).from_json(one, "the set") for one in fields.items("sets"))
            return cls(sets=sets, k=fields.whole("k"))
        except BrokenRecordError as error:
            raise UserError(f"{where} is no curation of linguistic tools: {error}") from error

    def describe(self) -> str:
        """The toolbox and the counts as lines of text."""
        statuses = self.statuses
        lines = _table(self.pool, self.k)
        covered = "" if self.coverage is None else f"; they cover {self.coverage:.1%} of all uses"
        lines.append(f"{len(self.toolbox)} of {len(self.pool)} tools{covered}.")
        lines.append(
            f"They rest on {self.rests_on} of {len(self.sets)} right trajectories"
            + (f", fewer than {FEW}: take their order with caution." if self.rests_on < FEW else ".")
        )
        lost = {"cut off": statuses["cut_off"], "without a reply": statuses["no_reply"]}
        lines += [f"{count} trajectories were skipped: {why}." for why, count in lost.items() if count]
        if self.refused:
            lines.append("Refused: " + ", ".join(f"{count} {why}" for why, count in self.refused.items()) + ".")
        return "\n".join(lines) + "\n"


def _table(pool: Sequence[ToolOrigin], k: int) -> list[str]:
    width = max((len(one.tool.name) for one in pool), default=0)
    lines = []
    for place, one in enumerate(pool):
        if place == k:
            lines.append("  not in the toolbox:")
        first = f"first in {one.first}"
        lines.append(f"  {one.tool.name:<{width}}  {one.trajectories:>6} trajectories  {one.calls:>6} uses  {first}")
    return lines
