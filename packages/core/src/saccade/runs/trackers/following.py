"""A run followed by trackers: each record of metrics goes to each of them once, killed and resumed or not.

Records are numbered as they stand in ``metrics.jsonl``. A run that goes on from a checkpoint works the same numbers
out again: what a tracker has is not sent again, and what it lost when the process was killed is sent from the file.
"""

import importlib
import logging
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Self

from saccade.atomic import write_json_atomic
from saccade.config.tracking import TrackingSettings
from saccade.errors import UserError, install_command
from saccade.media.store import MediaStore
from saccade.runs.metrics import read_metrics
from saccade.runs.position import Position
from saccade.runs.runinfo import RunPaths, read_json_object
from saccade.runs.trackers.tracker import TrackedRun, Tracker
from saccade.types import Attempt, Json

KINDS = {
    "wandb": "WandbTracker",
    "trackio": "TrackioTracker",
    "mlflow": "MlflowTracker",
    "prometheus": "PrometheusTracker",
}
"""Trackers by the name of their setting and module, and the class there."""

logger = logging.getLogger(__name__)


class Trackers:
    """The trackers of a run; without any every call does nothing. One that fails is left out, and the run goes on."""

    def __init__(self, trackers: Mapping[str, Tracker] | None = None, settings: TrackingSettings = TrackingSettings()):
        self._open = dict(trackers or {})
        self._settings = settings
        self._number = 0
        self._records: dict[str, Set[int]] = {}
        self._pictures: dict[str, Set[tuple[int, str]]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Trackers that still follow."""
        return tuple(self._open)

    def catch_up(self, metrics: Path) -> None:
        """Send the records of the file that a tracker lacks, before a run goes on."""
        if not self._open:
            return
        self._each(self._ask)
        for position, values in read_metrics(metrics):
            self.log(position, values)

    def _ask(self, name: str, tracker: Tracker) -> None:
        self._records[name], self._pictures[name] = tracker.records(), tracker.pictures()

    def log(self, position: Position, values: Mapping[str, float]) -> None:
        """The next record of metrics."""
        self._number += 1
        number = self._number
        named = {f"{position.stage}/{key}": value for key, value in values.items()}
        named[f"{position.stage}/step"] = float(position.step)

        def send(name: str, tracker: Tracker) -> None:
            if number not in self._records.get(name, ()):
                tracker.log(number, named)

        self._each(send)

    def show(self, position: Position, attempts: Sequence[Attempt], media: MediaStore, *, is_training: bool) -> None:
        """Some trajectories of a step or of an evaluation as pictures and as traces."""
        count, traced, every = self._settings.pictures, self._settings.traces, self._settings.pictures_every
        if not self._open or not (count or traced) or (is_training and position.step % every):
            return
        from saccade.runs.trackers.pictures import tracked_pictures
        from saccade.runs.trackers.traces import tracked_traces

        # A step is shown with its record; an evaluation, which has none, with the one before.
        number = max(1, self._number)
        pictures = tracked_pictures(attempts[:count], media, position.stage)
        traces = tracked_traces(attempts[:traced], media, position.stage)

        def send(name: str, tracker: Tracker) -> None:
            there = self._pictures.get(name, ())
            if lacked := [one for one in pictures if (number, one.name) not in there]:
                tracker.show(number, lacked)
            if untraced := [one for one in traces if (number, one.name) not in there]:
                tracker.trace(number, untraced)

        self._each(send)

    def summarise(self, values: Mapping[str, float]) -> None:
        """Set what holds of the whole run, such as the accuracy of its evaluations."""
        self._each(lambda _, tracker: tracker.summarise(values))

    def save(self, path: Path) -> None:
        """Keep a file of the run."""
        self._each(lambda _, tracker: tracker.save(path))

    def close(self, *, is_finished: bool) -> None:
        """Closing twice is allowed."""
        self._each(lambda _, tracker: tracker.close(is_finished=is_finished))
        self._open.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, traceback: object) -> None:
        self.close(is_finished=kind is None)

    def _each(self, do: Callable[[str, Tracker], None]) -> None:
        for name, tracker in list(self._open.items()):
            try:
                do(name, tracker)
            except Exception as error:
                # Whatever a tracker's server or client does must not cost the run.
                logger.warning("%s no longer follows this run: %s: %s", name, type(error).__name__, error)
                del self._open[name]


def check_trackers(settings: TrackingSettings) -> None:
    """UserError for a tracker or a folder whose package is not installed, before work starts."""
    for name in _asked_for(settings):
        _kind(name)
    if settings.save_folder:
        from saccade.runs.save_folder import SaveFolder

        SaveFolder(settings.save_folder)


def open_trackers(settings: TrackingSettings, paths: RunPaths, *, values: Mapping[str, Json] | None = None) -> Trackers:
    """The trackers that the settings name, each with its run of before where there was one.

    ``values`` are the run's settings. UserError for a tracker that cannot be opened.
    """
    asked = _asked_for(settings)
    if not asked:
        return Trackers()
    ids = _identities(paths.trackers, asked)
    opened: dict[str, Tracker] = {}
    for name, project in asked.items():
        run = TrackedRun(
            project=project,
            name=settings.name or paths.root.resolve().name,
            id=ids[name],
            settings=dict(_dotted_items(values or {}, "")),
            folder=paths.root,
        )
        try:
            opened[name] = _kind(name)(run)
        except Exception as error:
            Trackers(opened).close(is_finished=False)
            if isinstance(error, UserError):
                raise
            raise UserError(
                f"tracking.{name}={project}: {name} cannot be opened ({type(error).__name__}: {error}); fix it, or "
                f"leave tracking.{name} out"
            ) from error
    return Trackers(opened, settings)


def _identities(file: Path, names: Iterable[str]) -> dict[str, str]:
    """The run's identity in each tracker, on the disk before any is opened: a kill then leaves no second run."""
    known: dict[str, Json] = {}
    with suppress(UserError):
        known = read_json_object(file)
    ids = {name: str(known.get(name) or uuid.uuid4().hex) for name in names}
    write_json_atomic(file, {**known, **ids})
    return ids


def send_report(settings: TrackingSettings, paths: RunPaths) -> None:
    """Keep ``report.html`` with the run in each tracker; one that cannot be opened is left out with a warning."""
    # Prometheus keeps no files.
    settings = replace(settings, prometheus="")
    if not settings.has_any or not paths.report_html.exists():
        return
    try:
        with open_trackers(settings, paths) as trackers:
            trackers.save(paths.report_html)
    except UserError as error:
        # The run itself is finished.
        logger.warning("the report was not sent: %s", error)


def _asked_for(settings: TrackingSettings) -> dict[str, str]:
    projects: dict[str, str] = {name: getattr(settings, name) for name in KINDS}
    return {name: project for name, project in projects.items() if project}


def _kind(name: str) -> Callable[[TrackedRun], Tracker]:
    try:
        module = importlib.import_module(f"saccade.runs.trackers.{name}")
    except ImportError as error:
        command = 'pip install "trackio>=0.43,<1"' if name == "trackio" else install_command("trackers")
        raise UserError(
            f"tracking.{name} needs the package {name}, which is not installed ({error}): {command}"
        ) from error
    made: Callable[[TrackedRun], Tracker] = getattr(module, KINDS[name])
    return made


def _dotted_items(values: Mapping[str, Json], prefix: str) -> Iterator[tuple[str, Json]]:
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _dotted_items(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
