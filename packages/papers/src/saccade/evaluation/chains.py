"""Chains of linguistic tools: what is wrong with them, and which tools they use (Lang2Act, Tables 9 and 10)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from saccade.characters import percent_text, readable, visible
from saccade.codec.forms import Form
from saccade.evaluation.figure import StageFigure
from saccade.protocols.linguistic_tools import normal_name
from saccade.rewards.lang2act import CHAIN_ERRORS
from saccade.types import Attempt, Score

MAX_NAMED = 8
"""Tools that a line names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChainUse:
    """Chains of an evaluation's trajectories, of those that a reward read chains of."""

    FORM: ClassVar = Form(also=("valid",))
    title: ClassVar = "chains"

    chains: int
    errors: Mapping[str, int]
    """Chains by what is wrong with them; the kinds that there are, in the order in which they are looked for."""
    tools: Mapping[str, int]
    """Chains that use each tool, whatever else is wrong with them, the most frequent first."""
    calls_mean: float
    """Uses per chain."""
    echoed: float
    """Share of the uses that only say question or arguments again; 0 without any."""
    unanswered: int
    """Valid chains that end without an answer: the paper's reward pays them."""

    @property
    def valid(self) -> float:
        """Share of the chains that are valid."""
        return 1 - sum(self.errors.values()) / self.chains

    def describe(self) -> str:
        """``98 % valid (2 no tool), 2.10 tools a chain: read_cell in 64 %, compare in 20 %``."""
        errors = ", ".join(f"{count:,} {readable(kind)}" for kind, count in self.errors.items())
        named = [
            f"{visible(name, 64)} in {percent_text(count / self.chains)}"
            for name, count in list(self.tools.items())[:MAX_NAMED]
        ]
        if (more := len(self.tools) - MAX_NAMED) > 0:
            named.append(f"{more} more")
        parts = [f"{percent_text(self.valid)} valid{f' ({errors})' if errors else ''}"]
        parts.append(f"{self.calls_mean:.2f} tools a chain{': ' if named else ''}{', '.join(named)}")
        if self.echoed:
            parts.append(f"{percent_text(self.echoed)} of their findings say the question again")
        if self.unanswered:
            parts.append(f"{self.unanswered:,} valid without an answer")
        return "; ".join(parts)


def chain_use(attempts: Iterable[Attempt]) -> ChainUse | None:
    """The measures; None where no reward has read a chain. Trajectories that the machine failed have no score."""
    found = [
        (one, score)
        for one in attempts
        if (score := one.trajectory.score) is not None and "chain_error" in score.evidence
    ]
    if not found:
        return None
    scores = [score for _, score in found]
    errors = [score.evidence["chain_error"] for score in scores]
    uses = sum(score.notes["tools_used"] for score in scores)
    counts: dict[str, int] = {}
    for score in scores:
        for name in _tools(score):
            counts[name] = counts.get(name, 0) + 1
    return ChainUse(
        chains=len(found),
        errors={kind: errors.count(kind) for kind in CHAIN_ERRORS if kind in errors},
        tools=dict(sorted(counts.items(), key=lambda item: -item[1])),
        calls_mean=uses / len(found),
        echoed=sum(score.notes["tools_echoed"] for score in scores) / uses if uses else 0.0,
        unanswered=sum(
            not score.evidence["chain_error"] and not (one.trajectory.answer or "").strip() for one, score in found
        ),
    )


FIGURE = StageFigure(kind=ChainUse, of=chain_use)


def _tools(score: Score) -> Iterable[str]:
    """Names of the tools that a chain uses, each once."""
    names = score.evidence.get("tools")
    listed = names if isinstance(names, Sequence) and not isinstance(names, str) else ()
    return dict.fromkeys(normal_name(name) for name in listed if isinstance(name, str))
