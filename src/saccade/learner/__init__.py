"""The learner: from sequences with advantages to one optimiser step.

Start in ``learner.py``, then ``sequences.py`` (trajectories' tokens, many in one row, shared prompts once) and
``logprobs.py``. ``optimizer.py`` keeps fp32 weights beside those of the model.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.learner.learner import Learner
    from saccade.learner.optimizer import OptimizerSettings
    from saccade.learner.sequences import TrainingSequence, training_sequence, training_sequences, weighted
else:
    __getattr__, __dir__ = names_on_use(__name__)

__all__ = [
    "Learner",
    "OptimizerSettings",
    "TrainingSequence",
    "training_sequence",
    "training_sequences",
    "weighted",
]
