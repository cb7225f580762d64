"""Forwards on a CPU by kernels in C++, compiled on first use. You may ignore this room: see ``docs/native.md``.

The door is what is exported here, for the engine and the learner alone. Where there are no kernels (no compiler,
switched off, a GPU, a model that needs its modules) its functions give None, or leave the work to torch.
"""

from saccade.native.accelerated import Accelerated, CachedForward, accelerated, sampler
from saccade.native.decoding import NewTokens, SlotAttention
from saccade.native.kernels import Kernels
from saccade.native.vision import FeatureCache, encode_images

__all__ = [
    "Accelerated",
    "CachedForward",
    "FeatureCache",
    "Kernels",
    "NewTokens",
    "SlotAttention",
    "accelerated",
    "encode_images",
    "sampler",
]
