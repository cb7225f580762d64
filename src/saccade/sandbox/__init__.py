"""Where code that a model wrote runs: isolated by the kernel, each run a transaction."""

from saccade.sandbox.contract import ErrorKind, Isolation, Layers, Limits, RunError, RunResult
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
