"""The parity probe: engine and learner must give the same tokens the same probabilities."""

import torch

from saccade.errors import MachineError
from saccade.learner.logprobs import action_tokens
from saccade.learner.sequences import TrainingSequence
from saccade.models.vlm import VisionLanguageModel

BOUNDS = {torch.float32: 1e-3, torch.bfloat16: 0.1, torch.float16: 0.03}
"""Largest accepted mean |difference of log-probabilities|, in nats, by the precision of the weights."""


def check_parity(model: VisionLanguageModel, sampled: TrainingSequence, *, temperature: float) -> float:
    """Mean |log p of the learner - log p of the engine| over the action tokens of a sampled trajectory, in nats.

    Raises MachineError when it is over the bound: rewards would push on tokens that the policy did not choose.
    """
    with torch.no_grad():
        tokens = action_tokens(model, [sampled], temperature=temperature)
    gap = float((tokens.logprobs - tokens.sampled_logprobs).abs().mean())
    bound = BOUNDS.get(model.dtype, max(BOUNDS.values()))
    if not gap <= bound:
        raise MachineError(
            f"engine and learner disagree by {gap:.2g} nats a token (at most {bound} is accepted for {model.dtype}); "
            "check that both use the same weights, chat template and image size"
        )
    return gap
