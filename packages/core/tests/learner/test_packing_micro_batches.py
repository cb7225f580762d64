"""Which sequences are forwarded together, on lengths small enough to check by hand."""

from dataclasses import replace

import pytest

from saccade.learner.sequences import TrainingSequence, micro_batches
from saccade.types import ImageRef


def sequence(prompt: str, rest: int, *, image: str = "i") -> TrainingSequence:
    """A prompt of one token per letter, and ``rest`` tokens that a forward needs after it."""
    ids = (*(ord(letter) for letter in prompt), *range(rest + 1))
    return TrainingSequence(
        ids=ids,
        is_action=(False,) * len(prompt) + (True,) * (rest + 1),
        images=(ImageRef(hash=image, width=1, height=1),),
        prompt_tokens=len(prompt),
        prompt_images=1,
        sampled_logprobs=(0.0,) * (rest + 1),
        advantages=(0.0,) * (rest + 1),
        token_weight=1.0,
    )


def named(sequences: list[TrainingSequence], *, max_tokens: int) -> list[list[int]]:
    batches = micro_batches(sequences, max_tokens=max_tokens)
    return [[next(i for i, one in enumerate(sequences) if one is chosen) for chosen in batch] for batch in batches]


def test_groups_stay_together_and_fill_micro_batches_the_largest_first() -> None:
    """Tokens with the prompt once: a 4 + 3 + 2 = 9, b 2 + 6 = 8, c 2 + 2 = 4, d 1 + 1 = 2."""
    sequences = [sequence("c?", 2), sequence("aaaa", 3), sequence("bb", 6), sequence("d", 1), sequence("aaaa", 2)]
    assert named(sequences, max_tokens=12) == [[1, 3, 4], [0, 2]]
    assert named(sequences, max_tokens=9) == [[1, 4], [2], [0, 3]]


def test_a_prompt_counts_once_in_a_micro_batch() -> None:
    sequences = [sequence("prompt", 2) for _ in range(4)]
    assert named(sequences, max_tokens=14) == [[0, 1, 2, 3]]


def test_a_group_that_does_not_fit_is_split_and_pays_its_prompt_again() -> None:
    """Beside a prompt of 4, a limit of 10 leaves room for 5 + 1 and 3 + 3, a limit of 9 for 5, 3 + 1 and 3."""
    sequences = [sequence("pppp", rest) for rest in (1, 3, 5, 3)]
    assert named(sequences, max_tokens=10) == [[0, 2], [1, 3]]
    assert named(sequences, max_tokens=9) == [[2], [0, 1], [3]]


def test_a_sequence_over_the_limit_is_alone_and_whole() -> None:
    sequences = [sequence("long prompt", 5), sequence("q", 1), sequence("long prompt", 5), sequence("q", 1)]
    assert named(sequences, max_tokens=3) == [[0], [2], [1, 3]]
    assert named(sequences, max_tokens=1) == [[0], [2], [1], [3]]


def test_prompts_with_other_images_are_other_prompts() -> None:
    same_words = [sequence("aaaa", 2, image="one"), sequence("aaaa", 2, image="two"), sequence("aaaa", 2, image="one")]
    assert named(same_words, max_tokens=8) == [[0, 2], [1]]


def test_tokens_from_the_last_action_on_cost_nothing() -> None:
    """Neither the last action token nor an observation that nobody answered has to be forwarded."""
    answered = sequence("pp", 3)
    shown = replace(answered, ids=(*answered.ids, 7, 7, 7), is_action=(*answered.is_action, False, False, False))
    assert answered.forwarded_count == shown.forwarded_count == 5
    silent = replace(answered, is_action=(False,) * len(answered.ids), sampled_logprobs=(), advantages=())
    assert silent.forwarded_count == 2
    assert sequence("pp", 0).forwarded_count == 2


def test_nothing_gives_no_micro_batch() -> None:
    assert micro_batches([], max_tokens=10) == []


@pytest.mark.parametrize("limit", [1, 7, 20, 33, 1000])
def test_every_sequence_is_in_one_micro_batch_within_the_limit(limit: int) -> None:
    sequences = [sequence("abc"[index % 3] * (index % 3 + 2), index * 7 % 11) for index in range(30)]
    chosen = named(sequences, max_tokens=limit)
    assert sorted(index for batch in chosen for index in batch) == list(range(30))
    for batch in chosen:
        prompts = {sequences[index].prompt_key: sequences[index].prompt_tokens for index in batch}
        own = sum(sequences[index].forwarded_count - sequences[index].prompt_tokens for index in batch)
        assert len(batch) == 1 or sum(prompts.values()) + own <= limit
    assert chosen == named(sequences, max_tokens=limit)
