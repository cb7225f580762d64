"""``--config FILE``: the same settings as ``--set``, messages with their line, and a run's own file starts it again."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import click
import pytest
from PIL import Image

from saccade.cli import run_command
from saccade.cli.config_option import config_option, options_given, preset_option, with_file
from saccade.cli.settings_file import settings_file
from saccade.config.config_file import config_text, read_config
from saccade.config.context import RecipeContext
from saccade.config.settings import apply_overrides, to_json
from saccade.errors import UserError
from saccade.miniature.demo import DemoSettings
from saccade.recipes.questions_settings import QuestionsSettings
from saccade.runs.metrics import without_times
from saccade.train.recipe_loading import load_recipe, setting_docs, settings_of

SMALL = """
run:
  seed: 3
sft: {steps: 2, batch_size: 2}
rl:
  steps: 1
  optimizer.learning_rate: 1e-5
evaluation_tasks: 2
curve_tasks: 2
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_nested_and_dotted_keys_are_those_of_set(tmp_path: Path) -> None:
    found = read_config(written(tmp_path, SMALL))
    settings = apply_overrides(DemoSettings(), found.overrides)
    assert (settings.sft.steps, settings.rl.steps, settings.rl.optimizer.learning_rate) == (2, 1, 1e-5)
    assert {name: option.value for name, option in found.run.items()} == {"seed": "3"}
    assert apply_overrides(settings, (*found.overrides, "rl.steps=9")).rl.steps == 9


def test_all_settings_survive_the_way_through_a_file(tmp_path: Path) -> None:
    settings = apply_overrides(
        DemoSettings(), ("rl.optimizer.lora.rank=4", "sft.optimizer.betas=0.5,0.75", "rl.algorithm.name=dapo")
    )
    text = config_text({"seed": 1, "model": "a: b"}, to_json(settings), ("fleet.rollouts=2",))
    found = read_config(written(tmp_path, text))
    own = [one for one in found.overrides if not one.startswith("fleet.")]
    assert apply_overrides(DemoSettings(), own) == settings
    assert [one for one in found.overrides if one.startswith("fleet.")] == ["fleet.rollouts=2"]
    assert found.run["model"].value == "a: b"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("rl:\n  step: 3", ":2 rl.step: there is no setting 'rl.step'. Did you mean 'rl.steps'?"),
        ("rl: {steps: abc}", ":1 rl.steps=abc: rl.steps must be a whole number"),
        ("rl: 3", ":1 rl: 'rl' is a group of settings"),
        ("rl: {}", ":1: rl holds no settings"),
        ("rl: {steps: 1, steps: 2}", ":1: steps stands twice"),
        ("rl: [1", "not YAML"),
        ("- 1", ":1: the file must hold keys"),
        ("? [a]\n: 1", ":1: a key must be"),
        ("run: 3", ":1: run must hold options"),
        ("run: {sed: 1}", ":1: run has no key 'sed'. Did you mean 'seed'?"),
        ("run: {seed: x}", ":1: run.seed: 'x' is not"),
        ("run: {seed: [1, 2]}", ":1: run.seed must be one value, not 2"),
        ("run: {seed: {a: 1}}", ":1: run.seed must be a plain value"),
        ("run: {out: here}", ":1: run has no key 'out'"),
        ("rl: {algorithm: {options: {kl_weight: [a]}}}", "kl_weight must be a number"),
    ],
)
def test_wrong_files_are_told_with_their_line(
    text: str, says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, text)
    status = run_command(["demo", "--config", str(path), "--out", str(tmp_path / "out")])
    assert (status, says in capsys.readouterr().err) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["", "# nothing yet\n", "rl: {steps: 1}\n"])
def test_a_file_to_train_that_names_no_recipe_is_told_how_it_names_one(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["train", str(written(tmp_path, text))]) == 2
    told = capsys.readouterr().err
    assert "settings.yaml names no recipe: write `run: {recipe: NAME}` into it, or saccade train NAME --config" in told


def test_files_that_are_none_are_told(tmp_path: Path) -> None:
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    for name, says in (
        ("absent.yaml", "no such file"),
        (".", "a folder; name a YAML file in it"),
        ("bytes.yaml", "not UTF-8"),
    ):
        with pytest.raises(UserError, match=says):
            read_config(tmp_path / name)


def test_relative_paths_begin_in_the_folder_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sub").mkdir()
    path = written(tmp_path / "sub", "run: {recipe: mine.py, data: rows.jsonl}")
    monkeypatch.chdir(tmp_path)
    assert run_command(["train", "--config", str(path), "--out", "out"]) == 2
    assert f"--data {path.parent / 'rows.jsonl'}: there is no such file" in capsys.readouterr().err
    (path.parent / "rows.jsonl").write_text("")
    assert run_command(["train", "--config", str(path), "--out", "out"]) == 2
    assert str(path.parent / "mine.py") in capsys.readouterr().err


def test_a_run_is_started_again_by_its_own_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    small = written(tmp_path, SMALL)
    assert run_command(["demo", "--config", str(small), "--set", "sft.steps=1", "--out", str(first), "--quiet"]) == 0
    assert run_command(["demo", "--config", str(first / "config.yaml"), "--out", str(second), "--quiet"]) == 0
    assert (first / "settings.json").read_bytes() == (second / "settings.json").read_bytes()
    assert (first / "config.yaml").read_bytes() == (second / "config.yaml").read_bytes()
    assert without_times(first / "metrics.jsonl") == without_times(second / "metrics.jsonl")


@pytest.mark.parametrize("name", ["questions", "demo", "sft", "ivgr", "vista_r1", "look_closer"])
def test_a_file_of_all_settings_is_accepted_and_changes_nothing(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["settings", name, "--yaml"]) == 0
    text = capsys.readouterr().out
    found = read_config(written(tmp_path, text))
    recipe = load_recipe(name)
    for model in (None, Path("published")):
        settings = settings_of(recipe, RecipeContext(model=model))
        assert apply_overrides(settings, found.overrides) == settings
    assert found.run["recipe"].value == name
    # Every setting stands there with what it takes, and those without a value as comments.
    keys = [one.key for one in setting_docs(settings)]
    assert len(found.overrides) > 10
    said = re.findall(r"^ *(?:# )?([\w.]+):", text, re.MULTILINE)
    assert {key.split(".")[-1] for key in keys} <= {key.split(".")[-1] for key in said}
    assert "``" not in text
    assert max(map(len, text.splitlines())) <= 120


def test_text_that_yaml_would_read_otherwise_comes_back(tmp_path: Path) -> None:
    @dataclass(frozen=True, kw_only=True)
    class Inner:
        word: str = "no"
        """Two
        lines: # with ``marks``."""

    @dataclass(frozen=True, kw_only=True)
    class Odd:
        text: str = "a\nb: c # d"
        empty: str = ""
        star: str = "*x"
        null: str = "null"
        tab: str = "a\t\x1b[31m"
        path: Path = Path("a: b/ü")
        many: tuple[str, ...] = ("a\nb", "no", "1e-6")
        floats: tuple[float, float] = (1e-6, float("inf"))
        inner: Inner = Inner()
        absent: Inner | None = None

    text = settings_file(setting_docs(Odd()), {"recipe": "a: b"}, papers={}, larger={"inner.word": "yes"})
    found = read_config(written(tmp_path, text))
    assert apply_overrides(Odd(), found.overrides) == Odd()
    assert found.run["recipe"].value == "a: b"
    assert "# inner:\n" in text
    assert "absent: null\n" in text
    filled = text.replace("# absent.word: 'no'", "absent.word: x")
    assert apply_overrides(Odd(), read_config(written(tmp_path, filled)).overrides).absent == Inner(word="x")


def test_what_depends_on_the_model_is_left_to_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["settings", "questions", "--yaml"]) == 0
    text = capsys.readouterr().out
    assert "[larger models: 1.0e-06]\n    # learning_rate: 0.0002\n" in text
    assert "    lora: null\n    # (a whole number)\n    # lora.rank: 16\n" in text


def test_a_preset_wins_over_a_file_and_set_wins_over_both(tmp_path: Path) -> None:
    def seen(*arguments: str) -> tuple[str, ...]:
        taken: list[tuple[str, ...]] = []

        @click.command()
        @config_option
        @preset_option
        @click.option("--set", "overrides", multiple=True, callback=with_file)
        @click.pass_context
        def command(context: click.Context, overrides: tuple[str, ...]) -> None:
            taken.append(overrides)
            given.update(options_given(context))

        command.main([*arguments], standalone_mode=False)
        return taken[0]

    def settings(overrides: tuple[str, ...]) -> QuestionsSettings:
        return apply_overrides(QuestionsSettings(), overrides)

    given: dict[str, object] = {}
    path = str(written(tmp_path, "model:\n  engine.max_rows: 5\n  max_pixels: 70000\n"))
    rows = "model.engine.max_rows"
    for order in (["--config", path, "--preset", "3b-lora-24gb"], ["--preset", "3b-lora-24gb", "--config", path]):
        assert settings(seen(*order)).model.engine.max_rows == 32
        assert settings(seen(*order)).model.max_pixels == 70000
        assert settings(seen("--set", f"{rows}=7", *order)).model.engine.max_rows == 7
    assert given == {"preset": "3b-lora-24gb"}
    # A run's own file names the preset and holds what was changed of it.
    again = str(written(tmp_path, "run: {preset: 3b-lora-24gb}\nmodel: {engine.max_rows: 7}\n"))
    chosen = settings(seen("--config", again))
    assert (chosen.model.engine.max_rows, chosen.rl.optimizer.lora is not None) == (7, True)


def test_an_unknown_preset_and_one_that_a_recipe_lacks_the_settings_of_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = str(tmp_path / "run")
    assert run_command(["train", "questions", "--preset", "3b-lora-24", "--out", out]) == 2
    assert "Did you mean 3b-lora-24gb? Presets: 3b-lora-24gb, " in capsys.readouterr().err
    assert run_command(["train", "sft", "--preset", "3b-lora-24gb", "--out", out]) == 2
    assert "--preset 3b-lora-24gb rl.optimizer" in capsys.readouterr().err


def test_a_run_records_its_preset(tmp_path: Path) -> None:
    for colour in ("red", "green", "blue", "white"):
        Image.new("RGB", (80, 60), colour).save(tmp_path / f"{colour}.png")
    rows = [{"question": "Which colour?", "answer": one.stem, "image": one.name} for one in tmp_path.glob("*.png")]
    data, run = tmp_path / "my.jsonl", tmp_path / "run"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    small = ("sft.steps=0", "rl.steps=1", "rl.tasks_per_step=1", "rl.group_size=2", "rollout.max_turn_tokens=8")
    own = [word for one in (*small, "model.dtype=float32", "model.engine.max_rows=7") for word in ("--set", one)]
    command = ["train", "questions", "--data", str(data), "--preset", "3b-lora-24gb", *own]
    assert run_command([*command, "--out", str(run), "--quiet"]) == 0
    found = read_config(run / "config.yaml")
    assert found.run["preset"].value == "3b-lora-24gb"
    assert {"rl.optimizer.lora.rank=16", "model.dtype=float32", "model.engine.max_rows=7"} <= set(found.overrides)
