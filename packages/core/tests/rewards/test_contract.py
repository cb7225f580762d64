"""What a reward of one's own may return, and what is said of the rest."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from reward_samples import TASK, group, played

from saccade.errors import UserError
from saccade.rewards.contract import score_from
from saccade.rewards.groups import score_question
from saccade.rewards.reward import GroupScores
from saccade.types import Json, Score, Task, Term, Trajectory

ONE = (Term("accuracy", 1.0),)


def mine(task: Task, trajectory: Trajectory) -> float:
    return 0.5


@pytest.mark.parametrize("number", [0.5, np.float32(0.5), np.float64(0.5)])
def test_a_number_is_a_score_of_one_term(number: object) -> None:
    assert score_from(number, mine, TASK) == Score(terms=(Term("reward", 0.5),))


@pytest.mark.parametrize("truth", [True, np.bool_(True)])
def test_a_truth_says_whether_the_answer_is_right_too(truth: object) -> None:
    assert score_from(truth, mine, TASK) == Score(terms=(Term("reward", 1.0),), is_right=True)


def test_numbers_of_numpy_become_plain_ones() -> None:
    odd = Score(
        terms=(Term("accuracy", np.float32(1.0)),),
        is_right=np.bool_(True),  # type: ignore[arg-type]
        notes={"seen": np.int64(3)},  # type: ignore[dict-item]
        evidence={"box": np.arange(2), "deep": {"x": (np.float32(0.5), math.nan)}},  # type: ignore[dict-item]
    )
    plain = score_from(odd, mine, TASK)
    assert plain == Score(
        terms=ONE, is_right=True, notes={"seen": 3.0}, evidence={"box": [0, 1], "deep": {"x": [0.5, None]}}
    )
    assert plain is not None
    assert [type(plain.terms[0].value), type(plain.is_right)] == [float, bool]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([1.0], "the reward mine on task 't' returned [1.0] (list), which is no score; return a Score, a number"),
        ({"score": 1.0}, "which is no score"),
        ("1.0", "returned '1.0' (str), which is no score"),
        (math.nan, "the reward mine on task 't' returned nan, which is no finite number"),
        (Score(terms=(Term("depth", math.nan),)), "on task 't': the term 'depth' has the value nan"),
        (Score(terms=(Term("depth", -math.inf),)), "the term 'depth' has the value -inf"),
        (Score(terms=(Term("depth", "1.0"),)), "the term 'depth' has the value '1.0' (str), which is no number"),  # type: ignore[arg-type]
        (Score(terms=ONE, notes={"seen": math.nan}), "the note 'seen' is nan"),
        (Score(terms=ONE, is_right="yes"), "is_right is 'yes' (str); give True, False or None"),  # type: ignore[arg-type]
        (Score(terms=ONE, evidence={"a": object}), "the evidence 'a' holds"),  # type: ignore[dict-item]
    ],
)
def test_anything_else_is_refused_with_reward_task_and_term(found: object, said: str) -> None:
    with pytest.raises(UserError) as refused:
        score_from(found, mine, TASK)
    assert said in str(refused.value)


def test_the_first_call_that_returns_no_score_is_refused() -> None:
    with pytest.raises(UserError, match="returned 'good'"):
        score_question([group(played(answer="red"))], lambda task, trajectory: "good")  # type: ignore[arg-type, return-value]


def test_scores_of_a_group_reward_are_checked_too() -> None:
    class Halves:
        def score_groups(self, task: Task, groups: Mapping[str, Sequence[Trajectory]], memory: Json, /) -> GroupScores:
            return GroupScores(scores={name: [math.nan] * len(of) for name, of in groups.items()})  # type: ignore[misc]

    with pytest.raises(UserError, match="Halves on task 't' returned nan"):
        score_question([group(played(answer="red"))], Halves())
