"""Packs with shared prompts against transformers' own forward of each sequence alone, for every family."""

from dataclasses import replace
from threading import Thread

import pytest
import torch
from packing_samples import FAMILIES, gradient, groups, inputs, model_of, picture, plain_logprobs
from torch import Tensor, nn

from saccade.algorithms.losses import negative_log_likelihood
from saccade.learner import common_start
from saccade.learner.logprobs import ForwardWork, action_tokens
from saccade.learner.memory import activation_checkpointing
from saccade.learner.sequences import TrainingSequence, micro_batches
from saccade.models.vlm import VisionLanguageModel


@pytest.fixture(scope="module", params=[(family, head_dim) for family in FAMILIES for head_dim in (8, 16)], ids=str)
def model(request: pytest.FixtureRequest) -> VisionLanguageModel:
    family, head_dim = request.param
    return model_of(family, head_dim=head_dim)


@pytest.fixture(params=["prompts apart", "one start"])
def start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Whether the few tokens that all prompts begin with are shared."""
    if request.param == "one start":
        monkeypatch.setattr(common_start, "SHORTEST", 1)
    return str(request.param)


def packed_gradient(model: VisionLanguageModel, max_tokens: int = 1_000_000) -> Tensor:
    model.hf.zero_grad()
    common = common_start.common_start(model, groups(model))
    for batch in micro_batches(groups(model), max_tokens=max_tokens, common=common):
        negative_log_likelihood(action_tokens(model, batch, temperature=0.8)).value.backward()
    return gradient(model)


def plain_gradient(model: VisionLanguageModel) -> Tensor:
    model.hf.zero_grad()
    for sequence in groups(model):
        (-sequence.token_weight * plain_logprobs(model, sequence, temperature=0.8).sum()).backward()
    return gradient(model)


@pytest.mark.usefixtures("start")
@torch.no_grad()
def test_log_probabilities_of_a_pack_are_those_of_plain_forwards(model: VisionLanguageModel) -> None:
    ours = action_tokens(model, groups(model), temperature=0.8).logprobs
    expected = torch.cat([plain_logprobs(model, one, temperature=0.8) for one in groups(model)])
    torch.testing.assert_close(ours, expected, atol=2e-5, rtol=0)


@pytest.mark.usefixtures("start")
def test_gradients_of_a_pack_are_those_of_plain_forwards(model: VisionLanguageModel) -> None:
    ours, expected = packed_gradient(model), plain_gradient(model)
    assert float((ours - expected).norm()) < 1e-5 * float(expected.norm())


@pytest.mark.usefixtures("start")
def test_any_split_gives_the_same_gradient(model: VisionLanguageModel) -> None:
    whole = packed_gradient(model)
    for limit in (1, 100, 180):
        # Behind Gemma 4's tower gradients are sums of large terms.
        atol = 1e-5 if model.family.model_type == "gemma4" else 1e-6
        torch.testing.assert_close(packed_gradient(model, limit), whole, rtol=1e-5, atol=atol)


def test_the_same_batch_gives_the_same_bits(model: VisionLanguageModel) -> None:
    assert torch.equal(packed_gradient(model, 180), packed_gradient(model, 180))


def test_layers_that_are_worked_out_again_give_the_same_gradient(model: VisionLanguageModel) -> None:
    kept = packed_gradient(model)
    with activation_checkpointing([model.hf]):
        torch.testing.assert_close(packed_gradient(model), kept, rtol=0, atol=1e-7)


@torch.no_grad()
def test_what_a_neighbour_says_changes_nothing(model: VisionLanguageModel) -> None:
    """Only the log-probabilities of the sequence itself move when its sampled tokens do."""
    one, other, *rest = groups(model)
    spoken = one.is_action.index(True)
    changed = replace(one, ids=(*one.ids[:spoken], one.ids[spoken] + 1, *one.ids[spoken + 1 :]))
    before = action_tokens(model, [one, other, *rest], temperature=1.0).logprobs[one.action_count :]
    after = action_tokens(model, [changed, other, *rest], temperature=1.0).logprobs
    torch.testing.assert_close(after[one.action_count :], before, atol=1e-6, rtol=0)


@torch.no_grad()
def test_a_sampled_token_and_its_picture_matter_to_what_follows(model: VisionLanguageModel) -> None:
    first, *_ = groups(model)
    other = replace(first, images=(first.images[0], picture(model, 6)))
    assert len(other.ids) == len(first.ids)
    before, after = (action_tokens(model, [one], temperature=1.0).logprobs for one in (first, other))
    turn = [place for place, is_action in enumerate(first.is_action) if is_action]
    said = next(index for index, place in enumerate(turn) if place + 1 < turn[index + 1]) + 1
    assert torch.equal(before[:said], after[:said])
    assert bool((before[said:] != after[said:]).all())


def test_a_forward_takes_each_prompt_once_and_each_image_once(model: VisionLanguageModel) -> None:
    work = ForwardWork()
    sequences = groups(model)
    with torch.no_grad():
        action_tokens(model, sequences, temperature=1.0, work=work)
    prompts = {one.prompt_key: one.prompt_tokens for one in sequences}
    last = [len(one.is_action) - 1 - one.is_action[::-1].index(True) for one in sequences]
    own = sum(end - one.prompt_tokens for one, end in zip(sequences, last))
    assert work.tokens == sum(prompts.values()) + own
    # The pictures are those numbered 0 to 4.
    assert work.images == 5
    with torch.no_grad():
        action_tokens(model, [sequences[3]], temperature=1.0, work=work)
    assert work.images == 6


def test_pictures_after_the_last_action_are_not_encoded(model: VisionLanguageModel) -> None:
    work = ForwardWork()
    [*_, late] = groups(model)
    with torch.no_grad():
        action_tokens(model, [late], temperature=1.0, work=work)
    assert len({image.hash for image in late.images}) == 3
    assert work.images == 2


@torch.no_grad()
def test_sequences_come_back_in_the_order_given(model: VisionLanguageModel) -> None:
    sequences = groups(model)
    tokens = action_tokens(model, sequences, temperature=1.0)
    assert tokens.sequence.tolist() == [i for i, one in enumerate(sequences) for _ in range(one.action_count)]
    backwards = action_tokens(model, sequences[::-1], temperature=1.0).logprobs
    parts = backwards.split([one.action_count for one in sequences[::-1]])
    torch.testing.assert_close(torch.cat(parts[::-1]), tokens.logprobs, atol=1e-5, rtol=0)


def silent(sequence: TrainingSequence) -> TrainingSequence:
    return replace(sequence, is_action=(False,) * len(sequence.ids), sampled_logprobs=(), advantages=())


def test_sequences_without_an_action_cost_nothing_but_a_prompt(model: VisionLanguageModel) -> None:
    first, second, *_ = groups(model)
    tokens = action_tokens(model, [silent(second), first], temperature=1.0)
    assert tokens.sequence.tolist() == [1] * first.action_count
    model.hf.zero_grad()
    empty = action_tokens(model, [silent(first)], temperature=1.0)
    assert empty.logprobs.shape == (0,)
    negative_log_likelihood(empty).value.backward()
    assert not bool(gradient(model).any())
    model.hf.zero_grad()


def test_values_are_those_of_the_states_that_predict_the_actions(model: VisionLanguageModel) -> None:
    head = nn.Sequential(nn.Linear(32, 1), nn.Flatten(0))
    sequence = groups(model)[0]
    tokens = action_tokens(model, [sequence], temperature=1.0, value_head=head)
    plain = model.hf(output_hidden_states=True, **inputs(model, sequence)).hidden_states[-1][0]
    before = torch.tensor(sequence.is_action).nonzero()[:, 0] - 1
    assert tokens.values is not None
    torch.testing.assert_close(tokens.values, head(plain[before]), atol=1e-5, rtol=0)


def test_a_critic_reaches_the_trunk_only_where_it_may(model: VisionLanguageModel) -> None:
    head = nn.Sequential(nn.Linear(32, 1), nn.Flatten(0))
    for trains_trunk in (True, False):
        model.hf.zero_grad()
        head.zero_grad()
        tokens = action_tokens(model, groups(model), temperature=1.0, value_head=head, values_train_trunk=trains_trunk)
        assert tokens.values is not None
        tokens.values.sum().backward()
        reached = [p.grad is not None and bool(p.grad.any()) for p in model.hf.parameters()]
        assert any(reached) == trains_trunk
        assert head[0].weight.grad is not None
    model.hf.zero_grad()


@torch.no_grad()
def test_packs_and_plain_forwards_run_side_by_side(model: VisionLanguageModel) -> None:
    """The attention is chosen by the call: a forward in another thread never sees the choice of this one."""
    sequence = groups(model)[1]
    alone = plain_logprobs(model, sequence)
    seen: list[Tensor] = []
    thread = Thread(target=lambda: seen.extend(plain_in_a_thread(model, sequence) for _ in range(8)))
    thread.start()
    packed = [action_tokens(model, groups(model), temperature=1.0).logprobs for _ in range(8)]
    thread.join()
    assert len(seen) == 8
    assert all(torch.equal(one, alone) for one in seen)
    assert all(torch.equal(one, packed[0]) for one in packed)


@torch.no_grad()
def plain_in_a_thread(model: VisionLanguageModel, sequence: TrainingSequence) -> Tensor:
    return plain_logprobs(model, sequence)
