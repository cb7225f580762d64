"""The page "A judge or a model behind your reward": its recipes open their models, are paid by them, and count them."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image

from places import ROOT
from saccade.config.context import RecipeContext
from saccade.errors import MachineError
from saccade.media.store import MediaStore
from saccade.runs.runinfo import RunPaths
from saccade.testing.chat_server import ChatServer, Received, Served, chat_reply
from saccade.tools.tool import Tool
from saccade.train.plan import Plan, RLStage
from saccade.train.run import run_plan

DOCS = ROOT / "docs" / "add"
FEW = (
    *("rl.steps=1", "rl.tasks_per_step=1", "rl.group_size=2", "rl.checkpoint_every=9", "rl.evaluate_every=0"),
    *("rollout.max_turn_tokens=8", "max_turns=1", "held_out_share=0.5"),
)


def blocks(page: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.fixture
def my_recipe(tmp_path: Path) -> Iterator[ModuleType]:
    """The page's file as a module, beside that of the page "Add a reward"."""
    (tmp_path / "my_rewards.py").write_text("\n\n".join(blocks("reward.md")))
    (tmp_path / "my_recipe.py").write_text("\n\n".join(blocks("model.md")))
    sys.path.insert(0, str(tmp_path))
    try:
        yield __import__("my_recipe")
    finally:
        sys.path.remove(str(tmp_path))
        for name in ("my_rewards", "my_recipe"):
            sys.modules.pop(name, None)


@pytest.fixture
def context(tmp_path: Path) -> RecipeContext:
    for number in range(4):
        Image.new("RGB", (64, 64), (60 * number, 0, 99)).save(tmp_path / f"{number}.png")
    rows = [{"question": "Which colour?", "answer": "red", "image": f"{number}.png"} for number in range(4)]
    data = tmp_path / "my.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return RecipeContext(data=data, overrides=FEW, seed=1, media=MediaStore())


def test_the_reward_asks_its_judge_and_the_run_counts_that(
    my_recipe: ModuleType, context: RecipeContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ChatServer(lambda _: chat_reply("yes", prompt_tokens=9, completion_tokens=1)) as server:
        monkeypatch.setattr(my_recipe, "SERVER", server.url)
        plan: Plan = my_recipe.judged(context)
        run_plan(plan, out=tmp_path / "run", seed=1, media=context.media)
        asked = len(server.received)
    assert asked == 2
    rows = [json.loads(line) for line in RunPaths(root=tmp_path / "run").metrics.read_text().splitlines()]
    [step] = [row for row in rows if "time/judge_requests" in row]
    counts = {name: value for name, value in step.items() if name.startswith("time/judge")}
    assert counts == {
        "time/judge_requests": 2.0,
        "time/judge_cache_hits": 0.0,
        "time/judge_retries": 0.0,
        "time/judge_prompt_tokens": 18.0,
        "time/judge_completion_tokens": 2.0,
    }


def test_the_tool_asks_its_vision_model_while_the_run_goes_on(
    my_recipe: ModuleType, context: RecipeContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    def says(received: Received) -> Served:
        [message] = received.body["messages"]
        assert [part["type"] for part in message["content"]] == ["image_url", "text"]
        return chat_reply("a red plate")

    media = MediaStore()
    image = media.add(Image.new("RGB", (32, 32), "red"))
    with ChatServer(says) as server:
        monkeypatch.setattr(my_recipe, "SERVER", server.url)
        plan: Plan = my_recipe.looked_at(context)
        [stage] = [one for one in plan.stages if isinstance(one, RLStage)]
        tool = stage.streams[0].episodes.tools[-1]
        assert isinstance(tool, Tool)
        with plan.resources[-1]:
            assert tool.call({"image": 1}, [image], media).text == "a red plate"
        with pytest.raises(MachineError, match="not open"):
            tool.call({"image": 1}, [image], media)
    assert plan.meters()["reader_requests"] == 1.0
