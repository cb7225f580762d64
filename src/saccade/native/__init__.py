"""Forwards on a CPU by kernels in C++, compiled on first use. You may ignore this room: see ``docs/native.md``.

The door is what is exported here, for the engine, the learner and retrieval alone. Where there are no kernels (no
compiler, switched off, a GPU, a model that needs its modules) its functions give None, or leave the work to torch.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.native.decoding import NewTokens, SlotAttention
    from saccade.native.forwards import Accelerated, CachedForward, accelerated, sampler
    from saccade.native.kernels import Kernels
    from saccade.native.late_interaction import native_page_scores
    from saccade.native.vision import FeatureCache, encode_images
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "Accelerated",
    "CachedForward",
    "FeatureCache",
    "Kernels",
    "NewTokens",
    "SlotAttention",
    "accelerated",
    "encode_images",
    "native_page_scores",
    "sampler",
]
