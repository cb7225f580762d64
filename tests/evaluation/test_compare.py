"""Comparison of stored samples: paired, corrected, with what flipped, and refused where it was asked differently."""

from dataclasses import replace

import pytest

from saccade.errors import UserError
from saccade.evaluation.compare import compare
from saccade.evaluation.samples import SampleHeader, SampleSet, StoredSample
from saccade.types import Json


def stored(marks: str, *, clusters: str = "", asked: dict[str, Json] | None = None, model: str = "m") -> SampleSet:
    """A sample for each mark: ``+`` right, ``-`` wrong, ``x`` failed; a letter each says the cluster."""
    return SampleSet(
        header=SampleHeader(name="direct", model={"name": model}, asked={"protocol": "direct", **(asked or {})}),
        samples=tuple(
            StoredSample(
                id=f"q{place}",
                q=f"hash {place}",
                key="",
                sample=0,
                status="failed" if mark == "x" else "answered",
                right={"+": True, "-": False, "x": None}[mark],
                score=None,
                answer=mark,
                gold="+",
                reply=mark,
                family="even" if place % 2 == 0 else "odd",
                cluster=clusters[place] if clusters else str(place),
            )
            for place, mark in enumerate(marks)
        ),
    )


def test_the_same_questions_are_paired_and_the_flipped_ones_named() -> None:
    [found] = compare([stored("++--+-"), stored("+++-++")], ["a", "b"])
    assert (found.before.mean, found.after.mean) == (0.5, pytest.approx(5 / 6))
    assert found.difference.mean == pytest.approx(2 / 6)
    assert (found.only_before, found.only_after, found.p_mcnemar) == (0, 2, 0.5)
    assert found.p_value == found.p_mcnemar
    assert [(one.id, one.before, one.after) for one in found.flipped] == [("q2", 0.0, 1.0), ("q5", 0.0, 1.0)]
    assert {name: mean.mean for name, mean in found.categories.items()} == {
        "even": pytest.approx(1 / 3),
        "odd": pytest.approx(1 / 3),
    }


def test_a_failed_sample_is_left_out_with_its_question_and_said() -> None:
    [found] = compare([stored("+x-+"), stored("++-x")], ["a", "b"])
    assert (found.left_out, found.difference.n, found.difference.mean) == (2, 2, 0.0)
    assert "INCOMPLETE: 2 questions" in found.describe()


def test_questions_on_one_picture_are_one_observation() -> None:
    first, second = stored("-" * 12, clusters="aaaaaabbbbbb"), stored("+" * 6 + "-" * 6, clusters="aaaaaabbbbbb")
    [found] = compare([first, second], ["a", "b"])
    assert found.p_mcnemar == pytest.approx(2 / 2**6)
    # Two pictures, of which one gained: nothing is shown by that.
    assert found.p_value > 0.1
    assert found.difference.clusters == 2


def test_several_models_are_corrected_together() -> None:
    first = stored("-" * 20)
    found = compare([first, stored("+" * 8 + "-" * 12), stored("+" * 7 + "-" * 13)], ["a", "b", "c"])
    assert [one.p_value for one in found] == pytest.approx([2 / 2**8, 2 / 2**7])
    assert [one.p_holm for one in found] == pytest.approx([4 / 2**8, 4 / 2**8])


def test_what_was_asked_differently_is_refused_and_said_by_name() -> None:
    first, second = stored("+-", asked={"max_pixels": 1}), stored("++", asked={"max_pixels": 2})
    with pytest.raises(UserError, match=r"max_pixels: 1 and 2\n.*--although max_pixels"):
        compare([first, second], ["a", "b"])
    [found] = compare([first, second], ["a", "b"], although=["max_pixels"])
    assert found.accepted == ("max_pixels: 1 and 2",)


def test_other_words_or_missing_questions_are_refused() -> None:
    first = stored("+-+")
    changed = replace(first, samples=(replace(first.samples[0], q="other"), *first.samples[1:]))
    with pytest.raises(UserError, match="1 of 3 questions of one id have other words"):
        compare([first, changed], ["a", "b"])
    fewer = replace(first, samples=first.samples[:2])
    with pytest.raises(UserError, match="1 questions were asked of one of them only, 2 of both"):
        compare([first, fewer], ["a", "b"])
    [found] = compare([first, fewer], ["a", "b"], although=["questions"])
    assert found.difference.n == 2


def test_several_samples_of_a_question_are_its_share() -> None:
    first = stored("+-")
    second = replace(first, samples=(*first.samples, *(replace(one, sample=1, right=True) for one in first.samples)))
    [found] = compare([second, second], ["a", "b"])
    assert (found.before.mean, found.difference.mean, found.p_value) == (0.75, 0.0, 1.0)
