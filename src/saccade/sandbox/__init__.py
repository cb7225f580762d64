"""Where code that a model wrote runs: isolated by the kernel, each run a transaction."""

from typing import TYPE_CHECKING

from saccade.sandbox.results import ErrorKind, Isolation, Layers, Limits, RunError, RunResult

if TYPE_CHECKING:
    from saccade.sandbox.sandbox import NoIsolationWarning, Sandbox
    from saccade.sandbox.session import Session

__all__ = [
    "ErrorKind",
    "Isolation",
    "Layers",
    "Limits",
    "NoIsolationWarning",
    "RunError",
    "RunResult",
    "Sandbox",
    "Session",
]


def __getattr__(name: str) -> object:
    # The warm parent imports this room as well, and each page of the trainer's side would be copied with every fork.
    if name in ("Sandbox", "NoIsolationWarning"):
        from saccade.sandbox import sandbox

        found: object = getattr(sandbox, name)
        return found
    if name == "Session":
        from saccade.sandbox.session import Session

        return Session
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
