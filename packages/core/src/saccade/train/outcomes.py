"""How a process of a fleet says that its part failed, and where its log goes."""

import logging
from dataclasses import dataclass

from saccade.errors import MachineError, SaccadeError, UserError
from saccade.learner.processes import LostRanksError
from saccade.learner.ranks import said

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class FailedPart:
    """How an actor's part ended without a result: as a value, since an error that crosses loses its kind."""

    error: SaccadeError


def carried(error: Exception) -> SaccadeError:
    """An error that can be sent: one of ours as its kind, others in words."""
    for kind in (UserError, LostRanksError, MachineError):
        if isinstance(error, kind):
            return kind(str(error))
    logger.exception("this process failed")
    return SaccadeError(said(error))


def log_here(*, is_quiet: bool) -> None:
    """Lets this process's log be seen: Ray brings it to the command."""
    ours = logging.getLogger("saccade")
    ours.setLevel(logging.INFO)
    if not ours.handlers:
        handler = logging.StreamHandler()
        handler.setLevel(logging.WARNING if is_quiet else logging.INFO)
        handler.setFormatter(logging.Formatter("%(message)s"))
        ours.addHandler(handler)
