"""Artefacts: what a run works out between its stages and later stages go by, as a toolbox that it curates from itself.

    tools = Derived("tools", LinguisticToolbox.from_json)
    stages = (first, Derive(name="tools", derive=curate, into=tools), second)

``second`` closes over ``tools`` and reads it with ``tools()``; until the stage has run that is a UserError.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from saccade.engines.engine import Engine
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.models.vlm import VisionLanguageModel
from saccade.types import Attempt, Json

Value = TypeVar("Value")


class NotDerivedError(UserError):
    """An artefact was asked for before the stage that makes it."""


class Derived(Generic[Value]):
    """Handle of the value that a ``Derive`` stage makes; calling it returns the value.

    ``read`` makes it from JSON, and raises UserError for other JSON. One run at a time fills it.
    """

    def __init__(self, stage: str, read: Callable[[Json], Value]) -> None:
        self.stage = stage
        self._read = read
        self._values: tuple[Value, ...] = ()

    def __call__(self) -> Value:
        """The value; NotDerivedError before its stage has run."""
        if not self._values:
            raise NotDerivedError(
                f"the artefact of the stage {self.stage!r} is used before the stage has run; put it earlier in the plan"
            )
        return self._values[0]

    def take(self, value: Json) -> None:
        """Takes what the stage made, or what an earlier process of the run had written; UserError names the stage."""
        try:
            self._values = (self._read(value),)
        except UserError as error:
            raise UserError(f"the artefact of the stage {self.stage!r} cannot be used: {error}") from error

    def forget(self) -> None:
        """Clears the value, for another run of the same plan."""
        self._values = ()


@dataclass(frozen=True, kw_only=True)
class DeriveContext:
    """State of a run when an artefact is computed."""

    engine: Engine
    model: VisionLanguageModel
    """The policy that the engine samples from; ``model.chat`` renders its messages."""
    media: MediaStore
    """Holds the pictures of ``attempts`` while they are read."""
    seed: int
    work: Path
    """Folder for a journal: it survives a kill of the run, and the restarted stage finds it again."""
    attempts: Callable[[str], Iterator[Attempt]]
    """Recorded trajectories of an earlier stage by its name, in their order; UserError where there are none."""


@dataclass(frozen=True, kw_only=True)
class Derive:
    """A stage that computes an artefact from the run's records, with the engine's present weights.

    The result of ``derive`` is written to ``derived/NAME.json``, whole or not at all; a resumed run reads it back. It
    must be a function of the run's seed and records, so that a killed and resumed run ends with the same bytes.
    """

    name: str
    derive: Callable[[DeriveContext], Mapping[str, Json]]
    into: Derived[Any]
    """Handle that later stages use; it must name this stage."""
    source: str
    """Stage whose trajectories are read; it must come earlier."""
