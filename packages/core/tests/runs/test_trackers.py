"""Trackers follow a run: each record once, in MLflow's and Trackio's own data bases, killed and resumed or not."""

import json
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from PIL import Image

from saccade.cli import run_command
from saccade.config.settings import apply_overrides
from saccade.config.tracking import TrackingSettings, split_tracking
from saccade.errors import UserError
from saccade.runs.metrics import MetricsWriter, read_metrics
from saccade.runs.position import Position
from saccade.runs.runinfo import RunPaths
from saccade.runs.trackers import TrackedPicture, Trackers, open_trackers
from saccade.runs.trackers.tracker import TrackedTrace
from warm import WarmProcess, run_warm

SMALL = ("sft.steps=4", "sft.batch_size=2", "rl.steps=3", "rl.tasks_per_step=1", "no_tool_tasks=0", "rl.group_size=2")
FIRST_KILLED = ("evaluation_tasks=2", "curve_tasks=2", "sft.checkpoint_every=2", "rl.checkpoint_every=2")
DEMO = [word for one in (*SMALL, *FIRST_KILLED) for word in ("--set", one)]


@dataclass
class InMemory:
    """A tracker whose records a test can take away, as a killed process loses them."""

    kept: dict[int, Mapping[str, float]] = field(default_factory=dict)
    sent: list[int] = field(default_factory=list)
    fails_at: int = 0

    def records(self) -> Set[int]:
        return self.kept.keys()

    def pictures(self) -> Set[tuple[int, str]]:
        return frozenset()

    def log(self, number: int, values: Mapping[str, float]) -> None:
        if number == self.fails_at:
            raise OSError("the server is gone")
        assert number not in self.kept
        self.kept[number] = values
        self.sent.append(number)

    def show(self, number: int, pictures: Sequence[TrackedPicture]) -> None: ...

    def trace(self, number: int, traces: Sequence[TrackedTrace]) -> None: ...

    def summarise(self, values: Mapping[str, float]) -> None: ...

    def save(self, path: Path) -> None: ...

    def close(self, *, is_finished: bool) -> None: ...


def written(path: Path, steps: range, trackers: Trackers, keep_until: int | None) -> None:
    """Records of a stage, by a run that goes on from a checkpoint."""
    position = None if keep_until is None else Position(stage="rl", step=keep_until)
    with MetricsWriter.open(path, stages=("rl",), keep_until=position) as metrics:
        trackers.catch_up(path)
        metrics.follow(trackers.log)
        for step in steps:
            metrics.write(Position(stage="rl", step=step), {"reward/mean": step / 10})


@pytest.mark.parametrize("lost", [(), (7,), (5, 6, 7), (2, 4, 6)])
def test_each_record_comes_once_whatever_a_kill_took(lost: tuple[int, ...], tmp_path: Path) -> None:
    path, tracker = tmp_path / "metrics.jsonl", InMemory()
    written(path, range(1, 8), Trackers({"memory": tracker}), None)
    for number in lost:
        del tracker.kept[number]
    written(path, range(5, 11), Trackers({"memory": tracker}), 4)
    assert sorted(tracker.kept) == list(range(1, 11))
    assert [values["rl/reward/mean"] for _, values in sorted(tracker.kept.items())] == [n / 10 for n in range(1, 11)]
    assert [values["rl/step"] for _, values in sorted(tracker.kept.items())] == [float(n) for n in range(1, 11)]
    assert len(list(read_metrics(path))) == 10


def test_a_tracker_that_fails_costs_nothing_but_itself(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    good, bad = InMemory(), InMemory(fails_at=3)
    trackers = Trackers({"good": good, "bad": bad})
    written(tmp_path / "metrics.jsonl", range(1, 6), trackers, None)
    assert (len(good.sent), len(bad.sent), trackers.names) == (5, 2, ("good",))
    assert "bad no longer follows this run: OSError: the server is gone" in caplog.text


def test_settings_of_trackers_are_no_settings_of_the_recipe(tmp_path: Path) -> None:
    settings, rest = split_tracking(("tracking.mlflow=mine", "rl.steps=3"))
    assert (settings.mlflow, settings.has_any, rest) == ("mine", True, ("rl.steps=3",))
    for wrong in ("tracking.pictures=-1", "tracking.pictures=9", "tracking.mlflw=x"):
        with pytest.raises(UserError, match="tracking"):
            split_tracking((wrong,))
    with pytest.raises(UserError, match="pictures_every"):
        apply_overrides(TrackingSettings(), ("pictures_every=0",))
    assert open_trackers(TrackingSettings(), RunPaths(root=tmp_path)).names == ()


def test_a_tracker_that_cannot_be_opened_ends_the_run_before_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "ftp://nothing")
    out = tmp_path / "run"
    assert run_command(["demo", *DEMO, "--set", "tracking.mlflow=x", "--out", str(out), "--quiet"]) == 2
    assert "mlflow cannot be opened" in capsys.readouterr().err
    assert not out.exists()


def test_wandb_offline_keeps_its_files_with_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    paths = RunPaths(root=tmp_path)
    for _ in range(2):
        with open_trackers(TrackingSettings(wandb="demos"), paths, values={"rl": {"steps": 3}}) as trackers:
            assert trackers.names == ("wandb",)
            trackers.log(Position(stage="rl", step=1), {"reward/mean": 0.5})
            trackers.summarise({"after_rl/accuracy": 0.5})
            assert trackers.names == ("wandb",)
    kept = [one.name for one in (tmp_path / "wandb").glob("offline-run-*")]
    known = json.loads(paths.trackers.read_text())["wandb"]
    assert kept
    assert all(name.endswith(known) for name in kept)


OPENS_TWICE = """
import json, logging, sys
from pathlib import Path
from mlflow import MlflowClient
from trackio.sqlite_storage import SQLiteStorage
from saccade.config.tracking import TrackingSettings
from saccade.runs.position import Position
from saccade.runs.runinfo import RunPaths
from saccade.runs.trackers import open_trackers

logging.disable()
both = TrackingSettings(mlflow="demos", trackio="demos")

def tracked(folder, settings, steps):
    folder.mkdir(parents=True, exist_ok=True)
    with open_trackers(settings, RunPaths(root=folder), values={"steps": len(steps)}) as trackers:
        (folder / "metrics.jsonl").touch()
        trackers.catch_up(folder / "metrics.jsonl")
        for step in steps:
            trackers.log(Position(stage="rl", step=step), {"reward/mean": step / 10})
        assert trackers.names == tuple(one for one in ("trackio", "mlflow") if getattr(settings, one)), trackers.names

first, second = Path("one/run"), Path("two/run")
# Killed when MLflow had its run and Trackio had not begun: the next process goes on with that run.
first.mkdir(parents=True)
open_trackers(TrackingSettings(mlflow="demos"), RunPaths(root=first))
for folder, steps in ((first, [1, 2]), (second, [1]), (first, [1, 2, 3]), (second, [1, 2, 3, 4])):
    tracked(folder, both, steps)
client = MlflowClient(tracking_uri="sqlite:///mlflow.db")
runs = client.search_runs([client.get_experiment_by_name("demos").experiment_id])
values = [[one.value for one in client.get_metric_history(run.info.run_id, "record")] for run in runs]
there = SQLiteStorage.get_run_records("demos")
logs = [SQLiteStorage.get_logs("demos", run["name"], run_id=run["id"]) for run in there]
print(json.dumps({
    "mlflow": sorted(map(sorted, values)),
    "trackio": sorted(sorted(one["record"] for one in some) for some in logs),
    "names": sorted([run.info.run_name for run in runs] + [run["name"] for run in there]),
    "params": sorted(run.data.params["steps"] for run in runs),
}))
"""


def test_runs_of_one_name_are_kept_apart_and_each_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trackio", reason="Trackio is not installed: `make setup` installs it")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    command = [sys.executable, "-c", OPENS_TWICE]
    told = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert json.loads(told.splitlines()[-1]) == {
        "mlflow": [[1, 2, 3], [1, 2, 3, 4]],
        "trackio": [[1, 2, 3], [1, 2, 3, 4]],
        "names": ["run"] * 4,
        "params": ["1", "2"],
    }


ASKS_TRACKIO = """
import json, trackio
from trackio.sqlite_storage import SQLiteStorage
names = [run.name for run in trackio.Api().runs("demos")]
traces = SQLiteStorage.get_traces("demos", "followed", limit=None)
print(json.dumps([SQLiteStorage.get_logs("demos", "followed"), names, traces], default=str))
"""


def test_a_demo_killed_and_resumed_is_one_run_in_mlflow_and_trackio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("trackio", reason="Trackio is not installed: `make setup` installs it")
    base, out = f"sqlite:///{tmp_path}/mlflow.db", tmp_path / "followed"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", base)
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))
    monkeypatch.chdir(tmp_path)
    tracked = [
        "--set",
        "tracking.mlflow=demos",
        "--set",
        "tracking.trackio=demos",
        "--set",
        "tracking.pictures_every=1",
        "--set",
        "tracking.traces=2",
    ]
    command = ["demo", *DEMO, *tracked, "--out", str(out), "--quiet", "--resume"]
    metrics = out / "metrics.jsonl"
    with WarmProcess([sys.executable, "-m", "saccade", *command]) as run:
        while run.poll() is None and (not metrics.exists() or metrics.read_bytes().count(b"\n") < 5):
            time.sleep(0.02)
        run.kill()
    # In a process of its own: the other recipes that tests have imported would count as an edited one.
    run_warm([sys.executable, "-m", "saccade", *command], check=True)
    count = len(list(read_metrics(metrics)))
    assert count >= 7
    # Here, since each worker of the tests imports this file, and one runs it.
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=base)
    experiment = client.get_experiment_by_name("demos")
    assert experiment is not None
    runs = client.search_runs([experiment.experiment_id])
    assert [run.info.status for run in runs] == ["FINISHED"]
    numbers = [int(one.value) for one in client.get_metric_history(runs[0].info.run_id, "record")]
    assert sorted(numbers) == list(range(1, count + 1))
    assert {"after_rl/accuracy", "rl/reward/mean"} <= set(runs[0].data.metrics)
    assert [one.path for one in client.list_artifacts(runs[0].info.run_id) if one.path == "report.html"]
    assert [one.path for one in client.list_artifacts(runs[0].info.run_id, "images") if one.path.endswith(".png")]
    # In a process of its own: Trackio reads its directory from the environment when it is imported.
    told = subprocess.run([sys.executable, "-c", ASKS_TRACKIO], check=True, capture_output=True, text=True).stdout
    logs, names, traces = json.loads(told.splitlines()[-1])
    assert sorted(int(one["record"]) for one in logs if "record" in one) == list(range(1, count + 1))
    assert any(isinstance(value, dict) and "file_path" in value for one in logs for value in one.values()), logs[-1]
    assert names == ["followed"]
    places = [(one["step"], one["key"]) for one in traces]
    assert len(places) == len(set(places)) >= 6
    for one in traces:
        asked, said = one["messages"][:2]
        assert [part.get("_type") or part["type"] for part in asked["content"]] == ["trackio.image", "text"]
        assert (said["role"], one["metadata"]["family"]) == ("assistant", "visual_search")
        assert {"gold", "reward", "is_right"} <= set(one["metadata"])
    known = json.loads((out / "trackers.json").read_text())
    assert (known.keys(), known["mlflow"]) == ({"mlflow", "trackio"}, runs[0].data.tags["saccade.run"])


def test_a_table_of_wandb_has_a_row_of_each_trajectory() -> None:
    from saccade.runs.trackers.wandb import _table

    red, said = Image.new("RGB", (8, 8), "red"), ("assistant", ("<answer>red</answer>",))
    crop = [said, ("tool", ("Here it is.", red))]
    one = TrackedTrace(name="rl/trace_0", messages=(("user", (red, "Which?")), *crop, said), values={"reward": 1.0})
    other = TrackedTrace(name="rl/trace_1", messages=(("user", (red, "Which?")), said), values={"gold": "blue"})
    table = _table([one, other])
    assert table.columns == ["text", "picture_0", "picture_1", "reward", "gold"]
    assert [row[0].count("[picture]") for row in table.data] == [2, 1]
    assert [(row[2] is None, *row[3:]) for row in table.data] == [(False, 1.0, None), (True, None, "blue")]


def test_traces_that_no_tracker_would_keep_are_refused() -> None:
    for words in (("tracking.traces=2", "tracking.mlflow=x"), ("tracking.traces=2", "tracking.prometheus=9464")):
        with pytest.raises(UserError, match="traces=2 reach Trackio and Weights & Biases alone"):
            split_tracking(words)
    assert split_tracking(("tracking.traces=2", "tracking.wandb=x"))[0].traces == 2


def test_names_that_mlflow_refuses_are_made_legal() -> None:
    from saccade.runs.trackers.mlflow import legal_name

    assert legal_name("reward/acc@1") == "reward/acc_1"
    assert legal_name("reward/precision (k=5) %") == "reward/precision _k_5_ _"
    assert legal_name("../x") == "_/x"
    assert len(legal_name("x" * 300)) == 250
