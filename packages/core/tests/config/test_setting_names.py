import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from saccade.cli import run_command
from saccade.codec.docs import field_docs
from saccade.config.context import RecipeContext
from saccade.config.setting_values import near_keys
from saccade.config.settings import apply_overrides, setting_keys
from saccade.errors import UserError
from saccade.recipes.paper_values import PAPER_VALUES
from saccade.recipes.questions import TINY, QuestionsSettings
from saccade.train.algorithm_settings import AlgorithmName, AlgorithmSettings
from saccade.train.recipe_loading import SettingDoc, load_recipe, setting_docs, settings_of, shipped_recipes

KNOWN = list(setting_keys(QuestionsSettings))


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("lr", ["sft.optimizer.learning_rate", "rl.optimizer.learning_rate", "rl.algorithm.critic.learning_rate"]),
        ("rl.lr", ["rl.optimizer.learning_rate", "rl.algorithm.critic.learning_rate"]),
        ("rl.learn_rate", ["rl.optimizer.learning_rate", "rl.algorithm.critic.learning_rate"]),
        ("num_generations", ["rl.group_size"]),
        ("rl.beta", ["rl.algorithm.options.kl_weight", "rl.algorithm.dpo.beta"]),
        ("group_size", ["rl.group_size"]),
        ("rl.group_sise", ["rl.group_size"]),
        ("rl.ceckpoint_every", ["rl.checkpoint_every"]),
        ("max_grad_norm", ["sft.optimizer.max_gradient_norm", "rl.optimizer.max_gradient_norm"]),
        ("pixels", ["model.min_pixels", "model.max_pixels", "judge.load.min_pixels", "judge.load.max_pixels"]),
        ("zzzz", []),
    ],
)
def test_names_near_an_unknown_one(asked: str, found: list[str]) -> None:
    assert near_keys(asked, KNOWN) == found


def test_an_unknown_setting_shows_the_groups_that_there_are() -> None:
    with pytest.raises(
        UserError,
        match=r"Known here: max_turns, .*model\.\*, sft\.\*, rl\.\*, rollout\.\*, .*judge\.\*, pass_rates\.\*$",
    ):
        apply_overrides(QuestionsSettings(), ["zzzz=1"])


@dataclass(frozen=True)
class Inner:
    depth: int = 3
    """How deep,
    in levels."""


@dataclass(frozen=True)
class Outer:
    inner: Inner | None = None
    """Another thing."""
    bare: float = 0.5


def test_settings_are_documented_by_the_lines_under_their_fields() -> None:
    assert setting_docs(Outer()) == [
        SettingDoc(key="inner", default=None, kind="a group of settings (depth) or none", meaning="Another thing."),
        SettingDoc(key="inner.depth", default=None, kind="a whole number", meaning="How deep, in levels.", once_set=3),
        SettingDoc(key="bare", default=0.5, kind="a number", meaning=""),
    ]
    assert field_docs(Inner) == {"depth": "How deep, in levels."}


@pytest.mark.parametrize("name", [name for name, _ in shipped_recipes()])
def test_every_shipped_recipe_tells_its_settings_without_being_given_anything(name: str) -> None:
    settings = settings_of(load_recipe(name), RecipeContext())
    assert type(settings_of(load_recipe(name), RecipeContext(model=Path("published")))) is type(settings)
    keys = {one.key for one in setting_docs(settings)}
    assert keys & {"rl.steps", "sft.steps", "dpo.steps"}
    assert set(PAPER_VALUES.get(name, {})) <= keys


def test_a_recipe_of_ones_own_tells_its_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.py").write_text(
        "from saccade.recipes.questions import questions\n"
        "def mine(context): return questions(context)\n"
        "def without(context):\n"
        "    from saccade.train.plan import Plan\n"
        "    return Plan(title='t', settings=None, build_model=None, stages=())\n"
    )
    assert run_command(["settings", f"{tmp_path}/mine.py:mine", "--json"]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["rl.group_size"] == {
        "key": "rl.group_size",
        "default": 8,
        "takes": "a whole number",
        "paper": None,
        "meaning": "Trajectories per question and stream.",
    }
    assert run_command(["settings", f"{tmp_path}/mine.py:without"]) == 2
    assert "mine.py:without has no settings" in capsys.readouterr().err


def test_recipes_and_the_papers_values_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["recipes"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"demo", "questions", "ivgr:tiny", "codedance", "vista_r1"} <= {line.partition(" ")[0] for line in lines}
    assert run_command(["settings", "ivgr"]) == 0
    assert "\nreward.tau = 0.3   [paper: 0.3]\n" in capsys.readouterr().out


def test_the_defaults_of_questions_go_by_the_size_of_the_model(tmp_path: Path) -> None:
    recipe = load_recipe("questions")
    assert settings_of(recipe, RecipeContext()) == TINY
    assert settings_of(recipe, RecipeContext(model=tmp_path)) == QuestionsSettings()


def test_settings_show_beside_the_tiny_models_defaults_those_of_larger_models(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(["settings", "questions"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Defaults for the tiny base model; [larger models: ...]")
    assert f"\nrl.steps = {TINY.rl.steps}   [larger models: {QuestionsSettings().rl.steps}]\n" in printed
    assert "\nrl.group_size = 8\n" in printed
    assert run_command(["settings", "questions", "--json"]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["sft.steps"]["larger_models"], "larger_models" in rows["rl.group_size"]) == (0, False)
    assert run_command(["settings", "questions", "--model", str(tmp_path)]) == 0
    assert f"\nrl.steps = {QuestionsSettings().rl.steps}\n" in capsys.readouterr().out


def test_settings_of_an_absent_group_show_what_applies_once_it_is_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["settings", "questions"]) == 0
    printed = capsys.readouterr().out
    assert "\nrl.optimizer.lora.alpha = none   [once rl.optimizer.lora is set: 32.0]\n" in printed
    assert run_command(["settings", "questions", "--json"]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)}
    assert (rows["rl.optimizer.lora.alpha"]["once_set"], "once_set" in rows["rl.optimizer.lora"]) == (32.0, False)


@pytest.mark.parametrize("name", get_args(AlgorithmName))
def test_the_clip_range_of_each_algorithm_is_the_documented_one(name: AlgorithmName) -> None:
    said = field_docs(AlgorithmSettings)
    for one, value in zip(("clip_low", "clip_high"), AlgorithmSettings(name=name).clips, strict=True):
        own = {words: float(number) for number, words in re.findall(r"([\d.e-]+) for ([a-z ]+)", said[one])}
        assert own.get(name, own["all others"]) == value


def test_the_folder_of_images_can_be_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    row = {"question": "What is it?", "answer": "a cat", "image": "../pictures/x.png"}
    (tmp_path / "data" / "q.jsonl").write_text(json.dumps(row) + "\n")
    command = ["train", "questions", "--data", str(tmp_path / "data" / "q.jsonl"), "--out", str(tmp_path / "run")]
    assert run_command(command) == 2
    assert "set image_root (--image-root) to a folder that holds it" in capsys.readouterr().err
    assert run_command([*command, "--image-root", str(tmp_path / "absent")]) == 2
    assert f"--image-root {tmp_path}/absent: there is no such" in capsys.readouterr().err
