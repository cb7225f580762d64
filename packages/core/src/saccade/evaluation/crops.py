"""Crops held against what the answer depends on, and why an answer is wrong, as far as the record proves it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from saccade.geometry import Box, iou
from saccade.types import Attempt, Json, Task, ToolCall, Trajectory

LOOKING_TOOLS = ("crop", "zoom")
WHOLE = 0.95
"""A crop that holds this share of a target shows all of it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """Fit of a trajectory's best crop to a target of the task."""

    iou: float
    """Largest intersection over union of a crop with a target."""
    coverage: float
    """Largest share of a target's area inside one crop."""


def look_of(task: Task, trajectory: Trajectory) -> Look | None:
    """The best fit of a crop; None without targets, or when no crop of the task's own images ran without an error."""
    pairs = [
        (box, target.box)
        for number, box in _crops(trajectory)
        for target in task.targets
        if target.image_index == number - 1
    ]
    if not pairs:
        return None
    return Look(
        iou=max(iou(box, target) for box, target in pairs),
        coverage=max(_covered_share(target, box) for box, target in pairs),
    )


def _crops(trajectory: Trajectory) -> list[tuple[int, Box]]:
    """(number of the image, box in its pixels) of each crop that gave a picture."""
    crops = []
    for turn in trajectory.turns:
        action = turn.action
        if isinstance(action, ToolCall) and action.name in LOOKING_TOOLS and turn.result and turn.result.is_ok:
            box = _box(action.arguments)
            number = action.arguments.get("image", 1)
            if box is not None and isinstance(number, int):
                crops.append((number, box))
    return crops


def _box(arguments: Mapping[str, Json]) -> Box | None:
    value = arguments.get("bbox_2d")
    if isinstance(value, str) or not isinstance(value, Sequence) or len(value) != 4:
        return None
    sides = [float(side) for side in value if isinstance(side, int | float)]
    return Box(*sides) if len(sides) == 4 else None


def _covered_share(target: Box, crop: Box) -> float:
    shared = Box(max(target.x1, crop.x1), max(target.y1, crop.y1), min(target.x2, crop.x2), min(target.y2, crop.y2))
    return shared.area / target.area if shared.is_ordered and target.area > 0 else 0.0


def wrong_reason(attempt: Attempt) -> str:
    """A key of ``REASONS`` for an attempt whose answer is known to be wrong."""
    return next(_reasons(attempt))


def _reasons(attempt: Attempt) -> Iterator[str]:
    task, trajectory = attempt.task, attempt.trajectory
    if trajectory.answer is None:
        yield {"turn_limit": "out_of_turns", "token_limit": "out_of_tokens"}.get(trajectory.status, "no_answer")
        return
    if task.choices and trajectory.answer.strip().casefold() not in {one.strip().casefold() for one in task.choices}:
        yield "no_choice"
    has_called, has_run = _calls(trajectory)
    if not has_called:
        yield "no_call"
    elif not has_run:
        yield "calls_failed"
    if (look := look_of(task, trajectory)) is not None:
        yield "looked_elsewhere" if look.coverage <= 0 else "saw_part" if look.coverage < WHOLE else "saw_target"
    yield "after_calls"


def _calls(trajectory: Trajectory) -> tuple[bool, bool]:
    """Whether there is a call, and whether one ran without an error."""
    called = [turn for turn in trajectory.turns if isinstance(turn.action, ToolCall)]
    return bool(called), any(turn.result is not None and turn.result.is_ok for turn in called)
