"""Evaluations inside a run: a stage of its own, or a point of a learning curve."""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from saccade.evaluation.evaluate import evaluation_requests, play
from saccade.evaluation.summary import StageSummary, summarise
from saccade.rollout.batch import ignore_trajectory
from saccade.train.plan import Evaluate
from saccade.train.position import Position
from saccade.train.records import read_records, write_records
from saccade.train.rollout_metrics import rollout_metrics
from saccade.train.state import RunState, is_done
from saccade.train.stopping import check_scored
from saccade.types import Attempt, Task, Trajectory


def evaluate_stage(run: RunState, stage: Evaluate) -> None:
    """Plays the stage's tasks, or reads what a run that was stopped had already played."""
    position = Position(stage=stage.name, step=1)
    path = run.directory.paths.evaluation(stage.name)
    if is_done(run, position):
        # The model has moved on since: what it did then is on disk.
        run.summaries[stage.name] = _summary(stage.name, read_records(path))
        return
    tasks = stage.tasks()
    with run.progress.stage(stage.name, total=max(1, len(tasks))) as bar:
        finished = itertools.count(1)

        def advance(_: Trajectory) -> None:
            # The last one counts when the accuracy is known.
            if next(finished) < len(tasks):
                bar.advance()

        with run.media.temporary():
            attempts = _play(run, stage, tasks, on_finished=advance)
            run.metrics.write(position, dict(rollout_metrics(attempts)))
            write_attempts(run, path, position, attempts)
            check_scored(attempts, f"evaluation {stage.name!r}")
        summary = run.summaries[stage.name] = _summary(stage.name, attempts)
        bar.advance(note=f"accuracy {_percent(summary.overall.accuracy)}")


def curve_point(run: RunState, evaluation: Evaluate) -> dict[str, float]:
    """Metrics of the held-out tasks in the middle of a training stage."""
    attempts = _play(run, evaluation, evaluation.tasks())
    return {f"held_out/{name}": value for name, value in rollout_metrics(attempts).items()}


def write_attempts(run: RunState, path: Path, position: Position, attempts: Sequence[Attempt]) -> None:
    """Trajectories with their pictures, into the run's directory."""
    write_records(path, position, attempts, media=run.media, media_directory=run.directory.paths.media)


def _play(
    run: RunState,
    stage: Evaluate,
    tasks: Sequence[Task],
    *,
    on_finished: Callable[[Trajectory], None] = ignore_trajectory,
) -> list[Attempt]:
    return play(
        evaluation_requests(tasks, seed=run.seed, name=stage.name),
        engine=run.engine,
        chat=run.model.chat,
        make_env=lambda: stage.episodes.environment(run.media, run.model.view),
        settings=replace(stage.episodes.rollout, temperature=stage.temperature),
        reward=stage.reward,
        on_finished=on_finished,
    )


def _summary(name: str, attempts: Iterable[Attempt]) -> StageSummary:
    return summarise(name, [(attempt.task, attempt.trajectory) for attempt in attempts])


def _percent(share: float | None) -> str:
    return "none scored" if share is None else f"{share:.1%}"
