"""``saccade curate tools-diff``: what became of a toolbox's tools in another."""

import json
from pathlib import Path

import pytest

from saccade.cli import run_command
from saccade.curation.linguistic_tools import CuratedTools, ToolSet
from saccade.curation.linguistic_tools.comparison import PooledTool, compared_tools, comparison_lines, pooled_tools
from saccade.protocols import LinguisticTool, LinguisticToolbox

READ = LinguisticTool("read_cell", "Read a cell of a table.", args="Image k: row, column")
LEGEND = LinguisticTool("match_legend", "Find which colour stands for a series.", args="Image k: series")
ADD = LinguisticTool("add", "Add two numbers.")


def pooled(*tools: LinguisticTool) -> list[PooledTool]:
    return [PooledTool(tool=tool, is_in_box=place < 2, trajectories=9 - place) for place, tool in enumerate(tools)]


def test_tools_are_one_by_name_and_then_by_description() -> None:
    reworded = LinguisticTool("Read_Cell", READ.description, args="row, column")
    renamed = LinguisticTool("find_series", "Find which color stands for a series.")
    zoom = LinguisticTool("zoom", "Look closer at a part.")
    found = compared_tools(pooled(READ, LEGEND, ADD), pooled(zoom, renamed, reworded))
    assert [(one.change, one.before and one.before.tool.name, one.after and one.after.tool.name) for one in found] == [
        ("reworded", "read_cell", "Read_Cell"),
        ("renamed", "match_legend", "find_series"),
        ("new", None, "zoom"),
        ("gone", "add", None),
    ]
    assert comparison_lines(found) == [
        "1 reworded (same name, other words):",
        "  read_cell                    toolbox of 9 trajectories -> pool only of 7 trajectories",
        "    - Image k: row, column || Read a cell of a table.",
        "    + row, column || Read a cell of a table.",
        "1 renamed (same description, another name):",
        "  match_legend -> find_series  toolbox of 8 trajectories -> toolbox of 8 trajectories",
        "1 new (only in the second):",
        "  zoom                         – -> toolbox of 9 trajectories",
        "1 gone (only in the first):",
        "  add                          pool only of 7 trajectories -> –",
    ]


def test_an_old_tool_is_the_match_of_one_new_tool_alone() -> None:
    twins = [LinguisticTool(f"add_{place}", ADD.description) for place in range(2)]
    assert [one.change for one in compared_tools(pooled(ADD), pooled(*twins))] == ["renamed", "new"]
    assert compared_tools([], []) == []
    assert comparison_lines([]) == ["Neither has a tool."]


def curated(*sets: tuple[LinguisticTool, ...]) -> CuratedTools:
    return CuratedTools(sets=tuple(ToolSet(trajectory=f"q{i}", tools=tools) for i, tools in enumerate(sets)), k=1)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    derived = tmp_path / "run" / "derived"
    derived.mkdir(parents=True)
    (derived / "tools.json").write_text(json.dumps(curated((READ, ADD), (READ,)).to_json()), encoding="utf-8")
    (derived / "rates.json").write_text("{}", encoding="utf-8")
    return tmp_path / "run"


def test_a_run_and_a_file_by_hand_are_compared(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_hand = tmp_path / "box.json"
    by_hand.write_text(json.dumps(LinguisticToolbox((ADD,)).to_json()), encoding="utf-8")
    assert pooled_tools(run) == [
        PooledTool(tool=READ, is_in_box=True, trajectories=2),
        PooledTool(tool=ADD, is_in_box=False, trajectories=1),
    ]
    assert run_command(["curate", "tools-diff", str(run), str(by_hand)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "1 same (in both):",
        "  add        pool only of 1 trajectories -> toolbox",
        "1 gone (only in the first):",
        "  read_cell  toolbox of 2 trajectories -> –",
    ]
    assert run_command(["curate", "tools-diff", str(run), str(run), "--json"]) == 0
    assert [one["change"] for one in json.loads(capsys.readouterr().out)] == ["same", "same"]


def test_what_has_no_toolbox_is_said(run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (run / "derived" / "more.json").write_text(json.dumps(LinguisticToolbox((ADD,)).to_json()), encoding="utf-8")
    (tmp_path / "empty").mkdir()
    (tmp_path / "text.json").write_text("[]", encoding="utf-8")
    for path, says in (
        (run, "has 2 toolboxes"),
        (tmp_path / "empty", "has 0 toolboxes"),
        (tmp_path / "text.json", "text.json"),
        (tmp_path / "nowhere", "nowhere"),
    ):
        assert run_command(["curate", "tools-diff", str(path), str(path)]) == 2
        assert says in capsys.readouterr().err
