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


def nearest(name: str, names: Sequence[str]) -> str | None:
    """The one of ``names`` that was probably meant."""
    # Cut first: matching takes time with the square of the length, and the name is the model's.
    matches = difflib.get_close_matches(name[:SHOWN_CHARS].lower(), names, n=1)
    return matches[0] if matches else None
