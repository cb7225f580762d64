"""What the README and the guide show runs as it stands there."""

import json
import re
import subprocess
import sys
from pathlib import Path

from PIL import Image

from places import ROOT
from saccade.config.context import RecipeContext
from saccade.rewards import score_question
from saccade.train.plan import RLStage
from saccade.train.recipe_loading import load_recipe, recipe_names
from saccade.types import Answer, Group, Task, Trajectory, Turn

README = (ROOT / "README.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
FIRST, RECIPE, SANDBOX = re.findall(r"```python\n(.*?)```", README + GUIDE, flags=re.DOTALL)


def test_the_first_example_runs_and_prints_a_question_and_a_reward() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    question, observation, outcome = done.stdout.strip().splitlines()
    assert question.startswith("Which texture is on the ")
    assert observation.startswith("Image 2:")
    assert outcome in ("0.0 True", "1.0 True")


def test_the_sandbox_undoes_the_failed_run() -> None:
    done = subprocess.run([sys.executable, "-c", SANDBOX], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "False ZeroDivisionError 255\n\n"


def test_the_recipe_gives_a_plan_with_its_own_reward(tmp_path: Path) -> None:
    for name, colour in (("a.png", (9, 9, 9)), ("b.png", (200, 0, 0)), ("c.png", (0, 0, 200)), ("d.png", (0, 99, 0))):
        Image.new("RGB", (64, 64), colour).save(tmp_path / name)
    rows = [{"question": "Which colour?", "answer": "red", "image": f"{name}.png"} for name in "abcd"]
    data = tmp_path / "my.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "my_recipe.py").write_text(RECIPE)
    plan = load_recipe(f"{tmp_path}/my_recipe.py:brief_answers")(
        RecipeContext(data=data, overrides=("held_out_share=0.5",), seed=1)
    )
    rewards = [stage.reward for stage in plan.stages if isinstance(stage, RLStage)]
    assert [getattr(reward, "__name__", "") for reward in rewards] == ["brief"]
    task = Task(id="t", family="f", question="Which colour?", answer="red", answer_kind="exact", images=())
    turn = Turn(index=0, text="", thought="", action=Answer(text="red"), is_well_formed=True)
    played = Trajectory(
        task_id="t",
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered",
    )
    ((group,), _) = score_question([Group(task=task, stream="main", trajectories=(played,))], rewards[0])
    score = group.trajectories[0].score
    assert score is not None
    assert score.total == 1.0 + 0.1 - 0.01


def test_every_recipe_and_file_that_they_name_exists() -> None:
    results = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    for text, folder in ((README, ROOT), (GUIDE, ROOT / "docs"), (results, ROOT / "docs")):
        for name in re.findall(r"saccade train ([a-z_]+)[ :]", text):
            assert name in recipe_names()
        for target in re.findall(r"\]\(([^)#]+)\)", text):
            assert (folder / target).exists(), target


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 90
