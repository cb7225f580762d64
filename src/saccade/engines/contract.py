"""What an engine is: tokens in, tokens and log-probabilities out."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from saccade.types import Finish, ImageRef


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How to sample one turn."""

    seed: int
    """Of the whole trajectory: token i of the trajectory uses the i-th number of this seed's stream."""
    max_tokens: int = 256
    temperature: float = 1.0
    """0 is greedy. Log-probabilities are taken at this temperature (at 1 when greedy)."""
    top_p: float = 1.0
    top_k: int = 0
    """0 keeps all tokens."""
    stop: tuple[str, ...] = ()
    """The turn ends with the token that completes one of these strings, wherever tokens split it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """What was sampled, verbatim: never decoded and encoded again."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """log p of each id at the sampling temperature, with forbidden tokens masked, before top-p and top-k."""
    finish: Finish


class Seat(Protocol):
    """One trajectory's place at an engine; it keeps the key-value cache between turns."""

    async def sample(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> Completion:
        """Continue ``ids``: the whole sequence so far, which must extend what this seat has already seen."""
        ...

    def close(self) -> None:
        """Give the place up: the trajectory has ended. Closing twice is allowed."""
        ...


class Engine(Protocol):
    """Who answers."""

    @property
    def policy_version(self) -> int:
        """Grows by one with every update of the weights."""
        ...

    def seats(self, labels: Sequence[str]) -> AbstractAsyncContextManager[Sequence[Seat]]:
        """A seat for each trajectory of a batch; all are taken before the first token is sampled."""
        ...

    async def score(self, ids: Sequence[int], images: Sequence[ImageRef], start: int) -> tuple[float, ...]:
        """log p of each of ``ids[start:]`` given everything before it, at temperature 1."""
        ...
