"""avg@k, pass@k and maj@k on numbers worked out by hand."""

import itertools
from dataclasses import replace

import pytest

from saccade.evaluation.figures import figures
from saccade.evaluation.repeats import majority_is_right, pass_at_k, repeats
from saccade.evaluation.samples import SampleHeader, SampleSet, StoredSample

PLAIN = StoredSample(
    id="a", q="a", key="", sample=0, status="answered", right=True, score=1.0, answer="1", gold="1", reply="1",
    family="counting", cluster="a",
)  # fmt: skip


def samples(**rights: str) -> list[StoredSample]:
    """Of each question a word: ``+`` right, ``-`` wrong, ``x`` failed."""
    return [
        replace(
            PLAIN,
            id=name,
            q=name,
            cluster=name,
            sample=place,
            right={"+": True, "-": False, "x": None}[mark],
            answer="1" if mark == "+" else f"wrong {place}",
        )
        for name, marks in rights.items()
        for place, mark in enumerate(marks)
    ]


@pytest.mark.parametrize(("n", "right"), [(4, 0), (4, 1), (5, 2), (5, 5)])
def test_pass_at_k_is_the_share_of_all_draws_with_a_right_one(n: int, right: int) -> None:
    for k in range(1, n + 1):
        draws = list(itertools.combinations([True] * right + [False] * (n - right), k))
        assert pass_at_k(n, right, k) == pytest.approx(sum(map(any, draws)) / len(draws))
    with pytest.raises(ValueError, match="pass@6"):
        pass_at_k(5, 1, 6)


def test_the_majority_of_answers_counts_and_ties_count_in_part() -> None:
    assert majority_is_right(["2", " 2", "3"], [True, True, False]) == 1.0
    assert majority_is_right(["2", "3", "3"], [True, False, False]) == 0.0
    assert majority_is_right(["2", "3"], [True, False]) == 0.5
    assert majority_is_right([None, None, "2"], [False, False, True]) == 0.0


def test_questions_count_alike_and_failed_samples_are_in_no_figure() -> None:
    found = repeats(samples(a="++", b="+-", c="--", d="+x"))
    # (1 + 1/2 + 0 + 1) / 4: the failed sample of d is no wrong one.
    assert found.avg.mean == pytest.approx(0.625)
    assert found.passed[1].mean == pytest.approx(0.5)
    assert found.passed[2].mean == pytest.approx(2 / 3)
    assert found.majority.mean == pytest.approx((1 + 0.5 + 0) / 3)
    assert (found.k, found.incomplete) == (2, 1)
    assert "1 questions incomplete" in found.describe()


def test_one_sample_each_is_the_accuracy() -> None:
    found = repeats(samples(a="+", b="-", c="x"))
    assert (found.k, found.avg.mean, found.avg.n) == (1, 0.5, 2)


def test_an_episode_ends_by_an_action_and_is_in_the_form_without_an_answer() -> None:
    played = replace(PLAIN, answer=None, gold="", reply="<action>slide 3</action>", calls={"act": 4})
    silent = replace(played, id="b", status="turn_limit", right=False, reply="I would slide 3", calls={})
    asked = replace(PLAIN, id="c", answer=None, right=False, calls={"crop": 1})
    header = SampleHeader(name="played", model={}, asked={})
    assert figures(SampleSet(header=header, samples=(played,))).not_in_form == 0
    assert figures(SampleSet(header=header, samples=(played, silent, asked))).not_in_form == 2
