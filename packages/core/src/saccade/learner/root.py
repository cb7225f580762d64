"""The root module of learning: all that reads a weight for it happens inside one forward."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import nn

from saccade.learner.logprobs import ForwardWork, PackOutputs, StateDivergence, pack_outputs
from saccade.learner.sequences import TrainingSequence
from saccade.models.vlm import VisionLanguageModel
from saccade.native import FeatureCache

_FROZEN_IMAGE_BYTES = 512 << 20
"""Features of images that are kept under a frozen vision tower, which gives the same ones at every step."""


class PackForward(nn.Module):
    """A model with its critic as one module, whose forward is that of a pack of sequences.

    ``VisionLanguageModel`` reads weights part by part, past the forward of the transformers model; sharded weights are
    whole only inside the forward of the module that was sharded, which is this one. Outputs are plain tensors, since
    it is on tensors that a sharded module waits for the backward pass.
    """

    def __init__(
        self,
        model: VisionLanguageModel,
        *,
        value_head: nn.Module | None = None,
        values_train_trunk: bool = False,
        frozen_images: FeatureCache | None = None,
    ) -> None:
        super().__init__()
        self.hf = model.hf
        self.value_head = value_head
        self.work = ForwardWork()
        """Tokens and images that went through so far."""
        self.has_adapter = model.adapter is not None
        self.model = model
        self.keeping: Callable[[], AbstractContextManager[None]] = nullcontext
        """Has what the layers of a forward with gradients keep for their backward."""
        self._values_train_trunk = values_train_trunk
        self._frozen_images = frozen_images

    @property
    def frozen_images(self) -> FeatureCache | None:
        """Features of a vision tower that is not trained."""
        return self._frozen_images

    @property
    def frozen_vision(self) -> list[nn.Parameter]:
        """The weights of a vision tower that is not trained, whose features may be kept; none of one that is."""
        if self._frozen_images is None:
            return []
        return self.model.family.vision_weights(self.hf)

    def forward(
        self,
        sequences: Sequence[TrainingSequence],
        temperature: float,
        *,
        entropy_gradient: bool = False,
        critic: bool = True,
        balance: float = 0.0,
        divergence: StateDivergence | None = None,
    ) -> PackOutputs:
        """Log-probabilities, entropy, values and divergence of all action tokens; see ``pack_outputs``."""
        return pack_outputs(
            self.model,
            sequences,
            temperature=temperature,
            entropy_gradient=entropy_gradient,
            value_head=self.value_head if critic else None,
            values_train_trunk=self._values_train_trunk,
            frozen_images=self._frozen_images,
            work=self.work,
            balance=balance,
            divergence=divergence,
            keeping=self.keeping if torch.is_grad_enabled() else nullcontext,
        )


def feature_cache(model: VisionLanguageModel) -> FeatureCache | None:
    """Keeps the features of a vision tower that is not trained."""
    if any(weight.requires_grad for weight in model.family.vision_weights(model.hf)):
        return None
    # One by one, so that a resumed run, which begins with nothing kept, goes on with the same bytes.
    return FeatureCache(model, capacity_bytes=_FROZEN_IMAGE_BYTES, one_by_one=True)
