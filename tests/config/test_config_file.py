"""``--config FILE``: the same settings as ``--set``, messages with their line, and a run's own file starts it again."""

from pathlib import Path

import pytest

from saccade.cli import run_command
from saccade.config.config_file import config_text, read_config
from saccade.config.settings import apply_overrides, to_json
from saccade.errors import UserError
from saccade.miniature.demo import DemoSettings
from saccade.runs.metrics import without_times

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
