"""Runs as JSON: what a list of runs and a run's own page say."""

import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from saccade import metric_names as metric
from saccade.characters import shell_words
from saccade.errors import UserError
from saccade.evaluation.figure import recorded_lines
from saccade.evaluation.statistics import Accuracy
from saccade.plain_files import open_plain
from saccade.runs.runinfo import RunInfo, read_info, read_json_object
from saccade.types import Json
from saccade.viewer.app.lists import indexing
from saccade.viewer.app.run_pages import (
    accuracy_line,
    accuracy_section,
    last_of,
    run_links,
    settings_card,
    status_words,
    what_is_there,
)
from saccade.viewer.drawn import spark_line
from saccade.viewer.section import Tell, drawn_sections
from saccade.viewer.store.accuracies import evaluations_of
from saccade.viewer.store.collection import Collection
from saccade.viewer.store.curves import Curves
from saccade.viewer.store.run import Run
from saccade.viewer.store.table import RowsView
from saccade.viewer.words import readable, visible

_SPARK_POINTS = 60
_MAX_SETTINGS = 2000
_LOG_TAIL = 16_384
_PROGRESS = " saccade.runs.progress: "
"""Before a line of progress in a run's log."""


def runs_json(collection: Collection) -> dict[str, Json]:
    runs = [summary_json(run) for run in list(collection.runs.values())]
    return {
        "runs": runs,
        "notes": [visible(note, 1000) for note in [*collection.notes, *collection.gone.values()]],
    }


def summary_json(run: Run) -> dict[str, Json]:
    """A line of the list of runs."""
    info = _info(run)
    view = run.table.view()
    last = last_of(evaluations_of(run))
    status, age_s, spark = status_of(run, info), _age_s(run), _spark(run.curves)
    return {
        "id": run.id,
        "name": visible(run.source.name, 200),
        "title": visible(info.title if info else "", 200) or visible(run.source.name, 200),
        "status": status,
        "error": visible(info.error if info else "", 500),
        "started": info.started if info else None,
        "trajectories": view.count,
        "accuracy": _share(last.name, last.answers) if last else None,
        "indexing": indexing(run),
        "drawn": {
            "status": status_words(status, age_s),
            "spark": spark_line(spark),
            "accuracy": accuracy_line(last),
        },
    }


def columns_json(collection: Collection) -> dict[str, Json]:
    """By run, for each setting that differs between runs and each metric's last value: columns of the list of runs."""
    found: dict[str, dict[str, Json]] = {}
    for run in list(collection.runs.values()):
        for key, value in settings_of(run).items():
            found.setdefault(visible(key, 200), {})[run.id] = value if _is_number(value) else visible(str(value), 200)
        run.curves.refresh()
        for stage, curves in run.curves.stages.items():
            for name, values in curves.metrics.items():
                if (last := next((value for value in reversed(values) if value is not None), None)) is not None:
                    found.setdefault(visible(f"{readable(stage)}: {name}", 200), {})[run.id] = last
    runs = len(collection.runs)
    apart = {
        key: one for key, one in found.items() if len({str(value) for value in one.values()}) > 1 or len(one) < runs
    }
    return {"columns": dict(list(apart.items())[:_MAX_SETTINGS])}


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def run_json(run: Run) -> dict[str, Json]:
    """A run's own page, without its curves."""
    info = _info(run)
    view = run.table.view()
    settings = settings_of(run)
    notes = [*run.notes.values(), *run.curves.notes, *run.annotations.read().notes]
    report = _report(run)
    evaluations = evaluations_of(run)
    lines = _figure_lines(report, notes.append)
    sections = drawn_sections(report, notes.append)
    summary = summary_json(run)
    command = visible(shell_words(*info.command) if info else "", 2000)
    shown = {key: visible(str(value), 500) for key, value in settings.items()}
    return {
        **summary,
        "story": visible(story, 2000) if isinstance(story := report.get("story"), str) else "",
        "notes": [visible(note, 500) for note in notes][:50],
        "words": what_is_there(view.count, _trajectories_by_stage(run, view), summary["indexing"]),
        "progress": _progress(run) if summary["status"] == "running" else "",
        "drawn": {
            "status": status_words(str(summary["status"]), _age_s(run)),
            "links": run_links(run.id, evaluations),
            "accuracy": accuracy_section(run.id, evaluations, lines),
            "sections": sections,
            "settings": settings_card(command, shown),
        },
    }


def status_of(run: Run, info: RunInfo | None) -> str:
    """``running``, ``stopped`` (says that it runs, and no process holds it), ``finished``, ``failed``, or its kind."""
    if info is None:
        return "evaluation" if run.source.kind == "records" else "foreign" if not run.is_own else "unknown"
    if info.status != "running":
        return info.status
    return "running" if _is_held(run.source.root / ".lock") else "stopped"


def _is_held(lock: Path) -> bool:
    """Whether a process holds the run's lock. Trying it would keep a trainer out that starts at this moment."""
    try:
        told = lock.stat()
        held = Path("/proc/locks").read_text(encoding="ascii")
    except OSError:
        return True
    place = f"{os.major(told.st_dev):02x}:{os.minor(told.st_dev):02x}:{told.st_ino}"
    return any(place in line.split() for line in held.splitlines())


def _info(run: Run) -> RunInfo | None:
    if not run.is_own:
        return None
    try:
        return read_info(run.paths)
    except UserError as error:
        run.notes["run.json"] = str(error)
        return None


def _progress(run: Run) -> str:
    """``rl 24/30, 4,140 tokens/s, 17 s left, ...``: the last that the run's log says of it."""
    try:
        with open_plain(run.paths.log) as file:
            file.seek(max(0, run.paths.log.stat().st_size - _LOG_TAIL))
            lines = file.read(_LOG_TAIL).decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    found = (line.partition(_PROGRESS)[2] for line in reversed(lines))
    return visible(next(filter(None, found), ""), 300)


def _age_s(run: Run) -> float | None:
    newest = 0.0
    for path in (run.paths.metrics, run.paths.info, run.source.root):
        try:
            newest = max(newest, path.stat().st_mtime)
        except OSError:
            continue
    return round(max(0.0, time.time() - newest), 1) if newest else None


def _spark(curves: Curves) -> list[float]:
    for name in (metric.REWARD_MEAN, metric.NLL):
        values = [
            value
            for stage in curves.stages.values()
            for value in stage.metrics.get(name, [])
            # An evaluation has one: beside the rewards of training it would look like a fall.
            if value is not None and len(stage.steps) > 1
        ]
        if values:
            places = np.linspace(0, len(values) - 1, min(_SPARK_POINTS, len(values))).round().astype(int)
            return [values[place] for place in places]
    return []


def _share(name: str, told: Accuracy) -> dict[str, Json]:
    return {"name": name, "share": told.accuracy, "low": told.ci95[0], "high": told.ci95[1], "n": told.n}


def _trajectories(view: RowsView) -> dict[str, int]:
    """How many there are by stage."""
    counts = np.bincount(view.columns["stage"], minlength=len(view.words["stage"]))
    return dict(zip(view.words["stage"], map(int, counts)))


def _trajectories_by_stage(run: Run, view: RowsView) -> dict[str, int]:
    """Trajectories by stage, those of the plan first."""
    rows = _trajectories(view)
    return {visible(name, 120): rows.get(name, 0) for name in dict.fromkeys([*run.stages, *rows])}


def _report(run: Run) -> dict[str, Json]:
    """The values of the run's report; none where it has none."""
    try:
        return dict(read_json_object(run.paths.report_json))
    except UserError:
        return {}


def _figure_lines(report: Mapping[str, Json], tell: Tell) -> dict[str, list[str]]:
    """By evaluation, the lines of its figures."""
    stages = report.get("stages")
    told = [one for one in stages if isinstance(one, Mapping)] if isinstance(stages, list) else []
    return {visible(str(one.get("name")), 120): list(recorded_lines(one, tell).values()) for one in told}


def settings_of(run: Run) -> dict[str, Json]:
    if not run.is_own:
        return {}
    try:
        return dict(list(_flat(read_json_object(run.paths.settings)))[:_MAX_SETTINGS])
    except UserError as error:
        run.notes["settings.json"] = str(error)
        return {}


def _flat(settings: Mapping[str, Json], prefix: str = "") -> Sequence[tuple[str, Json]]:
    found: list[tuple[str, Json]] = []
    for key, value in settings.items():
        if isinstance(value, Mapping):
            found += _flat(value, f"{prefix}{key}.")
        else:
            found.append((f"{prefix}{key}", value))
    return found
