"""``saccade curate ivgr`` against a real server, killed in the middle, and with its mistakes."""

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image
from stream_samples import COLOURS, plain, thought, trajectories

from saccade.cli import run_command
from saccade.curation.ivgr.cold_start import read_cold_start
from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks
from saccade.testing.chat_server import ChatServer, Received, Serve, Served, chat_reply
from warm import WarmProcess

COUNT = 6


def colour_in(received: Received) -> str:
    text = json.dumps(received.body["messages"])
    return next(colour for colour in COLOURS if f"the {colour} cat?" in text)


def serving(*, silent_from: int = COUNT + 1, speaks_again: threading.Event | None = None) -> Serve:
    """Answers at once; from some request on only when it may speak again."""
    numbers = itertools.count(1)

    def serve(received: Received) -> Served:
        if next(numbers) >= silent_from and speaks_again is not None:
            speaks_again.wait(300)
        colour = colour_in(received)
        samples = int(str(received.body.get("n", 1)))
        told = f"<think>{plain(colour)}</think><answer>{colour}</answer>"
        return chat_reply(told, *[told.replace(f">{colour}<", ">pink<")] * (samples - 1), prompt_tokens=9)

    return serve


def rewrite(server: ChatServer, data: Path, out: Path, *more: str) -> list[str]:
    return [
        *("curate", "ivgr", "rewrite", "--data", str(data), "--out", str(out), "--set", "textual_share=1"),
        *("--teacher", server.url, "--teacher-model", "big", *more),
    ]


def test_a_curation_that_was_killed_goes_on_and_asks_nothing_twice(tmp_path: Path) -> None:
    data, out = trajectories(tmp_path / "data", COUNT), tmp_path / "out"
    speaks_again = threading.Event()
    with ChatServer(serving(silent_from=4, speaks_again=speaks_again)) as server:
        arguments = rewrite(server, data, out, "--set", "questions_at_once=1")
        full = [sys.executable, "-m", "saccade", *arguments]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        with WarmProcess(full, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment) as process:
            end = time.monotonic() + 180
            while len(server.received) < 4 and time.monotonic() < end and process.poll() is None:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
        speaks_again.set()
        assert len(server.received) == 4
        assert len((out / "outcomes.jsonl").read_text().splitlines()) == 3
        assert not (out / "examples.jsonl").exists()
        assert run_command(arguments) == 2
        assert run_command([*arguments, "--resume"]) == 0
        bodies = Counter(json.dumps(received.body, sort_keys=True) for received in server.received)
    # The one that was out when the process died had no answer yet.
    assert sorted(bodies.values()) == [1] * (COUNT - 1) + [2]
    examples = read_cold_start(out, MediaStore()).examples
    assert [(one.stream, one.thought) for one in examples] == [("textual", plain(colour)) for colour in COLOURS[:COUNT]]
    assert sorted(path.name for path in out.iterdir() if not path.name.startswith(".")) == [
        *("curation.json", "examples.jsonl", "images", "outcomes.jsonl", "replies", "report.json", "report.txt")
    ]
    # What was killed and resumed is what runs through, byte by byte.
    with ChatServer(serving()) as server:
        assert run_command(rewrite(server, data, tmp_path / "whole")) == 0
    assert (tmp_path / "whole" / "examples.jsonl").read_bytes() == (out / "examples.jsonl").read_bytes()


def test_bad_trajectories_are_named_and_may_be_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = trajectories(tmp_path / "data", 2)
    rows = json.loads(data.read_text())
    rows.insert(1, {**rows[0], "messages": rows[0]["messages"][:1]})
    data.write_text(json.dumps(rows))
    with ChatServer(serving()) as server:
        arguments = rewrite(server, data, tmp_path / "out")
        assert run_command(arguments) == 2
        said = capsys.readouterr().err
        assert f"{data}, row 2: messages: does not end with an assistant's answer" in said
        assert "--skip-bad-rows" in said
        assert run_command([*arguments, "--skip-bad-rows", "-n", "1"]) == 0
    printed = capsys.readouterr()
    assert "left out 1 of 3 rows" in printed.err
    assert "1 of 1 chosen trajectories are rewritten in plain words" in printed.out
    assert "usage of the teacher: requests 1, prompt_tokens 9" in printed.out
    assert f"Examples: {tmp_path / 'out' / 'examples.jsonl'}" in printed.out


def test_by_default_most_trajectories_stay_grounded(tmp_path: Path) -> None:
    data = trajectories(tmp_path / "data", COUNT)
    with ChatServer(serving()) as server:
        arguments = [one for one in rewrite(server, data, tmp_path / "out") if one not in ("--set", "textual_share=1")]
        assert run_command(arguments) == 0
        [received] = server.received
    told = colour_in(received)
    examples = read_cold_start(tmp_path / "out", MediaStore()).examples
    assert [one.thought for one in examples] == [
        plain(colour) if colour == told else thought(colour) for colour in COLOURS[:COUNT]
    ]


def questions(tmp_path: Path) -> Path:
    rows = []
    for colour in COLOURS[:3]:
        Image.new("RGB", (40, 30), colour).save(tmp_path / f"{colour}.png")
        problem = f"<image>Which colour has the cup beside the {colour} cat?"
        rows.append({"problem": problem, "answer": colour, "images": [f"{colour}.png"], "datasource": "ours_tqa"})
    path = tmp_path / "general.json"
    path.write_text(json.dumps(rows))
    return path


def test_questions_that_a_server_answers_now_and_then_are_selected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = questions(tmp_path)
    arguments = ["curate", "ivgr", "select", "--data", str(data), "--set", "samples=4", "--set", "high=0.25"]
    with ChatServer(serving()) as server:
        at_server = [*arguments, "--solver", server.url, "--solver-model", "small", "--out", str(tmp_path / "out")]
        assert run_command(at_server) == 0
        # All samples of a question come in one request.
        assert [received.body["n"] for received in server.received] == [4] * 3
        assert run_command([*at_server, "--resume"]) == 0
        assert len(server.received) == 3
    printed = capsys.readouterr().out
    assert "3 of 3 questions kept\nquestions by pass rate: 0.25 3\n" in printed
    assert f"Questions: {tmp_path / 'out' / 'questions.jsonl'}" in printed
    tasks = read_tasks(tmp_path / "out" / "questions.jsonl", media=MediaStore()).tasks
    assert [(task.answer, task.family) for task in tasks] == [(colour, "ours_tqa") for colour in COLOURS[:3]]
    # Another band needs no model: the rates are known.
    rates = str(tmp_path / "out" / "pass_rates.jsonl")
    again = [*arguments, "--solver", rates, "--set", "low=0.0", "--set", "high=0.2", "--out", str(tmp_path / "again")]
    assert run_command(again) == 0
    assert "0 of 3 questions kept\nquestions left out: above 3\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (["--data", "absent.json"], "--data absent.json: there is no such file"),
        (["--teacher", "absent"], "--teacher absent is neither the address of a server"),
        (["--teacher", "http://localhost:1/v1"], "say with --teacher-model which of its models is meant"),
        (["--set", "textual_share=0"], "textual_share=0.0 must be a number above 0 and at most 1"),
        (["--set", "server.timeout_s=0", "--teacher-model", "m"], "must be positive"),
        (["--set", "thresholds.easy_from=1"], "thresholds.easy_from"),
    ],
)
def test_mistakes_are_found_before_work_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: list[str], message: str
) -> None:
    data = trajectories(tmp_path / "data", 1)
    usual = ["curate", "ivgr", "rewrite", "--data", str(data), "--out", str(tmp_path / "out")]
    assert run_command([*usual, "--teacher", "http://localhost:1/v1", *change]) == 2
    assert message in capsys.readouterr().err


def test_pass_rates_must_cover_the_questions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rates = tmp_path / "rates.jsonl"
    rates.write_text('{"id": "other", "pass_rate": 0.2}\n')
    data = questions(tmp_path)
    arguments = ["curate", "ivgr", "select", "--data", str(data), "--solver", str(rates), "--out", str(tmp_path / "o")]
    assert run_command(arguments) == 2
    assert "has no pass rate for 3 of the questions" in capsys.readouterr().err
    assert run_command([*arguments, "--solver", "absent"]) == 2
    assert "absent: there is no such file, run or checkpoint" in capsys.readouterr().err
