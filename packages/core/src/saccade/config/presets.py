"""Presets: settings by one name that fit a model of some size on a machine (``presets.toml``)."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from saccade.config.settings import Override
from saccade.errors import UserError, nearest


@dataclass(frozen=True, kw_only=True, slots=True)
class Preset:
    """Settings that fit a model on a machine by the plan of its memory."""

    name: str
    meaning: str
    model: str
    """Name on the hub of the model that it was planned for."""
    gpus: int
    gpu_memory: float
    """GiB of each GPU."""
    settings: tuple[str, ...]
    """As ``--set`` takes them."""

    @property
    def overrides(self) -> tuple[str, ...]:
        """The settings, which name the preset where a recipe lacks one of them."""
        return tuple(Override.at(f"--preset {self.name}", *one.split("=", 1)) for one in self.settings)


@cache
def presets() -> Mapping[str, Preset]:
    """All presets by name, in the order of the file."""
    found = tomllib.loads((files("saccade.config") / "presets.toml").read_text(encoding="utf-8"))
    return MappingProxyType(
        {
            name: Preset(
                name=name,
                meaning=one["meaning"],
                model=one["model"],
                gpus=one["gpus"],
                gpu_memory=one["gpu_memory"],
                settings=tuple(one["settings"]),
            )
            for name, one in found.items()
        }
    )


def preset_called(name: str) -> Preset:
    """The preset of this name; UserError that lists them."""
    known = presets()
    if name not in known:
        near = nearest(name, list(known))
        meant = f" Did you mean {near}?" if near is not None else ""
        raise UserError(f"--preset {name}: there is no such preset.{meant} Presets: {', '.join(known)}")
    return known[name]
