"""Trackio as a tracker (extra ``trackio``)."""

import contextlib
import io
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import trackio
from trackio.sqlite_storage import SQLiteStorage

from saccade.runs.trackers.tracker import RECORD, Part, TrackedPicture, TrackedRun, TrackedTrace


class TrackioTracker:
    """A run of Trackio, known by its identity; several may have one name. Its records are read in its own data base."""

    def __init__(self, asked: TrackedRun) -> None:
        self._project, self._name, self._id = asked.project, asked.name, asked.id
        self._newest = 0
        # It says on stdout how its dashboard is started.
        with contextlib.redirect_stdout(io.StringIO()):
            self._run = trackio.init(
                project=self._project,
                name=self._name,
                resume="never",
                config=dict(asked.settings),
                embed=False,
                auto_log_gpu=False,
                auto_log_cpu=False,
            )
        # Trackio itself finds a run by its name alone, and would continue another run of the same name.
        self._run.id = self._id

    def records(self) -> Set[int]:
        there = {int(one[RECORD]) for one in self._logs() if RECORD in one}
        self._newest = max(there, default=0)
        return there

    def pictures(self) -> Set[tuple[int, str]]:
        shown = {
            (int(one["step"]), key)
            for one in self._logs()
            for key, value in one.items()
            if isinstance(value, dict) and value.get("_type") == trackio.Image.TYPE
        }
        traces = SQLiteStorage.get_traces(self._project, self._name, run_id=self._id, limit=None)
        return shown | {(int(one["step"]), str(one["key"])) for one in traces}

    def log(self, number: int, values: Mapping[str, float]) -> None:
        self._newest = number
        self._run.log({**values, RECORD: number}, step=number)

    def show(self, number: int, pictures: Sequence[TrackedPicture]) -> None:
        self._run.log({one.name: trackio.Image(one.image, caption=one.caption) for one in pictures}, step=number)

    def trace(self, number: int, traces: Sequence[TrackedTrace]) -> None:
        self._run.log({one.name: trackio.Trace(_messages(one), dict(one.values)) for one in traces}, step=number)

    def summarise(self, values: Mapping[str, float]) -> None:
        there = {key for one in self._logs() for key in one}
        if new := {key: value for key, value in values.items() if key not in there}:
            self._run.log(new, step=self._newest + 1)

    def save(self, path: Path) -> None:
        trackio.save(path, project=self._project)

    def close(self, *, is_finished: bool) -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            self._run.finish()  # type: ignore[no-untyped-call]
        if trackio.context_vars.current_run.get() is self._run:
            # Else it is finished once more at the exit of the process, which says so on stdout.
            trackio.context_vars.current_run.set(None)

    def _logs(self) -> list[dict[str, Any]]:
        return SQLiteStorage.get_logs(self._project, self._name, run_id=self._id)


def _messages(trace: TrackedTrace) -> list[dict[str, Any]]:
    """OpenAI's form, with Trackio's own pictures among the parts."""
    return [{"role": role, "content": [_part(part) for part in parts]} for role, parts in trace.messages]


def _part(part: Part) -> object:
    return {"type": "text", "text": part} if isinstance(part, str) else trackio.Image(part)
