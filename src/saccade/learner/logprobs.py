"""Log-probabilities of the tokens that the policy chose, in one forward of a micro-batch."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from saccade.algorithms.algorithm import PolicyTokens
from saccade.learner.chunked_logprobs import chosen_logprobs
from saccade.learner.forwards import pack_forward
from saccade.learner.frozen_images import FrozenImages
from saccade.learner.packing import pack
from saccade.learner.sequences import TrainingSequence
from saccade.models.vlm import VisionLanguageModel
from saccade.native import encode_images

ValueHead = Callable[[Tensor], Tensor]
"""From hidden states (tokens, hidden) to values (tokens,)."""


@dataclass(kw_only=True, slots=True)
class ForwardWork:
    """What went through the model so far, counted where it is done."""

    tokens: int = 0
    """A shared prompt counts once for each micro-batch that it is in; there is no padding."""
    images: int = 0
    """Images through the vision tower."""


def action_tokens(
    model: VisionLanguageModel,
    sequences: Sequence[TrainingSequence],
    *,
    temperature: float,
    entropy_gradient: bool = False,
    value_head: ValueHead | None = None,
    values_train_trunk: bool = True,
    frozen_images: FrozenImages | None = None,
    work: ForwardWork | None = None,
) -> PolicyTokens:
    """Runs the model over all sequences as one pack: each shared prompt once, each image encoded once, no padding.

    Logits exist only at positions that predict an action token, and only a bounded number of them at a time.
    ``entropy_gradient`` makes the entropy differentiable. ``value_head`` sees the states that predict the action
    tokens; without ``values_train_trunk`` its gradient stops there. ``frozen_images`` encodes in place of the vision
    tower. ``work`` is counted up.
    """
    device = model.device
    packed = pack(model, sequences)
    unique = list({image.hash: image for image in packed.images}.values())
    known = 0 if frozen_images is None else frozen_images.encoded
    features = encode_images(model, unique) if frozen_images is None else frozen_images.encode(unique)
    encoded = dict(zip([image.hash for image in unique], features))
    embedded = model.embed(packed.ids[None].to(device), [encoded[image.hash] for image in packed.images])
    positions, predicting = packed.positions[:, None].to(device), packed.predicting.to(device)
    states = pack_forward(model)(embedded, positions, packed.layout, predicting)
    if work is not None:
        work.tokens += len(packed.ids)
        work.images += len(unique) if frozen_images is None else frozen_images.encoded - known
    logprobs, entropy = chosen_logprobs(
        model, states, packed.targets.to(device), temperature=temperature, entropy_gradient=entropy_gradient
    )
    values = None if value_head is None else value_head(states if values_train_trunk else states.detach())
    return PolicyTokens(logprobs=logprobs, entropy=entropy, values=values, **_given(sequences, device))


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
