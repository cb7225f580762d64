"""Micro-batches dealt out to ranks, on sequences made by hand."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from saccade.learner.dealing import deal
from saccade.learner.ranks import ALONE
from saccade.learner.sequences import TrainingSequence, micro_batches


def sequence(prompt: int, tokens: int, *, asked: int = 1) -> TrainingSequence:
    """A prompt of tokens ``asked`` and what was said to it, the last token of which needs no forward."""
    return TrainingSequence(
        ids=(asked,) * prompt + (7,) * (tokens + 1),
        is_action=(False,) * prompt + (True,) * (tokens + 1),
        images=(),
        prompt_tokens=prompt,
        prompt_images=0,
        sampled_logprobs=(-1.0,) * (tokens + 1),
        advantages=(1.0,) * (tokens + 1),
        token_weight=0.25,
    )


BATCHES = st.lists(
    st.builds(sequence, st.integers(1, 3), st.integers(0, 9), asked=st.integers(1, 3)), min_size=0, max_size=12
)


@given(BATCHES, st.integers(1, 30))
def test_one_rank_has_the_micro_batches_as_they_are(sequences: list[TrainingSequence], limit: int) -> None:
    [hand] = deal(sequences, 1, limit)
    assert [list(batch.sequences) for batch in hand] == micro_batches(sequences, max_tokens=limit)


@given(BATCHES, st.integers(2, 5), st.integers(1, 30))
def test_every_sequence_is_dealt_once_and_all_ranks_have_as_many_micro_batches(
    sequences: list[TrainingSequence], ranks: int, limit: int
) -> None:
    hands = deal(sequences, ranks, limit)
    real = [batch for hand in hands for batch in hand if not batch.is_blank]
    assert len(hands) == ranks
    assert len({len(hand) for hand in hands}) == 1
    assert sorted(index for batch in real for index in batch.indices) == list(range(len(sequences)))
    assert all(sequences[index] is one for batch in real for index, one in zip(batch.indices, batch.sequences))
    assert hands == deal(sequences, ranks, limit)


@given(BATCHES.filter(bool), st.integers(2, 5))
def test_no_rank_is_idle_while_there_are_sequences_enough(sequences: list[TrainingSequence], ranks: int) -> None:
    hands = deal(sequences, ranks, 1_000_000)
    busy = sum(any(not batch.is_blank for batch in hand) for hand in hands)
    assert busy == min(ranks, len(sequences))


def test_sequences_that_add_nothing_to_their_prompt_are_dealt_to_all_ranks() -> None:
    sequences = [sequence(1, 0), sequence(1, 0), sequence(1, 0)]
    hands = deal(sequences, 2, 2)
    assert [[len(batch.sequences) for batch in hand] for hand in hands] == [[1, 1], [1, 1]]
    assert sum(batch.is_blank for hand in hands for batch in hand) == 1


def test_a_blank_is_the_shortest_sequence_and_weighs_nothing() -> None:
    long, short = sequence(2, 8), sequence(2, 1, asked=2)
    hands = deal([long, short], 3, 100)
    assert [batch.sequences for hand in hands for batch in hand] == [
        (long,),
        (short,),
        (replace(short, token_weight=0.0),),
    ]
    assert [batch.is_blank for hand in hands for batch in hand] == [False, False, True]
    assert [batch.indices for hand in hands for batch in hand] == [(0,), (1,), (1,)]


def test_what_is_worked_on_at_the_same_time_is_about_as_long() -> None:
    """Sizes 9 to 4, each with a prompt of its own of one token: the second round goes backwards."""
    sequences = [sequence(1, size - 1, asked=size) for size in (5, 9, 4, 8, 6, 7)]
    hands = deal(sequences, 2, 8)
    assert [[sum(one.forwarded_count for one in batch.sequences) for batch in hand] for hand in hands] == [
        [9, 6, 5],
        [8, 7, 4],
    ]


def test_one_rank_agrees_with_itself() -> None:
    assert ALONE.add({"entropy": 1.5}) == {"entropy": 1.5}
    assert ALONE.gather("one") == ["one"]
    assert not ALONE.agree(False)
