"""Models that several tools of one process use are loaded once, and go when the last of the tools goes."""

import threading
from collections.abc import Callable, Hashable
from typing import TypeVar, cast
from weakref import WeakValueDictionary

Model = TypeVar("Model")

_LOADED: WeakValueDictionary[Hashable, object] = WeakValueDictionary()
_LOADING = threading.RLock()


def shared(key: Hashable, load: Callable[[], Model]) -> Model:
    """What ``load`` gives, or gave before for the same key if it is still in use."""
    with _LOADING:
        held = _LOADED.get(key)
        if held is None:
            held = _LOADED[key] = load()
        return cast(Model, held)
