"""``saccade judge-agreement``: a judge at a server, its refusals said, one that is not there refused."""

import json
from pathlib import Path

import pytest

from saccade.cli.entry import run_command
from saccade.media.store import MediaStore
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply
from saccade.types import Answer, Attempt, Task, Trajectory, Turn


def attempt(name: str, answer: str) -> Attempt:
    task = Task(id=name, family="f", question="Which colour?", answer="red", answer_kind="exact", images=())
    turn = Turn(index=0, text=answer, thought="", action=Answer(text=answer), is_well_formed=True)
    trajectory = Trajectory(
        task_id=name, family="f", stream="evaluation", sample=0, seed=0, policy_version=0,
        segments=(), turns=(turn,), status="answered",
    )  # fmt: skip
    return Attempt(task=task, trajectory=trajectory)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose evaluation answered a question right, one wrong, and one with a word that is too long."""
    paths = RunPaths(root=tmp_path / "run")
    attempts = [attempt("a", "red"), attempt("b", "blue"), attempt("c", "greenish")]
    position = Position(stage="mine", step=0)
    write_records(paths.evaluation("mine"), position, attempts, media=MediaStore(), media_directory=paths.media)
    return paths.root


def judged(run: Path, url: str) -> int:
    return run_command(["judge-agreement", str(run), "--judge", url, "--judge-model", "judge"])


def test_the_agreement_is_told_with_its_missing_verdicts_and_why(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def serve(request: Received) -> Served:
        prompt = str(request.body["messages"])
        if "greenish" in prompt:
            return Served(body="the prompt is longer than 99 tokens", status=400)
        return chat_reply("NO" if "blue" in prompt else "YES")

    with ChatServer(serve) as server:
        assert judged(run, server.url) == 0
    told = capsys.readouterr()
    assert "mine: 3 answers judged, 1 without a verdict (1 in the swapped order)" in told.out
    assert "with rules: agree on 2 of 2, kappa 1.00" in told.out
    assert "the first request that was refused" in told.err
    assert "longer than 99 tokens" in told.err
    kept = [json.loads(line) for line in (run / "judging/mine.jsonl").read_text().splitlines()]
    assert [one["judge"] for one in kept] == [True, False, None]


def test_a_key_that_the_judge_refuses_ends_the_command(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ChatServer(lambda _: Served(body="no key", status=401)) as server:
        assert judged(run, server.url) == 2
    assert "OPENAI_API_KEY" in capsys.readouterr().err


def test_a_judge_that_is_not_there_is_refused_before_anything_is_asked(
    run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ChatServer(lambda _: chat_reply("YES")) as server:
        url = server.url
    assert judged(run, url) == 2
    assert f"no server answers at {url}" in capsys.readouterr().err
    assert not (run / "judging").exists()
