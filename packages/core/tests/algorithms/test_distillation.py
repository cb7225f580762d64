"""Distillation on numbers worked out by hand, by exact enumeration, and beside TRL's own functions."""

from math import exp, log

import pytest
import torch
from algorithm_samples import doubles, policy_tokens
from torch import Tensor

from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.distillation import (
    divergence,
    listed_and_rest,
    teacher_advantages,
    with_distillation,
    with_rest,
)
from saccade.algorithms.options import DistillLoss, DistillOptions
from saccade.algorithms.policy_gradient import grpo
from saccade.errors import UserError

SAMPLED = DistillOptions(weight=1.0, reward_weight=0.0)
LOSSES: tuple[DistillLoss, ...] = ("reverse_kl", "forward_kl", "jsd")


def rows(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_divergences_of_a_coin_are_those_of_the_definitions() -> None:
    own, teacher = doubles(0.5, 0.5).log()[None], doubles(0.25, 0.75).log()[None]
    reverse = 0.5 * log(0.5 / 0.25) + 0.5 * log(0.5 / 0.75)
    forward = 0.25 * log(0.25 / 0.5) + 0.75 * log(0.75 / 0.5)
    assert divergence(own, teacher, "reverse_kl", 0.5).tolist() == pytest.approx([reverse])
    assert divergence(own, teacher, "forward_kl", 0.5).tolist() == pytest.approx([forward])
    # The mixture is beta of the teacher: 0.2 * 0.25 + 0.8 * 0.5 = 0.45.
    of_teacher = 0.25 * log(0.25 / 0.45) + 0.75 * log(0.75 / 0.55)
    of_policy = 0.5 * log(0.5 / 0.45) + 0.5 * log(0.5 / 0.55)
    assert divergence(own, teacher, "jsd", 0.2).tolist() == pytest.approx([0.2 * of_teacher + 0.8 * of_policy])


def test_tokens_that_neither_may_say_count_nothing_and_have_a_finite_gradient() -> None:
    logits = torch.tensor([[1.0, 2.0, -torch.inf]]).requires_grad_()
    teacher = torch.tensor([[0.5, 0.5, 0.0]]).log()
    for loss in LOSSES:
        found = divergence(logits.log_softmax(-1), teacher, loss, 0.5)
        (gradient,) = torch.autograd.grad(found.sum(), logits)
        alone = torch.tensor([[1.0, 2.0]]).requires_grad_()
        expected = divergence(alone.log_softmax(-1), teacher[:, :2], loss, 0.5)
        (wanted,) = torch.autograd.grad(expected.sum(), alone)
        assert found.tolist() == pytest.approx(expected.tolist())
        assert gradient[0].tolist() == pytest.approx([*wanted[0].tolist(), 0.0])


@pytest.mark.parametrize("loss", LOSSES)
def test_a_policy_that_is_its_teacher_but_for_rounding_has_no_gradient_at_all(loss: DistillLoss) -> None:
    logits = rows(3, 7).requires_grad_()
    teacher = (logits.detach() + 1e-7 * rows(3, 7, seed=1)).log_softmax(-1)
    found = divergence(logits.log_softmax(-1), teacher, loss, 0.5)
    (gradient,) = torch.autograd.grad(found.sum(), logits)
    assert found.tolist() == [0.0] * 3
    assert gradient.abs().max() == 0


def test_advantages_are_what_the_teacher_thinks_of_a_token_cut_where_it_is_absurd() -> None:
    own, teacher = (-1.0, -2.0, -1.0, -1.0), (-0.5, -3.0, -100.0, -1.000001)
    assert teacher_advantages((9.0,) * 4, own, teacher, SAMPLED) == pytest.approx((0.5, -1.0, -20.0, 0.0))
    mixed = DistillOptions(weight=0.5, reward_weight=2.0)
    assert teacher_advantages((1.0, -1.0, 0.0, 1.0), own, teacher, mixed) == pytest.approx((2.25, -2.5, -10.0, 2.0))


def test_the_sampled_form_has_the_gradient_of_the_reverse_kl_in_expectation_over_its_token() -> None:
    logits, teacher = rows(1, 5).requires_grad_(), rows(1, 5, seed=1).log_softmax(-1)
    (exact,) = torch.autograd.grad(divergence(logits.log_softmax(-1), teacher, "reverse_kl", 0.5).sum(), logits)
    algorithm = with_distillation(grpo(), SAMPLED)
    expected = torch.zeros_like(logits)
    for token in range(5):
        own = logits.log_softmax(-1)[:, token]
        advantages = teacher_advantages((3.0,), own.tolist(), teacher[:, token].tolist(), SAMPLED)
        tokens = policy_tokens(own, advantages=advantages, teacher_logprobs=teacher[:, token])
        (gradient,) = torch.autograd.grad(algorithm.loss(tokens).value, logits)
        expected += own.detach().exp() * gradient
    torch.testing.assert_close(expected, exact, rtol=1e-9, atol=1e-12)


def test_the_loss_adds_the_divergence_with_its_weight_to_each_token_s_share() -> None:
    algorithm = with_distillation(grpo(), DistillOptions(weight=0.5, loss="jsd"))
    apart = doubles(0.2, 0.6).requires_grad_()
    tokens = policy_tokens([-1.0, -2.0], advantages=[1.0, 0.0], weights=[0.5, 0.25], divergence=apart)
    loss = algorithm.loss(tokens)
    assert loss.value.item() == pytest.approx(-0.5 + 0.5 * (0.5 * 0.2 + 0.25 * 0.6))
    assert loss.sums["teacher_divergence"].item() == pytest.approx(0.8)
    assert torch.autograd.grad(loss.value, apart)[0].tolist() == pytest.approx([0.25, 0.125])
    with pytest.raises(ValueError, match="the stage must have a teacher"):
        algorithm.loss(policy_tokens([-1.0]))


def test_what_is_measured_is_the_reverse_kl_of_what_was_sampled() -> None:
    tokens = policy_tokens([-1.0, -2.0], advantages=[0.0, 0.0], teacher_logprobs=doubles(-1.5, -1.0))
    assert with_distillation(grpo(), SAMPLED).loss(tokens).sums["teacher_kl"].item() == pytest.approx(-0.5)


def test_batches_of_older_policies_keep_their_correction_and_stages_without_a_teacher_their_algorithm() -> None:
    plain = grpo()
    taught = with_distillation(plain, SAMPLED)
    assert with_distillation(plain, DistillOptions()) is plain
    assert taught.stale_loss is not None
    assert taught.learns_without_advantage
    stale = policy_tokens([0.0], old=[0.0], sampled=[-log(1.5)], advantages=[1.0], teacher_logprobs=doubles(0.0))
    assert taught.loss_of(is_stale=True)(stale).value.item() == pytest.approx(-1.5)
    assert taught.loss_of(is_stale=False)(stale).value.item() == pytest.approx(-1.0)


def test_listed_tokens_and_the_rest_are_one_distribution_and_never_further_apart_than_the_whole() -> None:
    own, teacher = rows(6, 9).log_softmax(-1), rows(6, 9, seed=1).log_softmax(-1)
    given, listed = teacher.topk(3, dim=-1)
    coarse, known = listed_and_rest(own, listed), with_rest(given)
    torch.testing.assert_close(coarse.exp().sum(-1), torch.ones(6, dtype=torch.float64))
    for loss in LOSSES:
        apart = divergence(coarse, known, loss, 0.5)
        assert bool((apart > 0).all())
        assert bool((apart <= divergence(own, teacher, loss, 0.5) + 1e-9).all())
    by_hand = [exp(value) for value in given[0].tolist()]
    assert known[0].exp().tolist() == pytest.approx([*by_hand, 1 - sum(by_hand)])


@pytest.mark.parametrize(
    "wrong",
    [
        DistillOptions(weight=-1.0),
        DistillOptions(weight=1.0, loss="jsd", teacher_share=1.0),
        DistillOptions(weight=1.0, teacher_share=0.2),
        DistillOptions(weight=1.0, top_k=3),
        DistillOptions(reward_weight=0.0),
        DistillOptions(loss="jsd"),
    ],
)
def test_options_without_a_meaning_are_refused(wrong: DistillOptions) -> None:
    with pytest.raises(UserError):
        with_distillation(grpo(), wrong)


def trl_jsd(student: Tensor, teacher: Tensor, beta: float, temperature: float = 1.0) -> Tensor:
    gkd = pytest.importorskip("trl.experimental.gkd.gkd_trainer", reason='compares with TRL; pip install -e ".[trl]"')
    found: Tensor = gkd.GKDTrainer.generalized_jsd_loss(
        student, teacher, beta=beta, temperature=temperature, reduction="none"
    )
    return found.sum(dim=-1)


@pytest.mark.parametrize(("loss", "beta"), [("forward_kl", 0.0), ("reverse_kl", 1.0), ("jsd", 0.5), ("jsd", 0.1)])
@pytest.mark.parametrize("temperature", [1.0, 0.7])
def test_divergences_and_their_gradients_equal_trl_s(loss: DistillLoss, beta: float, temperature: float) -> None:
    student, teacher = (2.0 * rows(4, 11)).requires_grad_(), 2.0 * rows(4, 11, seed=3)
    expected = trl_jsd(student, teacher, beta, temperature)
    own = (student / temperature).log_softmax(-1)
    found = divergence(own, (teacher / temperature).log_softmax(-1), loss, beta or 0.5)
    torch.testing.assert_close(found, expected, rtol=1e-6, atol=1e-9)
    ours, theirs = (torch.autograd.grad(one.sum(), student, retain_graph=True)[0] for one in (found, expected))
    torch.testing.assert_close(ours, theirs, rtol=1e-6, atol=1e-9)


def test_the_rest_of_a_server_s_list_equals_trl_s_tail_bucket() -> None:
    server = pytest.importorskip("trl.experimental.server_distillation.server_distillation_trainer")
    given = rows(5, 9).log_softmax(-1).topk(3, dim=-1).values
    expected, is_valid = server._add_tail_bucket(given, torch.ones_like(given, dtype=torch.bool))
    assert bool(is_valid.all())
    torch.testing.assert_close(with_rest(given), expected, rtol=1e-6, atol=1e-9)
    own = rows(5, 9, seed=2).log_softmax(-1).topk(3, dim=-1).values
    apart = server._jsd_divergence(with_rest(own), expected, 0.0, is_valid).sum(-1)
    torch.testing.assert_close(divergence(with_rest(own), with_rest(given), "forward_kl", 0.5), apart)


def test_an_algorithm_says_that_it_has_a_teacher() -> None:
    taught: Algorithm = with_distillation(grpo(), SAMPLED)
    assert (taught.name, taught.distill) == ("grpo with a teacher", SAMPLED)
