"""What docs/tools.md shows runs as it stands there."""

import contextlib
import io
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image

from places import ROOT
from saccade.config.context import RecipeContext
from saccade.testing.tiny_specialists import example_picture
from saccade.tools.catalogue.catalogue import CATALOGUE, entry_of
from saccade.train.plan import RLStage
from saccade.types import ToolResult

DOCS = (ROOT / "docs/tools.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", DOCS, flags=re.DOTALL)
SETUP, *EXAMPLES, OWN, RECIPE = BLOCKS
PICTURES = {"scene": "crop", "chart": "chart_to_table", "page": "read_text", "figure": "parse_diagram"}


@pytest.fixture(scope="module")
def program(tools_path: Path) -> Iterator[dict[str, object]]:
    """The names that the first block makes, in a folder with the files that it reads."""
    before = Path.cwd()
    for name, tool in PICTURES.items():
        example_picture(entry_of(tool)).save(tools_path.parent / f"{name}.png")
    os.chdir(tools_path.parent)
    names: dict[str, object] = {}
    try:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(SETUP, "docs/tools.md", "exec"), names)
        assert printed.getvalue() == "{}\n"
        yield names
    finally:
        os.chdir(before)


def test_there_is_one_example_for_each_tool() -> None:
    called = [re.search(r'call\(\s*"(\w+)"', block) for block in EXAMPLES]
    assert [match and match.group(1) for match in called] == [entry.name for entry in CATALOGUE]


@pytest.mark.parametrize(("name", "block"), list(zip([entry.name for entry in CATALOGUE], EXAMPLES)))
def test_the_example_of_a_tool_runs_and_shows_something(
    name: str, block: str, program: dict[str, object], capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(block, f"docs/tools.md {name}", "exec"), program)
    result = program["result"]
    assert isinstance(result, ToolResult)
    assert result.is_ok
    assert capsys.readouterr().out == result.text + "\n"
    assert result.text or result.images


def test_a_tool_of_ones_own_keeps_the_contract(program: dict[str, object], capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(OWN, "docs/tools.md", "exec"), program)
    assert capsys.readouterr().out == "127.5\n"


def test_a_recipe_gives_its_policy_the_tool(program: dict[str, object], tmp_path: Path) -> None:
    for name in ("red", "blue"):
        Image.new("RGB", (32, 32), name).save(tmp_path / f"{name}.png")
    rows = [{"question": "Which colour?", "answer": name, "image": f"{name}.png"} for name in ("red", "blue")]
    (tmp_path / "my.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    exec(compile(OWN, "docs/tools.md", "exec"), program)
    exec(compile(RECIPE, "docs/tools.md", "exec"), program)
    recipe = program["brighter"]
    assert callable(recipe)
    plan = recipe(RecipeContext(data=tmp_path / "my.jsonl"))
    streams = [stream for stage in plan.stages if isinstance(stage, RLStage) for stream in stage.streams]
    assert [stream.episodes.tools[-1].spec.name for stream in streams] == ["brightness"]


def test_the_table_names_every_tool_with_its_back_ends() -> None:
    rows = dict(re.findall(r"^\| \[`(\w+)`\]\(#\w+\) \|.*\| ([\w, ]+) \|$", DOCS, flags=re.MULTILINE))
    assert rows == {entry.name: ", ".join(entry.backends) for entry in CATALOGUE}
