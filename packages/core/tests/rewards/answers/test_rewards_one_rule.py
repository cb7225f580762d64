"""One rule says what is right: published sets by their metric everywhere, other tasks by the kind of their answer."""

from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.envs.visual_reasoning import answer_reward
from saccade.rewards.answers.kinds import right_by_kind
from saccade.rewards.answers.metrics_by_set import METRICS, answer_is_right
from saccade.rewards.reward import is_correct
from saccade.types import Answer, AnswerKind, Task, Trajectory, Turn

TASK = Task(id="t", family="f", question="?", answer="12", answer_kind="exact", images=(), tolerance=0.02)


def _answered(text: str) -> Trajectory:
    turn = Turn(index=0, text=text, thought="", action=Answer(text=text), is_well_formed=True)
    return Trajectory(
        task_id="t",
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status="answered",
    )


@pytest.mark.parametrize(
    ("metric", "kind", "gold", "given_answer", "is_right"),
    [
        ("chartqa", "exact", "100", "104", True),
        ("chartqa", "exact", "100", "106", False),
        ("", "exact", "100", "104", False),
        ("clevr", "exact", "3", "three", True),
        ("", "exact", "3", "three", False),
        ("geometry3k", "exact", "2√3", "sqrt(12)", True),
    ],
)
def test_a_task_of_a_published_set_is_judged_by_its_metric_in_reward_and_environment(
    metric: str, kind: AnswerKind, gold: str, given_answer: str, is_right: bool
) -> None:
    task = replace(TASK, metric=metric, answer_kind=kind, answer=gold)
    assert answer_is_right(task, given_answer) is is_right
    assert is_correct(task, _answered(given_answer)) is is_right
    assert answer_reward(task, given_answer) == float(is_right)


def test_soft_accuracy_counts_in_the_environment_too() -> None:
    task = replace(TASK, metric="vizwiz", answer="grey", accepted=("grey",) * 3 + ("gray",) * 7)
    assert answer_reward(task, "gray") == 1.0
    assert not right_by_kind(task, "gray")


@given(
    metric=st.text(max_size=12).filter(lambda name: name not in METRICS),
    kind=st.sampled_from(get_args(AnswerKind)),
    answer=st.one_of(
        st.none(), st.text(max_size=40), st.sampled_from(["12", " 12 ", "12" + " " * 3000, "b", "1.51", "Red Car."])
    ),
)
def test_other_tasks_are_judged_by_the_kind_of_their_answer_alone(
    metric: str, kind: AnswerKind, answer: str | None
) -> None:
    gold = {"integer": "12", "number": "1.5", "choice": "B"}.get(kind, "red car")
    task = replace(TASK, metric=metric, answer_kind=kind, answer=gold, choices=("red car", "blue car"))
    assert answer_is_right(task, answer) == right_by_kind(task, answer)
