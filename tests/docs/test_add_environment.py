"""The page "Add an environment": its environment keeps the contract, and what it says of the example is so."""

import re
from pathlib import Path

import pytest

from places import ROOT
from saccade.config import RecipeContext
from saccade.envs import EnvironmentContext, ExpertEnvironment
from saccade.media.store import MediaStore
from saccade.miniature.environment import tiny
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.own_code import file_of_own
from saccade.protocols.tagged import direct_protocol
from saccade.rollout import EpisodeSpec, RolloutSettings, demonstrate
from saccade.testing import TINY_VIEW
from saccade.train import Evaluate
from saccade.types import Answer, Example, ExpertTurn, Task, ToolCall

PAGE = (ROOT / "docs" / "add" / "environment.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)


@pytest.fixture(scope="module")
def names() -> dict[str, object]:
    """What the page's blocks define, run one after the other."""
    found: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "docs/add/environment.md", "exec"), found)
    return found


def test_an_expert_is_imitated_in_the_page_s_environment(names: dict[str, object]) -> None:
    episodes, asked = names["episodes"], names["asked"]
    assert isinstance(episodes, EpisodeSpec)
    assert isinstance(asked, Task)
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    model = tiny_model([asked.question] * 9, MediaStore(), size=size, vocab_size=300)
    env = episodes.environment(model.media, model.view)
    assert isinstance(env, ExpertEnvironment)
    turns = (
        ExpertTurn(thought="", action=ToolCall(name="look up", arguments={"country": "Italy"})),
        ExpertTurn(thought="", action=Answer(text="Rome")),
    )
    played = demonstrate(Example(task=asked, turns=turns), env=env, chat=model.chat)
    assert [turn.text for turn in played.turns] == ["look up Italy", "answer Rome"]
    assert played.status == "answered"


def test_the_page_s_file_is_an_environment_to_train_in(tmp_path: Path) -> None:
    (tmp_path / "my_environment.py").write_text(BLOCKS[0], encoding="utf-8")
    plan = tiny(RecipeContext(env=f"{tmp_path}/my_environment.py:CapitalsEnv", overrides=("sft.steps=0",)))
    [evaluation, *_] = plan.stages
    assert isinstance(evaluation, Evaluate)
    assert [task.id for task in evaluation.tasks()] == ["Norway"]
    assert evaluation.episodes.environment_name == "CapitalsEnv"
    assert file_of_own(evaluation.episodes.make_env) == tmp_path / "my_environment.py"


def test_the_page_counts_the_example_s_lines() -> None:
    folder = ROOT / "examples" / "text_only"
    counted = [len((folder / name).read_text().splitlines()) for name in ("environment.py", "recipe.py")]
    assert re.findall(r"(\d+) lines of environment and (\d+) of recipe", PAGE) == [tuple(map(str, counted))]


def test_the_default_environment_scores_no_answer() -> None:
    media = MediaStore()
    task = Task(id="t", family="f", question="?", answer="red", answer_kind="exact", images=())
    context = EnvironmentContext(media=media, view=TINY_VIEW, protocol=direct_protocol(style="brief"))
    env = EpisodeSpec(rollout=RolloutSettings()).make_env(context)
    env.reset(options={"task": task})
    assert env.step("<answer>red</answer>")[1:3] == (0.0, True)
