"""Two toolboxes beside each other: which tools they share by name or by description, which are new, which are gone."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, get_args

from saccade.codec.forms import Form
from saccade.curation.linguistic_tools.curated import CuratedTools
from saccade.errors import UserError
from saccade.protocols.linguistic_tools import LinguisticTool, LinguisticToolbox, normal_name
from saccade.runs.runinfo import RunPaths, read_json_object

ToolChange = Literal["same", "reworded", "renamed", "new", "gone"]
"""``reworded``: the name of an old one with another description or other arguments; ``renamed``: the description of an
old one under another name."""

CHANGES: Mapping[ToolChange, str] = {
    "same": "in both",
    "reworded": "same name, other words",
    "renamed": "same description, another name",
    "new": "only in the second",
    "gone": "only in the first",
}
ALIKE = 0.8
"""Descriptions with so great a share of their letters in common are one (difflib's ratio)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PooledTool:
    """A tool of a toolbox or of the pool behind it."""

    FORM: ClassVar = Form(flat=("tool",))

    tool: LinguisticTool
    is_in_box: bool
    trajectories: int | None = None
    """Right trajectories that use it; None for a toolbox that was written by hand."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedTool:
    """A tool as either of two toolboxes has it."""

    change: ToolChange
    before: PooledTool | None
    after: PooledTool | None


def compared_tools(before: list[PooledTool], after: list[PooledTool]) -> list[ComparedTool]:
    """Each tool of either once: those of both first, in the second's order.

    Tools of one name belong together, whatever they say; of the others, those whose descriptions are most alike.
    """
    old = {normal_name(one.tool.name): one for one in before}
    new = {normal_name(one.tool.name): one for one in after}
    found = [
        ComparedTool(change="same" if old[name].tool == one.tool else "reworded", before=old[name], after=one)
        for name, one in new.items()
        if name in old
    ]
    gone = [one for name, one in old.items() if name not in new]
    for one in (one for name, one in new.items() if name not in old):
        match = max(gone, key=lambda other: _likeness(one, other), default=None)
        if match is not None and _likeness(one, match) >= ALIKE:
            gone.remove(match)
            found.append(ComparedTool(change="renamed", before=match, after=one))
        else:
            found.append(ComparedTool(change="new", before=None, after=one))
    found += [ComparedTool(change="gone", before=one, after=None) for one in gone]
    order: tuple[ToolChange, ...] = get_args(ToolChange)
    return sorted(found, key=lambda one: order.index(one.change))


def pooled_tools(path: Path) -> list[PooledTool]:
    """The tools of a file of a toolbox, or of a run that has curated one; UserError for anything else.

    With a curation beside it the whole pool, so that a tool that only fell out of the K most frequent is not gone.
    """
    file = _file_of(path)
    value = read_json_object(file)
    if "curation" not in value:
        return [PooledTool(tool=tool, is_in_box=True) for tool in LinguisticToolbox.from_json(value, str(file)).tools]
    curated = CuratedTools.from_json(value, str(file))
    return [
        PooledTool(tool=one.tool, is_in_box=one.tool.name in curated.toolbox, trajectories=one.trajectories)
        for one in curated.pool
    ]


def comparison_lines(found: list[ComparedTool]) -> list[str]:
    """The comparison as lines of text: a heading for each kind of change, then its tools."""
    width = max((len(_name(one)) for one in found), default=0)
    lines = []
    for change, meaning in CHANGES.items():
        of_kind = [one for one in found if one.change == change]
        if of_kind:
            lines.append(f"{len(of_kind)} {change} ({meaning}):")
            lines += [line for one in of_kind for line in _lines(one, width)]
    return lines or ["Neither has a tool."]


def _lines(one: ComparedTool, width: int) -> list[str]:
    lines = [f"  {_name(one):<{width}}  {_uses(one.before)} -> {_uses(one.after)}"]
    if one.change == "reworded" and one.before and one.after:
        lines += [f"    - {_words(one.before.tool)}", f"    + {_words(one.after.tool)}"]
    return lines


def _name(one: ComparedTool) -> str:
    names = dict.fromkeys(side.tool.name for side in (one.before, one.after) if side is not None)
    return " -> ".join(names) if one.change == "renamed" else next(iter(names))


def _uses(side: PooledTool | None) -> str:
    if side is None:
        return "–"
    counted = "" if side.trajectories is None else f" of {side.trajectories:,} trajectories"
    return f"{'toolbox' if side.is_in_box else 'pool only'}{counted}"


def _words(tool: LinguisticTool) -> str:
    return f"{tool.args} || {tool.description}"


def _likeness(one: PooledTool, other: PooledTool) -> float:
    return difflib.SequenceMatcher(None, one.tool.description.casefold(), other.tool.description.casefold()).ratio()


def _file_of(path: Path) -> Path:
    if not path.is_dir():
        return path
    files = [file for file in sorted(RunPaths(root=path).derived.glob("*.json")) if "tools" in read_json_object(file)]
    if len(files) != 1:
        named = ", ".join(str(file) for file in files) or "none"
        raise UserError(f"{path} has {len(files)} toolboxes in {RunPaths(root=path).derived} ({named}); name a file")
    return files[0]
