"""The pages "Add a tool", "Add a data set" and "Add a recipe": their code runs as it stands there."""

import json
import re
import sys
from pathlib import Path

import pytest
from PIL import Image

from places import ROOT
from saccade.config.context import RecipeContext
from saccade.train.recipe_loading import load_recipe
from warm import run_warm

ADD = ROOT / "docs" / "add"


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ADD / page).read_text(encoding="utf-8"), flags=re.DOTALL)


def ran(code: str, folder: Path) -> str:
    done = run_warm([sys.executable, "-c", code], cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Eight questions about pictures of their own."""
    rows = []
    for index in range(8):
        Image.new("RGB", (40, 40), (30 * index, 0, 0)).save(tmp_path / f"{index}.png")
        rows.append({"question": "How many?", "answer": "two", "image": f"{index}.png"})
    path = tmp_path / "my.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_tool_passes_its_check_and_is_in_the_plan(tmp_path: Path, data: Path) -> None:
    tool, check, recipe = blocks("tool.md")
    (tmp_path / "my_tools.py").write_text(tool)
    (tmp_path / "my_recipe.py").write_text(recipe)
    assert ran(check, tmp_path) == ""
    code = (
        "from pathlib import Path; from saccade.config import RecipeContext; from my_recipe import bright\n"
        "plan = bright(RecipeContext(data=Path('my.jsonl')))\n"
        "print(sorted({tool.name for stage in plan.stages for stream in getattr(stage, 'streams', ())"
        " for tool in stream.episodes.tools}))"
    )
    assert "brightness" in ran(code, tmp_path)


def test_the_data_set_is_converted_and_bad_rows_are_told(tmp_path: Path) -> None:
    convert, read = blocks("data_set.md")
    (tmp_path / "convert.py").write_text(convert)
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (64, 64)).save(tmp_path / "pictures" / "a.png")
    good = {"uid": 1, "q": "What sign?", "gold": "stop", "file": "a.png", "boxes": [[1, 2, 30, 40]]}
    (tmp_path / "annotations.json").write_text(json.dumps([good, {**good, "uid": 2, "file": "none.png"}]))
    counted, told = ran(read, tmp_path).splitlines()
    assert counted == "2 rows"
    assert told.startswith("1 tasks; signs.jsonl, row 2: image: ")


def test_the_recipe_is_a_plan_whose_settings_can_be_set(tmp_path: Path, data: Path) -> None:
    [recipe] = blocks("recipe.md")
    (tmp_path / "my_recipe.py").write_text(recipe)
    overrides = ("rl.steps=1", "rl.tasks_per_step=1", "rl.group_size=2", "held_out_share=0.5")
    plan = load_recipe(f"{tmp_path}/my_recipe.py:mine")(RecipeContext(data=data, overrides=overrides, seed=3))
    assert [stage.name for stage in plan.stages] == ["before", "rl", "after"]
    command = ["train", f"{tmp_path}/my_recipe.py:mine", "--data", str(data), "--out", str(tmp_path / "run"), "--quiet"]
    command += [word for one in overrides for word in ("--set", one)]
    code = f"from saccade.cli import run_command; raise SystemExit(run_command({command!r}))"
    assert "after: " in ran(code, tmp_path)
