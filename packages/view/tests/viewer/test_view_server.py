"""``saccade view`` as a process: it answers while a run grows, says when a folder goes, and ends when it is told to."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from viewer_fake_run import guessing_attempt, make_run, search_task

from saccade.media.store import MediaStore
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths

WAIT_S = 120


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    folder = make_run(tmp_path / "run", n=4)
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    command = [sys.executable, "-m", "saccade", "view", str(folder), "--port", "0", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().split()[-1], folder
        finally:
            process.kill()


def get(address: str) -> Any:
    with urllib.request.urlopen(address, timeout=WAIT_S) as answer:
        return json.loads(answer.read())


def events(stream: Any) -> Iterator[tuple[str, Any]]:
    """Events of a stream; the waiting for them ends by the stream's own time-out."""
    name = ""
    for raw in stream:
        line = raw.decode().rstrip("\n")
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            yield name, json.loads(line.removeprefix("data: "))


def test_a_server_tells_of_new_steps_and_of_a_folder_that_went(
    served: tuple[subprocess.Popen[str], str, Path],
) -> None:
    process, address, folder = served
    [run] = get(f"{address}api/runs")["runs"]
    assert (run["status"], run["name"]) == ("finished", "run")
    maps = Path(f"/proc/{process.pid}/maps").read_text()
    assert "libtorch" not in maps, "the viewer needs no model"
    until = time.monotonic() + WAIT_S
    while (whole := get(f"{address}api/runs/{run['id']}/trajectories?limit=0"))["indexing"] is not None:
        assert time.monotonic() < until, "the index of a small run does not end"
        time.sleep(0.1)
    before = whole["total"]
    with urllib.request.urlopen(f"{address}api/events?run={run['id']}", timeout=WAIT_S) as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        media, paths = MediaStore(), RunPaths(root=folder)
        position = Position(stage="rl", step=31)
        attempts = [guessing_attempt(search_task(media, 1), "rows", sample=sample) for sample in range(3)]
        write_records(paths.trajectories(position), position, attempts, media=media, media_directory=paths.media)
        told = events(stream)
        # Files that were indexed a moment ago may be told of first.
        assert next(said for name, said in told if name == "step" and said["file"] == "step-000031")
        answer = get(f"{address}api/runs/{run['id']}/trajectories?limit=5&step_min=31")
        assert (answer["total"], answer["matched"]) == (before + 3, 3)
        shutil.rmtree(folder)
        gone = next(said for name, said in told if name == "gone")
        assert "no longer there" in gone["why"]
    with pytest.raises(urllib.error.HTTPError) as refused:
        get(f"{address}api/runs/{run['id']}")
    assert "no longer there" in json.loads(refused.value.read())["error"]["message"]
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=WAIT_S) == 0


def test_the_first_list_needs_no_rules_of_answers_no_pictures_and_no_readers_of_other_trainers() -> None:
    code = (
        "import sys, saccade.cli.view, saccade.viewer.app.server\n"
        "later = {'fastapi', 'pydantic', 'pyarrow.parquet', 'PIL', 'saccade.rewards', 'saccade.media.store'}\n"
        "assert not later & set(sys.modules), later & set(sys.modules)\n"
        "saccade.viewer.app.server.warm_up()\n"
        "assert 'saccade.viewer.scene.scene' in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=WAIT_S, check=False)
    assert (done.stderr, done.returncode) == ("", 0)


def test_what_cannot_be_shown_is_said_before_anything_is_served(tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        command = [sys.executable, "-m", "saccade", "view", "--no-open", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=WAIT_S, check=False)
        assert done.returncode != 0
        return done.stderr

    assert "is not there" in said(str(tmp_path / "nothing"))
    assert "--token-env" in said(str(tmp_path), "--host", "0.0.0.0")
    assert "can be mapped" in said(str(tmp_path), "--field", "colour=x")
