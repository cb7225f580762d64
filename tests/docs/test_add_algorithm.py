"""The page "Add an algorithm": its algorithms are what it says, and a recipe learns by one of them."""

import json
import logging
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from PIL import Image

from places import ROOT
from saccade.algorithms import PolicyTokens
from saccade.config.context import RecipeContext
from saccade.media.store import MediaStore
from saccade.rewards import Score, Term
from saccade.runs.runinfo import RunPaths
from saccade.train.plan import Plan
from saccade.train.run import run_plan
from saccade.types import Answer, Group, Task, Trajectory, Turn

PAGE = (ROOT / "docs" / "add" / "algorithm.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
TASK = Task(id="t", family="f", question="Which colour?", answer="red", answer_kind="exact", images=())
FEW = (
    *("rl.steps=1", "rl.tasks_per_step=1", "rl.group_size=2", "rl.checkpoint_every=9", "rl.evaluate_every=0"),
    *("rollout.max_turn_tokens=8", "max_turns=1", "held_out_share=0.5"),
)


@pytest.fixture(scope="module")
def my_algorithm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    folder = tmp_path_factory.mktemp("page")
    (folder / "my_algorithm.py").write_text("\n\n".join(BLOCKS))
    sys.path.insert(0, str(folder))
    try:
        yield __import__("my_algorithm")
    finally:
        sys.path.remove(str(folder))
        del sys.modules["my_algorithm"]


def rewarded(reward: float | None, sample: int) -> Trajectory:
    turn = Turn(index=0, text="red", thought="", action=Answer(text="red"), is_well_formed=True)
    return Trajectory(
        task_id=TASK.id,
        family=TASK.family,
        stream="main",
        sample=sample,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="failed" if reward is None else "answered",
        score=None if reward is None else Score(terms=(Term("accuracy", reward),)),
    )


def group(*rewards: float | None) -> Group:
    return Group(task=TASK, stream="main", trajectories=tuple(rewarded(reward, i) for i, reward in enumerate(rewards)))


def test_rewards_are_scaled_over_the_batch(my_algorithm: ModuleType) -> None:
    advantages = my_algorithm.scaled_by_batch([group(1.0, 0.0, None), group(0.5, 0.5)])
    # Centred they are +-0.5, 0, 0: their standard deviation is sqrt(0.125).
    spread = 0.125**0.5
    assert advantages == [[[pytest.approx(0.5 / spread)], [pytest.approx(-0.5 / spread)], [0.0]], [[0.0], [0.0]]]
    assert my_algorithm.scaled_by_batch([group(1.0, 1.0)]) == [[[0.0], [0.0]]]


def tokens(ratios: list[float], advantages: list[float], weights: list[float]) -> PolicyTokens:
    logprobs = torch.log(torch.tensor(ratios)) - 1.0
    return PolicyTokens(
        logprobs=logprobs.requires_grad_(),
        sampled_logprobs=torch.full((len(ratios),), -1.0),
        old_logprobs=torch.full((len(ratios),), -1.0),
        advantages=torch.tensor(advantages),
        weights=torch.tensor(weights),
        sequence=torch.zeros(len(ratios), dtype=torch.int64),
        entropy=torch.zeros(len(ratios)),
    )


def test_cispo_cuts_the_weight_of_a_token_and_keeps_its_gradient(my_algorithm: ModuleType) -> None:
    batch = tokens([1.0, 2.0, 0.5], [1.0, 1.0, -1.0], [0.25, 0.25, 0.5])
    loss = my_algorithm.cispo().loss(batch)
    loss.value.backward()
    assert batch.logprobs.grad is not None
    assert batch.logprobs.grad.tolist() == pytest.approx([-0.25, -0.25 * 1.28, 0.5 * 0.5])
    assert loss.sums["clip_fraction"].item() == 1.0


def by_sample(task: Task, trajectory: Trajectory) -> Score:
    """One of two siblings is paid, so that there is something to learn from."""
    return Score(terms=(Term("accuracy", float(trajectory.sample)),))


def test_a_recipe_learns_by_it_and_the_run_records_that(
    my_algorithm: ModuleType, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(4):
        Image.new("RGB", (64, 64), (60 * number, 0, 99)).save(tmp_path / f"{number}.png")
    rows = [{"question": "Which colour?", "answer": "red", "image": f"{number}.png"} for number in range(4)]
    (tmp_path / "my.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    context = RecipeContext(data=tmp_path / "my.jsonl", overrides=FEW, seed=1, media=MediaStore())
    plan: Plan = my_algorithm.mine(context).with_reward(by_sample)
    with caplog.at_level(logging.WARNING):
        run_plan(plan, out=tmp_path / "run", seed=1, media=context.media)
    paths = RunPaths(root=tmp_path / "run")
    recorded = json.loads(paths.settings.read_text())["stages"]["rl"]["algorithm"]
    assert (recorded["name"], recorded["loss"]) == ("cispo", "my_algorithm.cispo_loss")
    assert (
        "learns by 'cispo', as the recipe passed it; algorithm.name=grpo in its settings has no effect" in caplog.text
    )
    rows = [json.loads(line) for line in paths.metrics.read_text().splitlines()]
    assert [row["clip_fraction"] for row in rows if "clip_fraction" in row] == [0.0]
