"""Difficulty on named axes: one number for all of them, and others for those that are named."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from saccade.errors import UserError
from saccade.tasks.scene import knob


@dataclass(frozen=True, kw_only=True, slots=True)
class Levels:
    """The level of every axis, each in [0, 1]: ``base``, but for those that are named."""

    base: float = 0.5
    named: Mapping[str, float] = field(default_factory=dict)

    def __getitem__(self, axis: str) -> float:
        return self.named.get(axis, self.base)

    def knob(self, axis: str, easy: float, normal: float, hard: float) -> float:
        """The value of a setting at the axis' level: linear from 0 to 0.5 and from 0.5 to 1."""
        return knob(self[axis], easy, normal, hard)

    def whole(self, axis: str, easy: int, normal: int, hard: int) -> int:
        """``knob`` rounded to a whole number."""
        return round(self.knob(axis, easy, normal, hard))


def share_of(name: str, option: str, value: str) -> float:
    """A share or a level that an option of a name gives; ``UserError`` unless it is a number from 0 to 1."""
    try:
        share = float(value)
    except ValueError:
        share = -1.0
    if not 0.0 <= share <= 1.0:
        raise UserError(f"{name!r}: {option!r} is not a number from 0 to 1")
    return share
