"""The processes that a run is spread over: a matter of the machine, not of the recipe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.config.settings import apply_overrides
from saccade.errors import UserError

_PREFIX = "fleet."


@dataclass(frozen=True, kw_only=True)
class FleetSettings:
    """Processes of a run; ``--set fleet.learners=2`` changes one."""

    learners: int = 1
    """Processes that hold the learner's weights in shards; ``torch.distributed.run`` starts them."""
    wrap: Literal["layers", "whole"] = "layers"
    """What is gathered at a time: a layer of the language model, or all weights."""
    timeout_s: float = 600.0
    """How long the learners wait for each other in the middle of a step before the run ends."""

    def check(self) -> None:
        if self.learners < 1:
            raise UserError(f"learners={self.learners} must be 1 or more")
        if not 0 < self.timeout_s <= 86_400:
            raise UserError(f"timeout_s={self.timeout_s} must be above 0 and at most a day, 86400")


@dataclass(frozen=True, kw_only=True)
class _Everything:
    fleet: FleetSettings = FleetSettings()


def split_overrides(overrides: Sequence[str]) -> tuple[FleetSettings, tuple[str, ...]]:
    """The settings of the fleet, and the overrides that are the recipe's; raises UserError as ``apply_overrides``."""
    own = [one for one in overrides if one.strip().startswith(_PREFIX)]
    return apply_overrides(_Everything(), own).fleet, tuple(one for one in overrides if one not in own)
