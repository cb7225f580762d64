"""Evaluations inside a run: a stage of its own, or a point of a learning curve."""

import itertools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from saccade import metric_names as metric
from saccade.envs.calls import tool_times
from saccade.evaluation.evaluate import Playing, by_player, evaluation_requests, play_with_views, view_metrics
from saccade.evaluation.index_rows import write_index
from saccade.evaluation.samples import belonging
from saccade.evaluation.summary import StageSummary, summarise
from saccade.heartbeat import phase
from saccade.rollout.batch import PlayedAs
from saccade.runs.asking import AskedIn
from saccade.runs.clocks import DIRECTORY as CLOCKS
from saccade.runs.clocks import write_clocks
from saccade.runs.position import Position
from saccade.runs.records import read_records, write_records
from saccade.runs.runinfo import RunPaths
from saccade.runs.segments import DIRECTORY as INDEX
from saccade.runs.segments import Kind, RecordPlace
from saccade.runs.signals import DIRECTORY as SIGNALS
from saccade.runs.signals import write_signals
from saccade.train.fitting import check_prompts_fit
from saccade.train.kept_samples import KeptPasses
from saccade.train.plan import EpisodeSpec, Evaluate
from saccade.train.plan_record import way_of
from saccade.train.rollout_metrics import rollout_metrics
from saccade.train.rollouts import prefilled_by
from saccade.train.state import MeasuringState, NamedPass, RunState, check_scored, is_done
from saccade.types import Attempt, Task, Trajectory

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class _PlayedPass:
    """An evaluation's trajectories; ``first_pass`` is empty where it looks once, or took the boxes of another."""

    attempts: Sequence[Attempt]
    first_pass: Sequence[Attempt] = ()
    boxes_of: str | None = None
    """The evaluation that named the boxes; None where it looks once."""
    views: Mapping[str, float] = field(default_factory=dict)

    @property
    def metrics(self) -> dict[str, float]:
        first = rollout_metrics(self.first_pass) if self.first_pass else {}
        named = {metric.FIRST_PASS_PREFIX + name: value for name, value in first.items()}
        return {**rollout_metrics(self.attempts), **named, **self.views}


def evaluate_stage(run: MeasuringState, stage: Evaluate) -> None:
    """Plays the stage's tasks, or reads what a run that was stopped had already played."""
    position = Position(stage=stage.name, step=1)
    path = run.directory.paths.evaluation(stage.name)
    if is_done(run, position):
        # The model has moved on since: what it did then is on disk.
        if run.directory.is_damaged(path):
            logger.warning("%s is damaged: the figures of evaluation %r are left out", path, stage.name)
            return
        _read_summaries(run, stage)
        _tell(stage, lambda: read_records(path))
        return
    with phase(lambda: f"preparing {stage.name}"):
        tasks = stage.tasks()
        for episodes in _episodes_of(stage):
            if isinstance(run, RunState):
                check_prompts_fit(f"evaluation {stage.name!r}", episodes, tasks, run.model)
    earlier = _earlier_pass(run, stage, tasks)
    has_first_pass = stage.first_pass_name is not None and earlier is None
    total = len(tasks) * stage.samples * (2 if has_first_pass else 1)
    with run.progress.stage(stage.name, total=max(1, total), at_once=run.player.at_once) as bar:
        finished = itertools.count(1)

        def advance(_: Trajectory) -> None:
            # The last one counts when the accuracy is known.
            if next(finished) < total:
                bar.advance()

        with run.media.temporary():
            playing = KeptPasses(run=run, stage=stage, on_finished=advance)
            played = _play(run, stage, tasks, playing, earlier=earlier)
            times = {**time_metrics(_episodes_of(stage)), **_prefilled(run, stage.name)}
            run.metrics.write(position, {**played.metrics, **times})
            run.asked.evaluated(stage.name, _asked_in(run, stage, tasks, boxes_of=played.boxes_of))
            if stage.first_pass_name is not None and played.first_pass:
                assert stage.first_pass is not None
                first_pass = replace(stage, name=stage.first_pass_name, episodes=stage.first_pass, views=None)
                run.asked.evaluated(stage.first_pass_name, _asked_in(run, first_pass, tasks))
                _remember(run, first_pass, tasks, played.first_pass)
                first_path = run.directory.paths.evaluation(stage.first_pass_name)
                write_attempts(run, first_path, position, played.first_pass)
                playing.write(stage.first_pass_name, played.first_pass)
                run.summaries[stage.first_pass_name] = _summary(stage, stage.first_pass_name, played.first_pass)
            write_attempts(run, path, position, played.attempts)
            playing.write(stage.name, played.attempts)
            check_scored(played.attempts, f"evaluation {stage.name!r}")
            if stage.first_pass_name is None:
                _remember(run, stage, tasks, played.attempts)
        _tell(stage, lambda: played.attempts)
        summary = run.summaries[stage.name] = _summary(stage, stage.name, played.attempts)
        missing = summary.unfinished.describe()
        bar.advance(note=f"accuracy {_percent(summary.overall.accuracy)}{missing and ', '}{missing}")


def _prefilled(run: MeasuringState, name: str) -> Mapping[str, float]:
    """What the evaluation had its engine prefill, said as well."""
    counts = prefilled_by(run.engine) if isinstance(run, RunState) else {}
    if counts:
        prefilled, reused = counts.values()
        logger.info("%s: %s tokens prefilled, %s reused from other prompts", name, f"{prefilled:,}", f"{reused:,}")
    return counts


def _tell(stage: Evaluate, attempts: Callable[[], Iterable[Attempt]]) -> None:
    if stage.on_finished is not None:
        stage.on_finished(attempts())


def curve_point(run: RunState, stage: str, evaluation: Evaluate) -> dict[str, float]:
    """Metrics of an evaluation in the middle of a training stage."""
    tasks = evaluation.tasks()
    played = _play(run, evaluation, tasks, by_player(run.player_of(stage), evaluation.reward))
    run.asked.drew_point(stage, _asked_in(run, evaluation, tasks))
    held_out = {metric.HELD_OUT_PREFIX + name: value for name, value in played.metrics.items()}
    times = time_metrics(_episodes_of(evaluation), metric.HELD_OUT_PREFIX)
    return {**held_out, **times, **prefilled_by(run.engine, metric.HELD_OUT_PREFIX)}


def time_metrics(episodes: Iterable[EpisodeSpec], prefix: str = "") -> dict[str, float]:
    """How long tools took since the last time, as metrics that no seed gives again."""
    times = tool_times(one.latencies for one in episodes)
    return {metric.TIME_PREFIX + prefix + name: value for name, value in times.items()}


def write_attempts(run: MeasuringState, path: Path, position: Position, attempts: Sequence[Attempt]) -> None:
    """Trajectories with their pictures, into the run's directory; beside them what a viewer finds them by."""
    run.directory.check_in_place()
    paths = run.directory.paths
    places = write_records(path, position, attempts, media=run.media, media_directory=paths.media)
    if run.trackers is not None:
        run.trackers.show(position, attempts, run.media, is_training=path.parent != paths.evaluations)
    try:
        write_beside(paths, path, position, places, attempts)
    except OSError as error:
        # The records are whole; a viewer makes the index anew.
        logger.warning("what stands beside %s could not be written: %s", path.name, error)


def write_beside(
    paths: RunPaths, path: Path, position: Position, places: Sequence[RecordPlace], attempts: Sequence[Attempt]
) -> None:
    """Index, signals and clocks of a file of records. Raises OSError."""
    write_signals(paths.beside(path, SIGNALS), [one.signals for one in attempts])
    write_clocks(paths.beside(path, CLOCKS), [one.trajectory.clock for one in attempts])
    kind: Kind = "eval" if path.parent == paths.evaluations else "train"
    write_index(paths.beside(path, INDEX), path, places, attempts, position=position, kind=kind)


def _play(
    run: MeasuringState, stage: Evaluate, tasks: Sequence[Task], playing: Playing, *, earlier: NamedPass | None = None
) -> _PlayedPass:
    if stage.first_pass is not None and stage.views is not None and stage.views.is_any:
        passes = play_with_views(
            tasks,
            playing=playing,
            media=run.media,
            first=_pass(run, stage, stage.first_pass) if earlier is None else earlier.attempts,
            second=_pass(run, stage, stage.episodes),
            views=stage.views,
            seed=run.seed,
            name=stage.name,
        )
        return _PlayedPass(
            attempts=passes.second,
            first_pass=passes.first if earlier is None else (),
            boxes_of=stage.first_pass_name if earlier is None else earlier.name,
            views=view_metrics(passes),
        )
    requests = evaluation_requests(tasks, seed=run.seed, name=stage.name, samples=stage.samples)
    return _PlayedPass(attempts=playing(requests, _pass(run, stage, stage.episodes)))


def _earlier_pass(run: MeasuringState, stage: Evaluate, tasks: Sequence[Task]) -> NamedPass | None:
    """The evaluation that has played this one's first pass, as greedily and by the same weights."""
    if stage.first_pass_name is None or stage.temperature > 0:
        return None
    return next((one for one in run.passes if one.episodes == stage.first_pass and one.tasks == tuple(tasks)), None)


def _remember(run: MeasuringState, stage: Evaluate, tasks: Sequence[Task], attempts: Sequence[Attempt]) -> None:
    if stage.temperature == 0:
        played = NamedPass(name=stage.name, episodes=stage.episodes, tasks=tuple(tasks), attempts=tuple(attempts))
        run.passes.append(played)


def _asked_in(run: MeasuringState, stage: Evaluate, tasks: Sequence[Task], *, boxes_of: str | None = None) -> AskedIn:
    views = stage.views
    shown = () if views is None else (*(["crops"] if views.crops else []), *(["union"] if views.union else []))
    return AskedIn(
        way=way_of(stage.episodes, run.player.view),
        novelty=run.trained.novelty(tasks),
        first_pass=boxes_of,
        views=shown,
    )


def _pass(run: MeasuringState, stage: Evaluate, episodes: EpisodeSpec) -> PlayedAs:
    return episodes.played_as(run.media, run.player.view, temperature=stage.temperature)


def _read_summaries(run: MeasuringState, stage: Evaluate) -> None:
    for name in (stage.first_pass_name, stage.name):
        # A first pass that another evaluation had played has no file of its own.
        if name is not None and run.directory.paths.evaluation(name).exists():
            run.summaries[name] = _summary(stage, name, read_records(run.directory.paths.evaluation(name)))


def _episodes_of(stage: Evaluate) -> list[EpisodeSpec]:
    return [stage.episodes, *([stage.first_pass] if stage.first_pass is not None else [])]


def _summary(stage: Evaluate, name: str, attempts: Iterable[Attempt]) -> StageSummary:
    played = [(attempt.task, attempt.trajectory) for attempt in attempts]
    return summarise(name, played, belonging(stage.cluster, stage.set_apart))


def _percent(share: float | None) -> str:
    return "none scored" if share is None else f"{share:.1%}"
