"""A score: named terms that add up."""

import pytest

from saccade.types import Score, Term


def test_the_total_is_the_sum_of_values_times_weights_in_their_order() -> None:
    score = Score(terms=(Term("accuracy", 1.0, 0.7), Term("format", 1.0, 0.1), Term("kl", -0.5)))
    assert score.total == 0.7 + 0.1 - 0.5
    assert [term.contribution for term in score.terms] == [0.7, 0.1, -0.5]
    assert Score().total == 0.0


def test_what_was_filled_in_counts_and_is_no_value_that_was_found() -> None:
    score = Score(terms=(Term("format", 1.0), Term("consistency", 0.3, 2.0, filled_from="a sibling")))
    assert (score.total, score.values) == (1.6, {"format": 1.0})


def test_accuracy_is_the_term_or_else_what_is_right() -> None:
    assert Score(terms=(Term("accuracy", 0.25),), is_right=False).accuracy == 0.25
    assert Score(terms=(Term("correct", 0.0),), is_right=True).accuracy == 1.0
    assert Score(terms=(Term("length", 3.0),)).accuracy is None


def test_two_terms_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="give each term its own"):
        Score(terms=(Term("format", 1.0), Term("format", 0.0)))
