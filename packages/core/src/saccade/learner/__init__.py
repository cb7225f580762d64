"""The learner: from sequences with advantages to one optimiser step.

Start in ``learner.py``, then ``sequences.py`` (trajectories' tokens, many in one row, shared prompts once) and
``logprobs.py``. ``optimizer.py`` keeps fp32 weights beside those of the model.
"""

from typing import TYPE_CHECKING

from saccade.faces import names_on_use

if TYPE_CHECKING:
    from saccade.learner.learner import Learner as Learner
    from saccade.learner.optimizer import OptimizerSettings as OptimizerSettings
    from saccade.learner.sequences import TrainingSequence as TrainingSequence
    from saccade.learner.sequences import training_sequence as training_sequence
    from saccade.learner.sequences import training_sequences as training_sequences
    from saccade.learner.sequences import weighted as weighted
else:
    __getattr__, __dir__ = names_on_use(__name__)
