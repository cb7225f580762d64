"""MLflow as a tracker (extra ``mlflow``)."""

import os
import re
import time
from collections.abc import Mapping, Sequence, Set
from pathlib import Path

from mlflow import MlflowClient
from mlflow.entities import Metric, Param

from saccade.runs.trackers.tracker import RECORD, TrackedPicture, TrackedRun, TrackedTrace

_PARAM_CHARACTERS = 500
_AT_ONCE = 90
_TAG = "saccade.run"
"""MLflow chooses the ids of its runs: ours is a tag, by which a run is found again."""
_SHOWN = re.compile(r"images/(.+)\+step\+(\d+)\+timestamp\+.*\+compressed\.webp")
"""How MLflow names the smaller of the two files of a picture, which it writes last."""


_NAME_CHARACTERS = 250
_ILLEGAL = re.compile(r"[^\w./ :-]", re.ASCII)


def legal_name(key: str) -> str:
    """A metric's name as MLflow takes it: ``acc@1`` is ``acc_1``; no part begins or ends with dots."""
    parts = (_ILLEGAL.sub("_", part).strip(".") or "_" for part in key.split("/"))
    return "/".join(parts)[:_NAME_CHARACTERS]


class MlflowTracker:
    """A run of MLflow by the client's calls: nothing of the process's own MLflow state is touched."""

    def __init__(self, asked: TrackedRun) -> None:
        place = os.environ.get("MLFLOW_TRACKING_URI") or f"sqlite:///{Path('mlflow.db').resolve()}"
        self._client = MlflowClient(tracking_uri=place)
        there = self._client.get_experiment_by_name(asked.project)
        experiment = self._client.create_experiment(asked.project) if there is None else there.experiment_id
        found = self._client.search_runs([experiment], filter_string=f"tags.`{_TAG}` = '{asked.id}'", max_results=1)
        run = found[0] if found else self._client.create_run(experiment, tags={_TAG: asked.id}, run_name=asked.name)
        self._id = run.info.run_id
        if found:
            self._client.update_run(self._id, status="RUNNING")
        texts = {key: str(value)[:_PARAM_CHARACTERS] for key, value in asked.settings.items()}
        params = [Param(key, text) for key, text in texts.items() if text and key not in run.data.params]
        for start in range(0, len(params), _AT_ONCE):
            self._client.log_batch(self._id, params=params[start : start + _AT_ONCE])

    def records(self) -> Set[int]:
        return {int(one.value) for one in self._client.get_metric_history(self._id, RECORD)}

    def pictures(self) -> Set[tuple[int, str]]:
        shown = [_SHOWN.fullmatch(one.path) for one in self._client.list_artifacts(self._id, "images")]
        return {(int(one[2]), one[1].replace("~", "/")) for one in shown if one is not None}

    def log(self, number: int, values: Mapping[str, float]) -> None:
        now_ms = int(time.time() * 1000)
        # The number comes last: where it is there, everything of its record is.
        named = {legal_name(key): value for key, value in values.items()}
        metrics = [Metric(key, value, now_ms, number) for key, value in [*named.items(), (RECORD, float(number))]]
        self._client.log_batch(self._id, metrics=metrics)

    def show(self, number: int, pictures: Sequence[TrackedPicture]) -> None:
        for one in pictures:
            self._client.log_image(self._id, one.image, key=one.name, step=number)

    def trace(self, number: int, traces: Sequence[TrackedTrace]) -> None:
        """MLflow's traces are spans of calls in time, which a trajectory's record does not have."""

    def summarise(self, values: Mapping[str, float]) -> None:
        there = self._client.get_run(self._id).data.metrics
        now_ms = int(time.time() * 1000)
        named = {legal_name(key): value for key, value in values.items()}
        if new := [Metric(key, value, now_ms, 0) for key, value in named.items() if key not in there]:
            self._client.log_batch(self._id, metrics=new)

    def save(self, path: Path) -> None:
        self._client.log_artifact(self._id, str(path))

    def close(self, *, is_finished: bool) -> None:
        self._client.set_terminated(self._id, "FINISHED" if is_finished else "FAILED")
