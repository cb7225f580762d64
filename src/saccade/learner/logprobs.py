"""Log-probabilities of the tokens that the policy chose, in one forward of a micro-batch."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.learner.sequences import TrainingSequence
from saccade.models.vlm import VisionLanguageModel


@dataclass(frozen=True, kw_only=True, slots=True)
class ActionTokens:
    """Action tokens of a micro-batch, sequence after sequence; every tensor has shape (action tokens,)."""

    logprobs: Tensor
    sampled_logprobs: Tensor
    advantages: Tensor
    entropy: Tensor
    """In nats, detached."""


def action_tokens(
    model: VisionLanguageModel, sequences: Sequence[TrainingSequence], *, temperature: float
) -> ActionTokens:
    """Runs the model over right-padded rows; each image that several rows share is encoded once.

    Logits exist only at positions that predict an action token. Right padding needs no mask: under causal attention
    no real token sees what comes after it.
    """
    device = model.device
    length = max(len(sequence.ids) for sequence in sequences)
    ids = torch.zeros(len(sequences), length, dtype=torch.long)
    positions = torch.zeros(3, len(sequences), length, dtype=torch.long)
    is_action = torch.zeros(len(sequences), length, dtype=torch.bool)
    sampled = torch.zeros(len(sequences), length)
    advantages = torch.zeros(len(sequences), length)
    for row, sequence in enumerate(sequences):
        count = len(sequence.ids)
        ids[row, :count] = torch.tensor(sequence.ids)
        positions[:, row, :count] = model.positions(sequence.ids, sequence.images)
        is_action[row, :count] = torch.tensor(sequence.is_action)
        sampled[row, :count] = torch.tensor(sequence.sampled_logprobs)
        advantages[row, :count] = torch.tensor(sequence.advantages)

    unique = list({image.hash: image for sequence in sequences for image in sequence.images}.values())
    encoded = dict(zip([image.hash for image in unique], model.encode_images(unique)))
    features = [encoded[image.hash] for sequence in sequences for image in sequence.images]
    hidden = model.hidden(model.embed(ids.to(device), features), positions.to(device))

    is_target = is_action[:, 1:].to(device)
    targets = ids[:, 1:].to(device)[is_target]
    logits = model.logprob_logits(hidden[:, :-1][is_target], temperature)
    log_normaliser = torch.logsumexp(logits, dim=-1)
    logprobs = logits.gather(-1, targets[:, None])[:, 0] - log_normaliser
    return ActionTokens(
        logprobs=logprobs,
        sampled_logprobs=sampled[:, 1:].to(device)[is_target],
        advantages=advantages[:, 1:].to(device)[is_target],
        entropy=_entropy(logits.detach(), log_normaliser.detach()),
    )


def _entropy(logits: Tensor, log_normaliser: Tensor) -> Tensor:
    log_p = logits - log_normaliser[:, None]
    p = log_p.exp()
    # Forbidden tokens have p = 0 and log p = -inf; their product counts as 0.
    return -(p * log_p.masked_fill(p == 0, 0.0)).sum(dim=-1)
