"""Runs with options together: whatever is switched on, a run that died ends with the bytes of one that did not."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from dying_run import Dying, Killed

from saccade.config.settings import apply_overrides
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import tagged_protocol
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.metrics import read_metrics, without_times
from saccade.runs.progress import Progress
from saccade.tasks.curriculum import NOT_ALL_CORRECT, ByPassRate, InOrder, Mixture, Share, Shuffled, TaskSampler
from saccade.testing.tasks import tiny_example
from saccade.tools.images import crop
from saccade.tools.tool import tool_from
from saccade.train.algorithm_settings import chosen_algorithm
from saccade.train.loops import mean_of_updates
from saccade.train.plan import EpisodeSpec, Plan, RLStage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings
from saccade.types import Score, Task, Term, Trajectory

ROLLOUT = RolloutSettings(max_turn_tokens=10, max_tokens=400)
LOOKING = EpisodeSpec(protocol=tagged_protocol(style="brief"), tools=(tool_from(crop),), rollout=ROLLOUT, max_turns=2)


@dataclass(frozen=True, kw_only=True)
class Settings:
    rl: RLSettings = RLSettings(
        steps=4,
        tasks_per_step=3,
        group_size=2,
        optimizer=OptimizerSettings(learning_rate=2e-3, micro_batch_tokens=400),
        checkpoint_every=1,
    )


def rounded_reward(task: Task, trajectory: Trajectory) -> Score:
    """Equal for some groups and not for others, even of an untrained model."""
    said = [token for token, is_action in zip(trajectory.ids, trajectory.action_mask) if is_action]
    accuracy = float(sum(said) % 3 == 0)
    return Score(terms=(Term("accuracy", accuracy),), is_right=accuracy >= 0.5)


def run(
    out: Path, overrides: Sequence[str], *, die_at: int = 0, resume: bool = False, media: MediaStore | None = None
) -> None:
    media = media or MediaStore()
    settings = apply_overrides(Settings(), overrides)
    fixed = [tiny_example(media, index).task for index in range(4)]

    def build_model() -> VisionLanguageModel:
        size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
        return tiny_model(["Which colour has the square? I look."] * 9, media, size=size, vocab_size=320, seed=4)

    def questions() -> TaskSampler:
        made = InOrder(lambda index: tiny_example(media, 20 + index).task, streams=("looking", "again"))
        kept = ByPassRate(Shuffled(fixed, seed=2, streams=("looking",)), NOT_ALL_CORRECT)
        mixed = Mixture({"made": Share(questions=made, share=2), "kept": Share(questions=kept, share=1)})
        return Dying(mixed, die_at)

    stage = RLStage(
        name="rl",
        streams=(Stream(name="looking", episodes=LOOKING), Stream(name="again", episodes=LOOKING)),
        questions=questions,
        reward=rounded_reward,
        algorithm=chosen_algorithm(settings.rl.algorithm, action_tokens=LOOKING.max_action_tokens),
        settings=settings.rl,
    )
    plan = Plan(title="Options", settings=settings, build_model=build_model, stages=(stage,))
    run_plan(plan, out=out, media=media, seed=7, resume=resume, progress=Progress("quiet"))


def files(out: Path) -> dict[str, bytes]:
    patterns = ("trajectories/*/*.jsonl", "media/*.png", "checkpoints/**/*")
    return {str(p.relative_to(out)): p.read_bytes() for pattern in patterns for p in out.glob(pattern) if p.is_file()}


CHOICES: dict[str, tuple[str, ...]] = {
    "rl.algorithm.name": ("grpo", "dr_grpo", "rloo", "dapo", "gspo", "ppo"),
    "rl.algorithm.options.kl_weight": ("0", "0.05"),
    "rl.algorithm.options.kl_estimator": ("k1", "k2", "k3"),
    "rl.algorithm.options.kl_in_reward": ("0", "0.05"),
    "rl.algorithm.options.entropy_weight": ("0", "0.01"),
    "rl.algorithm.options.dual_clip": ("0", "3"),
    "rl.algorithm.options.importance": ("auto", "none", "token", "sequence", "icepop"),
    "rl.algorithm.options.sequence_rejection": ("0", "1.5"),
    "rl.algorithm.options.masks_truncated": ("false", "true"),
    "rl.inner_epochs": ("1", "2"),
    "rl.minibatches": ("1", "2"),
    "rl.staleness": ("0", "1", "2"),
    "rl.optimizer.frozen_vision": ("false", "true"),
    "rl.optimizer.activation_checkpointing": ("false", "true"),
    "rl.optimizer.offload_activations": ("false", "true"),
    "rl.optimizer.offload_optimizer": ("false", "true"),
    "rl.optimizer.eight_bit_optimizer": ("false", "true"),
    "rl.optimizer.muon": ("false", "true"),
    "rl.optimizer.lora.rank": ("", "4"),
}


def combination(number: int) -> list[str]:
    """Chance decides, but every algorithm and every value of the other settings comes up within a few numbers."""
    chance = random.Random(number)
    values = {key: options[(number + chance.randrange(9)) % len(options)] for key, options in CHOICES.items()}
    values["rl.algorithm.name"] = CHOICES["rl.algorithm.name"][number % 6]
    return [f"{key}={value}" for key, value in values.items() if value]


@pytest.mark.parametrize("number", range(6))
def test_any_options_together_resume_to_the_byte(number: int, tmp_path: Path) -> None:
    overrides = combination(number)
    run(tmp_path / "whole", overrides)
    died = tmp_path / "died"
    with pytest.raises(Killed):
        run(died, overrides, die_at=3)
    run(died, overrides, resume=True)
    assert without_times(died / "metrics.jsonl") == without_times(tmp_path / "whole" / "metrics.jsonl")
    assert files(died) == files(tmp_path / "whole")


def test_chosen_weights_beside_an_adapter_resume_to_the_byte(tmp_path: Path) -> None:
    overrides = ["rl.optimizer.trained=merger", "rl.optimizer.lora.rank=2", "rl.algorithm.options.kl_weight=0.05"]
    run(tmp_path / "whole", overrides)
    died = tmp_path / "died"
    with pytest.raises(Killed):
        run(died, overrides, die_at=3)
    run(died, overrides, resume=True)
    assert without_times(died / "metrics.jsonl") == without_times(tmp_path / "whole" / "metrics.jsonl")
    assert files(died) == files(tmp_path / "whole")


def metric(out: Path, name: str) -> list[float]:
    return [values[name] for _, values in read_metrics(out / "metrics.jsonl") if name in values]


def test_a_batch_is_trained_on_so_many_updates_after_it_was_sampled(tmp_path: Path) -> None:
    run(tmp_path / "run", ["rl.staleness=2"])
    assert metric(tmp_path / "run", "rollout/staleness") == [0.0, 1.0, 2.0, 2.0]


def test_a_resumed_run_trains_on_what_an_older_policy_sampled(tmp_path: Path) -> None:
    overrides = ["rl.staleness=2", "rl.optimizer.learning_rate=0.05", "rl.optimizer.lora.rank=4"]
    overrides += ["rl.algorithm.name=ppo", "rl.algorithm.options.kl_in_reward=0.05"]
    run(tmp_path / "whole", overrides)
    died = tmp_path / "died"
    with pytest.raises(Killed):
        # The first step draws three batches, the second the fourth.
        run(died, overrides, die_at=4)
    assert metric(died, "rollout/staleness") == [0.0]
    run(died, overrides, resume=True)
    assert max(metric(died, "sampler_abs")) > 0.01
    assert without_times(died / "metrics.jsonl") == without_times(tmp_path / "whole" / "metrics.jsonl")
    assert files(died) == files(tmp_path / "whole")


def test_pictures_of_batches_that_were_trained_on_leave_the_memory(tmp_path: Path) -> None:
    media = MediaStore()
    run(tmp_path / "run", ["rl.staleness=1"], media=media)
    fixed = {image.hash for index in range(4) for image in tiny_example(media, index).task.images}
    seen = {path.stem for path in (tmp_path / "run" / "media").glob("*.png")}
    assert len(seen - fixed) >= 8
    assert {key for key in seen if key in media} <= fixed


def test_metrics_of_a_batch_are_means_over_the_tokens_of_its_updates() -> None:
    short = {"entropy": 1.0, "action_tokens": 10.0, "forwarded_tokens": 20.0, "micro_batches": 2.0, "skipped": 0.0}
    long = {"entropy": 2.0, "action_tokens": 30.0, "forwarded_tokens": 50.0, "micro_batches": 3.0, "skipped": 0.0}
    counted = {"action_tokens": 5.0, "forwarded_tokens": 5.0, "micro_batches": 1.0, "skipped": 1.0}
    broken = {"entropy": float("nan"), **counted}
    expected = {"entropy": 1.75, "action_tokens": 45.0, "forwarded_tokens": 75.0, "micro_batches": 6.0, "skipped": 1.0}
    assert mean_of_updates([short, long, broken]) == expected
    assert mean_of_updates([broken]) == counted
    assert mean_of_updates([]) == {}


def test_inner_epochs_and_minibatches_are_steps_of_the_optimiser(tmp_path: Path) -> None:
    run(tmp_path / "run", ["rl.inner_epochs=3", "rl.minibatches=2", "rl.algorithm.options.entropy_weight=0.01"])
    assert metric(tmp_path / "run", "updates") == [6.0] * 4


def test_dapo_replaces_groups_with_equal_rewards_and_records_them(tmp_path: Path) -> None:
    run(tmp_path / "run", ["rl.algorithm.name=dapo", "rl.algorithm.max_refills=2"])
    evicted, rounds = metric(tmp_path / "run", "rollout/evicted_groups"), metric(tmp_path / "run", "rollout/rounds")
    assert sum(evicted) > 0
    assert max(rounds) in (2.0, 3.0)
    for step, count in enumerate(evicted, start=1):
        lines = (tmp_path / "run" / "trajectories" / "rl" / f"step-{step:06d}.jsonl").read_text().splitlines()
        played = sum('"kind": "trajectory"' in line for line in lines)
        assert played >= 2 * (count + 3)
