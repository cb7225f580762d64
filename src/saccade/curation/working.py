"""Questions worked off many at a time; what the machine failed is said and left for the next run."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import TypeVar

from saccade.chat.wire import RefusedRequestError
from saccade.curation.journal import Journal, Kept
from saccade.errors import MachineError, SaccadeError

FAILURES_IN_A_ROW = 8
"""So many questions that fail by the machine's fault, one after another, end the run: the server is gone."""

Item = TypeVar("Item")
Outcome = TypeVar("Outcome", bound=Kept)

logger = logging.getLogger(__name__)


async def work_off(
    items: Mapping[str, Item],
    outcome_of: Callable[[Item], Awaitable[Outcome]],
    journal: Journal[Outcome],
    *,
    at_once: int,
    on_outcome: Callable[[Outcome], None],
) -> None:
    """Works off the items, by their ids, that have no outcome in the journal yet, in their order.

    An item that fails by the machine's fault has no outcome, and is tried again when the run is resumed. Raises
    MachineError when many in a row fail, UserError when the server refuses all that it is asked.
    """
    waiting = {key: item for key, item in items.items() if key not in journal.outcomes}
    failures = _Failures()
    left = iter(waiting.items())

    async def work() -> None:
        for key, item in left:
            try:
                outcome = await outcome_of(item)
            except (MachineError, RefusedRequestError) as error:
                failures.add(key, error)
                continue
            failures.in_a_row = 0
            journal.add(outcome)
            on_outcome(outcome)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(at_once, len(waiting))):
                group.create_task(work())
    except* SaccadeError as errors:
        # One of them is enough to read; the others were cut short.
        raise errors.exceptions[0] from None


class _Failures:
    """Questions that failed one after another by the machine's fault."""

    def __init__(self) -> None:
        self.in_a_row = 0

    def add(self, key: str, error: MachineError | RefusedRequestError) -> None:
        """Raises the error when there is no hope that the next question fares better."""
        self.in_a_row += 1
        is_hopeless = isinstance(error, RefusedRequestError) and not error.is_about_one_request
        if is_hopeless or self.in_a_row >= FAILURES_IN_A_ROW:
            raise error
        logger.warning("question %s failed, to be tried again when resumed: %s", key, error)
