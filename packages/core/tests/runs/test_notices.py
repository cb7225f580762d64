"""A notice of a run's end comes once, with the reason, however the run ended."""

import json
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from saccade.config.tracking import TrackingSettings
from saccade.errors import UserError
from saccade.runs.position import Position
from saccade.runs.runinfo import RunPaths
from saccade.runs.trackers import open_trackers
from warm import run_warm

ENDS = """
import os, signal, sys, time
from pathlib import Path
from saccade.cli.entry import _interrupt
from saccade.runs.notices import notice_of_end

signal.signal(signal.SIGTERM, _interrupt)
with notice_of_end(sys.argv[1], Path("run")):
    if os.fork() == 0:
        time.sleep(60)  # A worker that outlives the run holds all its pipes.
    print("in it", flush=True)
    if sys.argv[2] == "raises":
        raise ValueError("the loss is not a number")
    time.sleep({"sleeps": 60, "ends": 0}[sys.argv[2]])
"""


@contextmanager
def listening(refusals: int = 0) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """A web address on this machine, and what was sent to it; the first times it is busy."""
    got: list[dict[str, str]] = []
    left = [refusals]

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            left[0] -= 1
            if left[0] < 0:
                got.append(json.loads(body))
            self.send_response(503 if left[0] >= 0 else 200)
            self.end_headers()

        def log_message(self, *told: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/hook", got
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("does", "sent", "status", "said"),
    [
        ("ends", None, "finished", "all its stages are done"),
        ("raises", None, "failed", "ValueError: the loss is not a number"),
        ("sleeps", signal.SIGTERM, "stopped", "it was interrupted, by Ctrl-C or SIGTERM"),
        ("sleeps", signal.SIGKILL, "died", "its process ended without a word: killed, or out of memory"),
    ],
)
def test_an_end_is_told_once_with_its_reason(
    does: str, sent: signal.Signals | None, status: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with listening(refusals=1 if status == "died" else 0) as (address, got):
        monkeypatch.setenv("MY_HOOK", address)
        with subprocess.Popen(
            [sys.executable, "-c", ENDS, "$MY_HOOK", does], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as run:
            assert run.stdout is not None
            assert run.stdout.readline() == b"in it\n"
            if sent is not None:
                run.send_signal(sent)
            while not got:
                time.sleep(0.05)
            run.stdout.close()
            subprocess.run(["true"], check=True)
    assert [(one["status"], one["reason"], one["run"]) for one in got] == [(status, said, str(tmp_path / "run"))]
    assert got[0]["text"] == got[0]["content"]
    assert said in got[0]["text"]


def test_a_command_is_told_of_a_start_that_is_refused(tmp_path: Path) -> None:
    command = 'cat > told.txt; echo "$SACCADE_STATUS" >> told.txt; mv told.txt notice.txt'
    words = ["train", "questions", "--data", "none.jsonl", "--out", "run", "--set", f"tracking.notify={command}"]
    (tmp_path / "none.jsonl").write_text("")
    done = run_warm([sys.executable, "-m", "saccade", *words], cwd=tmp_path)
    assert done.returncode == 2
    while not (tmp_path / "notice.txt").exists():
        time.sleep(0.05)
    assert "failed: UserError: none.jsonl" in (told := (tmp_path / "notice.txt").read_text())
    assert told.endswith("failed\n")


def test_a_notice_that_cannot_be_sent_is_a_line_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    done = subprocess.run([sys.executable, "-c", ENDS.replace("os.fork()", "1"), "exit 7", "ends"], cwd=tmp_path)
    assert done.returncode == 0
    while not (log := tmp_path / "run" / "log.txt").exists() or "not sent" not in log.read_text():
        time.sleep(0.05)
    assert "CalledProcessError" in log.read_text()


def test_prometheus_reads_the_newest_record_of_each_stage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    folder = tmp_path / "mine"
    folder.mkdir()
    with open_trackers(TrackingSettings(prometheus="0"), RunPaths(root=folder)) as trackers:
        (address,) = [word for word in caplog.text.split() if word.startswith("http://")]
        assert address.startswith("http://127.0.0.1:")
        for stage, step, name in (("sft", 4, "nll"), ("rl", 1, "reward/mean"), ("rl", 2, "reward/mean")):
            trackers.log(Position(stage=stage, step=step), {name: step / 10, "time/tokens_per_s": 7.0})
        read = urllib.request.urlopen(address).read().decode().splitlines()
        assert trackers.names == ("prometheus",)
    assert {
        'saccade_run{run="mine",stage="rl"} 1.0',
        'saccade_step{stage="sft"} 4.0',
        'saccade_nll{stage="sft"} 0.4',
        'saccade_step{stage="rl"} 2.0',
        'saccade_reward_mean{stage="rl"} 0.2',
        'saccade_time_tokens_per_s{stage="rl"} 7.0',
    } <= set(read)
    assert any(line.startswith("saccade_seconds_since_record ") for line in read)
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(address)


@pytest.mark.parametrize("place", ["x", "0.0.0.0:", "65536", "http://h:1/"])
def test_a_place_for_metrics_that_is_none_is_refused(place: str) -> None:
    with pytest.raises(UserError, match="no PORT or HOST:PORT"):
        TrackingSettings(prometheus=place).check()
