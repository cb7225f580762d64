"""Trackio as a tracker (extra ``trackio``)."""

import contextlib
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import trackio
from trackio.sqlite_storage import SQLiteStorage

from saccade.runs.trackers.tracker import RECORD, TrackedPicture, TrackedRun


class TrackioTracker:
    """A run of Trackio, known by its name; its records are asked of its own data base when it is opened again."""

    def __init__(self, asked: TrackedRun) -> None:
        self._project, self._name = asked.project, asked.id or asked.name
        # It says on stdout how its dashboard is started.
        with contextlib.redirect_stdout(io.StringIO()):
            self._run = trackio.init(
                project=self._project,
                name=self._name,
                resume="allow",
                config=dict(asked.settings),
                embed=False,
                auto_log_gpu=False,
                auto_log_cpu=False,
            )

    @property
    def id(self) -> str:
        return self._name

    def newest(self) -> int:
        logs = SQLiteStorage.get_logs(self._project, self._name)
        return max((int(one[RECORD]) for one in logs if RECORD in one), default=0)

    def log(self, number: int, values: Mapping[str, float]) -> None:
        self._run.log({**values, RECORD: number}, step=number)

    def show(self, number: int, pictures: Sequence[TrackedPicture]) -> None:
        self._run.log({one.name: trackio.Image(one.image, caption=one.caption) for one in pictures}, step=number)

    def summarise(self, values: Mapping[str, float]) -> None:
        there = {key for one in SQLiteStorage.get_logs(self._project, self._name) for key in one}
        if new := {key: value for key, value in values.items() if key not in there}:
            self._run.log(new)

    def save(self, path: Path) -> None:
        trackio.save(path, project=self._project)

    def close(self, *, is_finished: bool) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self._run.finish()  # type: ignore[no-untyped-call]
