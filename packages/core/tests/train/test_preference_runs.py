"""Runs that learn from pairs, there already or of their own groups, die, and end with the bytes of one left alone."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from dying_run import Dying, Killed

from saccade.errors import UserError
from saccade.learner.optimizer import OptimizerSettings
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.lora import LoraSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.protocols.tagged import direct_protocol
from saccade.rollout.episodes import RolloutSettings
from saccade.runs.metrics import without_times
from saccade.runs.progress import Progress
from saccade.runs.records import read_records
from saccade.tasks.curriculum import Epochs, Shuffled, TaskSampler
from saccade.testing.tasks import tiny_example
from saccade.train.algorithm_settings import AlgorithmSettings
from saccade.train.plan import EpisodeSpec, Plan, PreferenceStage, RLStage, Stream
from saccade.train.run import run_plan
from saccade.train.stage_settings import PreferenceSettings, RLSettings
from saccade.types import Message, Score, Segment, Task, Term, Trajectory, TrajectoryPair

LEARNS = OptimizerSettings(learning_rate=3e-3, micro_batch_tokens=400)


@dataclass(frozen=True, kw_only=True)
class PreferenceRun:
    dpo: PreferenceSettings = PreferenceSettings(
        steps=4, batch_size=2, optimizer=LEARNS, warmup_steps=0, checkpoint_every=1, evaluate_every=2
    )
    rl: RLSettings = RLSettings(
        steps=4,
        tasks_per_step=3,
        group_size=4,
        optimizer=LEARNS,
        algorithm=AlgorithmSettings(name="dpo"),
        checkpoint_every=1,
    )


def model_in(media: MediaStore) -> VisionLanguageModel:
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    return tiny_model(["How many objects are there? 1 2 3"] * 9, media, size=size, vocab_size=320, seed=4)


def said(model: VisionLanguageModel, task: Task, words: str) -> Trajectory:
    prompt = model.chat.prompt([Message(role="user", parts=(*task.images, task.question))])
    ids = model.chat.encode(words)
    return Trajectory(
        task_id=task.id,
        family=task.family,
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(
            Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images),
            Segment(role="action", turn=0, ids=ids, logprobs=(-1.0,) * len(ids)),
        ),
        turns=(),
        status="answered",
    )


def dying(source: Callable[[int], TrajectoryPair], die_at: int) -> Callable[[int], TrajectoryPair]:
    def pair(index: int) -> TrajectoryPair:
        if index == die_at:
            raise Killed
        return source(index)

    return pair


def offline(out: Path, *, die_at: int = -1, resume: bool = False, content: str = "same", lora: bool = False) -> None:
    media, settings = MediaStore(), PreferenceRun().dpo
    if lora:
        settings = replace(settings, optimizer=replace(LEARNS, lora=LoraSettings(rank=2)))
    model = model_in(media)
    tasks = [tiny_example(media, place).task for place in range(5)]
    pairs = [
        TrajectoryPair(task=one, chosen=said(model, one, "two"), rejected=said(model, one, f"one or {place}"))
        for place, one in enumerate(tasks)
    ]
    stage = PreferenceStage(
        name="dpo",
        source=dying(Epochs(pairs[:4], seed=3), die_at),
        settings=settings,
        held_out=tuple(pairs[4:]),
        content=content,
    )
    plan = Plan(title="Pairs", settings=PreferenceRun(), build_model=lambda: model_in(media), stages=(stage,))
    run_plan(plan, out=out, media=media, seed=7, resume=resume, progress=Progress("quiet"))


def online(out: Path, *, die_at: int = 0, resume: bool = False) -> None:
    media = MediaStore()
    tasks = [tiny_example(media, place).task for place in range(4)]

    def questions() -> TaskSampler:
        return Dying(Shuffled(tasks, seed=1), die_at)

    def by_tokens(_: Task, trajectory: Trajectory) -> Score:
        said = (token for one in trajectory.segments if one.role == "action" for token in one.ids)
        return Score(terms=(Term("odd", float(sum(token % 2 for token in said))),))

    episodes = EpisodeSpec(
        protocol=direct_protocol(style="brief"), rollout=RolloutSettings(max_turn_tokens=6, max_tokens=400), max_turns=1
    )
    stage = RLStage(
        name="rl",
        streams=(Stream(name="main", episodes=episodes),),
        questions=questions,
        reward=by_tokens,
        settings=PreferenceRun().rl,
    )
    plan = Plan(title="Pairs", settings=PreferenceRun(), build_model=lambda: model_in(media), stages=(stage,))
    run_plan(plan, out=out, media=media, seed=7, resume=resume, progress=Progress("quiet"))


def outcome(out: Path) -> dict[str, object]:
    folders = ("trajectories", "checkpoints")
    files = [file for folder in folders for file in (out / folder).rglob("*") if file.is_file()]
    found = {str(file.relative_to(out)): file.read_bytes() for file in files}
    return {**found, "metrics": without_times(out / "metrics.jsonl")}


def metrics_of(out: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("lora", [False, True])
def test_pairs_that_are_there_are_learned_and_a_death_changes_no_byte(tmp_path: Path, lora: bool) -> None:
    offline(tmp_path / "left_alone", lora=lora)
    steps = metrics_of(tmp_path / "left_alone")
    margins = [step["rewards/margins"] for step in steps]
    assert margins[0] == 0.0
    assert margins[-1] > 0.0
    assert [step["pairs"] for step in steps] == [2.0] * 4
    # Measured where it is due, and at the end; on the pair that is not learned.
    assert [step.get("held_out/pairs") for step in steps] == [None, 1.0, None, 1.0]
    with pytest.raises(Killed):
        offline(tmp_path / "died", die_at=5, lora=lora)
    offline(tmp_path / "died", resume=True, lora=lora)
    assert outcome(tmp_path / "died") == outcome(tmp_path / "left_alone")


def test_a_run_is_not_resumed_with_other_pairs(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        offline(tmp_path / "run", die_at=5)
    with pytest.raises(UserError, match=r"stages\.dpo\.content: same -> other"):
        offline(tmp_path / "run", resume=True, content="other")


def test_pairs_of_its_own_groups_are_learned_and_a_death_changes_no_byte(tmp_path: Path) -> None:
    online(tmp_path / "left_alone")
    steps = metrics_of(tmp_path / "left_alone")
    assert all(step["pairs"] > 0 for step in steps)
    assert steps[0]["rewards/margins"] == pytest.approx(0.0, abs=1e-4)
    assert "mismatch_kl" in steps[0]
    records = list(read_records(tmp_path / "left_alone/trajectories/rl/step-000001.jsonl"))
    # At the reference each of n pairs pulls by beta / 2 / n; who is in none is not pulled.
    pulls = {round(value, 6) for one in records for value in one.advantages or ()}
    share = 0.1 / 2 / steps[0]["pairs"]
    assert pulls <= {round(share, 6), round(-share, 6), 0.0}
    best = max(records, key=lambda one: one.trajectory.score.total if one.trajectory.score else 0.0)
    assert best.advantages == pytest.approx((share,))
    with pytest.raises(Killed):
        online(tmp_path / "died", die_at=3)
    online(tmp_path / "died", resume=True)
    assert outcome(tmp_path / "died") == outcome(tmp_path / "left_alone")


def test_several_steps_on_a_batch_are_refused_for_pairs() -> None:
    with pytest.raises(UserError, match="works out the margins of its pairs once"):
        replace(PreferenceRun().rl, inner_epochs=2).check()
    with pytest.raises(UserError, match=r"options\.kl_weight=0\.1 has no effect with name=dpo"):
        replace(AlgorithmSettings(name="dpo"), options=replace(AlgorithmSettings().options, kl_weight=0.1)).check()
    with pytest.raises(UserError, match=r"dpo\.beta=0\.5 belongs to name=dpo; grpo has none"):
        AlgorithmSettings(dpo=replace(AlgorithmSettings().dpo, beta=0.5)).check()
