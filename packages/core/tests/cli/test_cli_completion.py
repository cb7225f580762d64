"""What a shell completes after ``saccade``: asked as bash asks, in this process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.shell_completion import ShellComplete

from saccade.cli.commands import saccade

CONTEXT = click.Context(saccade)


def completed(*words: str) -> list[str]:
    shell = ShellComplete(saccade, {}, "saccade", "_SACCADE_COMPLETE")
    return [item.value for item in shell.get_completions(list(words[:-1]), words[-1])]


@pytest.mark.parametrize("command", ["train", "settings"])
def test_recipes_are_completed_and_files_otherwise(command: str) -> None:
    assert completed(command, "q") == ["questions"]
    assert completed(command, "ivgr:") == ["ivgr:tiny"]
    assert completed(command, "mine.py") == ["mine.py"]


def test_settings_are_those_of_the_recipe_that_was_written() -> None:
    assert completed("train", "questions", "--set", "rl.optimizer.lora.") == [
        "rl.optimizer.lora.rank=",
        "rl.optimizer.lora.alpha=",
        "rl.optimizer.lora.targets=",
        "rl.optimizer.lora.seed=",
    ]
    assert "epochs=" in completed("train", "sft", "--set", "rl.steps=1", "--set", "")
    assert completed("plan-memory", "--model", "x", "--set", "model.engine.max_r") == ["model.engine.max_rows="]
    assert "rollout.max_tokens=" in completed("eval", "--set", "rollout.")
    assert completed("demo", "--set", "fleet.wr") == ["fleet.wrap="]
    assert completed("train", "questions", "--set", "rl.overlap=") == ["rl.overlap=true", "rl.overlap=false"]
    assert completed("train", "questions", "--set", "fleet.wrap=l") == ["fleet.wrap=layers"]


def test_a_recipe_of_ones_own_is_not_run_to_complete_a_name(tmp_path: Path) -> None:
    own = tmp_path / "mine.py"
    own.write_text(f"open({str(tmp_path / 'seen')!r}, 'w')\n")
    assert completed("train", str(own), "--set", "rl.") == []
    assert completed("train", "nothing", "--set", "rl.") == []
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


def test_a_second_press_of_the_key_imports_no_torch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    asks = "import sys; from saccade.cli.commands import saccade\nfrom click.shell_completion import ShellComplete\n"
    asks += "shell = ShellComplete(saccade, {}, 'saccade', 'X')\n"
    asks += "words = sys.argv[1:]; found = shell.get_completions(words[:-1], words[-1])\n"
    asks += "print(len(found), 'torch' in sys.modules)"
    for words in (["train", "questions", "--set", "rl.ov"], ["train", "q"]):
        assert (once := completed(*words))
        (kept,) = [one for one in (tmp_path / "saccade" / "completion").iterdir() if '["' in one.read_text()]
        done = subprocess.run([sys.executable, "-c", asks, *words], capture_output=True, text=True, check=True)
        assert done.stdout == f"{len(once)} False\n"
        for broken in ("[", "{}", "3", '["old", {}]'):
            kept.write_text(broken)
            assert completed(*words) == once
        kept.unlink()


def test_families_and_presets_are_completed() -> None:
    assert completed("eval", "--family", "visual_s") == ["visual_search"]
    assert "chart_bar" in completed("families", "chart_")
    assert "chart_bar" in completed("audit-family", "chart_")
    assert completed("train", "questions", "--preset", "3b-") == ["3b-lora-24gb", "3b-full-80gb"]


def test_every_option_of_a_family_completes() -> None:
    def options(command: click.Command, words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        if any("--family" in one.opts for one in command.params):
            yield words
        for name in command.list_commands(CONTEXT) if isinstance(command, click.Group) else []:
            inner = command.get_command(CONTEXT, name)  # type: ignore[attr-defined]
            yield from options(inner, (*words, name))

    found = list(options(saccade, ()))
    assert len(found) >= 5
    assert [words for words in found if "chart_bar" not in completed(*words, "--family", "chart_ba")] == []
