"""What a forward keeps for its backward pass, in the host's memory meanwhile.

With activation checkpointing that is the input of each layer, a small part of what passes through it; without it all
that a layer keeps, which many machines work out again in less time than it takes to send. Copies run beside the
device's work: tensors leave while later layers compute, and come back, the last ones first, before the backward pass
asks for them.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol
from weakref import ReferenceType, ref

import torch
from jaxtyping import Shaped
from torch import Tensor, nn
from torch.autograd.graph import saved_tensors_hooks

from saccade.learner.memory import AHEAD_BYTES

SMALLEST_BYTES = 1 << 14
"""Of a tensor that is moved: of smaller ones a copy takes longer than the memory is worth."""


class Lane(Protocol):
    """Copies beside the device's work, in order."""

    def leave(self, tensor: Tensor) -> tuple[Tensor, Callable[[], object]]:
        """The tensor in the host's memory, and what waits until it is there."""
        ...

    def come_back(self, host: Tensor) -> tuple[Tensor, Callable[[], object]]:
        """The tensor on the device, and what makes the device wait until it is there."""
        ...


class _GpuLane:
    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def leave(self, tensor: Tensor) -> tuple[Tensor, Callable[[], object]]:
        host = torch.empty_like(tensor, device="cpu", pin_memory=True)
        self._stream.wait_stream(torch.cuda.current_stream(self._device))
        with torch.cuda.stream(self._stream):
            host.copy_(tensor, non_blocking=True)
        return host, self._wait(self._stream.record_event())

    def come_back(self, host: Tensor) -> tuple[Tensor, Callable[[], object]]:
        with torch.cuda.stream(self._stream):
            tensor = torch.empty_like(host, device=self._device)
            tensor.copy_(host, non_blocking=True)
        done = self._stream.record_event()

        def arrive() -> None:
            current = torch.cuda.current_stream(self._device)
            current.wait_event(done)
            # Its memory is the other stream's, which must not give it away while this one reads it.
            tensor.record_stream(current)

        return tensor, arrive

    def _wait(self, done: torch.cuda.Event) -> Callable[[], object]:
        return lambda: torch.cuda.current_stream(self._device).wait_event(done)


class _CpuLane:
    """Copies within the host's memory, so that all but the streams runs without a GPU."""

    def leave(self, tensor: Tensor) -> tuple[Tensor, Callable[[], object]]:
        return torch.empty_like(tensor).copy_(tensor), _nothing

    come_back = leave


def _nothing() -> None:
    pass


@dataclass(eq=False)
class _Moved:
    """A tensor in the host's memory, and again on the device once the backward pass is near it."""

    host: Tensor
    place: int
    """Among those of its forward, in order."""
    back: tuple[Tensor, Callable[[], object]] | None = None


@dataclass(frozen=True, slots=True)
class _Leaving:
    tensor: Tensor
    version: int
    moved: _Moved
    wait: Callable[[], object]

    def is_same(self, other: Tensor) -> bool:
        """Whether these are the same numbers in the same memory: what has changed meanwhile has another version."""
        one = self.tensor
        return (
            one.data_ptr() == other.data_ptr()
            and self.version == other._version
            and (one.shape, one.stride(), one.dtype) == (other.shape, other.stride(), other.dtype)
        )


class HostActivations:
    """Moves what forwards keep; one for a learner."""

    def __init__(self, modules: Sequence[nn.Module], device: torch.device, *, ahead_bytes: int = AHEAD_BYTES) -> None:
        """Weights of the ``modules`` stay where they are, though products keep them too."""
        self.moved_bytes = 0
        """Sent to the host so far."""
        self._modules = modules
        self._weights: set[int] = set()
        self._device = device
        self._lane: Lane = _GpuLane(device) if device.type == "cuda" else _CpuLane()
        self._ahead_bytes = ahead_bytes
        self._leaving: deque[_Leaving] = deque()
        self._kept: list[ReferenceType[_Moved]] = []

    @contextmanager
    def moving(self) -> Iterator[None]:
        """Inside is one forward; its backward comes after."""
        self._kept = []
        weights = (one for module in self._modules for one in (*module.parameters(), *module.buffers()))
        self._weights = {weight.untyped_storage().data_ptr() for weight in weights}
        try:
            with saved_tensors_hooks(self._put, self._take):
                yield
        finally:
            self._let_go(0)

    def _put(self, tensor: Shaped[Tensor, "..."]) -> "Shaped[Tensor, '...'] | _Moved":
        if not self._is_moved(tensor):
            return tensor
        # Products of one input keep it one by one.
        alike = next((one.moved for one in self._leaving if one.is_same(tensor)), None)
        if alike is not None:
            return alike
        host, wait = self._lane.leave(tensor.detach())
        moved = _Moved(host, len(self._kept))
        self._kept.append(ref(moved))
        self._leaving.append(_Leaving(tensor.detach(), tensor._version, moved, wait))
        self.moved_bytes += host.nbytes
        self._let_go(self._ahead_bytes)
        return moved

    def _is_moved(self, tensor: Tensor) -> bool:
        memory = tensor.untyped_storage()
        is_large = tensor.device == self._device and SMALLEST_BYTES < tensor.nbytes <= memory.nbytes()
        return is_large and memory.data_ptr() not in self._weights

    def _let_go(self, most_bytes: int) -> None:
        """Frees the oldest that are leaving, once they are gone, until so much is left."""
        while self._leaving and sum(one.moved.host.nbytes for one in self._leaving) > most_bytes:
            self._leaving.popleft().wait()

    def _take(self, kept: "Shaped[Tensor, '...'] | _Moved") -> Shaped[Tensor, "..."]:
        if isinstance(kept, Tensor):
            return kept
        self._fetch(kept)
        # What is asked for next lies before it.
        near = 0
        for place in range(kept.place - 1, -1, -1):
            before = self._kept[place]() if place < len(self._kept) else None
            if before is not None:
                near += before.host.nbytes
                if near > self._ahead_bytes:
                    break
                self._fetch(before)
        assert kept.back is not None
        tensor, arrive = kept.back
        arrive()
        return tensor

    def _fetch(self, moved: _Moved) -> None:
        if moved.back is None:
            moved.back = self._lane.come_back(moved.host)
