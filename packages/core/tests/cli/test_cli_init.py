"""``saccade init``: what it writes trains at once, keeps its own tests, and takes nothing away."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from saccade.cli import run_command


def test_a_new_project_trains_and_passes_its_tests(tmp_path: Path) -> None:
    project = tmp_path / 'my {{project}} "1"'
    assert run_command(["init", str(project), "--questions", "12"]) == 0
    rows = [json.loads(line) for line in (project / "data" / "questions.jsonl").read_text("utf-8").splitlines()]
    assert len(rows) == 12
    assert all((project / "data" / row["image"]).is_file() for row in rows)
    assert [bool(row.get("boxes")) for row in rows] == [True] * 5 + [False] * 7
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(project)]
    done = subprocess.run(tests, capture_output=True, text=True, timeout=300, check=False, cwd=project)
    assert (done.returncode, "2 passed" in done.stdout) == (0, True), done.stdout + done.stderr
    small = ("rl.steps=1", "rl.group_size=2", "rl.tasks_per_step=1", "sft.steps=1", "sft.batch_size=1")
    settings = [word for one in small for word in ("--set", one)]
    config, out = project / "config.yaml", tmp_path / "run"
    assert run_command(["train", "--config", str(config), *settings, "--out", str(out), "--quiet"]) == 0
    terms = next((out / "trajectories" / "rl").glob("*.jsonl")).read_text("utf-8")
    assert '"length"' in terms
    saved = (out / "config.yaml").read_text("utf-8")
    assert f"recipe: {project.resolve()}/recipe.py:mine" in saved.replace("'", "").replace("\n    ", " ")


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "recipe.py").write_text("mine")
    for place in (tmp_path, tmp_path / "recipe.py"):
        assert run_command(["init", str(place)]) == 2
        assert "not an empty folder" in capsys.readouterr().err
    assert (tmp_path / "recipe.py").read_text() == "mine"


def test_a_file_of_settings_may_stand_where_the_recipe_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text("run: {recipe: quetsions}")
    for given in ([str(tmp_path / "mine.yaml")], ["--config", str(tmp_path / "mine.yaml")]):
        assert run_command(["train", *given, "--out", str(tmp_path / "run")]) == 2
        assert "no recipe 'quetsions'" in capsys.readouterr().err
