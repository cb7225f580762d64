"""Something drawn that actions change: what an interactive family draws and what an environment plays."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from numpy.random import Generator
from PIL import Image

SCALE = 1000
"""Actions give places in thousandths of the width and the height of the picture that is shown."""

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What an action did."""

    said: str = ""
    """Shown with the next picture."""
    invalid: str = ""
    """Why the text was no action; nothing has changed then."""
    is_over: bool = False
    is_success: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Move:
    """What the expert does next, and what it sees that tells it so."""

    thought: str
    action: str


class Interaction(Protocol):
    """One episode. The same actions from the same beginning show the same pictures."""

    @property
    def goal(self) -> str:
        """What is to be reached, in a sentence or two."""
        ...

    @property
    def actions(self) -> str:
        """Which actions there are and how they are written."""
        ...

    @property
    def split_key(self) -> bytes:
        """What no two splits may share, before the first action."""
        ...

    def picture(self) -> Image.Image:
        """What is seen now, RGB."""
        ...

    def caption(self) -> str:
        """What the picture shows now, in words, as far as actions need it."""
        ...

    def act(self, action: str) -> Outcome: ...

    def progress(self) -> float | None:
        """The share of what the goal asks for that is as it should be, in [0, 1], 1 at a success; None where the end
        alone counts."""
        ...

    def next_move(self) -> Move:
        """The expert's next action, from whatever state the interaction is in."""
        ...


def place_in(words: str) -> tuple[float, float] | None:
    """The place that an action names, in thousandths; None unless there are two numbers, each from 0 to ``SCALE``."""
    found = [float(number) for number in _NUMBER.findall(words)]
    if len(found) != 2 or not all(0 <= number <= SCALE for number in found):
        return None
    return found[0], found[1]


def no_place(verb: str) -> Outcome:
    """The outcome of an action that needs a place and names none."""
    return Outcome(invalid=f"'{verb}' takes two numbers from 0 to {SCALE}, as in '{verb} 500 250'")


InteractionFunction = Callable[[Generator, float], Interaction]
"""Draws an interaction from a generator and a difficulty in [0, 1]."""


@runtime_checkable
class HasInteractionParts(Protocol):
    """A family of which levels can be asked for by name."""

    def part(self, name: str) -> InteractionFunction:
        """The part of this name, which begins with the family's; ``UserError`` for one that is not there."""
        ...
