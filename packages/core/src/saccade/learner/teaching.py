"""A learner's teacher: what it says of the policy's tokens, and how far the policy's distributions are from its own."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from saccade.algorithms.distillation import divergence, listed_and_rest, with_rest
from saccade.algorithms.options import DistillOptions
from saccade.errors import UserError
from saccade.learner.logprobs import StateDivergence, action_states, logits_at_once
from saccade.learner.sequences import TrainingSequence
from saccade.models.lora import adapter_parameters, reference_policy
from saccade.models.vlm import VisionLanguageModel
from saccade.native import FeatureCache

TeacherWeights = Literal["policy", "start", "own", "server"]
"""Whose weights teach: the policy's at this moment, those that the stage began with, a checkpoint's, or a server's."""

_COPIES = 4
"""Of a chunk's logits: two distributions, and what their comparison makes of them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Teaching:
    """Who teaches a learner, and how the two are compared."""

    weights: TeacherWeights
    options: DistillOptions


def as_seen(sequences: Sequence[TrainingSequence]) -> list[TrainingSequence]:
    """The sequences in the contexts in which the teacher sees them; its routers choose by themselves."""
    return [replace(one.teacher_view or one, routed_experts=b"") for one in sequences]


def states_apart(
    sequences: Sequence[TrainingSequence],
    *,
    policy: VisionLanguageModel,
    teacher: VisionLanguageModel | None,
    teaching: Teaching,
    temperature: float,
    frozen_images: FeatureCache | None,
    max_logits: int | None = None,
) -> StateDivergence:
    """The divergence of the policy from its teacher at each action token, by the policy's states there.

    The teacher's own states are worked out at once, without a gradient, and its logits chunk by chunk.
    ``teacher`` is None where it is a server, whose most likely tokens the sequences bring along. ``max_logits`` are as
    many as exist of each at once, by default a share of ``logits_at_once``.
    """
    if teacher is None:
        listed = partial(_apart_from_listed, sequences, policy=policy, teaching=teaching, temperature=temperature)
        return partial(listed, max_logits=max_logits)
    is_start = teaching.weights == "start" and teacher is policy
    with torch.no_grad(), reference_policy(policy) if is_start else nullcontext():
        _, taught = action_states(teacher, as_seen(sequences), frozen_images=frozen_images)
    whole = partial(_apart_from_states, taught=taught, policy=policy, teacher=teacher, teaching=teaching)
    return partial(whole, temperature=temperature, max_logits=max_logits)


def _apart_from_states(
    states: Float[Tensor, "actions hidden"],
    *,
    taught: Float[Tensor, "actions teacher_hidden"],
    policy: VisionLanguageModel,
    teacher: VisionLanguageModel,
    teaching: Teaching,
    temperature: float,
    max_logits: int | None,
) -> Float[Tensor, "actions"]:
    # The rest of the longer vocabulary is entries of no token, which nobody says.
    width, options = min(policy.vocab_size, teacher.vocab_size), teaching.options

    def of_chunk(states: Tensor, taught: Tensor) -> Tensor:
        own = policy.logprob_logits(states, temperature).log_softmax(dim=-1)[:, :width]
        with torch.no_grad():
            other = teacher.logprob_logits(taught, temperature).log_softmax(dim=-1)[:, :width]
        return divergence(own, other.to(own.device), options.loss, options.teacher_share)

    vocabulary = max(policy.vocab_size, teacher.vocab_size)
    return _by_chunk(of_chunk, states, taught, vocabulary=vocabulary, max_logits=max_logits)


def _apart_from_listed(
    sequences: Sequence[TrainingSequence],
    states: Float[Tensor, "actions hidden"],
    *,
    policy: VisionLanguageModel,
    teaching: Teaching,
    temperature: float,
    max_logits: int | None,
) -> Float[Tensor, "actions"]:
    options = teaching.options
    rows = [row for one in sequences for row in one.teacher_top or ()]
    listed = torch.tensor([[token for token, _ in row] for row in rows], device=states.device).view(len(rows), -1)
    given = torch.tensor([[value for _, value in row] for row in rows], device=states.device).view(len(rows), -1)

    def of_chunk(states: Tensor, listed: Int[Tensor, "tokens k"], given: Float[Tensor, "tokens k"]) -> Tensor:
        own = policy.logprob_logits(states, temperature).log_softmax(dim=-1)
        return divergence(listed_and_rest(own, listed), with_rest(given), options.loss, options.teacher_share)

    return _by_chunk(of_chunk, states, listed, given, vocabulary=policy.vocab_size, max_logits=max_logits)


def _by_chunk(
    of_chunk: Callable[..., Tensor], *rows: Tensor, vocabulary: int, max_logits: int | None
) -> Float[Tensor, "actions"]:
    """What ``of_chunk`` makes of so many rows at a time, which autograd works out again for the gradient."""
    usual = logits_at_once(on_gpu=rows[0].is_cuda) // _COPIES
    count, each = len(rows[0]), max(1, (usual if max_logits is None else max_logits) // vocabulary)
    starts = range(0, count, each) if count else range(1)
    parts = [checkpoint(of_chunk, *(one[at : at + each] for one in rows), use_reentrant=False) for at in starts]
    return torch.cat(parts)


def check_head(teaching: Teaching, policy: VisionLanguageModel) -> None:
    """UserError where whole distributions are compared with those of a head that an adapter has changed since."""
    changed = [name for name in adapter_parameters(policy) if "lm_head" in name] if policy.adapter is not None else []
    if teaching.weights == "start" and teaching.options.compares_whole and changed:
        raise UserError(
            f"the adapter trains the head ({changed[0]}), and teacher.model=start compares with the head as it was; "
            "take distill.loss=sampled, or leave the head out of optimizer.lora.targets and optimizer.trained"
        )


def share_forbidden(teacher: VisionLanguageModel, policy: VisionLanguageModel) -> None:
    """Lets a teacher of its own be silent where the policy must be: both distributions are over the same tokens."""
    never = {int(one) for one in policy.forbidden_ids.tolist() if int(one) < teacher.vocab_size}
    beyond = range(min(len(policy.tokenizer), teacher.vocab_size), teacher.vocab_size)
    teacher.forbidden_ids = torch.tensor(sorted({*never, *beyond}), dtype=torch.long, device=teacher.device)
