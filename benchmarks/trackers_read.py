"""What trackers have of a run, read by their own libraries, and what differs from ``metrics.jsonl``."""

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from saccade.runs.metrics import read_metrics, without_times

Series = dict[str, list[tuple[int, float]]]
"""Metrics by name, each as its steps and values in the store's order."""

TRACKIO = """
import json, sys, trackio
from trackio.sqlite_storage import SQLiteStorage
runs = SQLiteStorage.get_run_records("demos")
logs = [one for run in runs for one in SQLiteStorage.get_logs("demos", run["name"], run_id=run["id"])]
print(json.dumps([[run["name"] for run in runs], logs, [run.name for run in trackio.Api().runs("demos")]], default=str))
"""


@dataclass(frozen=True, kw_only=True)
class Store:
    """What one tracker has."""

    runs: int
    status: str
    series: Series
    pictures: Counter[str]
    has_report: bool


@dataclass(frozen=True, kw_only=True)
class Stores:
    """A run's own metrics, and what each tracker has of them."""

    metrics: list[dict[str, float]]
    """Values by ``STAGE/NAME`` of each record."""
    timeless: list[Any]
    boards: Series
    mlflow: Store
    trackio: Store

    def counts(self) -> dict[str, Any]:
        told: dict[str, Any] = {"records": len(self.metrics), "TensorBoard values": sum(map(len, self.boards.values()))}
        for name, one in (("MLflow", self.mlflow), ("Trackio", self.trackio)):
            told[name] = {
                "runs": one.runs,
                "status": one.status,
                "records": len(one.series.get("record", ())),
                "values": sum(map(len, one.series.values())),
                "pictures": sum(one.pictures.values()),
                "report": one.has_report,
            }
        return told


def read_stores(folder: Path) -> Stores:
    path = folder / "demo" / "metrics.jsonl"
    metrics = [
        {f"{position.stage}/{key}": value for key, value in values.items()} for position, values in read_metrics(path)
    ]
    return Stores(
        metrics=metrics,
        timeless=without_times(path),
        boards=_boards(folder / "demo" / "tensorboard"),
        mlflow=_mlflow(f"sqlite:///{folder}/mlflow.db"),
        trackio=_trackio(folder / "trackio"),
    )


def differences(name: str, stores: Stores, calm: Stores) -> list[str]:
    """Sentences about what is missing, twice or of another value; none where all is well."""
    found = [] if stores.timeless == calm.timeless else [f"{name}: metrics.jsonl is not that of the undisturbed run"]
    found += [f"{name}: TensorBoard: {line}" for line in _in_series(stores, stores.boards, is_numbered=False)]
    for tracker, one, other in (("MLflow", stores.mlflow, calm.mlflow), ("Trackio", stores.trackio, calm.trackio)):
        lines = list(_in_series(stores, one.series, is_numbered=True))
        lines += [] if one.runs == 1 else [f"{one.runs} runs"]
        lines += [] if one.status in ("FINISHED", "") else [f"the run is {one.status}"]
        lines += [] if one.has_report else ["no report"]
        lines += [f"picture {key}: {count} times" for key, count in one.pictures.items() if count != 1]
        lines += [f"no picture {key}" for key in other.pictures if key not in one.pictures]
        found += [f"{name}: {tracker}: {line}" for line in lines]
    return found


def _in_series(stores: Stores, series: Series, *, is_numbered: bool) -> Iterator[str]:
    wanted: Series = {}
    for number, (values, (position, _)) in enumerate(zip(stores.metrics, stores.timeless, strict=True), start=1):
        extra = {f"{position.stage}/step": float(position.step), "record": float(number)} if is_numbered else {}
        for key, value in {**values, **extra}.items():
            # TensorBoard is not given the wall time of the run.
            if is_numbered or not key.endswith("/time/wall_s"):
                wanted.setdefault(key, []).append((number if is_numbered else position.step, value))
    for key, points in wanted.items():
        there = sorted(series.get(key, ()))
        if [step for step, _ in there] != [step for step, _ in points]:
            yield f"{key} has steps {[step for step, _ in there]} and not {[step for step, _ in points]}"
        elif "/time/" not in key and any(
            not abs(ours - theirs) <= 1e-6 * abs(ours) for (_, theirs), (_, ours) in zip(there, points, strict=True)
        ):
            yield f"{key} has other values"


def _boards(folder: Path) -> Series:
    from tensorboard.backend.event_processing.event_accumulator import SCALARS, EventAccumulator

    series: Series = {}
    for stage in sorted(folder.iterdir()):
        events = EventAccumulator(str(stage), size_guidance={SCALARS: 0})
        events.Reload()
        for tag in events.Tags()["scalars"]:
            series[f"{stage.name}/{tag}"] = [(one.step, one.value) for one in events.Scalars(tag)]
    return series


def _mlflow(place: str) -> Store:
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=place)
    experiment = client.get_experiment_by_name("demos")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    series: Series = {}
    pictures: Counter[str] = Counter()
    files: list[str] = []
    for run in runs:
        for key in run.data.metrics:
            history = client.get_metric_history(run.info.run_id, key)
            series.setdefault(key, []).extend((one.step, one.value) for one in history)
        shown = [one.path for one in client.list_artifacts(run.info.run_id, "images") if one.path.endswith(".png")]
        pictures.update(re.sub(r"\+timestamp.*", "", one.removeprefix("images/")).replace("~", "/") for one in shown)
        files += [one.path for one in client.list_artifacts(run.info.run_id)]
    status = ", ".join(run.info.status for run in runs)
    return Store(runs=len(runs), status=status, series=series, pictures=pictures, has_report="report.html" in files)


def _trackio(folder: Path) -> Store:
    # In a process of its own: Trackio reads its folder from the environment when it is imported.
    told = subprocess.run(
        [sys.executable, "-c", TRACKIO],
        env={**os.environ, "TRACKIO_DIR": str(folder)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    names, logs, shown = json.loads(told.splitlines()[-1])
    assert sorted(names) == sorted(shown)
    series: Series = {}
    pictures: Counter[str] = Counter()
    for one in logs:
        for key, value in one.items():
            if isinstance(value, dict):
                pictures[f"{key}+step+{one['step']}"] += 1
            elif key not in ("step", "timestamp", "id"):
                series.setdefault(key, []).append((one["step"], value))
    has_report = any(folder.rglob("report.html"))
    return Store(runs=len(names), status="", series=series, pictures=pictures, has_report=has_report)
