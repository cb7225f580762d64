"""Sources of questions: order, shares, what they learn from pass rates, and that they go on after a stop."""

import json
from collections import Counter
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.tasks.curriculum import (
    HARD_OF_EIGHT,
    HARD_OF_FIVE,
    NOT_ALL_CORRECT,
    Band,
    ByPassRate,
    InOrder,
    Mixture,
    Question,
    Share,
    Shuffled,
    TaskSampler,
    pass_rate,
)
from saccade.types import Group, Score, Task, Term, Trajectory


def task(name: str) -> Task:
    return Task(id=name, family="f", question="q", answer="a", answer_kind="exact", images=())


TASKS = [task(f"t{index}") for index in range(7)]


def group(name: str, right: int, of: int, *, failed: int = 0, stream: str = "main") -> Group:
    """So many right answers among the scored trajectories; the machine failed some more."""

    def trajectory(sample: int) -> Trajectory:
        accuracy = float(sample < right)
        # Shaping that must not make a right answer of a wrong one.
        score = Score(terms=(Term("accuracy", accuracy), Term("format", 0.9)), is_right=accuracy >= 0.5)
        is_failed = sample >= of
        return Trajectory(
            task_id=name,
            family="f",
            stream=stream,
            sample=sample,
            seed=sample,
            policy_version=0,
            segments=(),
            turns=(),
            status="failed" if is_failed else "answered",
            score=None if is_failed else score,
        )

    return Group(task=task(name), stream=stream, trajectories=tuple(trajectory(i) for i in range(of + failed)))


def ids(questions: Sequence[Question]) -> list[str]:
    return [question.task.id for question in questions]


def test_numbered_questions_go_on_where_they_stopped() -> None:
    source = InOrder(lambda index: task(str(index)), streams=("a", "b"))
    assert ids(source.sample(3)) + ids(source.sample(2)) == ["0", "1", "2", "3", "4"]
    assert source.sample(1)[0].streams == ("a", "b")


@given(st.lists(st.integers(0, 9), max_size=12))
def test_shuffled_epochs_do_not_depend_on_how_many_are_drawn_at_once(counts: list[int]) -> None:
    source = Shuffled(TASKS, seed=3)
    drawn = [name for count in counts for name in ids(source.sample(count))]
    assert drawn == ids(Shuffled(TASKS, seed=3).sample(sum(counts)))
    for first in range(0, len(drawn) - len(TASKS) + 1, len(TASKS)):
        assert sorted(drawn[first : first + len(TASKS)]) == sorted(one.id for one in TASKS)


def test_epochs_have_orders_of_their_own_and_seeds_too() -> None:
    first, second = ids(Shuffled(TASKS, seed=3).sample(14))[:7], ids(Shuffled(TASKS, seed=3).sample(14))[7:]
    assert first != second
    assert first != ids(Shuffled(TASKS, seed=4).sample(7))


@pytest.mark.parametrize(
    ("band", "tries", "admitted"),
    [(HARD_OF_FIVE, 5, {1, 2}), (HARD_OF_EIGHT, 8, {1, 2, 3}), (NOT_ALL_CORRECT, 8, set(range(8)))],
)
def test_bands_admit_the_counts_of_the_papers(band: Band, tries: int, admitted: set[int]) -> None:
    assert {right for right in range(tries + 1) if band.holds(right / tries)} == admitted


def test_pass_rate_counts_accuracy_before_shaping_and_leaves_failures_out() -> None:
    assert pass_rate(group("t", right=1, of=4, failed=4)) == 0.25
    assert pass_rate(group("t", right=0, of=0, failed=2)) is None


def test_questions_outside_the_band_are_left_out_until_their_retry() -> None:
    source = ByPassRate(Shuffled(TASKS[:3], seed=1), HARD_OF_EIGHT, retry_after=2)
    assert sorted(ids(source.sample(3))) == ["t0", "t1", "t2"]
    source.update([group("t0", 8, 8), group("t1", 2, 8), group("t2", 0, 8)])
    # Two epochs leave t0 and t2 out; the third asks them again.
    assert ids(source.sample(2)) == ["t1", "t1"]
    assert sorted(ids(source.sample(3))) == ["t0", "t1", "t2"]


def test_a_source_of_nothing_but_easy_questions_still_gives_questions() -> None:
    rates = {one.id: 1.0 for one in TASKS}
    source = ByPassRate(Shuffled(TASKS, seed=1), NOT_ALL_CORRECT, rates=rates, retry_after=3)
    assert len(source.sample(20)) == 20


def test_a_task_of_two_streams_has_the_mean_of_their_rates() -> None:
    source = ByPassRate(Shuffled(TASKS[:1], seed=1), HARD_OF_EIGHT)
    source.update([group("t0", 0, 8, stream="grounded"), group("t0", 4, 8, stream="textual")])
    assert source.state_dict()["rates"] == {"t0": 0.25}


def mixture() -> Mixture:
    """Nine tenths of the places are for pairs, as iVGR has it."""
    pairs = InOrder(lambda index: task(f"p{index}"), streams=("grounded", "textual"))
    singles = InOrder(lambda index: task(f"s{index}"), streams=("textual",))
    return Mixture({"pairs": Share(questions=pairs, share=0.9), "singles": Share(questions=singles, share=0.1)})


def test_shares_hold_in_every_batch_up_to_rounding_and_exactly_in_the_long_run() -> None:
    source = mixture()
    counts = [Counter(question.streams for question in source.sample(8)) for _ in range(10)]
    assert {sum(count.values()) for count in counts} == {8}
    assert sum(count["textual",] for count in counts) == 8
    assert all(count["textual",] in (0, 1, 2) for count in counts)


def test_a_pair_is_one_question_of_two_streams() -> None:
    drawn = mixture().sample(20)
    assert [question.streams for question in drawn].count(("grounded", "textual")) == 18


SOURCES: dict[str, Callable[[], TaskSampler]] = {
    "in order": lambda: InOrder(lambda index: task(str(index))),
    "shuffled": lambda: Shuffled(TASKS, seed=5),
    "by pass rate": lambda: ByPassRate(Shuffled(TASKS, seed=5), HARD_OF_EIGHT, retry_after=2),
    "mixture": mixture,
    "mixture of curricula": lambda: Mixture(
        {
            "a": Share(questions=ByPassRate(Shuffled(TASKS, seed=5), HARD_OF_FIVE), share=1),
            "b": Share(questions=Shuffled(TASKS, seed=6), share=2),
        }
    ),
}


@pytest.mark.parametrize("name", SOURCES)
def test_a_restored_source_asks_what_it_would_have_asked(name: str) -> None:
    source, restored = SOURCES[name](), SOURCES[name]()
    source.sample(5)
    source.update([group("t1", 8, 8), group("t2", 1, 8), group("t4", 0, 8)])
    source.sample(11)
    restored.load_state_dict(json.loads(json.dumps(source.state_dict())))
    assert [source.sample(count) for count in (1, 6, 13)] == [restored.sample(count) for count in (1, 6, 13)]


def test_what_cannot_be_a_source_is_refused() -> None:
    with pytest.raises(UserError, match="no tasks"):
        Shuffled([], seed=0)
    with pytest.raises(UserError, match=r"0\.5 to 0\.2"):
        Band(low=0.5, high=0.2)
    with pytest.raises(UserError, match="above 0"):
        Mixture({"a": Share(questions=Shuffled(TASKS, seed=0), share=0)})
    with pytest.raises(UserError, match="other parts than pairs, singles"):
        mixture().load_state_dict(Mixture({"x": Share(questions=Shuffled(TASKS, seed=0), share=1)}).state_dict())
    with pytest.raises(UserError, match="damaged"):
        Shuffled(TASKS, seed=0).load_state_dict({"next": "soon"})
