"""The error tree: whose mistake it was decides what happens next; and what a message says was probably meant."""

import difflib
import errno
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

SHOWN_CHARS = 60


class SaccadeError(Exception):
    """Anything that Saccade raises on purpose."""


class UserError(SaccadeError, ValueError):
    """The user's mistake, found before work starts: says what, shows the value, says what to do.

    The command line prints the message alone and exits with status 2.
    """


class ToolError(SaccadeError):
    """The policy's mistake in a tool call: the message goes back to the model as an observation."""


class BrokenToolError(ToolError):
    """A call that passed all checks and on which the tool itself broke.

    The policy chose the call and may choose it again, so this is its outcome too, and no way out of its group.
    """


class MachineError(SaccadeError):
    """The machine's failure (a judge is down, a tool server is gone): the trajectory ends ``failed``, never scored."""


class RefusalError(MachineError):
    """A machine at work that gave no answer to one request: asking again would change nothing.

    Nobody's verdict yet. Where a policy wrote the request, whoever scores finds out whether the request is to blame.
    """


_EXTRA_OF_PACKAGE = {
    "gym": ("saccade-gym", "looks"),
    "readers": ("saccade-readers", "geometry,ocr"),
    "sandbox": ("saccade-sandbox", "code"),
    "video": ("saccade-base", "video"),
}
"""Extras that one package has: it may be installed without the rest."""


def install_command(extra: str) -> str:
    """The command that brings an extra of this project, as messages say it: without a clone, by its packages."""
    if not (Path(__file__).parents[2] / "pyproject.toml").is_file():
        return pip_command(*_EXTRA_OF_PACKAGE.get(extra, ("saccade-vlm", extra)))
    return f'pip install -e ".[{extra}]" in a clone of Saccade'


def pip_command(distribution: str, extra: str) -> str:
    """The command that installs what extras (by commas) of a distribution ask for, of packages of others alone."""
    return shlex.join(["pip", "install", *_needs_of(distribution, extra)])


def _needs_of(distribution: str, extra: str) -> list[str]:
    """What extras of Saccade or of one of its packages ask for, of others alone."""
    from importlib.metadata import PackageNotFoundError, requires

    needs: list[str] = []
    with suppress(PackageNotFoundError):
        for line in requires(distribution) or ():
            need, _, where = line.replace("'", '"').partition(";")
            if any(f'extra == "{one}"' in where for one in extra.split(",")):
                own = re.fullmatch(r"(saccade-\w+)\[(.+)\]", need.strip())
                needs += _needs_of(own[1], own[2]) if own else [need.strip()]
    return needs or [f"{distribution}[{extra}]"]


def missing_extra(extra: str, package: str, *, needed_for: str = "this") -> UserError:
    """The error of an optional package that is not installed, and of the extra that brings it."""
    return UserError(f"{needed_for} needs the package {package}; run {install_command(extra)}")


_OF_NAMES = frozenset(
    (errno.ENOENT, errno.EISDIR, errno.ENOTDIR, errno.ENAMETOOLONG, errno.EEXIST, errno.EINVAL, errno.EACCES)
)
"""What is wrong with a path, which a call may have named."""
_MACHINERY = re.compile("Connect|Network|Transport|Timeout|URLError|OutOfMemory|Accelerator")
"""Names of errors of HTTP clients and of torch, which are not imported for this."""


def is_of_machinery(error: Exception) -> bool:
    """Whether what foreign code raised tells of a disk, a network or a device, rather than of what it was asked."""
    if isinstance(error, OSError) and error.errno is not None:
        return error.errno not in _OF_NAMES
    if type(error) is RuntimeError:
        return str(error).startswith(("CUDA", "cuDNN", "NCCL", "HIP")) or "out of memory" in str(error)
    return isinstance(error, ImportError) or any(_MACHINERY.search(kind.__name__) for kind in type(error).__mro__)


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The one of ``names`` that was probably meant."""
    # Cut first: matching takes time with the square of the length, and the name is the model's.
    matches = difflib.get_close_matches(name[:SHOWN_CHARS].lower(), names, n=1)
    return matches[0] if matches else None
