"""Weights by name, as a model gives them away and takes them over."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from saccade.errors import SaccadeError
from saccade.models.lora import merged_state

if TYPE_CHECKING:
    from saccade.models.vlm import VisionLanguageModel


def named_weights(model: "VisionLanguageModel") -> Iterator[tuple[str, Tensor]]:
    """Every weight once, an adapter added to what it adapts; of tied weights only the first is named."""
    state = model.hf.state_dict() if model.adapter is None else merged_state(model.hf)
    seen: set[tuple[int, torch.Size]] = set()
    for name, weight in state.items():
        place = weight.data_ptr(), weight.shape
        if place not in seen:
            seen.add(place)
            yield name, weight.detach()


def load_weights(model: "VisionLanguageModel", weights: Iterable[tuple[str, Tensor]]) -> None:
    """Copies weights into a model without an adapter; ``SaccadeError`` when they are those of another model."""
    if model.adapter is not None:
        raise SaccadeError("weights cannot be copied into a model with an adapter; load it without")
    own, given = dict(named_weights(model)), dict(weights)
    wrong = own.keys() ^ given.keys() or {name for name in own if own[name].shape != given[name].shape}
    if wrong:
        raise SaccadeError(
            f"these are the weights of another model: {len(wrong)} differ in name or shape, {min(wrong)} for one"
        )
    for name, weight in own.items():
        weight.copy_(given[name])
    # No directory holds these weights.
    model.source = None
