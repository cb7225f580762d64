"""The tail patch: pass rates from what was played, the hard questions, and their order."""

from dataclasses import replace

import pytest

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.curriculum import Band
from saccade.tasks.tail_patch import EasyToHard, hard_questions, pass_rates
from saccade.testing.tasks import tiny_example
from saccade.types import Attempt, Score, Task, Term, Trajectory

RATES = {"a": 0.125, "b": 0.5, "c": 0.375, "d": 0.0, "e": 0.25, "f": 1.0, "g": 0.25}


def played(task: Task, sample: int, accuracy: float | None) -> Attempt:
    score = None if accuracy is None else Score(terms=(Term("accuracy", accuracy, 2.0),), is_right=accuracy >= 0.5)
    trajectory = Trajectory(
        task_id=task.id,
        family=task.family,
        stream="evaluation",
        sample=sample,
        seed=sample,
        policy_version=0,
        segments=(),
        turns=(),
        status="failed" if accuracy is None else "answered",
        score=score,
    )
    return Attempt(task=task, trajectory=trajectory)


def source(keys: list[str], rates: dict[str, float] = RATES) -> EasyToHard:
    task = tiny_example(MediaStore()).task
    tasks = {key: replace(task, id=key) for key in keys}
    return EasyToHard(keys, rates, tasks.__getitem__, seed=5)


def drawn(questions: EasyToHard, count: int) -> list[str]:
    return [question.task.id for question in questions.sample(count)]


def test_a_pass_rate_counts_right_answers_and_leaves_out_what_the_machine_failed() -> None:
    task = tiny_example(MediaStore()).task
    other = replace(task, id="other")
    lost = replace(task, id="lost")
    attempts = [
        *(played(task, sample, right) for sample, right in enumerate((1.0, 0.0, None, 0.0, 0.0))),
        played(other, 0, 1.0),
        played(lost, 0, None),
    ]
    assert pass_rates(attempts) == {task.id: 0.25, "other": 1.0}


def test_the_questions_of_the_papers_band_come_from_easy_to_hard() -> None:
    assert hard_questions(RATES) == ["c", "e", "g", "a"]


def test_where_too_few_are_in_the_band_the_nearest_to_it_make_up_for_it(caplog: pytest.LogCaptureFixture) -> None:
    # b, d and a lie 1/8 from 0.25..0.375 or nearer; d is never answered and comes last among equals.
    assert hard_questions(RATES, Band(low=0.25, high=0.375), least=5) == ["b", "c", "e", "g", "a"]
    assert "3 of 7 questions have a pass rate from 0.25 to 0.375; the 5 nearest to it are asked" in caplog.text
    assert hard_questions({"a": 0.125, "d": 0.0, "b": 0.25}, Band(low=0.2, high=0.2), least=2) == ["b", "a"]
    assert hard_questions({"a": 1.0}, least=4) == ["a"]


def test_every_epoch_goes_from_easy_to_hard_and_equals_change_places() -> None:
    questions = source(hard_questions(RATES))
    epochs = [drawn(questions, 4) for _ in range(12)]
    assert all(epoch[0] == "c" and epoch[3] == "a" and set(epoch[1:3]) == {"e", "g"} for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) == 2


def test_a_resumed_source_goes_on_where_it_was_also_inside_an_epoch() -> None:
    whole, first = source(hard_questions(RATES)), source(hard_questions(RATES))
    expected = drawn(whole, 11)
    begun = drawn(first, 3)
    resumed = source(hard_questions(RATES))
    resumed.load_state_dict(first.state_dict())
    assert begun + drawn(resumed, 1) + drawn(resumed, 7) == expected


def test_no_question_at_all_is_the_users_mistake() -> None:
    with pytest.raises(UserError, match="no question was measured"):
        source([], {})
