"""The example without images: an environment of its own, imitated, learnt in and measured in."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from places import ROOT
from saccade.config.context import RecipeContext
from saccade.envs.environment import ExpertEnvironment
from saccade.media.store import MediaStore
from saccade.runs.asking import read_asking
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths
from saccade.testing.tasks import TINY_VIEW
from saccade.train.plan import Plan, SFTStage
from saccade.train.recipe_loading import load_recipe
from saccade.train.run import run_plan
from saccade.types import Task
from saccade.viewer.report import write_report

RECIPE = ROOT / "examples" / "text_only" / "recipe.py"
FEW = ("sft.steps=40", "sft.batch_size=8", "rl.steps=2", "rl.tasks_per_step=4", "rl.group_size=4")


def prices(overrides: Sequence[str] = (), media: MediaStore | None = None) -> Plan:
    context = RecipeContext(overrides=(*FEW, *overrides), media=media or MediaStore())
    return load_recipe(f"{RECIPE}:prices")(context)


def shown(plan: Plan) -> tuple[ExpertEnvironment, Task]:
    """The plan's environment, and a task of its imitation."""
    stage = plan.stages[0]
    assert isinstance(stage, SFTStage)
    demonstration = stage.source(0, 0.0)
    env = demonstration.episodes.environment(MediaStore(), TINY_VIEW)
    assert isinstance(env, ExpertEnvironment)
    return env, demonstration.example.task


def test_environment_and_recipe_are_as_short_as_promised() -> None:
    assert len((RECIPE.parent / "environment.py").read_text().splitlines()) < 100
    assert len(RECIPE.read_text().splitlines()) < 60


def test_a_row_is_looked_up_and_the_answer_ends_the_episode() -> None:
    env, task = shown(prices())
    env.reset(options={"task": task})
    assert env.prompt[0].parts == (f"price of {task.question}?",)
    assert env.step(f"look up {task.question}")[2:4] == (False, False)
    observation = env.turns[0].observation
    assert observation is not None
    assert observation.text == task.answer
    assert env.step(f"answer {task.answer}")[2:4] == (True, False)


@pytest.mark.parametrize(
    "said", ["", "look up", "answer", "price?", "answer 3\nanswer 4", "<think>", "look up " + "x" * 99]
)
def test_a_turn_that_is_neither_shows_what_there_is(said: str) -> None:
    env, task = shown(prices())
    env.reset(options={"task": task})
    ends = [env.step(said)[2:4] for _ in range(3)]
    assert ends == [(False, False), (False, False), (False, True)]
    assert [turn.is_well_formed for turn in env.turns] == [False] * 3


def test_it_is_imitated_learnt_in_measured_and_reported(tmp_path: Path) -> None:
    media = MediaStore()
    run_plan(prices(media=media), out=tmp_path / "run", media=media, seed=0, progress=Progress("quiet"))
    paths = RunPaths(root=tmp_path / "run")
    before = list(read_records(paths.evaluation("before")))
    assert len(before) == 48
    assert all(attempt.task.images == () and attempt.trajectory.status != "failed" for attempt in before)
    write_report(paths)
    page = (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert before[0].task.question in page
    assert "Pictures are shown whole" not in page
    asking = read_asking(tmp_path / "run" / "checkpoints" / "rl-000002")
    assert asking is not None
    assert [way.describe() for way in asking.ways] == ["TableEnv without tools, 3 turns"]
    assert [way.is_known for way in asking.ways] == [False]
