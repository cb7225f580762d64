"""What an engine is: tokens in, tokens and log-probabilities out."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Protocol

from saccade.types import Finish, ImageRef, Tokens


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


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreRequest:
    """A given text whose probability is asked for: ``ids[start:]``, after everything before it."""

    ids: tuple[int, ...]
    images: tuple[ImageRef, ...]
    """Those whose placeholders lie in ``ids``, in order."""
    start: int
    """At least 1, and outside of images."""


def candidates(prompt: Tokens, texts: Sequence[Sequence[int]]) -> list[ScoreRequest]:
    """Requests for several texts after the same prompt."""
    return [ScoreRequest(ids=(*prompt.ids, *text), images=prompt.images, start=len(prompt.ids)) for text in texts]


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
        """log p of each of ``ids[start:]`` given everything before it, at temperature 1; see ``score_batch``."""
        ...

    async def score_batch(
        self, requests: Sequence[ScoreRequest], *, temperature: float = 1.0
    ) -> tuple[tuple[float, ...], ...]:
        """log p of each token of each request's text, in their order, at a temperature above 0.

        The distribution is the model's own over its whole vocabulary: no token is forbidden, so that any given text has
        a finite score. A sampled turn's own log-probabilities are those of the policy, which never writes forbidden
        tokens; they are at least as high. ValueError for a request that makes no sense.
        """
        ...
