import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from saccade.cli import run_command
from saccade.cli.commands import COMMANDS
from saccade.cli.commands import saccade as GROUP
from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.runs.directory import RunDirectory
from warm import run_warm

RECIPES = """
from neighbour import WHY
from saccade.errors import MachineError, UserError
from saccade.config.context import RecipeContext

def machine(context: RecipeContext): raise MachineError("the judge is down")
def user(context: RecipeContext): raise UserError(WHY)
def interrupted(context: RecipeContext): raise KeyboardInterrupt
def full(context: RecipeContext): raise OSError(28, "No space left on device")
def read_only(context: RecipeContext): raise OSError(30, "Read-only file system", "/own/x.json")
def bug(context: RecipeContext): return 1 / 0
def no_plan(context: RecipeContext): return [context.seed, context.overrides, context.skip_bad_rows]
def two(context, other): ...
def none(): ...
number = 3
"""


@pytest.fixture
def recipes(tmp_path: Path) -> Path:
    (tmp_path / "neighbour.py").write_text("WHY = 'steps=0 trains nothing; use 1 or more'\n")
    path = tmp_path / "mine.py"
    path.write_text(RECIPES)
    return path


def saccade(*arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", **variables}
    command = [sys.executable, "-m", "saccade", *map(str, arguments)]
    return run_warm(command, env=environment)


def message_of(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    """Status and what was said on stderr, in this process: imports are paid once."""
    status = run_command([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    assert captured.out == ""
    return status, captured.err


def test_importing_saccade_and_its_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "import saccade, saccade.cli\n"
        "assert saccade.cli.run_command(['--help']) == 0\n"
        "assert saccade.cli.run_command(['train', '--help']) == 0\n"
        "heavy = {'torch', 'transformers', 'tensorboard', 'gymnasium', 'pyarrow', 'numpy.testing'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (result.stderr, result.returncode) == ("", 0)


def test_a_command_is_imported_without_the_others_and_each_has_the_name_it_is_listed_by() -> None:
    code = (
        "import sys\n"
        "from saccade.cli import run_command\n"
        "assert run_command(['view', '--help']) == 0\n"
        "there = {name for name in sys.modules if name.startswith('saccade.')}\n"
        "others = {'saccade.cli.chat', 'saccade.cli.train', 'saccade.protocols', 'saccade.viewer.app'} & there\n"
        "assert not others, others\n"
        "import click\n"
        "from saccade.cli.commands import COMMANDS, saccade\n"
        "named = {name: saccade.get_command(click.Context(saccade), name).name for name in COMMANDS}\n"
        "assert all(name == own for name, own in named.items()), named\n"
        "assert list(COMMANDS) == sorted(COMMANDS)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert (result.stderr, result.returncode) == ("", 0)


def test_an_unknown_command_is_named_with_those_that_look_like_it(capsys: pytest.CaptureFixture[str]) -> None:
    status, said = message_of(capsys, "tran", "--out", "x")
    assert status == 2
    assert said.endswith("Error: No such command 'tran'. Did you mean 'train'?\n")


def test_help_lists_the_commands() -> None:
    result = saccade("--help")
    assert result.returncode == 0
    for command in COMMANDS:
        assert result.stdout.count(f"\n  {command} ") == 1
    titles = re.findall(r"^(\w[\w ]*):$", result.stdout, re.MULTILINE)
    assert titles == ["Options", "Start", "Train", "Measure", "Look", "Data", "Serve and share"]
    # No text is cut off, and lines fit a terminal.
    assert "..." not in result.stdout.partition("Start:")[2]
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_no_help_and_no_list_shows_the_marks_of_docstrings(capsys: pytest.CaptureFixture[str]) -> None:
    def helps(command: click.Command, context: click.Context) -> Iterator[str]:
        yield command.get_help(context)
        for name in command.list_commands(context) if isinstance(command, click.Group) else []:
            inner = command.get_command(context, name)  # type: ignore[attr-defined]
            yield from helps(inner, click.Context(inner, parent=context, info_name=name))

    texts = list(helps(GROUP, click.Context(GROUP, info_name="saccade")))
    assert len(texts) > len(COMMANDS)
    for command in (["recipes"], ["settings", "questions"], ["settings", "ivgr"], ["families"], ["benchmarks"]):
        assert run_command(command) == 0
        texts.append(capsys.readouterr().out)
    assert [line for text in texts for line in text.splitlines() if "``" in line] == []


def test_the_version_is_that_of_the_package() -> None:
    assert saccade("--version").stdout == "saccade, version 0.1.0\n"


def test_a_users_mistake_is_one_message_and_status_2(recipes: Path, tmp_path: Path) -> None:
    result = saccade("train", f"{recipes}:user", "--out", tmp_path / "run")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "saccade: steps=0 trains nothing; use 1 or more\n"
    assert not (tmp_path / "run").exists()


def test_a_traceback_can_be_asked_for(recipes: Path, tmp_path: Path) -> None:
    result = saccade("train", f"{recipes}:user", "--out", tmp_path / "run", SACCADE_TRACEBACK="1")
    assert result.returncode == 2
    assert "Traceback (most recent call last)" in result.stderr
    assert result.stderr.endswith("saccade: steps=0 trains nothing; use 1 or more\n")


def test_the_machines_failure_is_status_3(recipes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert message_of(capsys, "train", f"{recipes}:machine", "--out", tmp_path / "run") == (
        3,
        "saccade: the judge is down\n",
    )


def test_a_disk_that_refuses_what_a_command_writes_is_no_traceback(
    recipes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message_of(capsys, "train", f"{recipes}:full", "--out", tmp_path / "run") == (
        3,
        "saccade: the disk: No space left on device; free some space, then run the same command with --resume\n",
    )
    assert message_of(capsys, "train", f"{recipes}:read_only", "--out", tmp_path / "run") == (
        2,
        "saccade: /own/x.json cannot be written (Read-only file system); choose another directory with --out\n",
    )


def test_an_interrupted_run_says_how_to_continue(
    recipes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ("train", f"{recipes}:interrupted", "--out", tmp_path / "my run")
    status, message = message_of(capsys, *command)
    assert status == 130
    again = f"saccade train {recipes}:interrupted --out '{tmp_path}/my run' --resume"
    # The empty line ends the one on which the terminal shows ^C.
    assert message == f"\nsaccade: stopped; continue with: {again}\n"
    status, message = message_of(capsys, *command, "--resume")
    assert message.count("--resume") == 1


def test_a_bug_keeps_its_traceback(recipes: Path, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        run_command(["train", f"{recipes}:bug", "--out", str(tmp_path / "run")])


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("absent.py:recipe", "there is no recipe file absent.py; check the path"),
        ("MINE", "MINE is a file; name the recipe in it, as in MINE:machine (functions there: machine, user,"),
        ("MINE:usr", "MINE has no function 'usr'. Did you mean user? (functions there: machine, user, interrupted,"),
        ("MINE:number", "MINE:number is not a function but int; a recipe is a function of one argument"),
        ("MINE:two", "cannot be called (missing a required argument: 'other'); a recipe is a function of one"),
        ("MINE:none", "MINE:none() cannot be called (too many positional arguments); a recipe is a function"),
        ("MINE:no_plan", "MINE:no_plan returned list, not a Plan; a recipe is a function of one argument"),
        ("dmo", "there is no recipe 'dmo'. Did you mean demo? Recipes: argos, codedance, demo,"),
        ("unknown", "there is no recipe 'unknown'. Recipes: argos, codedance, demo,"),
        ("demo:x", "demo has no function 'x'. (functions there: demo)"),
        ("a:b", "'a:b' is neither FILE.py:function nor the name of a recipe (argos, codedance, demo,"),
    ],
)
def test_a_recipe_that_cannot_be_found_or_called_is_explained(
    recipes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str, message: str
) -> None:
    status, said = message_of(capsys, "train", target.replace("MINE", str(recipes)), "--out", tmp_path / "run")
    assert status == 2
    assert message.replace("MINE", str(recipes)) in said


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("def recipe(context):\n    return (\n", ":2: SyntaxError: '(' was never closed"),
        ("x = 1\nimport no_such_package\n", ":2: ModuleNotFoundError: No module named 'no_such_package'"),
    ],
)
def test_a_recipe_file_that_does_not_load_names_the_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], source: str, message: str
) -> None:
    path = tmp_path / "broken.py"
    path.write_text(source)
    assert message_of(capsys, "train", f"{path}:recipe", "--out", tmp_path / "run") == (
        2,
        f"saccade: {path}{message}\n",
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("fly",), "No such command 'fly'."),
        (("train", "demo"), "Missing option '--out'."),
        (("demo", "--seed", "-1"), "-1 is not in the range x>=0"),
        (("demo", "--threads", "0"), "0 is not in the range x>=1"),
        (("eval", "--model", "m", "--out", "o"), "give one of --data PATH, --family NAME"),
        (
            ("eval", "--model", "m", "--out", "o", "--data", "d", "--family", "f"),
            "2 things to measure on: give one of --data",
        ),
        (
            ("eval", "--model", "m", "--out", "o", "--family", "f", "--greedy", "--temperature", "0.5"),
            "--greedy and --temperature 0.5 exclude each other",
        ),
        (("eval", "--model", "no-model", "--out", "o", "--family", "f"), "--model no-model: there is no such file"),
        (("train", "demo", "--data", "no-data", "--out", "o"), "--data no-data: there is no such file or folder"),
        (("demo", "--set", "rl.stepz=1", "--out", "o"), "Did you mean 'rl.steps'?"),
        (("report", "no-run"), "no-run holds no run: there is no run.json"),
    ],
)
def test_wrong_arguments_are_explained_with_status_2(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    status, said = message_of(capsys, *arguments)
    assert status == 2
    assert message in said
    assert "Traceback" not in said


def test_a_report_is_written_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    RunDirectory.create(tmp_path / "run", resume=False, settings={}).close()
    assert run_command(["report", str(tmp_path / "run")]) == 0
    assert capsys.readouterr().out == f"Report: {tmp_path / 'run' / 'report.html'}\n"
    assert json.loads((tmp_path / "run" / "report.json").read_text())["stages"] == []


def test_threads_are_set_before_torch_reads_them() -> None:
    code = (
        "from saccade.cli import prepare_machine\n"
        "count = prepare_machine({threads})\n"
        "import os, torch\n"
        "print(count, torch.get_num_threads(), os.environ['OMP_WAIT_POLICY'], os.environ['MKL_NUM_THREADS'])"
    )
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "MKL_"))}

    def output(threads: str, **variables: str) -> str:
        command = [sys.executable, "-c", code.format(threads=threads)]
        return subprocess.run(
            command, capture_output=True, text=True, env={**clean, **variables}, timeout=120, check=True
        ).stdout

    assert output("1") == "1 1 passive 1\n"
    assert output("None", OMP_NUM_THREADS="1", OMP_WAIT_POLICY="active") == "1 1 active 1\n"


def test_without_a_wish_one_thread_is_used() -> None:
    code = "from saccade.cli import prepare_machine; print(prepare_machine(None))"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OMP_", "MKL_"))}
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=clean, check=True)
    assert int(result.stdout) == 1


def test_deterministic_sets_both_settings_and_set_has_the_last_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    asked: list[tuple[str, ...]] = []

    def planned(recipe: object, context: RecipeContext, **_: object) -> object:
        asked.append(context.overrides)
        raise UserError("far enough")

    monkeypatch.setattr("saccade.train.engine_choice.plan_of", planned)
    command = ["train", "questions", "--out", str(tmp_path / "run"), "--set", "model.batch_invariant=false"]
    for given in (command, [*command, "--deterministic"]):
        status, said = message_of(capsys, *given)
        assert status == 2
        assert "far enough" in said
    own = "model.batch_invariant=false"
    assert asked == [(own,), ("model.deterministic=true", "model.batch_invariant=true", own)]


def test_deterministic_says_of_a_tiny_recipe_that_it_repeats_anyway(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, said = message_of(capsys, "demo", "--deterministic", "--out", str(tmp_path / "run"))
    assert status == 2
    assert "repeat to the bit without it" in said
