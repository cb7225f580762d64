"""Section of a report on a toolbox of linguistic tools: how it grew, what it rests on, and what was refused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from saccade.curation.linguistic_tools.curated import FEW, CuratedTools
from saccade.curation.linguistic_tools.grammar import Refusal
from saccade.curation.linguistic_tools.sets import SetStatus, ToolOrigin, ToolSet
from saccade.errors import UserError
from saccade.protocols.tool_tags import written_tool
from saccade.runs.runinfo import read_json_object
from saccade.types import Json
from saccade.viewer.charts import Line, line_chart
from saccade.viewer.curves import CurveChart
from saccade.viewer.evidence import Evidence
from saccade.viewer.section import Section, Tell
from saccade.viewer.templates import page_template
from saccade.viewer.words import number_text, percent_text, readable, visible

REFUSALS: Mapping[Refusal, str] = {
    "undefined": "used, and nowhere defined",
    "name": "a name that no tool can have",
    "definition": "a definition without its three parts",
    "empty": "a use that says nothing of what it found",
    "too_many": "more new tools than one reply may define",
    "tags": "tags that are not in order: nothing after them was read",
    "pool_full": "defined when the pool was full",
}
MAX_REFUSED_NAMES = 6
"""Names that are shown of each kind."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolRow:
    """A tool of the pool; texts are made visible but not escaped."""

    name: str
    args: str
    description: str
    is_in_box: bool
    trajectories: str
    uses: str
    covered: str
    """Share of all uses that the tools down to this one have."""
    first: str
    """Place among the trajectories, in the order in which they were curated."""
    first_id: str
    first_use: str
    """The call that brought it, as the curator wrote it, with its place among the calls of its trajectory."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolboxView:
    """A curation as it is shown."""

    title: str
    sentences: tuple[str, ...]
    rests_on_few: str
    """A warning; empty where the toolbox rests on enough."""
    rows: tuple[ToolRow, ...]
    charts: tuple[CurveChart, ...]
    refused: tuple[tuple[str, str, str], ...]
    """Number, reason, and some of the names with the trajectory of the first."""


def toolbox_view(name: str, curated: CuratedTools) -> ToolboxView:
    """Everything that is shown of a curation."""
    return ToolboxView(
        title=visible(readable(name), 80),
        sentences=tuple(_sentences(curated)),
        rests_on_few=_few(curated),
        rows=tuple(_rows(curated)),
        charts=(_growth(curated.sets), _coverage(curated)),
        refused=tuple(_refusal_rows(curated.sets)),
    )


def toolbox_values(name: str, curated: CuratedTools) -> dict[str, Json]:
    """The toolbox in ``report.json``: the curation's own values, without its sets."""
    values = curated.to_json()
    curation = values["curation"]
    assert isinstance(curation, dict)
    return {"name": name, "tools": values["tools"], **{key: one for key, one in curation.items() if key != "sets"}}


def _sentences(curated: CuratedTools) -> list[str]:
    statuses, asked = curated.statuses, sum(one.asked for one in curated.sets)
    said = [
        f"{len(curated.toolbox)} of the {len(curated.pool)} tools that were named"
        + (f", which have {percent_text(curated.coverage)} of all uses" if curated.coverage is not None else "")
        + f". They rest on {curated.rests_on:,} of {len(curated.sets):,} right trajectories, curated one after the "
        f"other in {asked:,} requests."
    ]
    lost: Mapping[SetStatus, str] = {
        "cut_off": "no reply came to its end",
        "no_reply": "the curator's machine failed each time",
    }
    said += [f"Skipped, {why}: {statuses[status]:,}." for status, why in lost.items() if statuses[status]]
    without = sum(one.status == "read" and not one.tools for one in curated.sets)
    if without:
        said.append(f"In {without:,} the curator found no tool that could be taken.")
    return said


def _few(curated: CuratedTools) -> str:
    if curated.rests_on >= FEW:
        return ""
    return f"That is fewer than {FEW} trajectories: which tools are in the box, and in which order, may be an accident."


def _rows(curated: CuratedTools) -> list[ToolRow]:
    places = {one.trajectory: place for place, one in enumerate(curated.sets, 1)}
    sets = {one.trajectory: one for one in curated.sets}
    total, counted, rows = sum(one.trajectories for one in curated.pool), 0, []
    for one in curated.pool:
        counted += one.trajectories
        rows.append(
            ToolRow(
                name=visible(one.tool.name, 64),
                args=visible(one.tool.args, 400),
                description=visible(one.tool.description, 400),
                is_in_box=one.tool.name in curated.toolbox,
                trajectories=f"{one.trajectories:,}",
                uses=f"{one.calls:,}",
                covered=percent_text(counted / total),
                first=f"{places[one.first]:,} of {len(places):,}",
                first_id=visible(one.first, 80),
                first_use=_first_use(one, sets[one.first]),
            )
        )
    return rows


def _first_use(origin: ToolOrigin, brought: ToolSet) -> str:
    """``call 2 of 3: <tool …>…</tool>``."""
    for place, call in enumerate(brought.calls, 1):
        if call.name == origin.tool.name:
            return visible(f"call {place} of {len(brought.calls)}: {written_tool(call)}", 400)
    return ""


def _growth(sets: Sequence[ToolSet]) -> CurveChart:
    """Tools of the pool, and refused ones, after each trajectory."""
    known: set[str] = set()
    refused, pool_points, refused_points = 0, [], []
    for place, one in enumerate(sets, 1):
        known |= {tool.name for tool in one.tools}
        refused += len(one.refused)
        pool_points.append((place, float(len(known))))
        refused_points.append((place, float(refused)))
    lines = [Line(label="tools of the pool", points=tuple(pool_points))]
    if refused:
        lines.append(Line(label="refused", points=tuple(refused_points)))
    title = "How the pool grew"
    return CurveChart(
        title=title,
        subtitle="after each right trajectory",
        svg=line_chart(lines, title=title, format_value=number_text, x_name="trajectory"),
        legend=tuple(line.label for line in lines),
    )


def _coverage(curated: CuratedTools) -> CurveChart:
    """Share of all uses that a toolbox of the first K tools has, for each K."""
    total, counted, points = sum(one.trajectories for one in curated.pool), 0, []
    for k, one in enumerate(curated.pool, 1):
        counted += one.trajectories
        points.append((k, counted / total))
    title = "What K tools cover"
    return CurveChart(
        title=title,
        subtitle=f"share of all uses, a tool counted once for a trajectory; here K is {curated.k}",
        svg=line_chart(
            [Line(label="covered", points=tuple(points))],
            title=title,
            format_value=percent_text,
            is_share=True,
            x_name="K",
        ),
        legend=("covered",),
    )


def _refusal_rows(sets: Sequence[ToolSet]) -> list[tuple[str, str, str]]:
    """A row for each kind that there is, the most frequent first."""
    found: dict[Refusal, list[tuple[str, str]]] = {}
    for one in sets:
        for refused in one.refused:
            found.setdefault(refused.why, []).append((refused.name, one.trajectory))
    rows = []
    for why, cases in sorted(found.items(), key=lambda item: -len(item[1])):
        names = list(dict.fromkeys(name for name, _ in cases))
        more = f" and {len(names) - MAX_REFUSED_NAMES:,} more" if len(names) > MAX_REFUSED_NAMES else ""
        named = ", ".join(visible(name, 64) for name in names[:MAX_REFUSED_NAMES])
        rows.append((f"{len(cases):,}", REFUSALS[why], f"{named}{more}; first in {visible(cases[0][1], 80)}"))
    return rows


def _toolboxes(evidence: Evidence, tell: Tell) -> dict[str, CuratedTools]:
    """Curations of linguistic tools that stages of the run have made, by stage."""
    found = {}
    for file in sorted(evidence.paths.derived.glob("*.json")):
        try:
            value = read_json_object(file)
            # Stages derive other things too.
            if "curation" in value:
                found[file.stem] = CuratedTools.from_json(value, str(file))
        except UserError as error:
            tell(str(error))
    return found


def _html(found: Mapping[str, CuratedTools]) -> str:
    views = [toolbox_view(name, curated) for name, curated in found.items()]
    return page_template("toolbox.html.jinja").render(toolboxes=views)


SECTION = Section(
    read=_toolboxes,
    rows=lambda found: {"toolboxes": [toolbox_values(name, curated) for name, curated in found.items()]},
    html=_html,
)
