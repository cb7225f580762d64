"""The engine that a run samples with, where it is not the recipe's own: a matter of the machine, not of the recipe."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from saccade.config.settings import apply_overrides
from saccade.engines.vllm.settings import VllmSettings
from saccade.errors import UserError

_PREFIX = "engine."


@dataclass(frozen=True, kw_only=True)
class EngineChoice(VllmSettings):
    """``--set engine.kind=vllm`` and what vLLM needs to know."""

    kind: Literal["recipe", "vllm"] = "recipe"
    """``recipe`` is the recipe's own engine, by default the local one."""

    def check(self) -> None:
        if self.kind == "recipe" and self != EngineChoice():
            raise UserError("kind=recipe makes the settings of vLLM have no effect; set kind=vllm, or leave them out")
        VllmSettings.check(self)


@dataclass(frozen=True, kw_only=True)
class _EngineAlone:
    engine: EngineChoice = EngineChoice()


def split_engine(overrides: Sequence[str]) -> tuple[EngineChoice, tuple[str, ...]]:
    """The choice of the engine, and the overrides that are not about it; raises UserError as ``apply_overrides``."""
    own = [one for one in overrides if one.strip().startswith(_PREFIX)]
    return apply_overrides(_EngineAlone(), own).engine, tuple(one for one in overrides if one not in own)
