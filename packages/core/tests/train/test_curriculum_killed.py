"""A run by a curriculum that dies in the middle of a step ends with the bytes of one left alone."""

from dataclasses import dataclass
from pathlib import Path

import pytest
from dying_run import Dying, Killed

from saccade.config.settings import apply_overrides
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.metrics import without_times
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.tasks.adaptive import CurriculumSettings
from saccade.tasks.curriculum import TaskSampler
from saccade.tasks.question_sources import drawn_questions
from saccade.train.plan import EpisodeSpec, Plan, RLStage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import RLSettings
from saccade.types import Score, Task, Term, Trajectory

EPISODES = EpisodeSpec(
    protocol=direct_protocol(style="brief"), rollout=RolloutSettings(max_turn_tokens=4, max_tokens=400), max_turns=1
)


@dataclass(frozen=True, kw_only=True)
class Settings:
    curriculum: CurriculumSettings = CurriculumSettings(gain=0.4, memory=0.2)
    rl: RLSettings = RLSettings(
        steps=4,
        tasks_per_step=4,
        group_size=2,
        optimizer=OptimizerSettings(learning_rate=0.02, micro_batch_tokens=2000),
        checkpoint_every=1,
    )


def of_family(task: Task, trajectory: Trajectory) -> Score:
    """Searches are all answered, of counts one in two: levels rise, and shares move."""
    is_right = task.family == "visual_search" or trajectory.sample == 0
    return Score(terms=(Term("accuracy", float(is_right)),), is_right=is_right)


def run(out: Path, *, die_at: int = 0, resume: bool = False) -> None:
    media = MediaStore()
    settings = apply_overrides(Settings(), ("curriculum.holds_difficulty=true", "curriculum.by_learnability=true"))

    def build_model() -> VisionLanguageModel:
        size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
        return tiny_model(["How many objects are there? 1 2 3"] * 9, media, size=size, vocab_size=320, seed=4)

    def questions() -> TaskSampler:
        families = ["visual_search", "counting"]
        return Dying(drawn_questions(families, settings.curriculum, seed=5, media=media), die_at)

    stage = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=EPISODES),),
        questions=questions,
        reward=of_family,
        settings=settings.rl,
    )
    plan = Plan(title="Curriculum", settings=settings, build_model=build_model, stages=(stage,))
    run_plan(plan, out=out, media=media, seed=7, resume=resume, progress=Progress("quiet"))


def outcome(out: Path) -> dict[str, object]:
    folders = ("trajectories", "media", "checkpoints")
    files = [file for folder in folders for file in (out / folder).rglob("*") if file.is_file()]
    found = {str(file.relative_to(out)): file.read_bytes() for file in files}
    return {**found, "metrics": without_times(out / "metrics.jsonl")}


def test_a_curriculum_moves_in_a_run_and_a_death_changes_no_byte(tmp_path: Path) -> None:
    run(tmp_path / "left_alone")
    asked = [
        {(one.task.family, one.task.difficulty) for one in read_records(path)}
        for path in sorted((tmp_path / "left_alone/trajectories/rl").glob("step-*.jsonl"))
    ]
    assert asked[0] == {("visual_search", 0.5), ("counting", 0.5)}
    assert asked[-1] != asked[0]
    assert max(level for family, level in asked[-1] if family == "visual_search") > 0.5
    with pytest.raises(Killed):
        run(tmp_path / "died", die_at=3)
    run(tmp_path / "died", resume=True)
    assert outcome(tmp_path / "died") == outcome(tmp_path / "left_alone")
