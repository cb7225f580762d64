"""The packages of the repository: no import goes the wrong way, each can be had without those above it."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import grimp
import pytest
from grimp import ImportGraph

from changed import folders_to_test
from packages import dependencies, homes, project, wrong_imports
from places import ROOT, SOURCES
from saccade.distribution import __version__
from saccade.entry_points import own_targets, part
from saccade.errors import UserError


def test_every_module_imports_what_its_package_may() -> None:
    graph = grimp.build_graph("saccade", cache_dir=None)
    assert wrong_imports(graph, homes(), dependencies()) == []
    # Folders without an ``__init__`` are parts of the namespace, and no modules of a file.
    assert sorted(homes().keys() - graph.modules) == []


def test_a_wrong_import_is_found() -> None:
    graph = ImportGraph()
    for name in ("saccade", "saccade.train", "saccade.gym", "saccade.gym.looks"):
        graph.add_module(name)
    graph.add_import(importer="saccade.train", imported="saccade.gym.looks")
    graph.add_import(importer="saccade.gym", imported="saccade.train")
    places = {"saccade.train": "core", "saccade.gym": "gym", "saccade.gym.looks": "gym"}
    allowed = {"core": frozenset({"gym"}), "gym": frozenset[str]()}
    assert wrong_imports(graph, places, allowed) == [("gym -> core", "saccade.gym -> saccade.train")]


def test_a_change_is_tested_by_its_package_and_those_that_need_it() -> None:
    assert folders_to_test(["packages/gym/src/saccade/gym/a.py", "docs/gym.md"]) == [
        "tests",
        "packages/evals/tests",
        "packages/gym/tests",
        "packages/papers/tests",
    ]
    assert folders_to_test(["docs/gym.md"]) == ["tests"]
    assert len(folders_to_test(["Makefile"])) == 10
    # Whoever needs a package needs what that one needs.
    assert all(dependencies()[need] <= needs for needs in dependencies().values() for need in needs)


def test_no_two_packages_hold_one_file_and_none_an_init_of_the_namespace() -> None:
    files = [file.relative_to(source) for source in SOURCES for file in source.rglob("*") if file.is_file()]
    ours = [file for file in files if "__pycache__" not in file.parts and not file.parts[0].endswith(".egg-info")]
    assert len(ours) == len(set(ours))
    assert Path("saccade/__init__.py") not in ours


def test_all_packages_have_one_version() -> None:
    whole = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    tables = [whole, *(project(source.parent.name) for source in SOURCES)]
    assert {table["version"] for table in tables} == {__version__}
    pins = {need.split("[")[0] for table in tables for need in table["dependencies"] if need.startswith("saccade-")}
    assert all(need.endswith(f"=={__version__}") for need in pins if "==" in need)
    names = {f"saccade-{source.parent.name}" for source in SOURCES}
    assert {need.split("=")[0].split("[")[0] for need in whole["dependencies"]} == names


@pytest.mark.parametrize("package", ["base", "gym", "readers", "sandbox"])
def test_what_can_be_had_alone_names_all_that_it_imports(package: str) -> None:
    named = set[str]()
    for name in (package, *dependencies()[package]):
        text = (ROOT / "packages" / name / "pyproject.toml").read_text(encoding="utf-8")
        named |= {need.lower() for need in re.findall(r'"([\w-]+)[\[<>=;"]', text)}
    # The first two are read by type checkers alone; matplotlib brings the third.
    named |= {"_typeshed", "starlette", "fonttools"}
    owners, foreign = packages_distributions(), set[str]()
    for file in (ROOT / "packages" / package / "src" / "saccade").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                foreign |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                foreign.add(node.module.partition(".")[0])
    foreign -= {*sys.stdlib_module_names, "saccade"}
    assert [name for name in sorted(foreign) if not named & {one.lower() for one in owners.get(name, [name])}] == []


def test_the_core_runs_without_the_other_parts_and_says_what_is_missing() -> None:
    alone = "from pathlib import Path; import saccade.train.run; from saccade.cli.closing_lines import draw_report"
    told = core("-c", f"{alone}; print(draw_report(Path('run')))")
    assert told == "Report: none, since Saccade's viewer, which draws it, is not installed\nNone\n"
    listed = core("-m", "saccade", "--help")
    assert " train " in listed
    assert " eval " not in listed


def core(*arguments: str) -> str:
    """What Python prints where only base and core, and what others made, are installed."""
    others = [one for one in sys.path if one and not Path(one).is_relative_to(ROOT / "packages")]
    ours = [str(ROOT / "packages" / name / "src") for name in ("base", "core")]
    # Without the folders of .pth files, by which a clone finds all packages.
    command = [sys.executable, "-S", *arguments]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*ours, *others])}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


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
MOST_MODULES = 275


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


def test_a_foreign_package_of_this_name_is_named_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "saccade").mkdir()
    (tmp_path / "saccade" / "__init__.py").touch()
    run = subprocess.run(
        [sys.executable, "-c", "from saccade_command import main; main()"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert run.stderr == (
        f"saccade: {tmp_path}/saccade/__init__.py is a package of somebody else's with the name saccade and hides "
        "Saccade; move it elsewhere\n"
    )


def test_without_torch_a_command_that_needs_it_says_what_to_install_and_the_viewer_needs_none(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import sys\n"
        "class Without:\n"
        "    def find_spec(self, name, *_):\n"
        "        if name in ('torch', 'transformers', 'tokenizers'):\n"
        "            raise ModuleNotFoundError(f'No module named {name!r}', name=name)\n"
        "sys.meta_path.insert(0, Without())\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}

    def said(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([sys.executable, *words], env=environment, capture_output=True, text=True)

    trained = said("-m", "saccade", "demo", "--out", str(tmp_path / "run"))
    assert trained.returncode == 2
    assert trained.stderr.startswith("saccade: this command needs torch, which is not installed; run pip install ")
    assert "torch<3,>=2.9" in trained.stderr
    loaded = said("-c", "import saccade.viewer.report, saccade.viewer.app.server, saccade.cli.show, saccade.envs")
    assert loaded.stderr == ""
