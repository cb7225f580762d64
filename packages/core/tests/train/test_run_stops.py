"""Runs that must not go on in silence: nothing to score, no finite loss, interrupts."""

import logging
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import torch

from saccade.algorithms.dapo import dapo
from saccade.algorithms.policy_gradient import grpo
from saccade.errors import MachineError, UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol
from saccade.rewards.reward import OutcomeReward
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.metrics import read_metrics
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.runs.runinfo import RunPaths, read_info
from saccade.tasks.curriculum import InOrder
from saccade.testing.tasks import tiny_example
from saccade.train.plan import Demonstration, EpisodeSpec, Evaluate, Plan, RLStage, SFTStage, Stage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings, SFTSettings
from saccade.train.state import SkippedSteps
from saccade.types import Score, Task, Trajectory, bare_answer

MEDIA = MediaStore()
TASKS = [tiny_example(MEDIA, index).task for index in range(3)]
FINE = EpisodeSpec(
    protocol=direct_protocol(style="brief"),
    tools=(),
    rollout=RolloutSettings(max_turn_tokens=4, max_tokens=400),
    max_turns=1,
)
CROWDED = replace(FINE, rollout=RolloutSettings(max_turn_tokens=4, max_tokens=20))
"""No prompt fits, so every trajectory fails."""


@dataclass(frozen=True, kw_only=True)
class Nothing:
    """A recipe without settings."""


def build_model() -> VisionLanguageModel:
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    return tiny_model(["Which colour?"] * 9, MEDIA, size=size, vocab_size=300, seed=4)


def broken_model() -> VisionLanguageModel:
    model = build_model()
    with torch.no_grad():
        model.hf.get_input_embeddings().weight.fill_(float("nan"))
    return model


def run(out: Path, *stages: Stage, is_broken: bool = False, resume: bool = False) -> None:
    plan = Plan(
        title="t", settings=Nothing(), build_model=broken_model if is_broken else build_model, stages=tuple(stages)
    )
    run_plan(plan, out=out, media=MEDIA, seed=0, resume=resume, progress=Progress("quiet"))


def reinforcement(*streams: Stream) -> RLStage:
    settings = RLSettings(steps=2, tasks_per_step=2, group_size=2)
    return RLStage(
        name="rl",
        streams=streams,
        # A source that does not say beforehand what it will ask.
        questions=lambda: InOrder(lambda index: TASKS[index % 2], streams=tuple(stream.name for stream in streams)),
        reward=OutcomeReward(),
        algorithm=grpo(),
        settings=settings,
    )


def test_a_step_in_which_everything_fails_stops_the_run_and_shows_the_first_failure(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = reinforcement(Stream(name="main", episodes=CROWDED))
    with caplog.at_level(logging.WARNING), pytest.raises(MachineError) as caught:
        run(tmp_path / "run", stage)
    message = str(caught.value)
    assert message.startswith(
        "step 1 of stage 'rl': all 4 trajectories failed, so there is nothing to score. The first"
    )
    assert any(f"({task.id}, sample 0) says: the prompt takes" in message for task in TASKS[:2])
    assert "--resume" in message
    said = [record.getMessage() for record in caplog.records]
    assert len(said) == 4
    assert said[-1] == "4 of 4 trajectories failed; each says why in its file"
    assert len(list(read_records(tmp_path / "run" / "trajectories" / "rl" / "step-000001.jsonl"))) == 4
    info = read_info(RunPaths(root=tmp_path / "run"))
    assert (info.status, info.error) == ("failed", f"MachineError: {message}")


def test_a_round_in_which_everything_fails_is_not_refilled(tmp_path: Path) -> None:
    stage = replace(reinforcement(Stream(name="main", episodes=CROWDED)), algorithm=dapo(max_refills=5))
    with pytest.raises(MachineError, match="all 4 trajectories failed"):
        run(tmp_path / "run", stage)


def test_failures_of_some_are_counted_and_the_run_goes_on(tmp_path: Path) -> None:
    stage = reinforcement(Stream(name="fine", episodes=FINE), Stream(name="crowded", episodes=CROWDED))
    run(tmp_path / "run", stage)
    failed = [values["rollout/failed"] for _, values in read_metrics(tmp_path / "run" / "metrics.jsonl")]
    assert failed == [4.0, 4.0]


def test_an_evaluation_whose_prompts_do_not_fit_stops_before_it_is_played(tmp_path: Path) -> None:
    stage = Evaluate(name="before", tasks=lambda: TASKS, episodes=CROWDED, reward=OutcomeReward())
    with pytest.raises(UserError, match=r"evaluation 'before': about 3 of 3 questions do not fit"):
        run(tmp_path / "run", stage)
    assert not (tmp_path / "run").exists()


def test_an_evaluation_of_no_tasks_is_no_failure(tmp_path: Path) -> None:
    run(tmp_path / "run", Evaluate(name="before", tasks=lambda: [], episodes=FINE, reward=OutcomeReward()))
    assert read_info(RunPaths(root=tmp_path / "run")).status == "finished"


def test_five_steps_without_a_finite_loss_stop_the_run(tmp_path: Path) -> None:
    def demonstration(index: int, _: float) -> Demonstration:
        return Demonstration(example=bare_answer(TASKS[0]), episodes=FINE)

    stage = SFTStage(name="sft", source=demonstration, settings=SFTSettings(steps=9, batch_size=1))
    with pytest.raises(MachineError, match=r"stage 'sft': the last 5 steps gave no finite loss .* lower learning rate"):
        run(tmp_path / "run", stage, is_broken=True)
    recorded = [values for _, values in read_metrics(tmp_path / "run" / "metrics.jsonl")]
    assert [values["skipped"] for values in recorded] == [1.0] * 5
    assert all(math.isfinite(number) for values in recorded for number in values.values())


def test_only_steps_in_which_every_update_was_skipped_stop_a_run() -> None:
    steps = SkippedSteps("rl")
    for _ in range(20):
        steps.count({"updates": 4.0, "skipped": 1.0})
    for _ in range(4):
        steps.count({"updates": 4.0, "skipped": 4.0})
        steps.count({"updates": 0.0})
    with pytest.raises(MachineError, match="the last 5 steps"):
        steps.count({"updates": 4.0, "skipped": 4.0})


def test_a_step_without_a_difference_between_rewards_says_that_it_changed_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stage = reinforcement(Stream(name="main", episodes=FINE))
    with caplog.at_level(logging.WARNING):
        run(tmp_path / "run", replace(stage, settings=replace(stage.settings, steps=5)))
    assert [values["updates"] for _, values in read_metrics(tmp_path / "run" / "metrics.jsonl")] == [0.0] * 5
    said = [record.getMessage() for record in caplog.records]
    assert said[0].startswith("step 1 of stage rl changed no weight: no reward differed inside any of its 2 groups")
    assert [one.partition(" of ")[0] for one in said] == ["step 1", "step 2", "step 4"]
    assert said[-1].endswith("(4 such steps so far)")


def test_an_interrupted_run_says_so_in_words(tmp_path: Path) -> None:
    def tasks() -> Sequence[Task]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(
            tmp_path / "run",
            Evaluate(name="before", tasks=lambda: TASKS[:1], episodes=FINE, reward=OutcomeReward()),
            Evaluate(name="after", tasks=tasks, episodes=FINE, reward=OutcomeReward()),
        )
    assert read_info(RunPaths(root=tmp_path / "run")).error == "it was interrupted"


def removed(out: Path) -> None:
    shutil.rmtree(out)


def moved(out: Path) -> None:
    out.rename(out.with_name("moved"))


def replaced_by_a_file(out: Path) -> None:
    shutil.rmtree(out)
    out.write_text("a file")


@dataclass
class _Meddling:
    """Does something to the folder while the second step is scored."""

    act: Callable[[], None]
    reward: OutcomeReward = OutcomeReward()
    acts: int = 0

    def __call__(self, task: Task, trajectory: Trajectory) -> Score:
        self.acts += 1
        if self.acts == 5:
            self.act()
        return self.reward(task, trajectory)


@pytest.mark.parametrize("act", [removed, moved, replaced_by_a_file])
def test_a_folder_that_goes_away_in_the_middle_of_a_run_ends_it_in_one_message(
    tmp_path: Path, act: Callable[[Path], None], caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "run"
    stage = replace(reinforcement(Stream(name="main", episodes=FINE)), reward=_Meddling(lambda: act(out)))
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(UserError, match="removed or moved while it was being written"),
    ):
        run(out, stage)
    assert not (out / "run.json").exists()
    assert not (out / "trajectories").exists()
    assert "TensorBoard" not in caplog.text


def test_a_tensorboard_folder_that_goes_away_costs_no_run_and_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    out = tmp_path / "run"

    def act() -> None:
        shutil.rmtree(out / "tensorboard")
        (out / "tensorboard").write_text("a file")

    stage = replace(reinforcement(Stream(name="main", episodes=FINE)), reward=_Meddling(act))
    with caplog.at_level(logging.WARNING):
        run(out, stage)
    assert len(list(read_metrics(out / "metrics.jsonl"))) == 2
    assert read_info(RunPaths(root=out)).status == "finished"
    assert len([line for line in caplog.messages if line.startswith("TensorBoard's files are written no more")]) == 1
