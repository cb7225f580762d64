"""Commands on checkpoints and runs of a stranger: nothing is sent, started or run that the user has not typed."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from saccade.cli import run_command
from stranger_records import BASE, CROP, Listener, stranger_checkpoint, watched

SECRET = "value-of-the-secret"
FEW = ("--family", "counting", "-n", "1", "--quiet")


@pytest.fixture(autouse=True)
def _user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("SACCADE_TOKEN", SECRET)


@pytest.fixture
def listener() -> Iterator[Listener]:
    with Listener() as listening:
        yield listening


def evaluations(run: Path) -> dict[str, list[str]]:
    """The tools of each evaluation by its name, as the run has recorded them."""
    found = json.loads((run / "asked.json").read_text())["evaluations"]
    return {name: [tool["name"] for tool in one["way"]["tools"]] for name, one in found.items()}


@pytest.mark.parametrize("command", ["eval", "serve-agent", "chat"])
def test_no_command_connects_anywhere_for_a_record(
    command: str, tmp_path: Path, listener: Listener, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = stranger_checkpoint(tmp_path / "checkpoint", ("zoom", {"service": listener.url}))
    arguments = {
        "eval": ["eval", "--model", str(checkpoint), "--out", str(tmp_path / "out"), *FEW],
        "serve-agent": ["serve-agent", "--model", str(checkpoint), "--port", "0"],
        "chat": ["chat", str(checkpoint), "--no-open", "--out", str(tmp_path / "chat")],
    }[command]
    with watched() as seen:
        assert run_command(arguments) == 2
    assert (seen.connections, seen.processes, listener.headers) == ([], [], [])
    said = capsys.readouterr().err
    assert f"  zoom: the address {listener.url}" in said
    assert f"add: --allow {listener.url}\n" in said
    assert "Without them there is no tool to ask with" in said
    assert SECRET not in said


def test_eval_plays_with_the_tools_that_reach_nothing_and_says_so(
    tmp_path: Path, listener: Listener, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = stranger_checkpoint(
        tmp_path / "checkpoint",
        ("crop", CROP),
        ("zoom", {"service": listener.url}),
        ("flip", {"service": listener.url}),
    )
    with watched() as seen:
        assert run_command(["eval", "--model", str(checkpoint), "--out", str(tmp_path / "out"), *FEW]) == 0
    assert (seen.connections, listener.headers) == ([], [])
    said = capsys.readouterr()
    assert f"To play with them, add: --allow {listener.url}\n" in said.err
    assert "unless you also add: --allow env:SACCADE_TOKEN" in said.err
    assert "is asked as its record says, but without tools that need your yes" in said.out
    assert evaluations(tmp_path / "out") == {"tagged_fewer_tools": ["crop"]}
    [recorded] = json.loads((tmp_path / "out" / "asked.json").read_text())["evaluations"].values()
    assert "zoom" not in recorded["way"]["system"], "the instructions name no tool that is not there"
    arguments = ["eval", "--model", str(checkpoint), "--out", str(tmp_path / "other"), *FEW]
    assert run_command([*arguments, "--allow", listener.url]) == 2, "the service has no flip"
    assert listener.authorizations == [None]


def test_eval_plays_whole_with_the_yes_and_sends_no_token(tmp_path: Path, listener: Listener) -> None:
    checkpoint = stranger_checkpoint(tmp_path / "checkpoint", ("crop", CROP), ("zoom", {"service": listener.url}))
    arguments = ["eval", "--model", str(checkpoint), "--out", str(tmp_path / "out"), *FEW, "--allow", listener.url]
    assert run_command(arguments) == 0
    assert evaluations(tmp_path / "out") == {"tagged": ["crop", "zoom"]}
    assert set(listener.authorizations) == {None}
    assert not (tmp_path / "state").exists(), "a yes is for this command, and makes nothing the user's own"


def test_the_settings_beside_a_checkpoint_start_no_python(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    checkpoint = run / "checkpoints" / "rl-000001"
    shutil.copytree(BASE, checkpoint)
    evil, proof = tmp_path / "evil", tmp_path / "proof"
    evil.write_text(f"#!/bin/sh\nid > {proof}\n")
    evil.chmod(0o755)
    opened = {"python": str(evil), "arguments": '{"size": 5}'}
    (run / "settings.json").write_text(json.dumps({"recipe": {"show": {}, "environment": opened}}))
    arguments = ["eval", "--model", str(checkpoint), "--env", "gymnasium:CartPole-v1", "--out", str(tmp_path / "out")]
    with watched() as seen:
        assert run_command([*arguments, "-n", "1", "--quiet"]) == 2
    assert seen.processes == []
    assert not proof.exists()
    said = capsys.readouterr().err
    assert f"--allow {evil} --allow '{{\"size\": 5}}'" in said
    assert "--set environment.python=..." in said


@pytest.mark.parametrize("name", [".lock", "log.txt", "metrics.jsonl", "evaluations", "derived", "journal/one.jsonl"])
def test_a_copied_run_empties_and_deletes_nothing_outside_by_links(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, precious = tmp_path / "run", tmp_path / "precious"
    (run / "journal").mkdir(parents=True)
    (run / "run.json").write_text("{}")
    is_folder = name in ("evaluations", "derived")
    if is_folder:
        precious.mkdir()
        (precious / "data.jsonl").write_text("mine\n")
        (precious / "data.json").write_text("{}")
    else:
        precious.write_text("mine\n")
    (run / name).symlink_to(precious)
    assert run_command(["demo", "--out", str(run), "--resume", "--quiet"]) == 2
    assert f"{run / name} is a link to {precious}" in capsys.readouterr().err
    kept = [file.read_text() for file in (sorted(precious.iterdir()) if is_folder else [precious])]
    assert kept == (["{}", "mine\n"] if is_folder else ["mine\n"])


def test_push_publishes_no_file_from_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = tmp_path / "run"
    checkpoint = run / "checkpoints" / "rl-000001"
    (checkpoint / "trainer").mkdir(parents=True)
    (checkpoint / "trainer" / "position.json").write_text('{"stage": "rl", "step": 1}')
    (run / "run.json").write_text("{}")
    (run / "settings.json").write_text("{}")
    key = tmp_path / "id_rsa"
    key.write_text("private")
    (checkpoint / "notes.txt").symlink_to(key)
    assert run_command(["push", str(run), "me/it", "--only-write", str(tmp_path / "out")]) == 2
    assert f"is a link to {key}, outside the checkpoint" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
