"""Settings of the recipe that imitates conversations."""

from collections.abc import Mapping
from dataclasses import dataclass

from saccade.codec.bounds import Positive, check_bounds
from saccade.learner import OptimizerSettings
from saccade.models import LoadSettings
from saccade.train.stage_settings import EpochsSettings


@dataclass(frozen=True, kw_only=True)
class ConversationsSettings:
    """Settings for conversations of your own, for a published model of a few billion parameters (see ``TINY``)."""

    model: LoadSettings = LoadSettings()
    sft: EpochsSettings = EpochsSettings(warmup_steps=5)
    """``sft.steps=0`` takes as many steps as ``epochs`` need."""
    epochs: Positive = 2
    """How often each conversation is shown."""
    max_tokens: Positive = 8192
    """Tokens that a context may have. Longer conversations are bad rows: nothing is cut."""

    def unused(self) -> Mapping[str, str]:
        return {"epochs": f"sft.steps={self.sft.steps} says how long"} if self.sft.steps else {}

    def check(self) -> None:
        check_bounds(self)


TINY = ConversationsSettings(sft=EpochsSettings(optimizer=OptimizerSettings(learning_rate=1e-3)), epochs=10)
"""The defaults for models below ``TINY_BELOW_WEIGHTS``."""
