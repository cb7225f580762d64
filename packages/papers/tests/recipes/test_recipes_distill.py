"""The recipe that distils: questions of one's own and drawn ones, refusals, and a whole run of each."""

import json
from pathlib import Path

import pytest
from PIL import Image, ImageDraw

from saccade.config import RecipeContext
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.recipes.distill import distill
from saccade.runs.metrics import read_metrics
from saccade.runs.progress import Progress
from saccade.train.plan import Evaluate, Plan, RLStage, SFTStage
from saccade.train.run import run_plan

SIZE = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
SMALL = (
    *("rl.steps=2", "rl.tasks_per_step=2", "rl.group_size=2", "sft.steps=2", "sft.batch_size=2"),
    *("max_turns=2", "rollout.max_turn_tokens=8", "rollout.max_tokens=600"),
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    tiny_model(["Which colour has the square? I look."] * 9, MediaStore(), size=SIZE, seed=4).save(tmp_path / "model")
    return tmp_path / "model"


def rows(folder: Path, *, boxes: bool) -> Path:
    lines = []
    for number in range(8):
        picture = Image.new("RGB", (96, 96), (9 * number, 90, 90))
        ImageDraw.Draw(picture).rectangle((8, 8 * number, 24, 8 * number + 16), fill=(200, 0, 0))
        picture.save(folder / f"{number}.png")
        row = {"id": f"q{number}", "question": "Which colour?", "answer": "red", "image": f"{number}.png"}
        lines.append({**row, "boxes": [[8, 8 * number, 24, 8 * number + 16]]} if boxes else row)
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def trained(plan: Plan, out: Path, media: MediaStore) -> list[float]:
    """What the policy differed from its teacher by, in each step."""
    run_plan(plan, out=out, media=media, seed=0, progress=Progress("quiet"))
    found = [values for _, values in read_metrics(out / "metrics.jsonl")]
    return [values["teacher_kl"] for values in found if "teacher_kl" in values]


def test_a_run_on_your_own_questions_with_boxes(model: Path, tmp_path: Path) -> None:
    context = RecipeContext(data=rows(tmp_path, boxes=True), model=model, overrides=SMALL)
    plan = distill(context)
    assert [stage.name for stage in plan.stages] == ["before", "sft", "after_sft", "distill", "after_rl"]
    found = trained(plan, tmp_path / "run", context.media)
    assert len(found) == 2
    assert all(value != 0 for value in found)


def test_a_run_on_drawn_questions_with_another_checkpoint(model: Path, tmp_path: Path) -> None:
    drawn = ('families=["visual_search"]', "held_out_tasks=2", f"teacher.model={model}", "teacher.view=region")
    context = RecipeContext(model=model, overrides=(*SMALL, *drawn, "rl.algorithm.distill.loss=forward_kl"))
    plan = distill(context)
    shown = next(one for one in plan.stages if isinstance(one, SFTStage)).demonstrations(1)
    asked = next(one for one in plan.stages if isinstance(one, RLStage)).questions().sample(4)
    measured = next(one for one in plan.stages if isinstance(one, Evaluate)).tasks()
    pictures = [
        {image for one in shown for image in one.example.task.images},
        {image for one in asked for image in one.task.images},
        {image for one in measured for image in one.images},
    ]
    assert len(set().union(*pictures)) == sum(map(len, pictures))
    run_plan(plan, out=tmp_path / "run", media=context.media, seed=0, progress=Progress("quiet"))
    apart = [values.get("teacher_divergence") for _, values in read_metrics(tmp_path / "run" / "metrics.jsonl")]
    assert next(one for one in apart if one is not None) > 0


def test_questions_without_boxes_have_no_region_to_show(model: Path, tmp_path: Path) -> None:
    context = RecipeContext(data=rows(tmp_path, boxes=False), model=model, overrides=(*SMALL, "sft.steps=0"))
    with pytest.raises(UserError, match=r"6 of 6 questions: teacher.view=region: the question q\d has no targets"):
        trained(distill(context), tmp_path / "run", context.media)


@pytest.mark.parametrize(
    ("overrides", "says"),
    [
        ((), "give --data PATH, or --set families"),
        (('families=["visual_search"]', "teacher.view=same"), "nothing to learn"),
        (('families=["visual_search"]', "rl.algorithm.distill.teacher_share=0.2"), "no effect with loss=sampled"),
    ],
)
def test_what_makes_no_sense_is_refused(overrides: tuple[str, ...], says: str) -> None:
    with pytest.raises(UserError, match=says):
        distill(RecipeContext(overrides=overrides))
