"""Settings of the recipe that learns from pairs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from saccade.algorithms.options import PairRule
from saccade.codec.bounds import Bounds, Positive, check_bounds
from saccade.learner import OptimizerSettings
from saccade.models import LoadSettings
from saccade.train.stage_settings import PreferenceSettings


@dataclass(frozen=True, kw_only=True)
class PairsSettings:
    """Settings for pairs of your own, for a published model of a few billion parameters (see ``TINY``)."""

    model: LoadSettings = LoadSettings()
    dpo: PreferenceSettings = PreferenceSettings()
    """``dpo.steps=0`` takes as many steps as ``epochs`` need."""
    epochs: Positive = 1
    """How often each pair is shown."""
    max_tokens: Positive = 8192
    """Tokens that a context of a file's pair may have. Longer ones are bad rows: nothing is cut."""
    pairs: PairRule = PairRule()
    """Of a run's trajectories."""
    held_out_share: Annotated[float, Bounds(least=0, most=0.9)] = 0.1
    """Share of the questions whose pairs are measured and never learned from, the same for every seed; 0 for none. A
    run's own held-out questions stand before it."""

    def unused(self) -> Mapping[str, str]:
        return {"epochs": f"dpo.steps={self.dpo.steps} says how long"} if self.dpo.steps else {}

    def check(self) -> None:
        check_bounds(self)


TINY = PairsSettings(
    dpo=PreferenceSettings(batch_size=8, optimizer=OptimizerSettings(learning_rate=1e-4), warmup_steps=2), epochs=2
)
"""The defaults for models below ``TINY_BELOW_WEIGHTS``."""
