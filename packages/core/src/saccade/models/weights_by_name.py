"""A model's weights by name: each once, and as copies of another model's."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from torch import Tensor

from saccade.errors import SaccadeError
from saccade.models.lora import each_once, merged_state
from saccade.models.low_rank import AdaptedWeights

if TYPE_CHECKING:
    from saccade.models.vlm import VisionLanguageModel


def named_weights(model: "VisionLanguageModel") -> Iterator[tuple[str, Tensor]]:
    """Every weight once, an adapter added to what it adapts; of tied weights only the first is named."""
    return each_once(model.hf.state_dict() if model.adapter is None else merged_state(model.hf))


def load_weights(model: "VisionLanguageModel", weights: Iterable[tuple[str, Tensor]]) -> None:
    """Copies weights into a model without an adapter; ``SaccadeError`` when they are those of another model."""
    for weight, given in _weight_pairs(model, weights).values():
        weight.copy_(given)


def load_adapted(model: "VisionLanguageModel", adapted: AdaptedWeights, *, has_base: bool) -> None:
    """As ``load_weights``, with a base and its adapter; what ``has_base`` already keeps what the adapter leaves alone.

    One weight is added to after the other, so that beside the base no more than one is in memory.
    """
    pairs, changed = _weight_pairs(model, adapted.base_weights()), {*adapted.adapters, *adapted.whole}
    if unknown := changed - pairs.keys():
        raise SaccadeError(f"this is the adapter of another model, which has a weight {min(unknown)}")
    for name in changed if has_base else pairs:
        weight, given = pairs[name]
        weight.copy_(adapted.merged_weight(name, given))


def _weight_pairs(
    model: "VisionLanguageModel", weights: Iterable[tuple[str, Tensor]]
) -> dict[str, tuple[Tensor, Tensor]]:
    """The model's weights, each with the one that it is to become."""
    if model.adapter is not None:
        raise SaccadeError("weights cannot be copied into a model with an adapter; load it without")
    from saccade.models.eight_bit_linear import refuse_eight_bit

    refuse_eight_bit(model.hf, "an engine with weights of its own is given them in full")
    own, given = dict(named_weights(model)), dict(weights)
    wrong = own.keys() ^ given.keys() or {name for name in own if own[name].shape != given[name].shape}
    if wrong:
        raise SaccadeError(
            f"these are the weights of another model: {len(wrong)} differ in name or shape, such as {min(wrong)}"
        )
    # No directory holds these weights.
    model.source = None
    return {name: (weight, given[name]) for name, weight in own.items()}
