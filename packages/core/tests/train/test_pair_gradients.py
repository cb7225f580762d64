"""Pairs in the learner: the gradient is autograd's of the written loss, whatever the micro-batches and turns."""

from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from saccade.algorithms.dpo import dpo, weighted_likelihood
from saccade.algorithms.options import PairLoss
from saccade.learner.learner import Learner
from saccade.learner.logprobs import policy_tokens
from saccade.learner.optimizer import OptimizerSettings
from saccade.learner.sequences import training_sequences, weighted
from saccade.media.store import MediaStore
from saccade.miniature.tiny_model import TinySize, tiny_model
from saccade.models.lora import LoraSettings
from saccade.models.vlm import VisionLanguageModel
from saccade.testing.tasks import tiny_example
from saccade.train.credit import CreditedBatch, compute_advantages
from saccade.train.preferring import compared_batch
from saccade.types import Group, Message, Observation, Score, Segment, Term, Trajectory, TrajectoryPair

MEDIA = MediaStore()
TASK = tiny_example(MEDIA, 0).task
SEEN = tiny_example(MEDIA, 1).task.images
LOSS = PairLoss(beta=0.3, sft_weight=0.2)


def model_of(seed: int = 4) -> VisionLanguageModel:
    size = TinySize(hidden=32, heads=2, kv_heads=1, mlp=64, vision_hidden=32, vision_mlp=48)
    return tiny_model(["Which colour has the square?"] * 9, MEDIA, size=size, vocab_size=320, seed=seed)


def moved_learner(**settings: object) -> Learner:
    """A learner that is no longer where its reference is."""
    learner = Learner(model_of(), OptimizerSettings(**settings))  # type: ignore[arg-type]
    learner.take_reference(model_of)
    rows = [one for pair in pairs(learner.model) for one in training_sequences(pair.rejected)]
    for one in rows:
        learner.update(
            [replace(one, advantages=(0.1,) * one.action_count)],
            weighted_likelihood,
            learning_rate=3e-3,
        )
    return learner


def trajectory(model: VisionLanguageModel, turns: Sequence[str], result: str = "", *, contexts: int = 1) -> Trajectory:
    """After each turn but the last a tool's picture and ``result``; the last may begin a context of its own."""
    prompt = model.chat.prompt([Message(role="user", parts=(*TASK.images, TASK.question))])
    segments = [Segment(role="prompt", turn=0, ids=prompt.ids, images=prompt.images)]
    for turn, words in enumerate(turns):
        if turn and contexts > 1 and turn == len(turns) - 1:
            again = model.chat.prompt([Message(role="user", parts=(*SEEN, "And now?"))])
            segments.append(Segment(role="prompt", turn=turn, ids=again.ids, images=again.images))
        said = model.chat.encode(words)
        segments.append(Segment(role="action", turn=turn, ids=said, logprobs=(-2.0,) * len(said)))
        if turn < len(turns) - 1:
            seen = model.chat.observation(Observation(text=result, images=SEEN), ends_with_eos=False)
            segments.append(Segment(role="observation", turn=turn, ids=seen.ids, images=seen.images))
    return Trajectory(
        task_id=TASK.id,
        family=TASK.family,
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=tuple(segments),
        turns=(),
        status="answered",
    )


def pairs(model: VisionLanguageModel) -> list[TrajectoryPair]:
    def pair(chosen: Trajectory, rejected: Trajectory) -> TrajectoryPair:
        return TrajectoryPair(task=TASK, chosen=chosen, rejected=rejected)

    return [
        pair(trajectory(model, ["look here", "red"], "a crop"), trajectory(model, ["blue or green"])),
        pair(trajectory(model, ["red"]), trajectory(model, ["look", "blue"], "Error: no such tool", contexts=2)),
    ]


def gradient_of(learner: Learner) -> Tensor:
    return torch.cat([one.grad.flatten().clone() for one in learner.optimizer.masters if one.grad is not None])


def written_gradient(learner: Learner, loss: PairLoss, given: Sequence[TrajectoryPair]) -> tuple[float, Tensor]:
    """Autograd through the loss as it is written, both trajectories of a pair in one graph."""
    learner.optimizer.zero_grad()

    def total(one: Trajectory, *, is_reference: bool) -> Tensor:
        contexts = [replace(each, advantages=(0.0,) * each.action_count) for each in training_sequences(one)]
        if is_reference:
            numbers = learner.reference_logprobs(contexts, temperature=1.0)
            return torch.tensor([value for each in numbers for value in each], dtype=torch.float64).sum()
        with learner._training():
            tokens = policy_tokens(contexts, *learner._root(contexts, 1.0))
        return tokens.logprobs.double().sum()

    own = [[total(one, is_reference=False) for one in (pair.chosen, pair.rejected)] for pair in given]
    before = [[total(one, is_reference=True) for one in (pair.chosen, pair.rejected)] for pair in given]
    losses = [
        -logsigmoid(loss.beta * ((mine[0] - old[0]) - (mine[1] - old[1])))
        for mine, old in zip(own, before, strict=True)
    ]
    imitated = sum(sum(pair.chosen.action_mask) for pair in given)
    value = torch.stack(losses).mean() - loss.sft_weight * torch.stack([one[0] for one in own]).sum() / imitated
    value.backward()
    return float(value.detach()), gradient_of(learner)


@pytest.mark.parametrize("micro_batch_tokens", [40, 120, 4096])
@pytest.mark.parametrize("lora", [None, LoraSettings(rank=2)])
def test_the_gradient_is_that_of_the_written_loss(micro_batch_tokens: int, lora: LoraSettings | None) -> None:
    learner = moved_learner(micro_batch_tokens=micro_batch_tokens, lora=lora)
    given = pairs(learner.model)
    value, expected = written_gradient(learner, LOSS, given)
    compared, sequences = compared_batch(given, learner, LOSS)
    learner.optimizer.zero_grad()
    learner.accumulate(sequences, weighted_likelihood, temperature=1.0)
    assert compared.metrics["pair_loss"] == pytest.approx(value, abs=1e-6)
    assert compared.metrics["rewards/margins"] != 0.0
    largest = float(expected.abs().max())
    assert largest > 1e-3
    torch.testing.assert_close(gradient_of(learner), expected, rtol=0, atol=1e-6 * max(1.0, largest))


def test_what_tools_answered_has_no_part_in_the_loss_but_as_context() -> None:
    learner = moved_learner()
    _, sequences = compared_batch(pairs(learner.model), learner, LOSS)
    # Four trajectories, one of them in two contexts; the error and the crop are observations.
    assert [one.action_count for one in sequences] == [
        sum(len(segment.ids) for segment in context if segment.role == "action")
        for pair in pairs(learner.model)
        for one in (pair.chosen, pair.rejected)
        for context in one.contexts
    ]
    assert len(sequences) == 5
    assert all(len(one.advantages) == one.action_count for one in sequences)


def scored(one: Trajectory, reward: float) -> Trajectory:
    return replace(one, score=Score(terms=(Term("reward", reward),)))


def credited(learner: Learner, groups: Sequence[Group], loss: PairLoss) -> CreditedBatch:
    def reference(sequences: Sequence[object]) -> Sequence[tuple[float, ...]]:
        return learner.reference_logprobs(sequences, temperature=1.0)  # type: ignore[arg-type]

    return compute_advantages(groups, dpo(loss), learner, reference, temperature=1.0, recomputes_old=True)


def test_a_group_teaches_what_its_pair_does_and_what_is_in_no_pair_is_left_out() -> None:
    learner = moved_learner()
    (first, second) = pairs(learner.model)
    failed = replace(first.chosen, status="failed")
    middle = scored(trajectory(learner.model, ["green"]), 0.5)
    group = Group(
        task=TASK,
        stream="main",
        trajectories=(scored(first.rejected, 0.0), failed, scored(first.chosen, 1.0), middle),
    )
    other = replace(group, trajectories=(scored(second.chosen, 1.0), scored(second.rejected, -1.0)))
    equal = replace(group, trajectories=(scored(first.chosen, 1.0), scored(first.rejected, 1.0)))
    algorithm = dpo(LOSS)
    batch = credited(learner, [group, other, equal], LOSS)
    assert batch.metrics["pairs"] == 2.0
    sequences = weighted([one for rows in batch.sequences for one in rows], algorithm.aggregation)
    taught = [one for one in sequences if any(one.advantages)]
    assert not algorithm.learns_without_advantage
    assert len(taught) == 5
    _, expected = written_gradient(learner, LOSS, [first, second])
    learner.optimizer.zero_grad()
    learner.accumulate(taught, algorithm.loss, temperature=1.0)
    torch.testing.assert_close(gradient_of(learner), expected, rtol=0, atol=1e-6)
    assert [one.advantages is not None for one in batch.attempts[:4]] == [True, False, True, False]


def test_a_batch_without_a_pair_teaches_nothing() -> None:
    learner = moved_learner()
    one = scored(trajectory(learner.model, ["red"]), 1.0)
    batch = credited(learner, [Group(task=TASK, stream="main", trajectories=(one, one))], LOSS)
    assert batch.metrics == {"pairs": 0.0}
    assert not any(value for rows in batch.sequences for each in rows for value in each.advantages)


def test_a_step_widens_the_margin() -> None:
    learner = moved_learner()
    given = pairs(learner.model)
    margins: list[float] = []
    for _ in range(3):
        compared, sequences = compared_batch(given, learner, PairLoss(beta=0.3))
        margins.append(compared.metrics["rewards/margins"])
        learner.update(sequences, weighted_likelihood, learning_rate=1e-3)
    assert margins == sorted(margins)
    assert margins[0] < margins[2]
