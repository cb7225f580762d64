"""``saccade eval --benchmark`` with a judge, and with several samples of each question."""

import base64
import io
import json
from pathlib import Path

import pandas as pd
import pytest
from PIL import Image

from saccade.cli.entry import run_command
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a small file of V*."""
    buffer = io.BytesIO()
    Image.new("RGB", (12, 12)).save(buffer, "PNG")
    image = base64.b64encode(buffer.getvalue()).decode()
    row = {"question": "Which?", "A": "red", "B": "blue", "answer": "B", "category": "c", "image": image}
    table = pd.DataFrame([{"index": place, **row} for place in range(2)])
    table.to_csv(tmp_path / "VStarBench.tsv", sep="\t", index=False)
    return tmp_path


def served(received: Received) -> Served:
    """The policy answers in words that no rule reads; the judge takes them for B."""
    return chat_reply("B" if received.body["model"] == "judge" else "<answer>the other one</answer>")


def command(server: ChatServer, folder: Path, out: Path, *more: str) -> list[str]:
    asked = ["eval", "--server", server.url, "--server-model", "m", "--protocol", "direct", "--quiet"]
    return [*asked, "--benchmark", "vstar", "--benchmarks-dir", str(folder), "--out", str(out), *more]


def test_a_judge_is_asked_when_all_is_played(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = folder / "run"
    with ChatServer(served) as server:
        assert run_command(command(server, folder, out, "--judge", server.url, "--judge-model", "judge")) == 0
        asked = sum(one.body["model"] == "judge" for one in server.received)
    told = capsys.readouterr().out
    [line] = [line for line in told.splitlines() if "vlmevalkit*" in line]
    assert "100.0% (n=2)" in line
    assert line.endswith("(with the judge)")
    assert "strict: " in told
    assert asked > 0
    [judged] = (out / "benchmarks").glob("*.judged.json")
    readings = {one["reading"]: one for one in json.loads(judged.read_text())["readings"]}
    assert readings["vlmevalkit"]["figures"][0]["value"] == 1.0
    [plain] = [one for one in (out / "benchmarks").glob("*.json") if one != judged]
    readings = {one["reading"]: one for one in json.loads(plain.read_text())["readings"]}
    assert readings["vlmevalkit"]["figures"][0]["value"] == 0.0


def test_a_judge_that_cannot_be_is_refused_before_anything_is_played(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(served) as server:
        assert run_command(command(server, folder, folder / "run", "--judge", server.url)) == 2
        assert "say which of its models is meant" in capsys.readouterr().err
        assert run_command(command(server, folder, folder / "run", "--judge", str(folder / "none"))) == 2
        assert "no checkpoint directory" in capsys.readouterr().err
        assert run_command(command(server, folder, folder / "run", "--judge-model", "judge")) == 2
        assert "has no effect without --judge URL" in capsys.readouterr().err
        assert server.received == []
        with ChatServer(served) as judge:
            gone = judge.url
        assert run_command(command(server, folder, folder / "run", "--judge", gone, "--judge-model", "judge")) == 2
        assert f"no server answers at {gone}" in capsys.readouterr().err
        assert server.received == []
    assert not (folder / "run").exists()


def test_the_average_is_over_all_samples(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given: list[str] = []

    def changing(_: Received) -> Served:
        given.append("B" if len(given) == 0 else "A")
        return chat_reply(f"<answer>{given[-1]}</answer>")

    out = folder / "run"
    more = ["--samples", "4", "--temperature", "1", "--set", "server.requests_at_once=1"]
    with ChatServer(changing) as server:
        assert run_command(command(server, folder, out, *more)) == 0
    assert len(given) == 8
    # One of eight answers is right, in one of four samples of two questions.
    assert "vlmevalkit*: avg@4 of accuracy 12.5% (samples 0.0% to 50.0%)" in capsys.readouterr().out.lower()
    [record] = (out / "benchmarks").glob("*.json")
    averages = {one["reading"]: one for one in json.loads(record.read_text())["avg_at_k"]}
    assert sorted(averages["strict"]["by_sample"]) == [0.0, 0.0, 0.0, 0.5]
    assert averages["strict"]["value"] == 0.125


def test_replies_to_a_test_split_are_kept_for_a_submission_and_scored_by_nobody(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pd.read_csv(folder / "VStarBench.tsv", sep="\t")
    table.drop(columns="answer").to_csv(folder / "VStarBench.tsv", sep="\t", index=False)
    out = folder / "run"
    with ChatServer(served) as server:
        assert run_command(command(server, folder, out)) == 0
        told = capsys.readouterr()
        assert "2 questions, 2 of them WITHOUT AN ANSWER" in told.err
        assert "strict: no figure; 2 without an answer, not scored" in told.out
        assert "failed" not in told.out
        judge = ["--judge", server.url, "--judge-model", "judge"]
        assert run_command(["reread", str(out), "--benchmarks-dir", str(folder), *judge]) == 0
        assert "judge" not in [one.body.get("model") for one in server.received if one.body]
    assert run_command(["export", str(out), "--to", "vlmevalkit", "--out", str(folder / "said.tsv")]) == 0
    assert list(pd.read_csv(folder / "said.tsv", sep="\t")["prediction"]) == ["the other one"] * 2
