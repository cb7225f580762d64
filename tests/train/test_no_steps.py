"""A stage of no steps is left out: the evaluations around it are made, and nothing is trained."""

from pathlib import Path

import pytest

from saccade.config.context import RecipeContext
from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.miniature.codedance import TinyCodeDanceSettings, tiny
from saccade.runs.progress import Progress
from saccade.train.run import run_plan

SMALL = ("size.hidden=32", "size.heads=2", "size.kv_heads=1", "size.mlp=64", "rollout.max_turn_tokens=4")


def test_without_steps_a_recipe_measures(tmp_path: Path) -> None:
    context = RecipeContext(overrides=("sft.steps=0", "rl.steps=0", "evaluation_tasks=1", *SMALL))
    out = tmp_path / "run"
    summaries = run_plan(tiny(context), out=out, media=context.media, seed=0, progress=Progress("quiet"))
    assert list(summaries) == ["after_rl_easy", "after_rl_hard"]
    assert list((out / "checkpoints").iterdir()) == []
    with pytest.raises(UserError, match="steps=-1 must be a finite number of 0 or more"):
        apply_overrides(TinyCodeDanceSettings(), ("rl.steps=-1",))
