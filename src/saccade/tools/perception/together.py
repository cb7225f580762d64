"""One forward pass for many calls, of which some are refused before it."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from saccade.errors import ToolError
from saccade.tools.tool import ToolOutput

Request = TypeVar("Request")
Found = TypeVar("Found")


def answered_together(
    calls: Sequence[Mapping[str, object]],
    *,
    request: Callable[..., Request],
    find: Callable[[Sequence[Request]], Sequence[Found]],
    output: Callable[[Request, Found], ToolOutput],
) -> list[ToolOutput | ToolError]:
    """What each call gives, in order; ``request`` checks a call and raises ``ToolError``, ``find`` is asked once."""
    good: dict[int, Request] = {}
    answers: dict[int, ToolOutput | ToolError] = {}
    for place, call in enumerate(calls):
        try:
            good[place] = request(**call)
        except ToolError as error:
            answers[place] = error
    found = find(list(good.values())) if good else ()
    for (place, asked), one in zip(good.items(), found, strict=True):
        answers[place] = output(asked, one)
    return [answers[place] for place in range(len(calls))]
