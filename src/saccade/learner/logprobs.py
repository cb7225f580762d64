"""Log-probabilities of the tokens that the policy chose, in one forward of a micro-batch."""

from collections.abc import Sequence

import torch
from torch import Tensor

from saccade.algorithms.contract import PolicyTokens
from saccade.learner.sequences import TrainingSequence
from saccade.models.vlm import VisionLanguageModel


def action_tokens(
    model: VisionLanguageModel, sequences: Sequence[TrainingSequence], *, temperature: float
) -> PolicyTokens:
    """Runs the model over right-padded rows; each image that several rows share is encoded once.

    Logits exist only at positions that predict an action token. Right padding needs no mask: under causal attention
    no real token sees what comes after it.
    """
    device = model.device
    length = max(len(sequence.ids) for sequence in sequences)
    ids = torch.zeros(len(sequences), length, dtype=torch.long)
    positions = torch.zeros(3, len(sequences), length, dtype=torch.long)
    is_action = torch.zeros(len(sequences), length, dtype=torch.bool)
    for row, sequence in enumerate(sequences):
        count = len(sequence.ids)
        ids[row, :count] = torch.tensor(sequence.ids)
        positions[:, row, :count] = model.positions(sequence.ids, sequence.images)
        is_action[row, :count] = torch.tensor(sequence.is_action)

    unique = list({image.hash: image for sequence in sequences for image in sequence.images}.values())
    encoded = dict(zip([image.hash for image in unique], model.encode_images(unique)))
    features = [encoded[image.hash] for sequence in sequences for image in sequence.images]
    hidden = model.hidden(model.embed(ids.to(device), features), positions.to(device))

    is_target = is_action[:, 1:].to(device)
    targets = ids[:, 1:].to(device)[is_target]
    logits = model.logprob_logits(hidden[:, :-1][is_target], temperature)
    log_normaliser = torch.logsumexp(logits, dim=-1)
    logprobs = logits.gather(-1, targets[:, None])[:, 0] - log_normaliser
    return PolicyTokens(
        logprobs=logprobs,
        entropy=_entropy(logits.detach(), log_normaliser.detach()),
        **_given(sequences, device),
    )


def _given(sequences: Sequence[TrainingSequence], device: torch.device) -> dict[str, Tensor]:
    """What the sequences bring along, one entry per action token."""

    def joined(values: Sequence[Sequence[float] | None]) -> Tensor:
        return torch.tensor([value for one in values for value in one or ()], dtype=torch.float32, device=device)

    counts = torch.tensor([sequence.action_count for sequence in sequences])
    given = {
        "sampled_logprobs": joined([one.sampled_logprobs for one in sequences]),
        "old_logprobs": joined([one.old_logprobs or one.sampled_logprobs for one in sequences]),
        "advantages": joined([one.advantages for one in sequences]),
        "weights": torch.tensor([one.token_weight for one in sequences]).repeat_interleave(counts).to(device),
        "sequence": torch.arange(len(sequences)).repeat_interleave(counts).to(device),
    }
    for name in ("reference_logprobs", "old_values", "returns"):
        if all(getattr(one, name) is not None for one in sequences):
            given[name] = joined([getattr(one, name) for one in sequences])
    return given


def _entropy(logits: Tensor, log_normaliser: Tensor) -> Tensor:
    log_p = logits - log_normaliser[:, None]
    p = log_p.exp()
    # Forbidden tokens have p = 0 and log p = -inf; their product counts as 0.
    return -(p * log_p.masked_fill(p == 0, 0.0)).sum(dim=-1)
