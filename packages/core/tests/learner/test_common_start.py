"""What all prompts begin with is forwarded once in a pack: how much that is, what it saves, that nothing changes."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from packing_samples import gradient, model_of, picture, plain_logprobs

from saccade.algorithms.algorithm import Aggregation
from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner.common_start import common_start
from saccade.learner.dealing import deal
from saccade.learner.logprobs import ForwardWork, action_tokens
from saccade.learner.sequences import TrainingSequence, micro_batches, pack, weighted
from saccade.models.attention import Span
from saccade.models.vlm import VisionLanguageModel
from saccade.types import Message

RULES = "Look closer at each plate. Which plate is red? " * 8


@pytest.fixture(scope="module")
def model() -> VisionLanguageModel:
    return model_of("qwen3_vl", head_dim=16)


def asked(model: VisionLanguageModel, rules: str, question: str, said: str, number: int) -> TrainingSequence:
    messages = [Message(role="system", parts=(rules,)), Message(role="user", parts=(picture(model, number), question))]
    prompt, reply = model.chat.prompt(messages), model.chat.encode(said)
    return TrainingSequence(
        ids=(*prompt.ids, *reply),
        is_action=(False,) * len(prompt.ids) + (True,) * len(reply),
        images=prompt.images,
        prompt_tokens=len(prompt.ids),
        prompt_images=1,
        sampled_logprobs=(-1.0,) * len(reply),
        advantages=(1.0,) * len(reply),
        token_weight=1.0,
    )


def batch_of(model: VisionLanguageModel, rules: str = RULES) -> list[TrainingSequence]:
    """Three groups of two, and one of one."""
    said = [("Which?", 0, "red"), ("Where?", 1, "look"), ("Both?", 2, "plate")]
    sequences = [asked(model, rules, *one[::2], one[1]) for one in said for _ in range(2)]
    sequences = [replace(one, advantages=(*one.advantages[:-1], float(i))) for i, one in enumerate(sequences)]
    return weighted([*sequences, asked(model, rules, "Alone?", "yes", 3)], Aggregation())


def rules_tokens(model: VisionLanguageModel, sequences: Sequence[TrainingSequence]) -> int:
    """Up to the first picture: the rules and the tokens of the chat template."""
    return sequences[0].ids.index(model.image_token_id)


def test_it_ends_before_the_first_picture_and_leaves_a_prompt_its_last_token(model: VisionLanguageModel) -> None:
    sequences = batch_of(model)
    assert common_start(model, sequences) == rules_tokens(model, sequences) > 64
    words = [replace(one, images=(), prompt_images=0, ids=(*one.ids[:70], 7), prompt_tokens=71) for one in sequences]
    assert common_start(model, [words[0], replace(words[0], ids=(*words[0].ids[:-1], 8))]) == 70
    within = replace(words[0], ids=words[0].ids[:70], prompt_tokens=70)
    assert common_start(model, [words[0], within]) == 69


def test_one_prompt_other_rules_or_short_ones_share_nothing(model: VisionLanguageModel) -> None:
    sequences = batch_of(model)
    assert common_start(model, sequences[:2]) == 0
    assert common_start(model, [*sequences, asked(model, "Other rules.", "Which?", "red", 0)]) == 0
    assert common_start(model, batch_of(model, "Look.")) == 0
    assert common_start(model, []) == 0


@pytest.mark.parametrize("kind", ["recurrent", "invariant", "experts"])
def test_states_sums_in_one_order_and_replayed_experts_share_nothing(model: VisionLanguageModel, kind: str) -> None:
    sequences = batch_of(model)
    if kind == "experts":
        assert common_start(model, [replace(one, routed_experts=b"0") for one in sequences]) == 0
        return
    other = model_of("qwen3_5" if kind == "recurrent" else "qwen3_vl")
    other.batch_invariant = kind == "invariant"
    assert common_start(other, batch_of(other)) == 0


def test_a_pack_forwards_it_once_and_so_does_each_micro_batch(model: VisionLanguageModel) -> None:
    sequences = batch_of(model)
    common, work = common_start(model, sequences), ForwardWork()
    with torch.no_grad():
        action_tokens(model, sequences, temperature=1.0, work=work)
    apart = sum(
        sum(batch[0].prompt_tokens for batch in [one]) for one in (sequences[:2], sequences[2:4], sequences[4:6])
    )
    rests = sum(one.forwarded_count - one.prompt_tokens for one in sequences)
    assert work.tokens == apart + sequences[6].prompt_tokens + rests - 3 * common
    first, *others = pack(model, sequences).layout
    assert (first.prefix, first.root, {one.root for one in others}) == (Span(0, common), None, {Span(0, common)})
    # Where half of the questions fit beside each other without it, all do with it.
    limit = work.tokens
    assert len(micro_batches(sequences, max_tokens=limit)) > 1
    assert micro_batches(sequences, max_tokens=limit, common=common) == [sequences]
    cut = micro_batches(sequences, max_tokens=limit - 1, common=common)
    assert len(cut) == 2
    for batch in cut:
        with torch.no_grad():
            action_tokens(model, batch, temperature=1.0, work=(part := ForwardWork()))
        assert part.tokens < limit
    assert [len(hand) for hand in deal(sequences, 2, limit, common=common)] == [1, 1]
    assert [len(hand) for hand in deal(sequences, 1, common, common=common)] == [7]


def test_it_changes_no_log_probability_and_no_gradient(model: VisionLanguageModel) -> None:
    sequences = batch_of(model)
    tokens = action_tokens(model, sequences, temperature=0.8)
    plain = [plain_logprobs(model, one, temperature=0.8) for one in sequences]
    torch.testing.assert_close(tokens.logprobs, torch.cat(plain), atol=2e-5, rtol=0)
    model.hf.zero_grad()
    negative_log_likelihood(tokens).value.backward()
    ours = gradient(model)
    model.hf.zero_grad()
    for sequence, logprobs in zip(sequences, plain):
        (-sequence.token_weight * logprobs.sum()).backward()
    expected = gradient(model)
    assert float((ours - expected).norm()) < 1e-5 * float(expected.norm())
