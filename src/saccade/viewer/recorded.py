"""Which recorded trajectories of a run are asked for: by stage or evaluation, by step, by task, by reward."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import UserError, nearest
from saccade.runs.metrics import read_metrics
from saccade.runs.position import Position
from saccade.runs.records import position_of, read_records
from saccade.runs.runinfo import RunPaths, read_info
from saccade.types import Attempt


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedFile:
    """A file of trajectories: one step of training, or an evaluation."""

    position: Position
    path: Path
    is_evaluation: bool

    @property
    def title(self) -> str:
        return self.position.stage if self.is_evaluation else f"{self.position.stage}, step {self.position.step}"


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedGroup:
    """The trajectories of one question in one stream, as they were compared with one another."""

    attempts: tuple[Attempt, ...]

    @property
    def totals(self) -> list[float]:
        """Totals of those that have a score."""
        return [one.trajectory.score.total for one in self.attempts if one.trajectory.score is not None]


def recorded_files(paths: RunPaths) -> list[RecordedFile]:
    """All of a run: steps of training in the order of time, then evaluations. UserError where there is no run."""
    read_info(paths)
    stages = list(dict.fromkeys(position.stage for position, _ in read_metrics(paths.metrics)))
    steps = [_file(path, is_evaluation=False) for path in (paths.root / "trajectories").glob("*/step-*.jsonl")]
    evaluations = [_file(path, is_evaluation=True) for path in paths.evaluations.glob("*.jsonl")]

    def rank(file: RecordedFile) -> tuple[int, str, int]:
        stage = file.position.stage
        return stages.index(stage) if stage in stages else len(stages), stage, file.position.step

    return [*sorted(steps, key=rank), *sorted(evaluations, key=rank)]


def chosen_file(
    files: Sequence[RecordedFile], *, stage: str | None = None, step: int | None = None, task_id: str | None = None
) -> RecordedFile:
    """The file that is asked for: of that stage or evaluation, that step, with that task.

    What is left open is the last step of training that fits, and an evaluation only where no training does. UserError
    for what the run does not have.
    """
    if not files:
        raise UserError("the run has no trajectories yet: they come with its first step of RL or its first evaluation")
    fitting = [one for one in files if stage is None or one.position.stage == stage]
    if not fitting:
        raise UserError(f"the run has no trajectories of a stage or evaluation {stage!r}; there are: {_said(files)}")
    if step is not None:
        at_step = [one for one in fitting if not one.is_evaluation and one.position.step == step]
        if not at_step:
            raise UserError(f"there are no trajectories of step {step}; there are: {_said(fitting)}")
        fitting = at_step
    fitting = [one for one in fitting if not one.is_evaluation] or fitting
    if task_id is None:
        return fitting[-1]
    ids: set[str] = set()
    for one in reversed(fitting):
        found = {attempt.task.id for attempt in read_records(one.path)}
        if task_id in found:
            return one
        ids |= found
    near = nearest(task_id, sorted(ids))
    shown = near if near is not None else ", ".join(sorted(ids)[:3]) + (", ..." if len(ids) > 3 else "")
    raise UserError(f"none of the {len(ids)} questions in {_said(fitting)} is {task_id!r}; there is: {shown}")


def groups_of(attempts: Sequence[Attempt]) -> list[RecordedGroup]:
    """The attempts of a file as they were compared: in their order, a group's samples count up."""
    groups: list[list[Attempt]] = []
    for one in attempts:
        last = groups[-1][-1] if groups else None
        if last is not None and _key(last) == _key(one) and last.trajectory.sample < one.trajectory.sample:
            groups[-1].append(one)
        else:
            groups.append([one])
    return [RecordedGroup(attempts=tuple(group)) for group in groups]


def worst(groups: Sequence[RecordedGroup], count: int) -> list[tuple[Attempt, RecordedGroup]]:
    """The attempts with the lowest reward, each with its group; of equal ones the first."""
    scored = [
        (one.trajectory.score.total, one, group)
        for group in groups
        for one in group.attempts
        if one.trajectory.score is not None
    ]
    return [(one, group) for _, one, group in sorted(scored, key=lambda found: found[0])[:count]]


def _key(attempt: Attempt) -> tuple[str, str]:
    return attempt.task.id, attempt.trajectory.stream


def _file(path: Path, *, is_evaluation: bool) -> RecordedFile:
    return RecordedFile(position=position_of(path), path=path, is_evaluation=is_evaluation)


def _said(files: Sequence[RecordedFile]) -> str:
    """``rl, steps 1 to 60; before_rl; after_rl``."""
    by_stage: Mapping[str, list[RecordedFile]] = {
        stage: list(of) for stage, of in itertools.groupby(files, key=lambda one: one.position.stage)
    }
    return "; ".join(stage if of[0].is_evaluation else f"{stage}, {_steps(of)}" for stage, of in by_stage.items())


def _steps(files: Sequence[RecordedFile]) -> str:
    steps = [one.position.step for one in files]
    if len(steps) == 1:
        return f"step {steps[0]}"
    if steps == list(range(steps[0], steps[-1] + 1)):
        return f"steps {steps[0]} to {steps[-1]}"
    return f"steps {', '.join(map(str, steps))}"
