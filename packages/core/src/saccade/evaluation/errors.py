"""Errors with tools, in the six kinds of VISTA-Gym (table 1, appendix G.1), read from recorded trajectories.

=====  ==============================================================================================================
kind   when
=====  ==============================================================================================================
E1     a call that is no call: a turn opens one and cannot be read, the tool does not exist, a needed argument lacks
E2     an argument has a name that the tool does not know
E3     the names are right and a value is not what the tool takes: refused by its checks, or by the tool itself
E4     the call is in order and asks for the wrong thing (told by a judge)
E5     the tool ran and gave nothing that can be used; or the answer after a tool that ran is none of the kind asked for
E6     the tool's result was right and the conclusion from it is not (told by a judge)
=====  ==============================================================================================================

Rules find E1, E2, E3 and E5 in every trajectory, also where the model mended its mistake later. A judge is asked about
wrong trajectories in which a tool ran. One trajectory may have several kinds.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from saccade.answer_boxes import boxes_in, point_in
from saccade.evaluation.tool_use import ERROR_KIND
from saccade.quantities import Quantity
from saccade.rewards.answers.kinds import shows_letters
from saccade.rewards.answers.metrics_by_set import answer_is_right, value_choice
from saccade.rewards.answers.rules import value_of
from saccade.rewards.tool_use import call_outcome
from saccade.types import Attempt, Malformed, Task, ToolCall, ToolResult, ToolSpec, Trajectory, Turn
from saccade.waiting import run_to_end

if TYPE_CHECKING:
    from saccade.evaluation.error_judge import ErrorJudge

ErrorKind = Literal["E1", "E2", "E3", "E4", "E5", "E6"]

ERROR_KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)
JudgedKind = Literal["E4", "E6"]
JUDGED_KINDS: tuple[JudgedKind, ...] = get_args(JudgedKind)

CALL_TAGS = ("<tool_call>", "<code>")
"""Tags in a turn that attempts a call."""

Verdict = frozenset[JudgedKind] | Literal["attack"] | None
"""A judge's verdict: kinds, perhaps none; a trajectory that speaks to it; or no verdict."""

IsRight = Callable[[Task, str], bool]
IsUsable = Callable[[ToolCall, ToolResult], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorReport:
    """Kinds of errors over the trajectories that the machine did not fail."""

    trajectories: int
    wrong: int
    """Trajectories without a right answer."""
    of_wrong: Mapping[ErrorKind, int] = field(default_factory=dict)
    """Wrong trajectories that have the kind; without a judge E4 and E6 are missing."""
    of_all: Mapping[ErrorKind, int] = field(default_factory=dict)
    """All trajectories that have a kind that rules find, mended or not."""
    unexplained: int = 0
    """Wrong trajectories without any kind: wrong without a tool, or seen wrongly."""
    judged: int = 0
    """Trajectories that a judge was asked about."""
    no_verdict: int = 0
    attacks: int = 0
    """Trajectories that speak to the judge; no judge was asked."""

    def share(self, kind: ErrorKind) -> float | None:
        """Share of the wrong trajectories, as table 1 counts; None without any, or if the kind was not looked for."""
        return self.of_wrong[kind] / self.wrong if self.wrong and kind in self.of_wrong else None


def gives_something(call: ToolCall, result: ToolResult) -> bool:
    """Whether there is a text, an image or a value in a tool's result."""
    del call
    return bool(result.text.strip() or result.images or result.data)


def rule_errors(
    task: Task,
    trajectory: Trajectory,
    tools: Sequence[ToolSpec],
    *,
    is_usable: IsUsable = gives_something,
) -> frozenset[ErrorKind]:
    """E1, E2, E3 and E5 of a trajectory that was played with these tools.

    ``is_usable`` says of the result of a call that ran without an error whether it is what it should be.
    """
    specs = {tool.name: tool for tool in tools}
    found = [_turn_error(turn, specs, is_usable) for turn in trajectory.turns]
    if trajectory.answer is not None and _has_run(trajectory) and not can_be_read(task, trajectory.answer):
        found.append("E5")
    return frozenset(kind for kind in found if kind is not None)


def can_be_read(task: Task, answer: str) -> bool:
    """Whether the answer is of the kind that the task asks for, right or wrong: a number, or one of the options."""
    match task.answer_kind:
        case "number" | "integer":
            return value_of(answer, Quantity(0.0)) is not None
        case "choice":
            letters = shows_letters(task)
            names = (value_choice(answer, one, task.choices, has_letters=letters) for one in task.choices)
            return any(names) if task.choices else bool(answer.strip())
        case "boxes":
            return boxes_in(answer) is not None
        case "click":
            return point_in(answer) is not None
        case _:
            return bool(answer.strip())


def find_errors(
    attempts: Iterable[Attempt],
    tools: Sequence[ToolSpec],
    *,
    judge: "ErrorJudge | None" = None,
    is_right: IsRight = answer_is_right,
    is_usable: IsUsable = gives_something,
) -> ErrorReport:
    """The kinds of errors of an evaluation; a judge is asked about all of its trajectories at the same time.

    ``UserError`` of the judge's server for what no other request would mend.
    """
    attempts = list(attempts)
    verdicts = None if judge is None else run_to_end(error_verdicts(attempts, judge, is_right=is_right))
    return error_report(attempts, tools, verdicts=verdicts, is_right=is_right, is_usable=is_usable)


async def error_verdicts(
    attempts: Iterable[Attempt], judge: "ErrorJudge", *, is_right: IsRight = answer_is_right
) -> dict[int, Verdict]:
    """The judge's verdicts on the wrong trajectories in which a tool ran, by their places among all."""
    asked = {place: one for place, one in enumerate(attempts) if _is_to_judge(one, is_right)}
    verdicts = await asyncio.gather(*(judge(one.task, one.trajectory) for one in asked.values()))
    return dict(zip(asked, verdicts))


def error_report(
    attempts: Iterable[Attempt],
    tools: Sequence[ToolSpec],
    *,
    verdicts: Mapping[int, Verdict] | None = None,
    is_right: IsRight = answer_is_right,
    is_usable: IsUsable = gives_something,
) -> ErrorReport:
    """The kinds of errors by rules and by the verdicts of a judge; without verdicts E4 and E6 are missing."""
    placed = [(place, one) for place, one in enumerate(attempts) if one.trajectory.status != "failed"]
    by_rules = [rule_errors(one.task, one.trajectory, tools, is_usable=is_usable) for _, one in placed]
    are_wrong = [not _is_right(one, is_right) for _, one in placed]
    given = [verdicts[place] for place, _ in placed if place in verdicts] if verdicts else []
    kinds = [set[ErrorKind](found) for found in by_rules]
    for (place, _), found in zip(placed, kinds):
        verdict = verdicts.get(place) if verdicts else None
        if isinstance(verdict, frozenset):
            found |= verdict
    wrong = [found for found, is_wrong in zip(kinds, are_wrong) if is_wrong]
    looked_for = [kind for kind in ERROR_KINDS if verdicts is not None or kind not in JUDGED_KINDS]
    return ErrorReport(
        trajectories=len(placed),
        wrong=len(wrong),
        of_wrong=_count_by_kind(wrong, looked_for),
        of_all=_count_by_kind(by_rules, [kind for kind in ERROR_KINDS if kind not in JUDGED_KINDS]),
        unexplained=sum(not found for found in wrong),
        judged=sum(verdict != "attack" for verdict in given),
        no_verdict=given.count(None),
        attacks=given.count("attack"),
    )


def _is_to_judge(attempt: Attempt, is_right: IsRight) -> bool:
    trajectory = attempt.trajectory
    return trajectory.status != "failed" and not _is_right(attempt, is_right) and _has_run(trajectory)


def _count_by_kind(found: Iterable[Collection[ErrorKind]], kinds: Sequence[ErrorKind]) -> dict[ErrorKind, int]:
    counts = Counter(kind for each in found for kind in each)
    return {kind: counts[kind] for kind in kinds}


def _is_right(attempt: Attempt, is_right: IsRight) -> bool:
    answer = attempt.trajectory.answer
    return attempt.trajectory.status == "answered" and answer is not None and is_right(attempt.task, answer)


def _has_run(trajectory: Trajectory) -> bool:
    return any(call_outcome(turn) in ("succeeded", "idle") for turn in trajectory.turns)


def _turn_error(turn: Turn, specs: Mapping[str, ToolSpec], is_usable: IsUsable) -> ErrorKind | None:
    if isinstance(turn.action, Malformed):
        return "E1" if any(tag in turn.text for tag in CALL_TAGS) else None
    if not isinstance(turn.action, ToolCall):
        return None
    outcome = call_outcome(turn)
    if outcome == "refused":
        return _refusal(turn.action, specs)
    if turn.result is None:
        return None
    if outcome == "failed":
        # A tool that says how it failed had begun to work; one that only speaks to the model did not take the values.
        return "E3" if turn.result.data.get(ERROR_KIND) is None else "E5"
    return None if is_usable(turn.action, turn.result) else "E5"


def _refusal(call: ToolCall, specs: Mapping[str, ToolSpec]) -> ErrorKind:
    spec = specs.get(call.name)
    if spec is None:
        return "E1"
    known, needed = spec.parameters.get("properties"), spec.parameters.get("required")
    if any(name not in (known if isinstance(known, Mapping) else ()) for name in call.arguments):
        return "E2"
    lacking = [name for name in (needed if isinstance(needed, list | tuple) else ()) if name not in call.arguments]
    return "E1" if lacking else "E3"
