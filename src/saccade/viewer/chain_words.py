"""Chains of linguistic tools, in the words of a report."""

from saccade.evaluation.chains import ChainUse
from saccade.viewer.words import percent_text, readable, visible

MAX_NAMED = 8
"""Tools that are named."""


def chains_text(chains: ChainUse | None) -> str:
    """``98 % valid (2 no tool), 2.10 tools a chain: read_cell in 64 %, compare in 20 %``; nothing without chains."""
    if chains is None:
        return ""
    errors = ", ".join(f"{count:,} {readable(kind)}" for kind, count in chains.errors.items())
    named = [
        f"{visible(name, 64)} in {percent_text(count / chains.chains)}"
        for name, count in list(chains.tools.items())[:MAX_NAMED]
    ]
    if (more := len(chains.tools) - MAX_NAMED) > 0:
        named.append(f"{more} more")
    parts = [f"{percent_text(chains.valid)} valid{f' ({errors})' if errors else ''}"]
    parts.append(f"{chains.calls_mean:.2f} tools a chain{': ' if named else ''}{', '.join(named)}")
    if chains.echoed:
        parts.append(f"{percent_text(chains.echoed)} of their findings say the question again")
    if chains.unanswered:
        parts.append(f"{chains.unanswered:,} valid without an answer")
    return "; ".join(parts)
