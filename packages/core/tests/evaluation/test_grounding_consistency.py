"""Numbers of a training step in two streams, counted by hand."""

import json
from collections.abc import Mapping

import pytest

from saccade.evaluation.consistency import TwoStreamStep, nearest_rubric, shares_of, sum_of_counts, two_stream_step
from saccade.types import Attempt, Score, Task, Term, Trajectory


def attempt(
    task: str,
    stream: str,
    parts: Mapping[str, float] | None,
    notes: Mapping[str, float] = {},
) -> Attempt:
    asked = Task(id=task, family="search", question="?", answer="yes", answer_kind="exact", images=())
    trajectory = Trajectory(
        task_id=task,
        family="search",
        stream=stream,
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(),
        status="failed" if parts is None else "answered",
        score=None
        if parts is None
        else Score(
            terms=tuple(Term(name, value) for name, value in parts.items()),
            is_right=parts.get("accuracy", 0.0) > 0,
            notes=notes,
        ),
    )
    return Attempt(task=asked, trajectory=trajectory)


def judged(task: str, accuracy: float, consistency: float, *, from_archive: float = 0.0) -> Attempt:
    notes = {"reference": 1.0, "from_archive": from_archive, "judge_attack": 0.0, "no_verdict": 0.0}
    return attempt(task, "textual", {"accuracy": accuracy, "consistency": consistency}, notes)


STEP = [
    attempt("a", "grounded", {"accuracy": 1.0, "box": 0.5}),
    attempt("a", "grounded", {"accuracy": 0.0, "box": 0.1}),
    attempt("general", "grounded", {"accuracy": 1.0}),
    attempt("b", "grounded", None),
    # Two questions with a reference, one of them from the archive; one without; one that can have none.
    judged("a", 1.0, 1.0),
    judged("a", 1.0, 0.85),
    judged("b", 0.0, 0.3, from_archive=1.0),
    attempt(
        "b",
        "textual",
        {"accuracy": 1.0},
        {"reference": 1.0, "from_archive": 1.0, "judge_attack": 0.0, "no_verdict": 1.0},
    ),
    attempt(
        "b",
        "textual",
        {"accuracy": 0.0, "consistency": 0.0},
        {"reference": 1.0, "from_archive": 1.0, "judge_attack": 1.0},
    ),
    attempt("c", "textual", {"accuracy": 0.0}, {"reference": 0.0}),
    attempt("general", "textual", {"accuracy": 1.0}),
    attempt("c", "textual", None),
    attempt("a", "elsewhere", {"accuracy": 1.0, "box": 1.0, "consistency": 1.0}, {"reference": 1.0}),
]


def test_a_step_is_counted_by_hand() -> None:
    assert two_stream_step(7, STEP) == TwoStreamStep(
        step=7,
        grounded_accuracy=pytest.approx(2 / 3),
        box=pytest.approx(0.3),
        textual_accuracy=pytest.approx(4 / 7),
        consistency=pytest.approx((1 + 0.85 + 0.3 + 0) / 4),
        right=(1, 1, 0, 0),
        wrong=(0, 0, 1, 1),
        questions=3,
        with_reference=2,
        from_archive=1,
        asked=4,
        no_verdict=1,
        attacks=1,
    )


def test_the_hit_rate_is_a_share_of_the_references_and_not_of_the_questions() -> None:
    step = two_stream_step(7, STEP)
    assert (step.reference_share, step.hit_rate) == (2 / 3, 1 / 2)


def test_streams_have_the_names_that_the_run_gives_them() -> None:
    step = two_stream_step(1, STEP, grounded="elsewhere", textual="nobody")
    assert (step.grounded_accuracy, step.box, step.textual_accuracy, step.questions) == (1.0, 1.0, None, 0)


def test_a_step_of_nothing_has_no_means_and_no_shares() -> None:
    step = two_stream_step(1, [])
    assert (step.box, step.consistency, step.reference_share, step.hit_rate) == (None, None, None, None)
    assert (step.right, shares_of(step.right)) == ((0, 0, 0, 0), None)


@pytest.mark.parametrize(
    ("value", "nearest"),
    [
        (1.0, 1.0),
        (0.925, 1.0),
        (0.85, 0.7),
        (0.851, 1.0),
        (0.5, 0.3),
        (0.51, 0.7),
        (0.15, 0.0),
        (0.16, 0.3),
        (0.0, 0.0),
    ],
)
def test_a_mean_of_judgements_counts_as_the_nearest_value_and_halfway_as_the_lower(
    value: float, nearest: float
) -> None:
    assert nearest_rubric(value) == nearest


def test_counts_of_steps_add_up_to_shares_of_a_run() -> None:
    assert sum_of_counts([(1, 0, 2, 0), (1, 3, 0, 1)]) == (2, 3, 2, 1)
    assert sum_of_counts([]) == (0, 0, 0, 0)
    assert shares_of((2, 3, 2, 1)) == (0.25, 0.375, 0.25, 0.125)


def test_a_step_is_strict_json_with_its_counts_by_value() -> None:
    values = json.loads(json.dumps(two_stream_step(7, STEP).as_json(), allow_nan=False))
    assert values["wrong"] == {"1.0": 0, "0.7": 0, "0.3": 1, "0.0": 1}
    assert (values["step"], values["no_verdict"], values["attacks"]) == (7, 1, 1)
