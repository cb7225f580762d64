"""Everything on disk about a run, read once for its report. What cannot be read becomes a note, not an error."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from saccade import metric_names as metric
from saccade.errors import UserError
from saccade.evaluation.evaluate import FIRST_PASS
from saccade.evaluation.sample_files import kept_belonging
from saccade.evaluation.samples import Belonging
from saccade.evaluation.summary import StageSummary, summarise
from saccade.runs.asking import AskedIn, AskedRecord, read_asked
from saccade.runs.metrics import read_metrics
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunInfo, RunPaths, read_info, read_json_object
from saccade.types import Attempt, Json, Task
from saccade.viewer.section import ReadSection, Tell, read_sections
from saccade.viewer.verdicts import JudgedEvaluation, read_verdicts
from saccade.viewer.why_record import WhyRecord, read_why

Found = TypeVar("Found")

_FIRST_PASS_ENDING = f"_{FIRST_PASS}"

Series = tuple[tuple[int, float], ...]
"""(step, value) in order of step."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """One evaluation; its trajectories come without their tokens, which a report does not show."""

    name: str
    summary: StageSummary
    attempts: tuple[Attempt, ...]
    asked: AskedIn | None = None
    """How it asked and how new its questions were; None in a run of before that was recorded."""
    belonging: Callable[[Task], Belonging] | None = None
    """What its answers belong to; None where no samples were kept, and each answer is a question of its own."""

    @property
    def policy_version(self) -> int | None:
        """Optimiser steps that the policy had seen; None without a trajectory."""
        return self.attempts[0].trajectory.policy_version if self.attempts else None

    @property
    def second_pass(self) -> str | None:
        """The evaluation that saw the views which these boxes cut out; None where this is no first pass."""
        is_first = any(attempt.trajectory.stream == FIRST_PASS for attempt in self.attempts)
        return self.name.removesuffix(_FIRST_PASS_ENDING) if is_first else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Rollouts:
    """The last trajectories that a training stage kept."""

    stage: str
    step: int
    attempts: tuple[Attempt, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """A run as its report shows it."""

    paths: RunPaths
    info: RunInfo
    settings: Mapping[str, Json]
    curves: Mapping[str, Mapping[str, Series]]
    """By stage in order of time, by metric."""
    evaluations: tuple[Evaluation, ...]
    """In order of time."""
    rollouts: tuple[Rollouts, ...]
    asked: AskedRecord
    verdicts: Mapping[str, JudgedEvaluation]
    """Verdicts of a judge of errors, by evaluation."""
    why: WhyRecord | None
    """Why pages were found; None where no encoder was asked."""
    wall_s: float
    """Seconds that the run has worked."""
    sections: tuple[ReadSection, ...] = ()
    """What methods have to show of it."""
    notes: tuple[str, ...]
    """Notes on files that could not be read."""

    @property
    def has_calls(self) -> bool:
        """A tool was called, in training or in an evaluation; without a call there is nothing to say of it."""
        drawn = (
            series for stage in self.curves.values() for name, series in stage.items() if name.endswith(metric.CALLS)
        )
        calls = (evaluation.summary.tools.calls_mean for evaluation in self.evaluations)
        return any(calls) or any(value for series in drawn for _, value in series)


def collect(paths: RunPaths) -> Evidence:
    """Read a run, finished or not. Raises UserError when there is no run at all."""
    info = read_info(paths)
    notes: list[str] = []
    settings: Mapping[str, Json] = _read(lambda: read_json_object(paths.settings), {}, notes)
    curves, wall_s = _curves(paths, notes)
    asked = _read(lambda: read_asked(paths.asked), AskedRecord(), notes)
    evaluations = _evaluations(paths, list(curves), asked, notes)
    evidence = Evidence(
        paths=paths,
        info=info,
        settings=settings,
        curves=curves,
        evaluations=evaluations,
        rollouts=_rollouts(paths, list(curves), notes),
        asked=asked,
        verdicts=_read(lambda: read_verdicts(paths), {}, notes),
        why=_read(lambda: read_why(paths), None, notes),
        wall_s=wall_s,
        notes=(),
    )
    sections = read_sections(evidence, _once(notes))
    return replace(evidence, sections=sections, notes=tuple(notes))


def _once(notes: list[str]) -> Tell:
    """Notes each sentence once."""
    return lambda sentence: None if sentence in notes else notes.append(sentence)


def _read(read: Callable[[], Found], otherwise: Found, notes: list[str]) -> Found:
    """What a file holds; where it cannot be read, the other and a note."""
    try:
        return read()
    except UserError as error:
        notes.append(str(error))
        return otherwise


def _curves(paths: RunPaths, notes: list[str]) -> tuple[dict[str, dict[str, Series]], float]:
    points: dict[str, dict[str, list[tuple[int, float]]]] = {}
    wall_s = 0.0
    if paths.metrics.exists():
        try:
            for position, values in read_metrics(paths.metrics):
                stage = points.setdefault(position.stage, {})
                for key, value in values.items():
                    stage.setdefault(key, []).append((position.step, value))
                wall_s = values.get(metric.WALL_S, wall_s)
        except UserError as error:
            notes.append(str(error))
    curves = {stage: {key: tuple(series) for key, series in by_key.items()} for stage, by_key in points.items()}
    return curves, wall_s


def _evaluations(paths: RunPaths, stages: list[str], asked: AskedRecord, notes: list[str]) -> tuple[Evaluation, ...]:
    files = sorted(paths.evaluations.glob("*.jsonl"), key=lambda file: (_rank(file.stem, stages), file.stem))
    evaluations = []
    for file in files:
        attempts = _attempts(file, notes)
        played = ((attempt.task, attempt.trajectory) for attempt in attempts)
        belonging = _read(partial(kept_belonging, paths.root, file.stem), None, notes)
        summary = summarise(file.stem, played, belonging, _once(notes))
        how = asked.evaluations.get(file.stem)
        evaluations.append(
            Evaluation(name=file.stem, summary=summary, attempts=attempts, asked=how, belonging=belonging)
        )
    return tuple(evaluations)


def _rollouts(paths: RunPaths, stages: list[str], notes: list[str]) -> tuple[Rollouts, ...]:
    directories = [entry for entry in (paths.root / "trajectories").glob("*") if entry.is_dir()]
    rollouts = []
    for directory in sorted(directories, key=lambda entry: (_rank(entry.name, stages), entry.name)):
        files = sorted(directory.glob("step-*.jsonl"))
        if files and (attempts := _attempts(files[-1], notes)):
            step = int(digits) if (digits := files[-1].stem.removeprefix("step-")).isdecimal() else 0
            rollouts.append(Rollouts(stage=directory.name, step=step, attempts=attempts))
    return tuple(rollouts)


def _attempts(file: Path, notes: list[str]) -> tuple[Attempt, ...]:
    """The attempts up to the first broken line."""
    attempts: list[Attempt] = []
    try:
        for attempt in read_records(file):
            attempts.append(replace(attempt, trajectory=replace(attempt.trajectory, segments=())))
    except UserError as error:
        notes.append(str(error))
    return tuple(attempts)


def _rank(stage: str, stages: list[str]) -> tuple[int, bool]:
    """In order of time; a first pass, which has no metrics of its own, comes right before the second."""
    second = stage.removesuffix(_FIRST_PASS_ENDING)
    if stage not in stages and second in stages:
        return stages.index(second), False
    return stages.index(stage) if stage in stages else len(stages), True
