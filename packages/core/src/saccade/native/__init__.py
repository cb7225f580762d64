"""Forwards on a CPU by kernels in C++, compiled on first use. You may ignore this room: see ``docs/native.md``.

The door is what is exported here, for the engine, the learner and retrieval alone. Where there are no kernels (no
compiler, switched off, a GPU, a model that needs its modules) its functions give None, or leave the work to torch.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.native.decoding import NewTokens as NewTokens
    from saccade.native.decoding import SlotAttention as SlotAttention
    from saccade.native.forwards import Accelerated as Accelerated
    from saccade.native.forwards import CachedForward as CachedForward
    from saccade.native.forwards import accelerated as accelerated
    from saccade.native.forwards import sampler as sampler
    from saccade.native.forwards import samples_rounded as samples_rounded
    from saccade.native.kernels import Kernels as Kernels
    from saccade.native.kernels import matrix_product as matrix_product
    from saccade.native.late_interaction import native_page_scores as native_page_scores
    from saccade.native.products import MANY_ROWS as MANY_ROWS
    from saccade.native.vision import FeatureCache as FeatureCache
    from saccade.native.vision import encode_images as encode_images
else:
    __getattr__, __dir__ = names_on_use(__name__)
