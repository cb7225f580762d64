"""The packages that Saccade becomes: which imports still go the wrong way, and that there are never more of them."""

import subprocess
import sys
import tomllib
from pathlib import Path

import grimp
from grimp import ImportGraph

from packages import wrong_imports

ROOT = Path(__file__).parents[1]
LEFT = 11
"""Imports that are left to turn round; this number only falls."""


def test_every_module_is_in_a_package_and_the_imports_left_to_turn_round_are_those_of_the_contract() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    [ignored] = [contract["ignore_imports"] for contract in contracts if contract["type"] == "packages"]
    found = wrong_imports(grimp.build_graph("saccade", cache_dir=None), ROOT / "tests" / "packages.toml")
    assert sorted(what for _, what in found) == sorted(ignored)
    assert len(ignored) <= LEFT


def test_a_wrong_import_and_a_module_without_a_package_are_found(tmp_path: Path) -> None:
    graph = ImportGraph()
    for name in ("saccade", "saccade.train", "saccade.gym", "saccade.gym.looks", "saccade.new"):
        graph.add_module(name)
    graph.add_import(importer="saccade.train", imported="saccade.gym.looks")
    graph.add_import(importer="saccade.gym", imported="saccade.train")
    table = tmp_path / "packages.toml"
    table.write_text('may_import = {core = ["gym"]}\nmodules = {core = "train gone", gym = "gym"}\n')
    assert wrong_imports(graph, table) == [
        ("the table", "there is no module saccade.gone"),
        ("gym -> core", "saccade.gym -> saccade.train"),
        ("no package", "saccade.new is not in the table"),
    ]


def test_training_loads_no_tool_with_a_machine_behind_it_before_it_is_named() -> None:
    code = "import sys, saccade.train.run; print(*(name for name in sys.modules if name.startswith('saccade.')))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    rooms = ("catalogue", "code", "page_search", "sandbox", "services", "retrieval", "curation")
    assert [name for name in loaded if set(name.split(".")) & set(rooms)] == []
