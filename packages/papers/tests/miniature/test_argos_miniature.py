"""Argos in miniature: its lessons, its teacher by rules, and a run of a few steps that measures points."""

import json
import math
from pathlib import Path

import pytest

from saccade.config.context import RecipeContext
from saccade.errors import UserError
from saccade.gym.pointing import pointed
from saccade.media.store import MediaStore
from saccade.miniature.argos import ANSWERS, PointingLessons, RuleTeacher, tiny
from saccade.protocols.points import without_points
from saccade.rewards.argos import AnswerRequest
from saccade.runs.runinfo import RunPaths
from saccade.seeding import generator_for
from saccade.tasks import generate
from saccade.train.run import run_plan
from saccade.types import Task

TASK = Task(id="t", family="f", question="?", answer="white", answer_kind="exact", images=())
FEW = (
    *("sft.steps=2", "sft.batch_size=4", "sft_questions=8", "evaluation_tasks=2", "curve_tasks=2"),
    *("rl.steps=1", "rl.tasks_per_step=2", "rl.group_size=2", "rl.evaluate_every=1", "rl.checkpoint_every=1"),
    "rollout.max_turn_tokens=8",
)


@pytest.mark.parametrize(
    ("reasoning", "answer", "probability"),
    [
        ("red upper left white", "white", 0.95),
        ("red upper left white", "black", 0.05),
        ("white or black so black", "black", 0.95),
        ("red white blue black", "white and black", 0.95),
        ("red white blue black", "black and white", 0.05),
        ("red upper left", "white", 0.25),
    ],
)
def test_the_teacher_by_rules(reasoning: str, answer: str, probability: float) -> None:
    [[logprob]] = RuleTeacher().logprobs([AnswerRequest(task=TASK, reasoning=reasoning, answer=answer)])
    assert math.exp(logprob) == pytest.approx(probability)


def test_habits_come_late_and_in_their_shares() -> None:
    lessons = PointingLessons()
    assert lessons.habit(0.0, 0.84) == "careful"
    assert [lessons.habit(draw, 0.9) for draw in (0.0, 0.41, 0.71, 0.81)] == [
        "bare",
        "elsewhere",
        "contradiction",
        "careful",
    ]
    assert PointingLessons(misstatement_share=0.2).habit(0.81, 0.9) == "misstatement"
    with pytest.raises(UserError, match="must not be more than 1 together"):
        PointingLessons(bare_share=0.9).check()


@pytest.mark.parametrize("family", ["plate_mark", "plate_pair", "plate_relation"])
def test_a_misstatement_answers_right_after_a_thought_for_another_answer(family: str) -> None:
    for index in range(12):
        example = generate(family, split="train", index=index, seed=1, media=MediaStore())
        chance = generator_for(1, index)
        shown = pointed(example, habit="misstatement", chance=chance, answers=ANSWERS[family])
        careful = pointed(example)
        [turn], [right] = shown.turns, careful.turns
        assert turn.action == right.action
        request = AnswerRequest(task=example.task, reasoning=without_points(turn.thought), answer=example.task.answer)
        [[logprob]] = RuleTeacher().logprobs([request])
        if family == "plate_relation":
            assert turn == right
        else:
            assert math.exp(logprob) == pytest.approx(0.05)
            assert turn.thought.count("<point") == right.thought.count("<point")


def test_a_short_run_measures_points_of_every_evaluation(tmp_path: Path) -> None:
    context = RecipeContext(overrides=FEW, seed=3, media=MediaStore())
    plan = tiny(context)
    assert [stage.name for stage in plan.stages] == [
        "sft",
        *(f"after_sft{kind}" for kind in ("", "_more", "_relation", "_absent", "_count")),
        "rl",
        *(f"after_rl{kind}" for kind in ("", "_more", "_relation", "_absent", "_count")),
    ]
    summaries = run_plan(plan, out=tmp_path / "run", seed=3, media=context.media)
    for summary in summaries.values():
        assert summary.figures["pointing"].values["measured"] == 2
    rows = [json.loads(line) for line in RunPaths(root=tmp_path / "run").metrics.read_text().splitlines()]
    [step] = [row for row in rows if row["stage"] == "rl" and "noted/points" in row]
    assert {"noted/no_points", "noted/scorer/detector", "noted/scorer/teacher"} <= step.keys()
