"""Forwards on a CPU by kernels in C++, compiled on first use. You may ignore this room: see ``docs/native.md``.

The door is what is exported here, for the engine and the learner alone. Where there are no kernels (no compiler,
switched off, a GPU, a model that needs its modules) its functions give None, or leave the work to torch.
"""

from saccade.native.accelerated import Accelerated, accelerated, sampler
from saccade.native.cached import CachedForward
from saccade.native.kernels import Kernels
from saccade.native.slot_attention import NewTokens, SlotAttention
from saccade.native.vision import encode_images

__all__ = [
    "Accelerated",
    "CachedForward",
    "Kernels",
    "NewTokens",
    "SlotAttention",
    "accelerated",
    "encode_images",
    "sampler",
]
