"""The engine's protocol: tokens in, tokens and log-probabilities out, new weights after each step of training."""

from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from saccade.errors import MachineError
from saccade.turn_ends import FencedActions
from saccade.types import Finish, ImageRef, Tokens, VersionSpan

if TYPE_CHECKING:
    # The rollout is typed by this module and never loads torch.
    from torch import Tensor

    from saccade.models.loading import LoadSettings
    from saccade.models.low_rank import AdaptedWeights
    from saccade.models.vlm import VisionLanguageModel


class EngineLostError(MachineError):
    """The engine ended in the middle of a batch. It starts again when it is next asked, so the batch is played anew."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampling:
    """How to sample one turn."""

    seed: int
    """The trajectory's own: its token i uses the i-th number of this seed's stream."""
    max_tokens: int = 256
    temperature: float = 1.0
    """0 is greedy. Log-probabilities are taken at this temperature (at 1 when greedy)."""
    top_p: float = 1.0
    top_k: int = 0
    """0 keeps all tokens."""
    stop: tuple[str, ...] = ()
    """The turn ends with the token that completes one of these strings, wherever tokens split it. A closing tag in a
    thought is its word and ends nothing (``saccade.turn_ends.StopStrings``)."""
    fenced_actions: FencedActions | None = None
    """The turn also ends with the token that completes one of these, or that shows that its closing tag will not come.
    """
    opening: str = ""
    """What the template has written of the turn, as the ``<think>`` of a model that always thinks."""
    begins_anew: bool = False
    """Whether the ids are a new context of the trajectory: what its slot has seen is forgotten, its stream of chance
    goes on."""
    records_experts: bool = False
    """Whether the completion tells the experts of its tokens; for all turns of a batch or for none."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Completion:
    """Sampled tokens, verbatim: never decoded and encoded again."""

    ids: tuple[int, ...]
    logprobs: tuple[float, ...]
    """log p of each id at the sampling temperature, with forbidden tokens masked, before top-p and top-k."""
    finish: Finish
    versions: tuple[VersionSpan, ...] = ()
    """Policies that sampled them, where the weights may change in the midst of the batch (``expect_weights``)."""
    routed_experts: bytes = b""
    """Where ``records_experts`` asks for them, the experts of every token that was forwarded since the slot's last
    completion, packed as ``saccade.models.routing.Experts`` has it: the last token is not among them."""
    prefill_s: float | None = field(default=None, compare=False)
    """Seconds from the asking to the first token, where the engine tells them."""


class SequenceSlot(Protocol):
    """One trajectory's sequence at an engine, which keeps its key-value cache between turns."""

    async def sample(self, ids: Sequence[int], images: Sequence[ImageRef], sampling: Sampling) -> Completion:
        """Continues ``ids``: the whole context so far, which must extend what this slot has already seen unless the
        sampling begins anew."""
        ...

    def close(self) -> None:
        """Frees the slot: the trajectory has ended. Closing twice is allowed."""
        ...


@runtime_checkable
class ShowsOpenTurn(Protocol):
    """A slot that can be asked in the middle of a turn."""

    def sampled_so_far(self) -> Completion:
        """The open turn's tokens up to now, as if their number had ended it; none where no turn is open."""
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


class WeightSource(Protocol):
    """The policy's weights for an engine to take over; ``VisionLanguageModel`` is one."""

    def named_weights(self) -> "Iterator[tuple[str, Tensor]]":
        """Every weight once, under transformers' name for it, with an adapter added to the weights that it adapts.

        Tensors may be the learner's own: an engine copies what it keeps.
        """
        ...


@runtime_checkable
class AdapterSource(Protocol):
    """A ``WeightSource`` that can tell base and adapter apart, so that the adapter alone goes to who has the base."""

    def adapted_weights(self) -> "AdaptedWeights | None":
        """None where there is no adapter."""
        ...


def adapted_weights_of(source: WeightSource) -> "AdaptedWeights | None":
    """Base and adapter of a source; None of one that has no adapter, or does not tell it apart."""
    return source.adapted_weights() if isinstance(source, AdapterSource) else None


class Engine(Protocol):
    """Samples and scores with one policy; ``LocalEngine`` runs in this process, ``ProcessEngine`` in another.

    It is made once for a run and used from one event loop after the other, never from two at a time.
    """

    @property
    def policy_version(self) -> int:
        """Updates of the weights so far, over the whole run."""
        ...

    def sequences(self, labels: Sequence[str]) -> AbstractAsyncContextManager[Sequence[SequenceSlot]]:
        """A slot for each trajectory of a batch; one batch is open at a time.

        ``EngineLostError`` when the engine ended meanwhile: what was sampled so far counts for nothing.
        """
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

    def update_weights(self, source: WeightSource, version: int) -> None:
        """Samples with these weights from here on; ``SaccadeError`` while a batch is open.

        Called after every step of training, also one that changed no weight, so that versions count steps.
        """
        ...

    def reset(self) -> None:
        """Forgets what was worked out about images and prompts, as if it were made just now.

        What an image is encoded with moves its features by rounding. The trainer resets its engine with every
        checkpoint, since a run that is resumed from there begins with a new one.
        """
        ...

    async def aclose(self) -> None:
        """Gives memory and processes back. Closing twice is allowed."""
        ...


class OpenBatch(Protocol):
    """A batch that trajectories join one by one and leave as they end: what a server needs."""

    def join(self, label: str) -> SequenceSlot:
        """A slot for one more trajectory. SaccadeError after the engine has stopped."""
        ...

    async def ended(self) -> None:
        """Returns when the engine has stopped by an error; every open turn has raised it."""
        ...


ScoresByServer = Mapping[str, tuple[tuple[float, ...], ...]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Abilities:
    """What an engine can do beside ``Engine``: its optional members, each under its own name."""

    has_own_weights: bool = False
    """It may sample while the policy is trained: ``update_weights`` alone changes what it samples with."""
    records_experts: bool = False
    """It tells the experts of tokens where ``Sampling.records_experts`` asks for them."""
    cuts_before_logprobs: bool = False
    """It may take log-probabilities after top-p and top-k."""
    counts_positions: bool = False
    """It works the positions of tokens out itself, which it can for pictures alone."""
    expect_weights: Callable[[int], None] | None = None
    """``expect_weights(after_steps)``: the next batch is to take over the weights that ``update_weights`` gives, once,
    while it is open or before (an in-flight update).

    Sequences go on: keys and values of their tokens so far stay those of the old weights. Completions then say which
    version sampled which token, and ``policy_version`` is that of the batch's beginning until the batch ends. The local
    engine takes the weights over before its decode step ``after_steps``, for which it waits, or at the end of a batch
    that ends before; a server takes them as they come.
    """
    take_weights: Callable[[Path, int], None] | None = None
    """``take_weights(path, version)`` reads a file of weights itself, as a server does; the same file twice changes
    nothing."""
    score_at_each: Callable[[Sequence[ScoreRequest]], Coroutine[object, object, ScoresByServer]] | None = None
    """``score_batch`` of each of its servers, by its name: any could be left with old weights or pictures."""
    open_batch: Callable[[], AbstractAsyncContextManager[OpenBatch]] | None = None
    """It can be served: a batch without trajectories yet; like any other, it is the only one while it is open."""
    take_restarts: Callable[[], Sequence[str]] | None = None
    """What of its processes was started again since this was last called, in words."""
    take_prefilled: Callable[[], tuple[int, int]] | None = None
    """Tokens of prompts and observations that it forwarded since this was last called, and tokens of prompts whose keys
    and values it had."""
    take_drafted: Callable[[], tuple[int, int]] | None = None
    """Tokens that it guessed ahead since this was last called, and those of them that were then sampled."""


def abilities_of(engine: Engine) -> Abilities:
    """The abilities that an engine has by its members; one that it lacks, or has as None, is none."""
    return Abilities(**{one.name: getattr(engine, one.name) for one in fields(Abilities) if hasattr(engine, one.name)})


@dataclass(frozen=True, kw_only=True, slots=True)
class EngineContext:
    """The run that an engine is made for; ``Plan.engine`` gets one and returns an ``Engine``."""

    model: "VisionLanguageModel"
    """The policy as the learner holds it, with tokenizer, image view and media store. An engine may share it."""
    load: "LoadSettings"
    """Limits of the local engine, and device, precision and bounds on images for one that loads a checkpoint of its
    own."""
    seed: int = 0
    """The run's. Sampling has the seed of each trajectory and needs no other."""
    policy_version: int = 0
    """Above 0 in a run that is resumed."""
