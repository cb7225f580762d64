"""Where a program's host waits for its GPU: told by CUDA on one, and followed through torch's operations without.

Without a GPU the weights of a model stand for what is on the device, and all that is worked out from them or sent to it
is there too; to read such a tensor, or to send one in memory that may be swapped, would wait.
"""

import inspect
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakTensorKeyDictionary

Waits = Counter[str]
"""How often the host waits, by the operation and the line that asks for it."""

_READS = ("_local_scalar_dense", "nonzero", "masked_select", "equal", "_unique2", "unique_consecutive", "unique_dim")
_INDEXED = ("index", "index_put", "index_put_", "_index_put_impl_")
_FILLED = (torch.empty, torch.zeros, torch.ones, torch.full, torch.arange)
"""Made on the device that is asked for, by a kernel."""
_SENT = (Tensor.to, torch.tensor, torch.as_tensor)
_WAITING = "called a synchronizing CUDA operation"


def waits_of(run: Callable[[], object], module: nn.Module) -> Waits:
    """Of one run of something that works with a module, where its weights are on a GPU or on a CPU."""
    return _as_cuda_tells(run) if next(module.parameters()).is_cuda else _as_followed(run, module)


def _as_cuda_tells(run: Callable[[], object]) -> Waits:
    before = torch.cuda.get_sync_debug_mode()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        torch.cuda.set_sync_debug_mode("warn")
        try:
            run()
        finally:
            torch.cuda.set_sync_debug_mode(before)
    waits = [one for one in said if _WAITING in str(one.message)]
    return Counter(f"{Path(one.filename).name}:{one.lineno}" for one in waits)


def _as_followed(run: Callable[[], object], module: nn.Module) -> Waits:
    device = _Device(module)
    with _Calls(device), _Operations(device):
        run()
    return device.waits


class _Device:
    """What is on the device that a CPU stands for."""

    def __init__(self, module: nn.Module) -> None:
        self.waits: Waits = Counter()
        self._weights = {one.untyped_storage().data_ptr() for one in (*module.parameters(), *module.buffers())}
        self._others = WeakTensorKeyDictionary()

    def holds(self, one: object) -> bool:
        if not isinstance(one, Tensor):
            return False
        # A backward pass works on the device alone.
        is_backward = torch._C._current_graph_task_id() != -1
        return is_backward or one in self._others or one.untyped_storage().data_ptr() in self._weights

    def take(self, found: object) -> None:
        for one in tree_leaves(found):
            if isinstance(one, Tensor):
                self._others[one] = True

    def wait(self, name: str) -> None:
        self.waits[f"{name} {_line(_asked()[0])}"] += 1


def _asked() -> list[FrameType]:
    """What led to what is done now, the line that asks for it first, outside of torch."""
    frames, frame = [], inspect.currentframe()
    while frame is not None:
        name = frame.f_code.co_filename
        if "/torch/" not in name and name != __file__:
            frames.append(frame)
        frame = frame.f_back
    return frames


def _line(frame: FrameType) -> str:
    return f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"


def _is_of_host() -> bool:
    """Whether sizes of pictures are worked with, which are on the host: on a CPU its name is the device's."""
    first, *others = [frame.f_code.co_filename for frame in _asked()]
    return first.endswith("vision_utils.py") and any(name.endswith("vision_grids.py") for name in others)


class _Operations(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self, device: _Device) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._device = device

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name, device = func._schema.name.partition("::")[2], self._device
        given = [one for one in tree_leaves((args, kwargs)) if isinstance(one, Tensor)]
        is_there = any(map(device.holds, given))
        if is_there and (name in _READS or (name in _INDEXED and self._waits_for_places(args))):
            device.wait(name)
        found = func(*args, **(kwargs or {}))
        if is_there and name != "_local_scalar_dense":
            device.take(found)
        return found

    def _waits_for_places(self, args: tuple[Any, ...]) -> bool:
        """A mask has to be counted, and places on the host have to be sent."""
        places = [one for one in args[1] if isinstance(one, Tensor)]
        return any(one.dtype in (torch.bool, torch.uint8) or not self._device.holds(one) for one in places)


class _Calls(TorchFunctionMode):
    def __init__(self, device: _Device) -> None:
        super().__init__()
        self._device = device

    def __torch_function__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs, device = dict(kwargs or {}), self._device
        # Its numbers are read past torch's operations.
        if func is Tensor.tolist and device.holds(args[0]):
            device.wait("tolist")
        found = func(*args, **kwargs)
        if func in (*_FILLED, *_SENT) and _is_of_host():
            return found
        if func in _SENT and _names_device(func, args, kwargs):
            if func is Tensor.to and device.holds(args[0]):
                return found
            if not kwargs.get("non_blocking"):
                device.wait(func.__name__)
            # On a CPU it may be the very tensor, which stays on the host.
            found = torch.ops.aten.alias(found)
            device.take(found)
        elif func in _FILLED and kwargs.get("device") is not None:
            device.take(found)
        return found


def _names_device(func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    if func is Tensor.to and any(isinstance(one, torch.device | str) for one in args[1:]):
        return True
    return kwargs.get("device") is not None or any(isinstance(one, Tensor) for one in args[1:])
