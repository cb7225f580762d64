"""Resources of a run, which are entered and left around its stages; stages of no steps are left out."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from saccade.config.context import RecipeContext
from saccade.config.settings import apply_overrides
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.codedance import TinyCodeDanceSettings, tiny
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.progress import Progress
from saccade.testing.tasks import tiny_example
from saccade.train.plan import EpisodeSpec, Evaluate, Plan
from saccade.train.run import run_plan
from saccade.types import Score, Task, Trajectory

SMALL = ("size.hidden=32", "size.heads=2", "size.kv_heads=1", "size.mlp=64", "rollout.max_turn_tokens=4")


def test_without_steps_a_recipe_measures(tmp_path: Path) -> None:
    context = RecipeContext(overrides=("sft.steps=0", "rl.steps=0", "evaluation_tasks=1", *SMALL))
    out = tmp_path / "run"
    summaries = run_plan(tiny(context), out=out, media=context.media, seed=0, progress=Progress("quiet"))
    assert list(summaries) == ["after_rl_easy", "after_rl_hard"]
    assert list((out / "checkpoints").iterdir()) == []
    with pytest.raises(UserError, match="steps=-1 must be a whole number of 0 or more"):
        apply_overrides(TinyCodeDanceSettings(), ("rl.steps=-1",))


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


@dataclass
class Diary:
    """What happened, in order."""

    lines: list[str] = field(default_factory=list)

    @contextmanager
    def resource(self, name: str, error: Exception | None = None) -> Iterator[None]:
        if error is not None:
            raise error
        self.lines.append(f"enter {name}")
        try:
            yield
        finally:
            self.lines.append(f"leave {name}")

    def run(
        self, out: Path, *, reward_error: BaseException | None = None, entering_error: Exception | None = None
    ) -> None:
        media = MediaStore()

        def build_model() -> VisionLanguageModel:
            self.lines.append("model")
            size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
            return tiny_model(["Which colour has the square?"] * 9, media, size=size, vocab_size=320)

        def reward(task: Task, trajectory: Trajectory) -> Score:
            self.lines.append("score")
            if reward_error is not None:
                raise reward_error
            return Score()

        rollout = RolloutSettings(max_turn_tokens=4, max_tokens=400)
        episodes = EpisodeSpec(protocol=direct_protocol(style="brief"), tools=(), rollout=rollout, max_turns=1)
        stage = Evaluate(name="only", tasks=lambda: [tiny_example(media).task], episodes=episodes, reward=reward)
        resources = (self.resource("first"), self.resource("second", entering_error))
        plan = Plan(
            title="Resources", settings=Nothing(), build_model=build_model, stages=(stage,), resources=resources
        )
        run_plan(plan, out=out, media=media, seed=0, progress=Progress("quiet"))


def test_resources_are_entered_before_the_model_is_built_and_left_last_first(tmp_path: Path) -> None:
    diary = Diary()
    diary.run(tmp_path / "run")
    assert diary.lines == ["enter first", "enter second", "model", "score", "leave second", "leave first"]


@pytest.mark.parametrize("error", [ValueError("broken"), KeyboardInterrupt()])
def test_resources_are_left_when_a_stage_fails(tmp_path: Path, error: BaseException) -> None:
    diary = Diary()
    with pytest.raises(type(error)):
        diary.run(tmp_path / "run", reward_error=error)
    assert diary.lines == ["enter first", "enter second", "model", "score", "leave second", "leave first"]


def test_a_resource_that_cannot_be_entered_leaves_nothing_on_disk_and_the_others_are_left(tmp_path: Path) -> None:
    diary = Diary()
    with pytest.raises(RuntimeError, match="no room"):
        diary.run(tmp_path / "run", entering_error=RuntimeError("no room"))
    assert diary.lines == ["enter first", "leave first"]
    assert not (tmp_path / "run").exists()
