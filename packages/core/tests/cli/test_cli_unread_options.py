"""Options of ``train`` and ``eval`` that nothing would read are refused, or told of where a recipe is the user's."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.cli import run_command
from saccade.config.context import RecipeContext, WatchedContext

OWN = """
from saccade.recipes.sft import sft

def reads(context):
    print("answers:", context.answer_kind)
    return sft(context)

def reads_nothing(context):
    return sft(context)
"""
SMALL = ("--set", "sft.steps=1", "--set", "sft.batch_size=1")


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    messages = [{"role": "user", "content": "What is 1+1?"}, {"role": "assistant", "content": "2"}]
    path = tmp_path / "talks.jsonl"
    path.write_text(json.dumps({"messages": messages}) + "\n")
    return path


def test_a_context_knows_what_was_read_of_it_and_of_its_copies() -> None:
    watched = WatchedContext.of(RecipeContext(data=Path("a"), env="gym:b", split="test", min_iou=0.5))
    assert watched.unread == ["--data", "--env", "--split", "--min-iou"]
    assert watched.data == Path("a")
    copied = replace(watched, overrides=("x=1",))
    assert watched.unread == copied.unread == ["--env", "--split", "--min-iou"]
    assert copied.env == "gym:b"
    assert watched.unread == ["--split", "--min-iou"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--answer-kind", "number"], "--answer-kind would have no effect: the recipe sft does not read it; leave it"),
        (
            ["--env", "gym:fill_form", "--min-iou", "0.4"],
            "--env and --min-iou would have no effect: the recipe sft does",
        ),
    ],
)
def test_what_a_recipe_does_not_read_is_refused(
    given: list[str], message: str, talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["train", "sft", "--data", str(talks), "--out", str(tmp_path / "out"), *SMALL, *given]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_data_of_an_environment_is_refused(talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", "environment", "--env", "gym:fill_form", "--data", str(talks), "--out", str(tmp_path / "out")]
    assert run_command(command) == 2
    assert "--data would have no effect: the recipe environment does not read it" in capsys.readouterr().err


@pytest.mark.parametrize(("function", "is_told"), [("reads", False), ("reads_nothing", True)])
def test_a_recipe_of_one_s_own_is_told(
    function: str, is_told: bool, talks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    target = f"{tmp_path / 'own.py'}:{function}"
    command = ["train", target, "--data", str(talks), "--answer-kind", "number", "--out", str(tmp_path / "out"), *SMALL]
    assert run_command(command) == 0
    assert ("--answer-kind without effect, unless" in capsys.readouterr().err) == is_told


@pytest.mark.parametrize(
    "given", [["--answer-kind", "number"], ["--split", "test"], ["--skip-bad-rows"], ["--max-frames", "3"]]
)
def test_options_of_data_are_refused_without_data(
    given: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "--model", "saccade:base", "--family", "counting", "--out", str(tmp_path / "out"), *given]
    assert run_command(command) == 2
    assert f"saccade: {' '.join(given)} has no effect without --data; leave it out" in capsys.readouterr().err
