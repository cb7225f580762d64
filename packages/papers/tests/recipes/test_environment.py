"""A run in an environment that nobody here wrote: whole, resumed, and refused where it cannot teach."""

import hashlib
import json
import logging
import re
from pathlib import Path

import pytest

from places import ROOT
from saccade.config import RecipeContext
from saccade.config.sources import inputs_of
from saccade.errors import UserError
from saccade.miniature.environment import tiny
from saccade.models import base_checkpoint
from saccade.recipes.environment import environment
from saccade.recipes.environment_play import environment_evaluation
from saccade.recipes.environment_settings import trained_settings
from saccade.runs.reaches import Permission
from saccade.runs.records import read_records
from saccade.train.plan import RLStage
from saccade.train.run import run_plan

SMALL = (
    "sft.steps=3",
    "sft.batch_size=2",
    "rl.tasks_per_step=2",
    "rl.group_size=2",
    "rl.checkpoint_every=1",
    "held_out=2",
    "max_turns=5",
    "show.window=3",
    "show.form=text",
    "rollout.max_turn_tokens=6",
)
MINIGRID = "gymnasium:MiniGrid-Empty-5x5-v0"


def play(out: Path, *overrides: str, resume: bool = False, env: str = MINIGRID) -> None:
    context = RecipeContext(env=env, overrides=(*SMALL, *overrides))
    run_plan(tiny(context), out=out, media=context.media, seed=0, resume=resume, threads=1)


PAGE = ROOT / "docs/add/environment.md"
LETTERS = "def step(self, action): return '', 0.1 * sum(map(str.isalpha, action)), *super().step(action)[2:]"
"""Pays each letter."""


def own(folder: Path, body: str) -> str:
    """Name of the page's environment, in a file of its own, with this member in another way."""
    [code, *_] = re.findall("```python(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    (folder / "own.py").write_text(f"{code}\nclass Mine(CapitalsEnv):\n    {body}\n", encoding="utf-8")
    return f"{folder}/own.py:Mine"


def digests(out: Path) -> dict[str, str]:
    files = [
        *out.glob("trajectories/**/*.jsonl"),
        *out.glob("evaluations/*.jsonl"),
        *(file for file in out.glob("samples/*.jsonl") if not file.name.endswith(".times.jsonl")),
        *out.glob("checkpoints/**/*.safetensors"),
    ]
    return {str(file.relative_to(out)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_a_run_in_minigrid_that_is_resumed_has_the_bytes_of_one_that_was_not(tmp_path: Path) -> None:
    play(tmp_path / "whole", "rl.steps=2")
    play(tmp_path / "parts", "rl.steps=1")
    play(tmp_path / "parts", "rl.steps=2", resume=True)
    whole, parts = digests(tmp_path / "whole"), digests(tmp_path / "parts")
    played = {name: digest for name, digest in whole.items() if name.startswith(("trajectories", "samples"))}
    assert {name: parts[name] for name in played} == played
    assert {"samples/after_sft.jsonl", "samples/after_rl.jsonl"} <= played.keys()
    last = "checkpoints/rl-000002/model.safetensors"
    assert whole[last] == parts[last]


def test_an_environment_of_one_s_own_file_pays_and_is_resumed_to_the_byte(tmp_path: Path) -> None:
    context = RecipeContext(env=own(tmp_path, LETTERS))
    changes = ("sft.steps=0", "show.window=0", "show.form=action", "rollout.max_turn_tokens=16", "max_turns=2")
    play(tmp_path / "whole", *changes, "rl.steps=2", env=str(context.env))
    play(tmp_path / "parts", *changes, "rl.steps=1", env=str(context.env))
    play(tmp_path / "parts", *changes, "rl.steps=2", resume=True, env=str(context.env))
    whole, parts = digests(tmp_path / "whole"), digests(tmp_path / "parts")
    assert {name: parts[name] for name in whole} == whole
    scores = [one.trajectory.score for one in read_records(tmp_path / "whole/trajectories/rl/step-000001.jsonl")]
    assert any(score is not None and score.total > 0 for score in scores)
    before = inputs_of(context)["env_sha256"]
    own(tmp_path, f"# In words alone.\n    {LETTERS}")
    assert inputs_of(context)["env_sha256"] == before
    own(tmp_path, LETTERS.replace("0.1", "0.2"))
    assert inputs_of(context)["env_sha256"] != before


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "def reset(self): pass",
            "unexpected keyword argument 'seed'. Mine is played as an Environment, which",
        ),
        ("def step(self, action): return super().step(action)[:4]", "expected 5, got 4"),
        ("def step(self, action): raise RuntimeError('gone')", r"own.py:\d+: RuntimeError: gone"),
        ("def reset(self, *, seed, options): self.prompt = 'go'", "'go' is no tuple of Messages"),
        ("def tasks(split): return ['a']", "is no tuple of Tasks"),
        ("def __new__(cls, context): return 5", "'int' object has no attribute"),
    ],
)
def test_what_is_no_environment_is_refused_before_work(body: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=said):
        tiny(RecipeContext(env=own(tmp_path, body), overrides=("sft.steps=0",)))


def test_an_environment_without_a_context_and_settings_without_effect_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="take one as `context`"):
        tiny(RecipeContext(env=own(tmp_path, "def __init__(self): self.prompt = self.turns = ()")))
    for setting in ("show.form=text", "environment.pictures=none", "sft.steps=3"):
        with pytest.raises(UserError, match="says itself what is shown"):
            tiny(RecipeContext(env=own(tmp_path, LETTERS), overrides=("sft.steps=0", setting)))


def test_credit_is_by_turn_with_each_algorithm() -> None:
    for name in ("grpo", "dapo", "ppo"):
        plan = tiny(RecipeContext(env=MINIGRID, overrides=(*SMALL, f"rl.algorithm.name={name}")))
        [stage] = [stage for stage in plan.stages if isinstance(stage, RLStage)]
        assert "step re" in stage.applied_algorithm.name


@pytest.mark.parametrize("setting", ["name=rloo", "advantages=maxrl", "scale_by_std=false"])
def test_advantages_that_nothing_would_learn_from_are_refused(setting: str) -> None:
    chosen = (*SMALL, f"rl.algorithm.{setting}")
    with pytest.raises(UserError, match=f"algorithm.{setting} .* has no effect with credit.group_weight=0"):
        tiny(RecipeContext(env=MINIGRID, overrides=chosen))
    assert tiny(RecipeContext(env=MINIGRID, overrides=(*chosen, "credit.group_weight=1"))).stages


def test_without_an_environment_there_is_nothing_to_train_in() -> None:
    with pytest.raises(UserError, match="--env gymnasium:MiniGrid"):
        environment(RecipeContext())


def test_random_play_needs_actions_that_have_names() -> None:
    with pytest.raises(UserError, match=r"environment\.action_names"):
        tiny(RecipeContext(env="textarena:GuessTheNumber-v0"))


@pytest.mark.parametrize(("setting", "said"), [("arguments=[1]", "JSON object"), ("pictures=some", "none of auto")])
def test_settings_of_an_environment_are_checked_before_work(setting: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        tiny(RecipeContext(env=MINIGRID, overrides=(f"environment.{setting}",)))


def test_a_checkpoint_is_played_as_the_run_that_trained_it_showed_the_environment(tmp_path: Path) -> None:
    play(tmp_path / "run", "rl.steps=1", "rl.checkpoint_every=1")
    [checkpoint] = (tmp_path / "run/checkpoints").glob("rl-*")
    context = RecipeContext(env=MINIGRID, model=checkpoint)
    plan = environment_evaluation(context, count=3)
    assert "as in the run" in plan.remarks[0]
    run_plan(plan, out=tmp_path / "measured", media=context.media, seed=0, threads=1)
    attempts = [*read_records(next((tmp_path / "measured/evaluations").glob("*.jsonl")))]
    assert len(attempts) == 3
    assert max(len(attempt.trajectory.turns) for attempt in attempts) <= 5
    assert trained_settings(base_checkpoint()) is None


@pytest.mark.parametrize(
    ("changes", "count", "told"),
    [
        ("rl.steps=5 credit.weight=2", None, ["rl.steps, credit.weight (an evaluation trains nothing)"]),
        ("held_out=4", 3, ["held_out (-n 3 says it)"]),
        ("held_out=4 max_turns=5", None, []),
    ],
)
def test_an_evaluation_tells_of_settings_without_effect(
    changes: str, count: int | None, told: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        environment_evaluation(RecipeContext(env=MINIGRID, overrides=changes.split()), count=count)
    found = [one.getMessage() for one in caplog.records if "without effect" in one.getMessage()]
    assert found == [f"set without effect: {one}" for one in told]


def test_arguments_of_one_s_own_run_need_no_yes_and_those_of_a_copied_one_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    run, given = tmp_path / "run", '{"size": 6}'
    checkpoint = run / "checkpoints" / "rl-000001"
    checkpoint.mkdir(parents=True)
    opened = {"python": None, "arguments": given}
    (run / "settings.json").write_text(json.dumps({"recipe": {"show": {}, "environment": opened}}))
    with pytest.raises(UserError, match=r"add: --allow '\{\"size\": 6\}'.*--set environment\.arguments="):
        trained_settings(checkpoint, permission=Permission())
    assert trained_settings(checkpoint, permission=Permission(allowed=frozenset({given}))) is not None
    assert trained_settings(checkpoint, permission=Permission(), overrides=["environment.arguments="]) is not None
    tiny(RecipeContext(env=MINIGRID, overrides=(*SMALL, f"environment.arguments={given}")))
    known = trained_settings(checkpoint, permission=Permission())
    assert known is not None
    assert known.environment.arguments == given
