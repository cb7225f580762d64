"""Which share each token has in the mean of a batch, by hand and as verl's ``agg_loss`` takes it."""

import pytest

from saccade.algorithms.algorithm import Aggregation
from saccade.errors import UserError

COUNTS = (3, 1, 4)
LOSSES = ((1.0, 2.0, 3.0), (8.0,), (1.0, 1.0, 2.0, 4.0))


def aggregated(aggregation: Aggregation) -> float:
    weights = aggregation.token_weights(COUNTS)
    return sum(weight * loss for weight, losses in zip(weights, LOSSES) for loss in losses)


def test_mean_over_tokens() -> None:
    # token-mean: 6 + 8 + 8 over 8 tokens
    assert aggregated(Aggregation(over="tokens")) == pytest.approx(22 / 8)


def test_mean_over_sequences_of_means_over_their_tokens() -> None:
    # seq-mean-token-mean: 2, 8 and 2
    assert aggregated(Aggregation(over="sequences")) == pytest.approx(4.0)


def test_sum_over_a_constant_length() -> None:
    # seq-mean-token-sum-norm with a length of 10: 6, 8 and 8 over 3 * 10
    assert aggregated(Aggregation(over="constant", length=10)) == pytest.approx(22 / 30)


@pytest.mark.parametrize(
    "aggregation", [Aggregation(), Aggregation(over="sequences"), Aggregation(over="constant", length=5)]
)
def test_sequences_that_are_left_out_neither_weigh_nor_count(aggregation: Aggregation) -> None:
    weights = aggregation.token_weights([3, 0, 4])
    assert weights[1] == 0.0
    assert [weights[0], weights[2]] == aggregation.token_weights([3, 4])
    assert aggregation.token_weights([0, 0]) == [0.0, 0.0]
    assert aggregation.token_weights([]) == []


def test_lengths_that_make_no_sense_are_refused() -> None:
    with pytest.raises(UserError, match="length=0 must be 1 or more"):
        Aggregation(over="constant")
    with pytest.raises(UserError, match="length=5 would have no effect"):
        Aggregation(over="tokens", length=5)
