"""The error tree: whose mistake it was decides what happens next; and what a message says was probably meant."""

import difflib
from collections.abc import Sequence

SHOWN_CHARS = 60


class SaccadeError(Exception):
    """Anything that Saccade raises on purpose."""


class UserError(SaccadeError, ValueError):
    """The user's mistake, found before work starts: says what, shows the value, says what to do.

    The command line prints the message alone and exits with status 2.
    """


class ToolError(SaccadeError):
    """The policy's mistake in a tool call: the message goes back to the model as an observation."""


class MachineError(SaccadeError):
    """The machine's failure (a judge is down, a tool server is gone): the trajectory ends ``failed``, never scored."""


class RefusalError(MachineError):
    """A machine at work that gave no answer to one request: asking again would change nothing.

    Nobody's verdict yet. Where a policy wrote the request, whoever scores finds out whether the request is to blame.
    """


def install_command(extra: str) -> str:
    """The command that brings an extra of this project, as messages say it."""
    return f'pip install -e ".[{extra}]" in a clone of Saccade'


def missing_extra(extra: str, package: str, *, needed_for: str = "this") -> UserError:
    """The error of an optional package that is not installed, and of the extra that brings it."""
    return UserError(f"{needed_for} needs the package {package}; run {install_command(extra)}")


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The one of ``names`` that was probably meant."""
    # Cut first: matching takes time with the square of the length, and the name is the model's.
    matches = difflib.get_close_matches(name[:SHOWN_CHARS].lower(), names, n=1)
    return matches[0] if matches else None
