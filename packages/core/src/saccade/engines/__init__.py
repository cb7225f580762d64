"""Engines answer in tokens: ids and images in, sampled ids and their log-probabilities out.

Start at ``engine``, the protocol by which trainer, evaluations and judges know them. ``local`` runs in this process on
the learner's own model and is a plan's default: ``scheduler`` decides which sequences run in a decode step, ``rows``
runs it, ``slots`` holds keys and values, ``scoring`` gives log-probabilities of given texts. ``process`` is the same
engine in a process of its own, ``vllm`` asks servers of vLLM. What answers in texts is in ``saccade.chat``.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.engines.engine import Completion as Completion
    from saccade.engines.engine import Engine as Engine
    from saccade.engines.engine import EngineContext as EngineContext
    from saccade.engines.engine import EngineLostError as EngineLostError
    from saccade.engines.engine import Sampling as Sampling
    from saccade.engines.engine import ScoreRequest as ScoreRequest
    from saccade.engines.engine import SequenceSlot as SequenceSlot
    from saccade.engines.engine import WeightSource as WeightSource
    from saccade.engines.local import LocalEngine as LocalEngine
else:
    __getattr__, __dir__ = names_on_use(__name__)
