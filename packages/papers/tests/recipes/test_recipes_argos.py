"""The Argos recipe on one's own files: back ends by settings, refused before anything is loaded, asked in a run."""

import json
import math
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from PIL import Image

from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.geometry import Point
from saccade.models.checkpoint import base_checkpoint
from saccade.recipes.argos import argos
from saccade.recipes.argos_data import apart_from
from saccade.rewards.argos import ArgosReward, CachedRegions
from saccade.rewards.groups import score_questions
from saccade.runs.metrics import read_metrics
from saccade.runs.runinfo import RunPaths
from saccade.testing.tiny_specialists import save_tiny
from saccade.train.plan import Plan, RLStage
from saccade.train.run import run_plan
from saccade.types import Answer, Example, Group, ImageRef, PointMention, Score, Task, Trajectory, Turn

FEW = (
    *("rl.steps=1", "rl.tasks_per_step=2", "rl.group_size=2", "rl.evaluate_every=0", "held_out_share=0.3"),
    *("rollout.max_turn_tokens=6", "rollout.max_tokens=600", "reward.measured_share=1"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twelve questions on pictures of their own, a detector, a segmenter."""
    made = tmp_path_factory.mktemp("argos")
    rows = []
    for number in range(12):
        Image.new("RGB", (64, 48), (20 * number, 90, 120)).save(made / f"{number}.png")
        rows.append({"question": "Which colour?", "answer": "blue", "images": [f"{number}.png"], "id": str(number)})
    (made / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    for kind in ("grounding_dino", "sam"):
        save_tiny(kind, made / kind)
    return made


def planned(folder: Path, *settings: str) -> Plan:
    plan = argos(RecipeContext(model=base_checkpoint(), data=folder / "questions.jsonl", overrides=settings, seed=1))
    plan.check()
    return plan


def own(folder: Path) -> tuple[str, ...]:
    return (
        f"back_ends.detector={folder / 'grounding_dino'}",
        f"back_ends.segmenter={folder / 'sam'}",
        f"back_ends.teacher.at={base_checkpoint()}",
        *("back_ends.finding.box_threshold=0.0", "back_ends.finding.text_threshold=0.0"),
        *("back_ends.finding.max_things=1", f"back_ends.regions_dir={folder / 'regions'}"),
    )


def entered(plan: Plan) -> None:
    with ExitStack() as opened:
        for resource in plan.resources:
            opened.enter_context(resource)


def reinforcement(plan: Plan) -> RLStage:
    return next(stage for stage in plan.stages if isinstance(stage, RLStage))


def answered(task: Task, *points: PointMention) -> Trajectory:
    turn = Turn(
        index=0, text="", thought="the wall is blue", action=Answer(text="blue"), is_well_formed=True, points=points
    )
    return Trajectory(
        task_id=task.id,
        family=task.family,
        stream="main",
        sample=len(points),
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered",
    )


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ((), "set back_ends.teacher.at"),
        (("reward.reasoning_weight=0",), "set back_ends.detector and back_ends.segmenter"),
        (("back_ends.teacher.at=nowhere",), "no config.json"),
        (("back_ends.teacher.at=http://localhost:1/v1",), "say with teacher.model"),
        (("back_ends.service=http://localhost:1", "back_ends.service_models="), "service_models must name"),
        (("back_ends.detector=nowhere",), "set segmenter too"),
        (("back_ends.detectr=nowhere",), "detectr"),
        (("back_ends.segmenter=nowhere",), r"^back_ends\.segmenter=nowhere is no directory"),
        (("reward.verifier.forms.conclusion=gain",), "there is no setting .* Did you mean 'forms.conclusion'"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_loaded(folder: Path, settings: Sequence[str], why: str) -> None:
    with pytest.raises(UserError, match=why):
        planned(folder, *settings)


def test_a_detector_that_is_none_and_scorers_without_a_back_end_are_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="which is no detector"):
        planned(folder, *own(folder), f"back_ends.detector={folder / 'sam'}")
    rows = (folder / "questions.jsonl").read_text().splitlines()
    charts = [json.dumps({**json.loads(row), "family": "chart", "images": [str(folder / "0.png")]}) for row in rows]
    (tmp_path / "charts.jsonl").write_text("\n".join(charts))
    context = RecipeContext(model=base_checkpoint(), data=tmp_path / "charts.jsonl", overrides=own(folder))
    with pytest.raises(UserError, match=r"back_ends\.pointer\.at"):
        argos(context)


@pytest.mark.parametrize("setting", ["detector", "segmenter", "teacher.at", "video_judge.at"])
def test_weights_that_cannot_be_loaded_name_their_setting(folder: Path, tmp_path: Path, setting: str) -> None:
    whole = {"detector": folder / "grounding_dino", "segmenter": folder / "sam"}.get(setting, base_checkpoint())
    cut = shutil.copytree(whole, tmp_path / "cut")
    weights = cut / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:5000])
    named = "the model 'video_judge' cannot be opened: " if setting == "video_judge.at" else f"back_ends.{setting}="
    with pytest.raises(UserError) as told:
        entered(planned(folder, *own(folder), f"back_ends.{setting}={cut}"))
    assert str(told.value).startswith(f"{named}{cut}")
    assert str(told.value).endswith("; copy the checkpoint again")


def test_the_verifier_asks_the_users_own_models(folder: Path) -> None:
    plan = planned(folder, *own(folder), *FEW)
    stage = reinforcement(plan)
    task = stage.questions().sample(1)[0].task
    pointed = answered(task, PointMention(text="", label="wall", point=Point(3, 3)))
    with ExitStack() as opened:
        for resource in plan.resources:
            opened.enter_context(resource)
        group = Group(task=task, stream="main", trajectories=(pointed, answered(task)))
        ([scored],), _ = score_questions([[group]], stage.reward, {})
        told = plan.meters()
    scores = [score for one in scored.trajectories if isinstance(score := one.score, Score)]
    assert [[term.name for term in score.terms] for score in scores] == [["accuracy", "grounding", "reasoning"]] * 2
    assert [score.values["accuracy"] for score in scores] == [1.0, 1.0]
    assert scores[0].values["grounding"] in (0.0, 1.0)
    assert scores[1].values["grounding"] == 0.0
    assert all(0 < score.values["reasoning"] < 1 for score in scores)
    assert math.isclose(sum(term.weight for term in scores[0].terms), 1.0)
    assert (told["region_requests"], told["regions_sought"], told["regions_failed"]) == (1.0, 1.0, 0.0)
    assert len([*(folder / "regions").rglob("*.json")]) == 1


def test_a_run_measures_and_reports(folder: Path, tmp_path: Path) -> None:
    context = RecipeContext(
        model=base_checkpoint(), data=folder / "questions.jsonl", overrides=(*own(folder), *FEW), seed=1
    )
    plan = argos(context)
    summaries = run_plan(plan, out=tmp_path / "run", seed=1, media=context.media)
    assert list(summaries) == ["before", "after_rl"]
    [row] = [row for at, row in read_metrics(RunPaths(root=tmp_path / "run").metrics) if at.stage == "rl"]
    assert {"noted/points", "noted/scorer/detector", "noted/scorer/teacher", "time/reward_s"} <= row.keys()
    assert isinstance(reinforcement(plan).reward, ArgosReward)


def test_parts_that_are_weighted_0_need_no_back_end(folder: Path) -> None:
    plan = planned(folder, "reward.reasoning_weight=0", "reward.grounding_weight=0")
    reward = reinforcement(plan).reward
    assert isinstance(reward, ArgosReward)
    assert reward.verifier is not None
    assert (reward.verifier.regions, reward.verifier.teacher) == (None, None)
    assert isinstance(replace(reward), ArgosReward)
    assert not isinstance(reward.verifier.regions, CachedRegions)


def test_rows_can_be_rewarded_by_their_own_boxes(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"back_ends.boxes=true, but 12 of 12 questions, .* have no boxes"):
        planned(folder, "back_ends.boxes=true", "reward.reasoning_weight=0")
    rows = [json.loads(line) for line in (folder / "questions.jsonl").read_text().splitlines()]
    boxed = [{**row, "boxes": [{"label": "wall", "box": [0, 0, 20, 20]}]} for row in rows]
    for number in range(12):
        shutil.copy(folder / f"{number}.png", tmp_path)
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in boxed))
    plan = planned(tmp_path, "back_ends.boxes=true", "reward.reasoning_weight=0")
    reward, task = reinforcement(plan).reward, reinforcement(plan).questions().sample(1)[0].task
    right = PointMention(text="", label="wall", point=Point(5, 5))
    beside = PointMention(text="", label="wall", point=Point(50, 40))
    group = Group(task=task, stream="main", trajectories=(answered(task, right), answered(task, beside)))
    [[scored]], _ = score_questions([[group]], reward, {})
    assert [one.score and one.score.total for one in scored.trajectories] == [1.0, 0.5]


def test_imitated_questions_are_not_reinforced() -> None:
    tasks = _asked(6)
    traces = [Example(task=one, turns=()) for one in tasks[:2]]
    assert apart_from(traces, tasks) == tasks[2:]
    with pytest.raises(UserError, match=r"all 2 questions are imitated already.*shares_data=true"):
        apart_from(traces, tasks[:2])


def _asked(count: int) -> list[Task]:
    return [
        Task(
            id=str(number),
            family="own",
            question="?",
            answer="blue",
            answer_kind="exact",
            images=(ImageRef(hash=str(number), width=9, height=9),),
        )
        for number in range(count)
    ]
