"""Weights from the first learner to rollout workers by a collective: NCCL between GPUs, gloo elsewhere.

A group of its own beside the learners': the sender is its first rank, and those workers that lack the weights are the
others. It lasts while they stay the same processes. Who is lost before all have come costs the others nothing: they
wait for a word, and are told to leave. With LoRA a worker is sent the base once, and then the adapter alone.
"""

import logging
import time
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch._C._distributed_c10d import PrefixStore, Store, TCPStore

from saccade.config.fleet import COLLECTIVE, FleetSettings
from saccade.engines.engine import Engine, WeightSource, abilities_of, adapted_weights_of
from saccade.engines.weights import adapter_in_words
from saccade.errors import MachineError, UserError
from saccade.learner.meeting import listening_store, on_this_machine
from saccade.models.low_rank import PEFT_PREFIX, AdaptedWeights
from saccade.models.vlm import VisionLanguageModel

logger = logging.getLogger(__name__)

_LOOK_S = 0.05
_GO, _LEAVE = "go", "leave"


class LostWorkerError(MachineError):
    """A worker has ended, or is given up; nothing of what it was doing counts."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Invitation:
    """What a worker needs to be sent weights."""

    host: str
    port: int
    """Where the group meets."""
    group: int
    """Its number; a member of it keeps its place for the next weights."""
    rank: int
    size: int
    backend: str
    version: int
    weights: tuple[tuple[str, torch.dtype, tuple[int, ...]], ...]
    """Name, type and shape of each, in the order in which they are sent."""
    base: int | None
    """The number of the base that those under PEFT's names are an adapter of; None where all weights are sent."""
    scale: float
    """alpha / rank of the adapter."""
    join_s: float
    send_s: float
    """How long the others may take to come, and a message to arrive."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReceivedWeights:
    """A ``WeightSource``."""

    weights: Mapping[str, Tensor]
    adapted: AdaptedWeights | None = None
    """In their place, where an adapter was sent."""

    def named_weights(self) -> Iterator[tuple[str, Tensor]]:
        yield from self.weights.items() if self.adapted is None else self.adapted.named_weights()

    def adapted_weights(self) -> AdaptedWeights | None:
        return self.adapted


class _Broadcasts(Protocol):
    """What torch's groups of one backend do, of which its stubs say nothing."""

    def broadcast(self, tensor: Tensor, root: int, /) -> dist.Work: ...


class Receives(Protocol):
    """A worker that can be invited."""

    def receive(self, invitation: Invitation) -> "Future[None]":
        """Raises ``LostWorkerError`` when it ends before it has the weights, MachineError when their way broke."""
        ...


@dataclass(kw_only=True)
class WeightsSender:
    """The first learner's end."""

    host: str
    backend: str = "gloo"
    join_s: float = 600.0
    send_s: float = 600.0
    version: int = -1
    base: int | None = None
    """The number of the base that an adapter is kept of; None where all weights are kept."""
    _bases: int = 0
    _key: Hashable = None
    _below: dict[str, Tensor] = field(default_factory=dict)
    """The base's weights."""
    _scale: float = 0.0
    _sending: dict[str, Tensor] = field(default_factory=dict)
    _store: TCPStore = field(init=False)
    _weights: dict[str, Tensor] = field(default_factory=dict)
    _members: tuple[Receives, ...] = ()
    _number: int = 0
    _group: _Broadcasts | None = None

    def __post_init__(self) -> None:
        self._store = listening_store(self.host, 0, timedelta(seconds=self.send_s))

    def keep(self, source: WeightSource, version: int) -> None:
        """A copy in memory of what is sent from here on: the model itself may be trained meanwhile."""
        adapted, self.version = adapted_weights_of(source), version
        if adapted is None:
            self.base, self._below = None, {}
            self._weights = _copies(source.named_weights(), self._weights)
            return
        if self.base is None or self._key != adapted.base:
            self._below = _copies(adapted.base_weights(), self._below)
            self.base = self._bases = self._bases + 1
            self._key = adapted.base
            sizes = (sum(one.nbytes for one in some.values()) for some in (adapted.peft_tensors(), self._below))
            logger.info("weights to rollout workers: %s", adapter_in_words(*sizes))
        self._scale = adapted.scale
        self._weights = _copies(adapted.peft_tensors().items(), self._weights)

    def send(self, workers: Sequence[Receives], *, with_base: bool = True) -> dict[int, str]:
        """Sends what is kept to these workers at once; the places of those that were lost, and why: then none has it.

        All of them must have the base of an adapter that is sent without. MachineError where nobody was lost and it
        failed all the same.
        """
        self._sending = {**(self._below if with_base else {}), **self._weights}
        is_fresh = self._group is None or len(workers) != len(self._members)
        is_fresh = is_fresh or any(one is not other for one, other in zip(workers, self._members))
        if is_fresh:
            self._number, self._members, self._group = self._number + 1, tuple(workers), None
        asked = {place: one.receive(self._invitation(place + 1, len(workers) + 1)) for place, one in enumerate(workers)}
        lost = self._gather_receivers(asked) if is_fresh else {}
        failure = None if lost else self._broadcast(len(workers) + 1)
        if not lost:
            lost, failure = _outcome(asked, self.send_s, failure)
        if lost or failure:
            self._group = None
        if failure and not lost:
            raise MachineError(f"weights could not be sent to rollout workers: {failure}")
        return lost

    def _gather_receivers(self, asked: Mapping[int, "Future[None]"]) -> dict[int, str]:
        """Waits until all have come and tells them to go on; or those that will not come, and tells all to leave."""
        until_s = time.monotonic() + self.join_s
        while not all(self._store.check([_came(self._number, place + 1)]) for place in asked):
            lost = {place: str(one.exception()) for place, one in asked.items() if one.done()}
            if time.monotonic() > until_s:
                absent = [place for place in asked if not self._store.check([_came(self._number, place + 1)])]
                lost = dict.fromkeys(absent, "it did not come to be sent weights in its time (fleet.start_timeout_s)")
            if lost:
                self._store.set(f"{self._number}/word", _LEAVE)
                return lost
            time.sleep(_LOOK_S)
        self._store.set(f"{self._number}/word", _GO)
        return {}

    def _broadcast(self, size: int) -> str | None:
        """Why it failed, where it did."""
        try:
            if self._group is None:
                with on_this_machine(self.host):
                    self._group = _group(self.backend, self._store, self._number, 0, size, self.send_s)
            for weight in self._sending.values():
                _broadcast(self._group, weight, self.backend)
        except RuntimeError as error:
            return str(error).splitlines()[0]
        return None

    def _invitation(self, rank: int, size: int) -> Invitation:
        weights = tuple((name, weight.dtype, tuple(weight.shape)) for name, weight in self._sending.items())
        return Invitation(
            host=self.host,
            port=self._store.port,
            group=self._number,
            rank=rank,
            size=size,
            backend=self.backend,
            version=self.version,
            weights=weights,
            base=self.base,
            scale=self._scale,
            join_s=self.join_s,
            send_s=self.send_s,
        )


class WeightsReceiver:
    """A worker's end."""

    def __init__(self) -> None:
        self._number: int | None = None
        self._store: TCPStore | None = None
        self._group: _Broadcasts | None = None
        self._below: tuple[int | None, dict[str, Tensor]] = (None, {})
        """The number of the base that adapters are sent of, and its weights."""

    def receive(self, invitation: Invitation) -> ReceivedWeights:
        """The weights, in memory of their own. MachineError when the sender went, or told to leave."""
        try:
            group = self._join_group(invitation)
            weights = {name: torch.empty(shape, dtype=dtype) for name, dtype, shape in invitation.weights}
            for weight in weights.values():
                _broadcast(group, weight, invitation.backend)
        except RuntimeError as error:
            self._group = None
            raise MachineError(f"the weights did not arrive: {str(error).splitlines()[0]}") from error
        below = {name: weight for name, weight in weights.items() if not name.startswith(PEFT_PREFIX)}
        if invitation.base is None:
            self._below = None, {}
            return ReceivedWeights(weights=weights)
        if below:
            self._below = invitation.base, below
        number, base = self._below
        if number != invitation.base:
            raise MachineError("an adapter was sent without its base")
        sent = {name: weight for name, weight in weights.items() if name.startswith(PEFT_PREFIX)}
        adapted = AdaptedWeights.of_peft(sent, invitation.scale, base=number, base_weights=base.items)
        return ReceivedWeights(weights={}, adapted=adapted)

    def _join_group(self, invitation: Invitation) -> _Broadcasts:
        if self._group is not None and self._number == invitation.group:
            return self._group
        self._number, self._group = invitation.group, None
        self._store = TCPStore(
            invitation.host, invitation.port, is_master=False, timeout=timedelta(seconds=invitation.join_s)
        )
        self._store.set(_came(invitation.group, invitation.rank), "1")
        if self._store.get(f"{invitation.group}/word") != _GO.encode():
            raise MachineError("another worker was lost before the weights were sent")
        with on_this_machine(invitation.host):
            self._group = _group(
                invitation.backend, self._store, invitation.group, invitation.rank, invitation.size, invitation.send_s
            )
        return self._group


def _copies(weights: Iterable[tuple[str, Tensor]], before: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies on the CPU, in the memory of those before where they are alike."""
    copies: dict[str, Tensor] = {}
    for name, weight in weights:
        kept = before.get(name)
        if kept is None or (kept.shape, kept.dtype) != (weight.shape, weight.dtype):
            kept = torch.empty_like(weight, device="cpu")
        copies[name] = kept.copy_(weight.detach())
    return copies


def _came(group: int, rank: int) -> str:
    return f"{group}/came/{rank}"


def _group(backend: str, store: Store, number: int, rank: int, size: int, timeout_s: float) -> _Broadcasts:
    own = PrefixStore(f"{number}/group", store)
    if backend == "nccl":
        options = dist.ProcessGroupNCCL.Options()
        options._timeout = timedelta(seconds=timeout_s)
        return cast(_Broadcasts, dist.ProcessGroupNCCL(own, rank, size, options))
    return cast(_Broadcasts, dist.ProcessGroupGloo(own, rank, size, timedelta(seconds=timeout_s)))


def _broadcast(group: _Broadcasts, weight: Tensor, backend: str) -> None:
    """Of its bytes, whatever its type; between GPUs by way of one."""
    sent = weight.cuda() if backend == "nccl" else weight
    group.broadcast(sent.reshape(-1).view(torch.uint8), 0).wait()
    if sent is not weight:
        weight.copy_(sent)


def _outcome(
    asked: Mapping[int, "Future[None]"], within_s: float, failure: str | None
) -> tuple[dict[int, str], str | None]:
    """Who was lost meanwhile, and why it failed otherwise."""
    wait(asked.values(), timeout=within_s)
    lost: dict[int, str] = {}
    for place, one in asked.items():
        error = one.exception() if one.done() else LostWorkerError("it took no weights in its time (fleet.timeout_s)")
        if isinstance(error, LostWorkerError):
            lost[place] = str(error)
        elif error is not None:
            failure = failure or str(error)
    return lost, failure


def sender_for(settings: FleetSettings, host: str, engine: Engine, model: VisionLanguageModel) -> WeightsSender | None:
    """The sender of a run; None where weights go by file. UserError for an engine that takes nothing else."""
    if settings.weights != COLLECTIVE:
        return None
    if abilities_of(engine).take_weights is not None:
        raise UserError(
            f"fleet.weights={COLLECTIVE} is for engines in the workers' own processes, and {type(engine).__name__} "
            "takes its weights from files; leave fleet.weights empty, or name a folder"
        )
    has_gpus = next(model.hf.parameters()).is_cuda and settings.rollout_gpus > 0
    return WeightsSender(
        host=host,
        backend="nccl" if has_gpus else "gloo",
        join_s=settings.start_timeout_s,
        send_s=settings.timeout_s,
    )
