"""Sets of tools, one for each trajectory; how often each tool is used, and the toolbox of the most frequent.

Equations 5 to 7: the pool is the union of the sets, f(t) counts the trajectories that use t, however often each does,
and the toolbox holds the K tools of the greatest f.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from saccade.codec.codecs import plain_json
from saccade.codec.forms import Form
from saccade.curation.linguistic_tools.grammar import Refusal, RefusedTool
from saccade.errors import UserError
from saccade.protocols.linguistic_tools import LinguisticTool, LinguisticToolbox
from saccade.protocols.tool_tags import ChainCall
from saccade.types import Json

K = 7
"""Tools of the paper's toolbox; they cover 98.9 % of all uses in its Table 9."""

SetStatus = Literal["read", "cut_off", "no_reply"]
"""``cut_off``: no reply came to its end; ``no_reply``: the curator's machine failed each time."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSet:
    """The tools that a curator found in one trajectory; iterating over it gives their names."""

    FORM: ClassVar = Form(keys={"trajectory": "id"}, last=("status", "asked", "tools", "calls", "refused"))

    trajectory: str
    status: SetStatus = "read"
    tools: tuple[LinguisticTool, ...] = ()
    """In the order of their first use, with the descriptions of the pool."""
    calls: tuple[ChainCall, ...] = ()
    """The trajectory's steps as uses of those tools: examples of chains."""
    refused: tuple[RefusedTool, ...] = ()
    asked: int = 1
    """How often the curator was asked."""

    def __iter__(self) -> Iterator[str]:
        return iter(tool.name for tool in self.tools)

    @property
    def task_id(self) -> str:
        """The key under which a journal keeps it."""
        return self.trajectory

    def as_json(self) -> dict[str, Json]:
        return plain_json(self)


def frequencies(sets: Iterable[Iterable[str]]) -> dict[str, int]:
    """The number of sets that hold each tool (equation 7), the most frequent first and ties by first appearance."""
    counts: dict[str, int] = {}
    for one in sets:
        for name in dict.fromkeys(one):
            counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolOrigin:
    """Where a tool of the pool came from, and how it was used."""

    FORM: ClassVar = Form(flat=("tool",))

    tool: LinguisticTool
    first: str
    """The trajectory that brought it."""
    trajectories: int
    """Trajectories that use it: f(t)."""
    calls: int
    """Its uses, several in one trajectory each for itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BuiltToolbox:
    """The toolbox of the most frequent tools, and the pool that it was taken from."""

    toolbox: LinguisticToolbox
    coverage: float | None
    """Share of the pool's counts f that its tools have; None where there is no use at all."""
    pool: tuple[ToolOrigin, ...]
    """All tools, the most frequent first; the first ``len(toolbox)`` are the toolbox."""


def build_toolbox(sets: Sequence[ToolSet], k: int = K) -> BuiltToolbox:
    """The ``k`` most frequent tools (equation 6), ties by first appearance; all of them where there are not so many.

    The first description of a tool stays. UserError for ``k`` below 1.
    """
    if k < 1:
        raise UserError(f"k={k} makes an empty toolbox; use 1 or more")
    counts = frequencies(sets)
    first: dict[str, tuple[str, LinguisticTool]] = {}
    calls: dict[str, int] = {}
    for one in sets:
        for tool in one.tools:
            first.setdefault(tool.name, (one.trajectory, tool))
        for call in one.calls:
            calls[call.name] = calls.get(call.name, 0) + 1
    pool = tuple(
        ToolOrigin(tool=first[name][1], first=first[name][0], trajectories=count, calls=calls.get(name, 0))
        for name, count in counts.items()
    )
    total = sum(counts.values())
    return BuiltToolbox(
        toolbox=LinguisticToolbox(tuple(one.tool for one in pool[:k])),
        coverage=sum(one.trajectories for one in pool[:k]) / total if total else None,
        pool=pool,
    )


def refusals(sets: Iterable[ToolSet]) -> Mapping[Refusal, int]:
    """What was refused, by reason."""
    counts: dict[Refusal, int] = dict.fromkeys(get_args(Refusal), 0)
    for one in sets:
        for refused in one.refused:
            counts[refused.why] += 1
    return {why: count for why, count in counts.items() if count}
