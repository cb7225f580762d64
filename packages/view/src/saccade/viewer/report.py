"""The report of a run: ``report.json`` for programs, ``report.html``, one file without any request, for people."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from saccade.atomic import write_json_atomic, write_text_atomic
from saccade.characters import shell_words
from saccade.codec.codecs import plain_json
from saccade.evaluation.summary import FamilySummary
from saccade.evaluation.tool_use import ACCURACY_BOUNDS, ToolUse
from saccade.runs.position import duration
from saccade.runs.runinfo import RunPaths
from saccade.strict_json import finite_object
from saccade.types import Json, Turn
from saccade.viewer.carried_report import LIST, carry, chosen_for
from saccade.viewer.curves import main_charts, other_charts
from saccade.viewer.evidence import Evaluation, Evidence, collect
from saccade.viewer.example_sections import example_sections, shown_attempts
from saccade.viewer.exported import exported_page
from saccade.viewer.figures_section import figures_rows, run_figures
from saccade.viewer.pictures import Album
from saccade.viewer.story import are_held_out, comparison_text, comparisons_of, novelty_sentences, story
from saccade.viewer.templates import page_template
from saccade.viewer.tool_section import KINDS, tool_times_of, tool_usages
from saccade.viewer.why_record import searches_of
from saccade.viewer.words import Bar, bar_of, percent_text, readable, visible

_TEMPLATE = "report.html.jinja"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """A line of the accuracy table: an evaluation, or a task family of it."""

    name: str
    is_family: bool
    bar: Bar
    failed: str
    cut_off: str
    has_card: bool = False
    asked: str = ""
    tool_rate: str = ""
    turns_mean: str = ""
    calls_mean: str = ""
    call_success: str = ""
    calls_by_accuracy: str = ""
    call_failures: str = ""
    lines: tuple[str, ...] = ()
    """Figures and what sections say of the evaluation."""
    format_rate: str = ""
    unfinished: str = ""
    comparisons: tuple[str, ...] = ()


def write_report(paths: RunPaths) -> list[str]:
    """Write both files of a run, finished or not; the sections' closing lines. UserError when there is no run."""
    evidence = collect(paths)
    write_json_atomic(paths.report_json, finite_object(report_values(evidence)))
    write_text_atomic(paths.report_html, report_page(evidence))
    return [section.closing for section in evidence.sections if section.closing]


def report_values(evidence: Evidence) -> dict[str, Json]:
    """``report.json``."""
    values: dict[str, Json] = {
        "title": evidence.info.title,
        "status": evidence.info.status,
        "story": story(evidence),
        "stages": [evaluation.summary.as_json() for evaluation in evidence.evaluations],
        "asked": evidence.asked.as_json(),
        "comparisons": [plain_json(comparison) for comparison in comparisons_of(evidence.evaluations)],
        "tools": [plain_json(usage) for usage in tool_usages(evidence)],
    }
    for section in evidence.sections:
        values |= {key: rows for key, rows in section.rows.items() if key not in values}
    return values | {
        "figures": [one.as_json() for one in run_figures(evidence.paths.root)],
        "tool_times": [plain_json(row) for row in tool_times_of(evidence.curves)],
        "wall_s": evidence.wall_s,
        "command": list(evidence.info.command),
        "settings": dict(evidence.settings),
        "versions": dict(evidence.info.versions),
        "notes": list(evidence.notes),
    }


def report_page(evidence: Evidence) -> str:
    """The HTML page. Text of models, tasks and settings is escaped by the template, markup is our own."""
    album = Album(directory=evidence.paths.media)
    chosen = chosen_for(evidence)
    sections = example_sections(evidence, album, chosen.addresses)
    training = {
        stage: curves
        for stage, curves in evidence.curves.items()
        if stage not in {evaluation.name for evaluation in evidence.evaluations}
    }
    title = visible(evidence.info.title or evidence.paths.root.resolve().name, 200)
    report = page_template(_TEMPLATE).render(
        title=title,
        info=evidence.info,
        command=visible(shell_words(*evidence.info.command), 1000),
        wall=duration(evidence.wall_s),
        story=visible(story(evidence)),
        rows=_rows(evidence),
        are_held_out=are_held_out(evidence.evaluations),
        novelty=novelty_sentences(evidence.evaluations),
        remarks=[visible(remark, 1000) for remark in evidence.asked.remarks],
        stages=[
            (stage, main_charts(curves, has_calls=evidence.has_calls, is_held_out=held_out), other_charts(curves))
            for stage, curves, held_out in [(name, of, _is_held_out(evidence, name)) for name, of in training.items()]
        ],
        tools=tool_usages(evidence),
        error_kinds=KINDS,
        parts=[section.html for section in evidence.sections if section.html is not None],
        has_calls=evidence.has_calls,
        has_boxes=any(turn.boxes for turn in _turns(evidence)),
        has_points=any(turn.points for turn in _turns(evidence)),
        sections=sections,
        explains=_why_hint(evidence),
        has_pictures=any(view.has_pictures for section in sections for view in section.examples),
        figures=figures_rows(run_figures(evidence.paths.root)),
        tool_times=[row.cells for row in tool_times_of(evidence.curves)],
        settings=[(key, visible(str(value), 500)) for key, value in _flat(evidence.settings)],
        notes=[visible(note, 500) for note in evidence.notes],
        album=album.definitions(),
    )
    links = [("Report", ""), (f"Trajectories ({len(chosen.entries)})", LIST)]
    return exported_page(title, carry(chosen, album), report=report, links=links)


def _why_hint(evidence: Evidence) -> str:
    """How to see why pages were found, or by which encoder that is said; nothing in a run without such pages."""
    if evidence.why is not None:
        return f"Why a page was found is worked out anew from its picture by {visible(evidence.why.encoder, 80)}."
    if any(searches_of(attempt) for attempt in shown_attempts(evidence)):
        return "saccade report RUN_DIR --why ENCODER draws over the pages why they were found."
    return ""


def _turns(evidence: Evidence) -> Iterator[Turn]:
    shown = [one.attempts for one in evidence.evaluations] + [one.attempts for one in evidence.rollouts]
    yield from (turn for attempts in shown for attempt in attempts for turn in attempt.trajectory.turns)


def _is_held_out(evidence: Evidence, stage: str) -> bool:
    """Whether the stage's learning curve is known to be on questions that were not trained on."""
    curve = evidence.asked.curves.get(stage)
    return curve is not None and curve.novelty.is_held_out and curve.novelty.is_history_known


def _rows(evidence: Evidence) -> list[Row]:
    compared: dict[str, list[str]] = {}
    for comparison in comparisons_of(evidence.evaluations):
        compared.setdefault(comparison.after, []).append(comparison_text(comparison))
    rows = []
    for evaluation in evidence.evaluations:
        beside = [line for one in evidence.sections if (line := one.lines.get(evaluation.name))]
        rows.append(_evaluation_row(evaluation, tuple(compared.get(evaluation.name, ())), beside))
        families = evaluation.summary.families
        if len(families) > 1:
            rows += [_family_row(name, family) for name, family in families.items()]
        rows += [_family_row(name, bucket) for name, bucket in evaluation.summary.buckets.items()]
    return rows


def _evaluation_row(evaluation: Evaluation, comparisons: tuple[str, ...], beside: Sequence[str]) -> Row:
    summary = evaluation.summary
    return Row(
        name=readable(evaluation.name),
        is_family=False,
        has_card=evaluation.second_pass is None,
        bar=bar_of(summary.overall),
        tool_rate=percent_text(summary.tool_rate),
        turns_mean=_mean_text(summary.turns_mean),
        calls_mean=_mean_text(summary.tools.calls_mean),
        call_success=percent_text(summary.tools.success_rate),
        calls_by_accuracy=_by_accuracy(summary.tools),
        call_failures=", ".join(f"{readable(kind)} {count:,}" for kind, count in summary.tools.failures.items()),
        lines=(*(figure.line for figure in summary.figures.values()), *(visible(line, 1000) for line in beside)),
        format_rate=percent_text(summary.format_rate),
        failed=f"{summary.unfinished.failed:,}",
        cut_off=f"{summary.unfinished.cut_off:,}",
        unfinished=summary.unfinished.describe(),
        comparisons=comparisons,
        asked=_way_text(evaluation),
    )


def _way_text(evaluation: Evaluation) -> str:
    """``code with execute_python_code, 10 turns``, and the views that it saw; nothing where it was not recorded."""
    asked = evaluation.asked
    if asked is None:
        return ""
    views = f"; sees {' and '.join(asked.views)} by the boxes of {readable(asked.first_pass or '')}"
    return visible(f"{asked.way.describe()}{views if asked.views else ''}", 300)


def _family_row(name: str, family: FamilySummary) -> Row:
    return Row(
        name=visible(readable(name), 80),
        is_family=True,
        bar=bar_of(family.answers),
        failed=f"{family.unfinished.failed:,}",
        cut_off=f"{family.unfinished.cut_off:,}",
    )


def _by_accuracy(use: ToolUse) -> str:
    """``0.40 where fewer than 25 % of its answers are right, ...``; nothing without calls."""
    if not use.calls_mean:
        return ""
    ends = (*ACCURACY_BOUNDS[1:], None)
    places = {
        low: f"where fewer than {percent_text(end)} of its answers are right"
        if low == 0
        else f"from {percent_text(low)}"
        for low, end in zip(ACCURACY_BOUNDS, ends)
    }
    return ", ".join(f"{band.calls_mean:.2f} {places[band.low]}" for band in use.bands)


def _mean_text(mean: float | None) -> str:
    return "–" if mean is None else f"{mean:.2f}"


def _flat(settings: Mapping[str, Json], prefix: str = "") -> Iterator[tuple[str, Json]]:
    """Settings by dotted key."""
    for key, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
