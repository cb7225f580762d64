"""Results of runs of model-written code, and the limits that they run under."""

import math
from dataclasses import dataclass, fields
from typing import Literal

from PIL import Image

from saccade.errors import UserError

Isolation = Literal["full", "restricted", "none"]
"""``full``: namespaces, seccomp, Landlock and resource limits. ``restricted``: the same without namespaces, where the
kernel forbids them. ``none``: resource limits only, for tests on other systems; model code can then do anything that
this process can."""

ErrorKind = Literal["exception", "exit", "timeout", "memory", "killed", "limit"]
"""``exception``: the code raised. ``exit``: it left by ``exit`` or ``os._exit``. ``timeout``: over wall or CPU time.
``memory``: ``MemoryError`` or killed for memory. ``killed``: ended by a signal, a crash of C code among them, or
not made, as the session has ended.
``limit``: another limit (disk, output, processes) was passed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunError:
    """The failure of a run; variables and files are then as after the last run that did not."""

    kind: ErrorKind
    name: str
    """The exception's class, ``ZeroDivisionError``; empty where there was none."""
    message: str
    """One line."""
    traceback: str = ""
    """Frames of the model's own code only."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunResult:
    """One run. Everything in it is data that model code may have chosen; images are raw RGB, not decoded here."""

    stdout: str
    """Printed text and the value of the last expression; cut, with a note, at ``Limits.output_chars``."""
    stderr: str
    images: tuple[Image.Image, ...]
    """Mode RGB, in the order in which they were shown or saved."""
    elapsed_s: float
    """Wall time inside the sandbox, with all that the code set up to run at its end."""
    error: RunError | None = None

    @property
    def ok(self) -> bool:
        return self.error is None


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """Per session, unless a line says otherwise."""

    memory_mib: int = 1536
    """Private memory in each of the at most two processes of a session."""
    files_mib: int = 64
    file_count: int = 3000
    threads: int = 64
    open_files: int = 256
    cpu_s: float = 20.0
    """CPU time of one run."""
    output_chars: int = 16_384
    """Limit of stdout and of stderr of one run."""
    images: int = 16
    """Returned by one run; more are left out, with a note."""
    image_pixels: int = 1 << 24
    """Limit of one returned image; a larger one is left out, with a note."""
    image_mib: int = 64
    """Limit of all images that one run returns, as raw RGB."""

    def check(self) -> None:
        """UserError for values that no run can mean."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value > 0):
                raise UserError(f"limit {field.name}={value} must be a positive number")


@dataclass(frozen=True, kw_only=True, slots=True)
class Layers:
    """The kernel's layers that keep model code in."""

    isolation: Isolation
    namespaces: tuple[str, ...] = ()
    seccomp: bool = False
    landlock: int = 0
    """The version of its interface; 0 for none."""
    notes: tuple[str, ...] = ()
    """One sentence for each layer that is weaker than it could be."""

    def describe(self) -> str:
        """One line for a log."""
        parts = [f"isolation {self.isolation}"]
        parts.append("namespaces " + ", ".join(self.namespaces) if self.namespaces else "no namespaces")
        parts.append("seccomp" if self.seccomp else "no seccomp")
        parts.append(f"Landlock {self.landlock}" if self.landlock else "no Landlock")
        return "; ".join([*parts, "resource limits", *self.notes])
