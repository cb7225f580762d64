"""The page "Add a task family": its family is drawn, measured, curated and served, and its source is kept in mind."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from places import ROOT
from saccade.cli.entry import run_command
from saccade.config.sources import families_in, family_inputs
from saccade.envs.visual_reasoning import VisualReasoningEnv
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.checkpoint import base_checkpoint
from saccade.tasks.procedural import generate, vocabulary_texts
from saccade.tasks.scene import Scene, SceneQuestion

PAGE = (ROOT / "docs" / "add" / "task_family.md").read_text(encoding="utf-8")
FAMILY, USE = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory with the page's file."""
    (tmp_path / "my_family.py").write_text(FAMILY)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("my_family", None)


def test_the_function_is_used_as_the_page_says(folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    name, answer = done.stdout.split()
    assert name == "specks/held_out/000000"
    assert answer in ("red", "green", "blue", "gold")


def test_it_is_measured_on_and_a_changed_source_is_not_resumed(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "--model", str(base_checkpoint()), "--family", "my_family.py:draw_specks", "-n", "2"]
    command += ["--set", "without_tools=false", "--out", "specks", "--quiet"]
    assert run_command(command) == 0
    inputs = json.loads((folder / "specks" / "settings.json").read_text())["inputs"]
    assert inputs["family"] == "my_family.py:draw_specks"
    assert re.fullmatch("[0-9a-f]{64}", inputs["family_specks_sha256"])
    (folder / "my_family.py").write_text(FAMILY.replace('"gold"', '"black"'))
    assert run_command([*command, "--resume"]) == 2
    assert "family_specks_sha256" in capsys.readouterr().err


def test_comments_do_not_change_it(folder: Path) -> None:
    before = family_inputs("my_family.py:draw_specks")
    (folder / "my_family.py").write_text(f"# Specks.\n{FAMILY}")
    assert family_inputs("my_family.py:draw_specks") == before
    assert family_inputs("counting") == {}


def test_settings_that_name_families_are_found() -> None:
    settings = {"rl": {"steps": 3}, "families": ["counting", "my.py:draw"], "title": "notes.py"}
    assert list(families_in(settings)) == ["my.py:draw"]


def test_an_environment_draws_from_it_by_name_as_by_function(folder: Path) -> None:
    first = VisualReasoningEnv(family="my_family.py:draw_specks")
    first.reset(seed=3)
    from my_family import draw_specks  # type: ignore[import-not-found]

    second = VisualReasoningEnv(family=draw_specks)
    second.reset(seed=3)
    assert first.task == second.task
    assert first.task.family == "specks"


BROKEN = """
def draw_nothing(rng, difficulty):
    return "a picture"


def draw_alone(rng):
    return None


def draw_counting(rng, difficulty):
    return None


number = 3
"""


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("absent.py:draw", "there is no task family file absent.py; check the path"),
        ("broken.py", "broken.py is a file; name the task family in it, as in"),
        ("broken.py:draw_nothin", "has no function 'draw_nothin'. Did you mean draw_nothing? (functions there: draw_"),
        ("broken.py:number", "broken.py:number is not a function but int; a task family is a function def draw(rng"),
        ("broken.py:draw_alone", "cannot be called (too many positional arguments); a task family is a function"),
        ("broken.py:draw_nothing", "the task family 'nothing' returned str, not a Scene; a task family is a function"),
        ("broken.py:draw_counting", "a family that ships is called 'counting'; give your function another name"),
        ("raises.py:draw", "raises.py:1: ZeroDivisionError: division by zero"),
        ("cuonting", "no task family 'cuonting'; the families are"),
    ],
)
def test_a_family_that_cannot_be_drawn_is_explained(folder: Path, name: str, message: str) -> None:
    (folder / "broken.py").write_text(BROKEN)
    (folder / "raises.py").write_text("1 / 0\n")
    with pytest.raises(UserError, match=re.escape(message)):
        VisualReasoningEnv(family=name)


def test_scenes_without_a_picture_are_split_by_their_question() -> None:
    def draw_sums(rng, difficulty):  # type: ignore[no-untyped-def]
        one, other = (int(number) for number in rng.integers(0, 9, size=2))
        asked = SceneQuestion(question=f"{one} + {other}?", answer=str(one + other), targets=(), looks=())
        return Scene(images=(), asked=asked)

    media = MediaStore()
    asked = {
        split: {generate(draw_sums, split=split, index=index, seed=0, media=media).task.question for index in range(60)}
        for split in ("train", "validation", "held_out")
    }
    assert asked["train"] & asked["held_out"] == set()
    assert asked["train"] & asked["validation"] == set()
    assert asked["validation"] & asked["held_out"] == set()
    assert "4" in set(vocabulary_texts(families=[draw_sums]))
