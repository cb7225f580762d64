"""Several ranks learn as one process does. Real processes, gloo, no GPU.

Each of these makes a test here fail: ``set_reduce_scatter_unused_params`` taken out of ``Sharding.apply``; the divide
factor taken out of it; ranks that are dealt the micro-batches that ``micro_batches`` gives without blank ones; no
``settle`` after a forward without gradients; ``reference_policy`` that exchanges ``.data`` instead of copying.
"""

from dataclasses import replace

import pytest
import torch
from packing_samples import FAMILIES, model_of
from sharded_samples import Case, Learned, alone, apart, breaks, diverges, gap, mixed, together

from saccade.errors import UserError
from saccade.learner.dealing import deal
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.processes import PeerUserError
from saccade.learner.sharding import check_can_shard
from saccade.models.lora import LoraSettings
from saccade.testing.ranks import in_ranks

SMALL = OptimizerSettings(micro_batch_tokens=200)
ADAPTER = replace(SMALL, lora=LoraSettings(rank=2), learning_rate=1e-2)
CASES = {
    **{f"{family}-layers": Case(family=family) for family in FAMILIES},
    "experts": Case(family="qwen3_vl_moe", settings=replace(SMALL, activation_checkpointing=True)),
    "internvl-whole": Case(family="internvl", wrap="whole"),
    "critic": Case(has_critic=True),
    "adapter": Case(settings=ADAPTER),
    "adapter-whole": Case(settings=ADAPTER, wrap="whole", has_critic=True, family="qwen2_5_vl"),
    "frozen tower": Case(settings=replace(SMALL, frozen_vision=True)),
    "projector": Case(settings=replace(SMALL, trained="multi_modal_projector"), family="internvl"),
    "merger beside an adapter": Case(settings=replace(ADAPTER, trained="merger"), wrap="whole"),
    "checkpointing": Case(settings=replace(SMALL, activation_checkpointing=True), family="internvl"),
    "muon": Case(settings=replace(SMALL, muon=True)),
}
FEW = ("qwen3_vl-layers", "internvl-whole", "adapter-whole")
"""What three ranks say that two do not, parameters that they cannot share evenly, in each way of wrapping."""
CHOSEN = replace(SMALL, trained="merger|layers.1.mlp")
HALF = [
    Case(is_half=True),
    Case(is_half=True, settings=CHOSEN),
    Case(is_half=True, settings=ADAPTER),
    Case(is_half=True, wrap="whole", has_critic=True),
]


@pytest.fixture(scope="module")
def expected() -> dict[str, Learned]:
    return dict(zip(CASES, alone([*CASES.values()])))


@pytest.fixture(scope="module", params=[2, 3])
def sharded(request: pytest.FixtureRequest) -> list[dict[str, Learned]]:
    cases = CASES if request.param == 2 else {name: CASES[name] for name in FEW}
    return [dict(zip(cases, of_rank)) for of_rank in together([*cases.values()], request.param)]


def test_in_some_round_one_rank_has_pictures_and_another_none() -> None:
    for ranks in (2, 3):
        model = model_of("qwen3_vl")
        rounds = zip(*deal(mixed(model), ranks, SMALL.micro_batch_tokens))
        seen = [{any(one.images for one in batch.sequences) for batch in batches} for batches in rounds]
        assert {True, False} in seen


def test_the_gradient_of_many_ranks_is_that_of_one_process(
    sharded: list[dict[str, Learned]], expected: dict[str, Learned]
) -> None:
    for of_rank in sharded:
        gaps = {name: gap(of_rank[name].gradient, expected[name].gradient) for name in of_rank}
        assert {name: found for name, found in gaps.items() if not found <= 1e-6} == {}


def test_metrics_and_norms_are_those_of_one_process(
    sharded: list[dict[str, Learned]], expected: dict[str, Learned]
) -> None:
    for of_rank in sharded:
        for name in of_rank:
            case = CASES[name]
            assert of_rank[name].totals == pytest.approx(expected[name].totals, rel=1e-5)
            # Newton and Schulz iterate in half precision: a rounding of the gradient is as visible in one process.
            close = 1e-2 if case.settings.muon else 1e-3
            own, others = (dict(one[name].metrics) for one in (of_rank, expected))
            # A prompt is forwarded again by each rank that has a part of its group, and so are blanks.
            assert own.pop("forwarded_tokens") >= others.pop("forwarded_tokens")
            # Micro-batches of one rank: cut finer where there would be fewer than ranks.
            assert min(own.pop("micro_batches"), others.pop("micro_batches")) >= 1
            assert own == pytest.approx(others, rel=close)


def test_two_steps_leave_all_ranks_with_one_policy_near_that_of_one_process(
    sharded: list[dict[str, Learned]], expected: dict[str, Learned]
) -> None:
    first = sharded[0]
    for name in first:
        case = CASES[name]
        for other in sharded[1:]:
            assert all(torch.equal(first[name].weights[key], other[name].weights[key]) for key in first[name].weights)
            assert first[name].logprobs == other[name].logprobs
        if not case.settings.muon:
            assert apart(first[name].logprobs, expected[name].logprobs) < 1e-2
        if case.has_critic:
            assert apart(first[name].values, expected[name].values) < 1e-2


def test_the_reference_is_the_first_policy_and_the_policy_comes_back_after_it(
    sharded: list[dict[str, Learned]], expected: dict[str, Learned]
) -> None:
    for of_rank in sharded:
        for name, own in of_rank.items():
            assert apart(own.reference, expected[name].reference) < 1e-5
            assert apart(own.reference, own.logprobs) > (1e-3 if "adapter" in name else 0.05)
            assert own.again == own.logprobs


def test_half_precision_shards_have_the_bits_of_weights_with_masters() -> None:
    for one, other in zip(alone(HALF), together(HALF, 1)[0]):
        assert gap(one.gradient, other.gradient) == 0
        assert all(torch.equal(one.weights[name], other.weights[name]) for name in one.weights)
        assert (one.logprobs, one.reference) == (other.logprobs, other.reference)


def test_a_rank_that_fails_ends_the_others_with_its_words() -> None:
    waiting, failed = in_ranks(2, breaks)
    assert isinstance(waiting, PeerUserError)
    assert str(waiting) == "rank 1: this loss takes no such tokens; give it others"
    assert str(failed) == "this loss takes no such tokens; give it others"


def test_all_ranks_skip_a_step_whose_loss_is_not_finite_on_one() -> None:
    [first, second] = in_ranks(2, diverges)
    assert first == second
    assert isinstance(first, tuple)
    metrics, stays, suspects = first
    assert metrics["skipped"] == 1.0
    assert stays
    assert suspects


def test_half_precision_weights_whole_beside_an_adapter_are_not_sharded() -> None:
    case = Case(is_half=True, settings=replace(ADAPTER, trained="merger"))
    with pytest.raises(UserError, match=r"not trained whole beside an adapter with fleet\.learners above 1"):
        together([case], 1)


def test_what_cannot_be_sharded_is_the_users_to_change() -> None:
    for name in ("eight_bit_optimizer", "offload_optimizer", "compile"):
        with pytest.raises(UserError, match=f"stage rl: optimizer.{name}=true does not work with fleet.learners"):
            check_can_shard(replace(SMALL, **{name: True}), "stage rl: optimizer.")
    check_can_shard(ADAPTER)
