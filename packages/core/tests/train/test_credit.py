"""From scored groups to training sequences: who counts, what KL and a critic change, what need not be forwarded."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch

from saccade.algorithms.algorithm import Algorithm
from saccade.algorithms.options import PolicyOptions
from saccade.algorithms.policy_gradient import grpo, ppo
from saccade.learner.forwards import ValueHead
from saccade.learner.learner import Learner
from saccade.learner.logprobs import action_tokens
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import TrainingSequence, weighted
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.tasks import tiny_example
from saccade.train.credit import LogProbabilities, compute_advantages
from saccade.types import Group, Message, Score, Segment, Term, Trajectory, TrajectoryStatus

MEDIA = MediaStore()
TASK = tiny_example(MEDIA, 0).task


@pytest.fixture(scope="module")
def model() -> VisionLanguageModel:
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    return tiny_model(["Which colour has the square?"] * 9, MEDIA, size=size, vocab_size=320, seed=4)


def learner_of(model: VisionLanguageModel, *, has_critic: bool = False) -> Learner:
    head = ValueHead(model.hidden_size) if has_critic else None
    if head is not None:
        torch.nn.init.normal_(head.outer.weight, generator=torch.Generator().manual_seed(1))
    return Learner(model, OptimizerSettings(), value_head=head)


def trajectory(
    model: VisionLanguageModel, words: str, reward: float, status: TrajectoryStatus = "answered"
) -> Trajectory:
    prompt = model.chat.prompt([Message(role="user", parts=(*TASK.images, TASK.question))])
    said = model.chat.encode(words)
    return Trajectory(
        task_id=TASK.id,
        family=TASK.family,
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(
            Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images),
            Segment(role="action", turn=0, ids=said, logprobs=(-2.0,) * len(said)),
        ),
        turns=(),
        status=status,
        score=None if status == "failed" else Score(terms=(Term("reward", reward),)),
    )


def group_of(*trajectories: Trajectory) -> Group:
    return Group(task=TASK, stream="main", trajectories=trajectories)


def credit(
    groups: Sequence[Group], algorithm: Algorithm, learner: Learner, reference: LogProbabilities | None = None
) -> list[list[TrainingSequence]]:
    return compute_advantages(groups, algorithm, learner, reference, temperature=1.0, recomputes_old=False).sequences


def gradient(learner: Learner, sequences: Sequence[TrainingSequence], algorithm: Algorithm) -> torch.Tensor:
    learner.optimizer.zero_grad()
    learner.accumulate(sequences, algorithm.loss, temperature=1.0)
    return torch.cat([weight.grad.flatten().clone() for weight in learner.optimizer.masters if weight.grad is not None])


def test_leaving_out_groups_of_equal_rewards_changes_no_gradient(model: VisionLanguageModel) -> None:
    groups = [
        group_of(trajectory(model, "red", 1.0), trajectory(model, "blue or so", 0.0)),
        group_of(trajectory(model, "green", 1.0), trajectory(model, "green again", 1.0)),
    ]
    algorithm, learner = grpo(), learner_of(model)
    assert not algorithm.learns_without_advantage
    everything = weighted([one for of in credit(groups, algorithm, learner) for one in of], algorithm.aggregation)
    needed = [one for one in everything if any(one.advantages)]
    assert len(needed) == 2
    torch.testing.assert_close(
        gradient(learner, needed, algorithm), gradient(learner, everything, algorithm), rtol=0, atol=1e-8
    )


def test_the_machines_failures_never_count_and_truncated_ones_only_where_they_are_not_masked(
    model: VisionLanguageModel,
) -> None:
    group = group_of(
        trajectory(model, "red", 1.0),
        trajectory(model, "blue", 0.0),
        trajectory(model, "and so on", 0.5, "token_limit"),
        trajectory(model, "lost", 0.0, "failed"),
    )
    [kept] = credit([group], grpo(), learner_of(model))
    assert [one.advantages[0] for one in kept] == pytest.approx([1.0, -1.0, 0.0], abs=1e-5)
    [masked] = credit([group], grpo(options=PolicyOptions(masks_truncated=True)), learner_of(model))
    assert [one.advantages[0] for one in masked] == pytest.approx([1.0, -1.0], abs=1e-5)


def test_kl_in_the_reward_moves_the_advantage_away_from_what_left_the_reference(model: VisionLanguageModel) -> None:
    """The first trajectory's tokens were sampled at -2 nats and have -3 under the reference: one nat a token."""
    first, second = trajectory(model, "red", 1.0), trajectory(model, "red", 1.0)

    def reference(sequences: Sequence[TrainingSequence]) -> list[tuple[float, ...]]:
        return [(-3.0 if place == 0 else -2.0,) * one.action_count for place, one in enumerate(sequences)]

    algorithm = grpo(scale_by_std=False, options=PolicyOptions(kl_in_reward=0.1))
    [[penalised, other]] = credit([group_of(first, second)], algorithm, learner_of(model), reference)
    cost = 0.1 * penalised.action_count
    assert penalised.advantages == pytest.approx([-cost / 2] * penalised.action_count)
    assert other.advantages == pytest.approx([cost / 2] * other.action_count)


def test_the_critics_advantages_are_per_token_and_its_returns_reach_the_learner(model: VisionLanguageModel) -> None:
    learner = learner_of(model, has_critic=True)
    algorithm = ppo()
    group = group_of(trajectory(model, "red and blue", 1.0), trajectory(model, "green", 0.0))
    assert algorithm.critic is not None
    plain = replace(algorithm, critic=replace(algorithm.critic, whitens=False, gae_lambda=1.0))
    [[first, second]] = credit([group], plain, learner)
    assert first.old_values is not None
    assert len(set(first.old_values)) > 1
    # With lambda and discount 1 the return is the reward that is still to come.
    assert first.returns == pytest.approx([1.0] * first.action_count)
    assert second.returns == pytest.approx([0.0] * second.action_count, abs=1e-6)
    assert first.advantages == pytest.approx([1.0 - value for value in first.old_values])


def test_old_log_probabilities_are_the_learners_where_they_are_asked_for(model: VisionLanguageModel) -> None:
    learner = learner_of(model)
    group = group_of(trajectory(model, "red", 1.0), trajectory(model, "blue", 0.0))
    [sequences] = compute_advantages([group], grpo(), learner, None, temperature=1.0, recomputes_old=True).sequences
    expected = learner.logprobs(sequences, temperature=1.0)
    assert [one.old_logprobs for one in sequences] == expected
    assert all(set(one.sampled_logprobs) == {-2.0} for one in sequences)


def test_what_is_learned_once_has_a_ratio_of_exactly_1_and_no_forward_of_its_own(model: VisionLanguageModel) -> None:
    learner = learner_of(model)
    group = group_of(trajectory(model, "red and blue", 1.0), trajectory(model, "blue", 0.0))

    def sequences(algorithm: Algorithm) -> list[TrainingSequence]:
        [found] = compute_advantages(
            [group], algorithm, learner, None, temperature=1.0, recomputes_old=True, is_learned_once=True
        ).sequences
        return found

    before = learner.work.tokens
    spared = sequences(grpo())
    assert learner.work.tokens == before
    tokens = action_tokens(model, spared, temperature=1.0)
    assert torch.equal(tokens.old_logprobs, tokens.logprobs.detach())
    assert not torch.equal(tokens.old_logprobs, tokens.sampled_logprobs)
    # What is rejected by them must know them before.
    rejecting = sequences(grpo(options=PolicyOptions(sequence_rejection=1e9)))
    assert all(one.old_logprobs is not None and not one.old_is_own for one in rejecting)


def test_masked_trajectories_do_not_move_the_critics_advantages(model: VisionLanguageModel) -> None:
    learner = learner_of(model, has_critic=True)
    fine = [trajectory(model, "red and blue", 1.0), trajectory(model, "green", 0.0)]
    cut = trajectory(model, "and so on and on", 90.0, "token_limit")
    algorithm = ppo(options=PolicyOptions(masks_truncated=True))
    [alone] = credit([group_of(*fine)], algorithm, learner)
    [beside] = credit([group_of(*fine, cut)], algorithm, learner)
    assert [one.advantages for one in beside] == [pytest.approx(one.advantages, abs=1e-5) for one in alone]
    assert [one.returns for one in beside] == [pytest.approx(one.returns, abs=1e-5) for one in alone]


def test_sequences_of_a_sampler_that_is_too_far_away_are_left_out_and_counted(model: VisionLanguageModel) -> None:
    learner = learner_of(model)
    far = group_of(trajectory(model, "red", 1.0), trajectory(model, "blue", 0.0))
    [[near, _]] = compute_advantages([far], grpo(), learner, None, temperature=1.0, recomputes_old=True).sequences
    assert near.old_logprobs is not None
    said = replace(far.trajectories[0].segments[1], logprobs=near.old_logprobs)
    half = replace(far.trajectories[0], segments=(far.trajectories[0].segments[0], said))
    rejecting = grpo(options=PolicyOptions(sequence_rejection=1.01))
    mixed = compute_advantages(
        [group_of(half, far.trajectories[1])], rejecting, learner, None, temperature=1.0, recomputes_old=True
    )
    # The group's mean still counts the one that is left out: the other's advantage is what it would have been.
    assert [one.advantages for group in mixed.sequences for one in group] == [near.advantages]
    assert mixed.rejected == 1
    assert [attempt.advantages is None for attempt in mixed.attempts] == [False, True]
    nothing = compute_advantages([far], rejecting, learner, None, temperature=1.0, recomputes_old=True)
    assert (nothing.sequences, nothing.rejected) == ([[]], 2)
