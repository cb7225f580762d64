"""Requests that a machine gave no answer to: is the machine to blame, or what the policy wrote?

A policy that makes the verifier fail on what is wrong of its response would take it out of the comparison. As with
judges, a request is to blame when the machine refuses it again ``BLAMED_AFTER`` times, each time between two controls
of the same kind that it answers. A machine that is down fails on the control too, and is the machine's failure.
"""

import logging
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import TypeVar

from saccade.chat.answer_scoring import AnswerRequest
from saccade.errors import MachineError, RefusalError
from saccade.rewards.argos.regions import Masks, RegionRequest
from saccade.rewards.judges.llm_judge import BLAMED_AFTER

NOWHERE: Masks = ()
"""The region of a label that is itself to blame for having none."""
IMPOSSIBLE: tuple[float, ...] = (-math.inf,)
"""The log-probabilities of an answer after a reasoning that is itself to blame for having none."""

logger = logging.getLogger(__name__)

Asked = TypeVar("Asked")
Verdict = TypeVar("Verdict")


async def answers_with_blame(
    ask: Callable[[Sequence[Asked]], Awaitable[Sequence[Verdict | MachineError]]],
    requests: Sequence[Asked],
    control: Callable[[Asked], Asked],
    *,
    nothing: Verdict,
) -> Sequence[Verdict | MachineError]:
    """Answers to the requests; ``nothing`` for those that are themselves to blame for having none.

    ``control`` makes a harmless request of another. Only a RefusalError is looked into: a server that dies or lies is
    not there to be asked again.
    """
    found = list(await ask(requests))
    blamed = [place for place, one in enumerate(found) if isinstance(one, RefusalError)]
    for number in range(BLAMED_AFTER + 1):
        if not blamed:
            break
        works = await ask([control(requests[place]) for place in blamed])
        blamed = [place for place, one in zip(blamed, works) if not isinstance(one, MachineError)]
        if number < BLAMED_AFTER:
            for place, one in zip(blamed, await ask([requests[place] for place in blamed])):
                found[place] = one
            blamed = [place for place in blamed if isinstance(found[place], RefusalError)]
    for place in blamed:
        found[place] = nothing
    return found


def telling_failures(
    name: str, ask: Callable[[Sequence[Asked]], Sequence[Verdict | MachineError]]
) -> Callable[[Sequence[Asked]], Sequence[Verdict | MachineError]]:
    """The same back end, whose failures are a warning for each batch; refusals, which may be the policy's, are none."""

    def told(requests: Sequence[Asked]) -> Sequence[Verdict | MachineError]:
        found = ask(requests)
        failed = [one for one in found if isinstance(one, MachineError) and not isinstance(one, RefusalError)]
        if failed:
            logger.warning(
                "the verifier's %s failed on %d of %d requests, whose responses have no score: %s",
                *(name, len(failed), len(requests), failed[0]),
            )
        return found

    return told


def control_of_region(request: RegionRequest) -> RegionRequest:
    """A harmless label on the same picture."""
    return replace(request, label="object")


def control_of_answer(request: AnswerRequest) -> AnswerRequest:
    """The right answer to the same question, without any reasoning."""
    return replace(request, reasoning="", answer=request.task.answer)
