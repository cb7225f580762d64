"""A run whose demonstrations and questions have code to run."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.code import code_protocol
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.progress import Progress
from saccade.sandbox import Sandbox
from saccade.testing.tasks import tiny_example
from saccade.tools.code import python_tool
from saccade.train.plan import Demonstration, EpisodeSpec, Evaluate, Plan, SFTStage
from saccade.train.run import run_plan
from saccade.train.stage_settings import SFTSettings
from saccade.types import Answer, Example, ExpertTurn, ToolCall


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


def call(code: str) -> ExpertTurn:
    return ExpertTurn(thought="", action=ToolCall(name="execute_python_code", arguments={"code": code}))


def run(out: Path, sandbox: Sandbox, *, resume: bool = False, die_at: int = -1) -> None:
    media = MediaStore()
    episodes = EpisodeSpec(
        protocol=code_protocol(style="brief"),
        tools=(python_tool(sandbox),),
        rollout=RolloutSettings(max_turn_tokens=8, max_tokens=400),
        max_turns=4,
    )

    def build_model() -> VisionLanguageModel:
        size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
        return tiny_model(["Which colour has the square? print(1)"] * 9, media, size=size, vocab_size=320, seed=4)

    def demonstration(step: int, _: float) -> Demonstration:
        if step == die_at:
            raise KeyboardInterrupt
        task = tiny_example(media, step).task
        turns = (
            call("print(a)"),
            call(f"a = {step}\nprint(a, input_image.size)"),
            call("input_image.crop((0, 0, 64, 64))"),
            ExpertTurn(thought="", action=Answer(text=task.answer)),
        )
        return Demonstration(example=Example(task=task, turns=turns), episodes=episodes, may_fail=True)

    optimizer = OptimizerSettings(learning_rate=1e-3)
    settings = SFTSettings(steps=2, batch_size=1, optimizer=optimizer, checkpoint_every=1)
    sft = SFTStage(name="sft", source=demonstration, settings=settings)
    after = Evaluate(
        name="after", tasks=lambda: [tiny_example(media, 9).task], episodes=episodes, reward=OutcomeReward()
    )
    plan = Plan(title="Code", settings=Nothing(), build_model=build_model, stages=(sft, after), resources=(sandbox,))
    run_plan(plan, out=out, media=media, seed=7, resume=resume, progress=Progress("quiet"))


def files(out: Path) -> dict[str, bytes]:
    patterns = ("trajectories/*/*.jsonl", "evaluations/**/*.jsonl", "checkpoints/**/*")
    return {str(p.relative_to(out)): p.read_bytes() for pattern in patterns for p in out.glob(pattern) if p.is_file()}


def test_a_run_with_code_that_was_killed_ends_with_the_bytes_of_one_that_was_not(tmp_path: Path) -> None:
    run(tmp_path / "whole", Sandbox())
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path / "killed", Sandbox(), die_at=1)
    run(tmp_path / "killed", Sandbox(), resume=True)
    assert files(tmp_path / "killed") == files(tmp_path / "whole")


def test_the_runs_sandbox_is_closed_with_the_run(tmp_path: Path) -> None:
    sandbox = Sandbox()
    run(tmp_path / "run", sandbox)
    with pytest.raises(UserError, match="closed"):
        sandbox.session()
