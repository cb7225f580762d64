"""What interactive families are made of: their parts by name, and commands as a model writes them."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from numpy.random import Generator

from saccade.errors import UserError
from saccade.gym.levels import Levels, share_of
from saccade.tasks.interaction import Interaction, Outcome

MAX_TYPED = 200
"""Characters that one action may type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InteractiveFamily:
    """Interactions of one kind (a ``InteractionFunction``). ``NAME?AXIS=LEVEL&AXIS=LEVEL`` names a part of it."""

    name: str
    about: str
    """One line for lists."""
    axes: tuple[str, ...]
    """Named axes of difficulty."""
    draw: Callable[[Generator, Levels], Interaction]
    levels: Mapping[str, float] = field(default_factory=dict)
    """Levels of named axes, which do not follow the difficulty."""

    def __call__(self, rng: Generator, difficulty: float) -> Interaction:
        return self.draw(rng, Levels(base=difficulty, named=self.levels))

    def part(self, name: str) -> "InteractiveFamily":
        """The part that a name means; ``UserError`` for an option that is no axis, and for a level out of [0, 1]."""
        levels = {}
        for option in filter(None, name.partition("?")[2].split("&")):
            axis, _, value = option.partition("=")
            if axis not in self.axes:
                raise UserError(f"{name!r}: {option!r} is no option; use a level of {', '.join(self.axes)}")
            levels[axis] = share_of(name, option, value)
        return replace(self, levels=levels)


@dataclass(frozen=True, kw_only=True, slots=True)
class Command:
    """An action as it was read: a verb, and the words after it."""

    verb: str
    rest: str


def read_command(action: str, verbs: Sequence[str]) -> Command | None:
    """The command that an action is; None where it begins with no verb. Case, and what stands between, are free."""
    words = action.strip()
    for verb in verbs:
        if re.match(rf"{verb}(?![a-z])", words, re.IGNORECASE):
            return Command(verb=verb, rest=words[len(verb) :].strip())
    return None


def unknown_action(action: str, actions: str) -> Outcome:
    """The outcome of a text that is no action; the text is cut, since it is a model's."""
    return Outcome(invalid=f"{action.strip()[:40]!r} is no action; {actions}")
