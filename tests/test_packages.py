"""The packages that Saccade becomes: no import goes the wrong way."""

import json
import os
import subprocess
import sys
from pathlib import Path

import grimp
import pytest
from grimp import ImportGraph

from packages import homes_of, package_of, wrong_imports
from saccade.entry_points import own_targets, part
from saccade.errors import UserError

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "packages.toml"


def test_every_module_is_in_a_package_and_imports_what_its_package_may() -> None:
    assert wrong_imports(grimp.build_graph("saccade", cache_dir=None), TABLE) == []


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


def test_the_core_runs_without_the_other_parts_and_says_what_is_missing(tmp_path: Path) -> None:
    source, homes = ROOT / "src", homes_of(TABLE)
    for file in (one for one in source.rglob("*") if one.is_file() and "__pycache__" not in one.parts):
        place = file.relative_to(source)
        module = ".".join(place.with_suffix("").parts).removesuffix(".__init__")
        if file.suffix != ".py" or package_of(module, homes) in ("base", "core"):
            (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / place).symlink_to(file)
    alone = "from pathlib import Path; import saccade.train.run; from saccade.cli.running import draw_report"
    told = core(tmp_path, "-c", f"{alone}; print(draw_report(Path('run')))")
    assert told == "Report: none, since Saccade's viewer, which draws it, is not installed\nFalse\n"
    listed = core(tmp_path, "-m", "saccade", "--help")
    assert " train " in listed
    assert " eval " not in listed


def core(path: Path, *arguments: str) -> str:
    """What Python prints with the sources at ``path``."""
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def test_every_function_that_a_part_has_for_another_is_there() -> None:
    assert all(part(name) for name in own_targets("saccade.parts"))
    with pytest.raises(UserError, match="a dream takes a part of Saccade that is not installed"):
        part("a dream")


COUNTED = """
import sys
from dataclasses import replace
from saccade.errors import UserError
from saccade.recipes.questions import questions

def counted(context):
    def tasks():
        print(*(name for name in sys.modules if name.startswith("saccade.")))
        raise UserError("the first stage has begun")

    plan = questions(context)
    return replace(plan, stages=(replace(plan.stages[0], tasks=tasks), *plan.stages[1:]))
"""
MOST_MODULES = 250


def test_training_on_own_questions_has_loaded_little_when_its_first_stage_begins(tmp_path: Path) -> None:
    (tmp_path / "recipe.py").write_text(COUNTED)
    rows = ({"question": f"Question {number}?", "answer": str(number)} for number in range(8))
    (tmp_path / "q.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    command = [sys.executable, "-m", "saccade", "train", "recipe.py:counted", "--data", "q.jsonl", "--out", "run"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert "the first stage has begun" in ended.stderr
    loaded = ended.stdout.split()
    assert "saccade.evaluation.evaluate" in loaded
    assert len(loaded) < MOST_MODULES
    # No tool with a machine behind it before it is named, and no learner before a stage learns.
    rooms = ("catalogue", "code", "page_search", "sandbox", "services", "retrieval", "curation", "loops", "sharding")
    assert [name for name in loaded if set(name.split(".")) & set(rooms)] == []
