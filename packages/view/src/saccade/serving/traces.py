"""Trajectories of the last requests, kept for ``/traces`` within a number and a size."""

import json
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

from saccade.media.store import BYTES_PER_PIXEL
from saccade.runs.task_json import task_to_json
from saccade.runs.trajectory_json import trajectory_to_json
from saccade.serving.pictures import EpisodePictures
from saccade.serving.settings import AgentServerSettings
from saccade.types import ImageRef, Task, Trajectory

_BYTES_PER_TOKEN = 64
"""Of an id and its log-probability."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Trace:
    model: str
    task: Task
    trajectories: Sequence[Trajectory]
    pictures: EpisodePictures
    size: int


class Traces:
    """By the id of a completion. A trace holds the pictures of its trajectories as long as it is kept."""

    def __init__(self, settings: AgentServerSettings) -> None:
        self._most = settings.traces
        self._most_bytes = settings.traces_mb << 20
        self._kept: OrderedDict[str, _Trace] = OrderedDict()
        self._bytes = 0

    @property
    def count(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """Bytes of the pictures, as pixels, and the texts."""
        return self._bytes

    def keep(
        self, ident: str, model: str, task: Task, trajectories: Sequence[Trajectory], pictures: EpisodePictures
    ) -> None:
        """Takes the pictures over, to close them when the trace makes room."""
        if self._most == 0:
            pictures.close()
            return
        size = len(task.question) + sum(BYTES_PER_PIXEL * image.width * image.height for image in pictures.images)
        for one in trajectories:
            size += _BYTES_PER_TOKEN * sum(len(segment.ids) for segment in one.segments)
            size += sum(len(turn.text) for turn in one.turns)
        self._kept[ident] = _Trace(model=model, task=task, trajectories=trajectories, pictures=pictures, size=size)
        self._bytes += size
        while self._kept and (len(self._kept) > self._most or self._bytes > self._most_bytes):
            _, oldest = self._kept.popitem(last=False)
            self._bytes -= oldest.size
            oldest.pictures.close()

    def body(self, ident: str) -> bytes | None:
        """The task and its trajectories as JSON; None where it is not kept (any more)."""
        trace = self._kept.get(ident)
        if trace is None:
            return None
        value = {
            "id": ident,
            "model": trace.model,
            "task": task_to_json(trace.task),
            "trajectories": [trajectory_to_json(one) for one in trace.trajectories],
        }
        return json.dumps(value).encode("ascii")

    def picture(self, ident: str, image_hash: str) -> tuple[EpisodePictures, ImageRef] | None:
        """A picture of a trace, and where it is."""
        trace = self._kept.get(ident)
        found = None if trace is None else next((one for one in trace.pictures.images if one.hash == image_hash), None)
        return None if trace is None or found is None else (trace.pictures, found)
