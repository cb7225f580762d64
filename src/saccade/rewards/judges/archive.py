"""iVGR's rollout archive: the best grounded reasoning of a question so far, as what a reward remembers of a task."""

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.rewards.boxes.grounding import readable_boxes
from saccade.types import Json, Score, Trajectory

TAU = 0.3
"""The paper's threshold of the box reward."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Reference:
    """Grounded reasoning that is good enough to hold texts against."""

    text: str
    """Its thoughts, with the boxes as the model wrote them."""
    boxes: tuple[Box, ...]
    """The text's boxes in their order, in pixels of the original of the first image."""
    box_reward: float
    """R_box (equation 2)."""


def thoughts_of(trajectory: Trajectory) -> str:
    """The thoughts of all turns, one after another."""
    return "\n".join(turn.thought for turn in trajectory.turns if turn.thought)


def may_be_reference(score: Score, tau: float = TAU) -> bool:
    """Format 1, right, and a box reward above ``tau``; never where there were no targets."""
    return score.is_right is True and score.values["format"] == 1.0 and score.values.get("box", -math.inf) > tau


def best_reference(scored: Iterable[tuple[Trajectory, Score]], tau: float = TAU) -> Reference | None:
    """The one with the highest box reward among grounded trajectories that may be a reference; None without any.

    Of equally good ones the first sample counts.
    """
    valid = [(trajectory, score) for trajectory, score in scored if may_be_reference(score, tau)]
    if not valid:
        return None
    best, score = max(valid, key=lambda one: (one[1].values["box"], -one[0].sample))
    return Reference(text=thoughts_of(best), boxes=readable_boxes(best), box_reward=score.values["box"])


def updated(old: Reference | None, new: Reference | None) -> Reference | None:
    """The archive after a step (equation 4): only a strictly higher box reward replaces what is there."""
    if old is None or (new is not None and new.box_reward > old.box_reward):
        return new
    return old


def reference_to_json(reference: Reference) -> Json:
    return {
        "text": reference.text,
        "boxes": [list(box.as_tuple()) for box in reference.boxes],
        "box_reward": reference.box_reward,
    }


def reference_from_json(memory: Json, task_id: str) -> Reference | None:
    """None for a task that nothing is known of; ``UserError`` for what ``reference_to_json`` never wrote."""
    if memory is None:
        return None
    if isinstance(memory, Mapping) and set(memory) == {"text", "boxes", "box_reward"}:
        text, boxes, box_reward = memory["text"], memory["boxes"], _number(memory["box_reward"])
        if isinstance(text, str) and isinstance(boxes, Sequence) and box_reward is not None:
            read = [_box(one) for one in boxes]
            known = tuple(box for box in read if box is not None)
            if len(known) == len(read):
                return Reference(text=text, boxes=known, box_reward=box_reward)
    raise UserError(
        f"what is remembered of task {task_id} is no archived reasoning with text, boxes and box_reward: "
        f"{repr(memory)[:120]}; the checkpoint is damaged or of another reward, go on from an earlier one"
    )


def _box(value: Json) -> Box | None:
    if not isinstance(value, Sequence) or isinstance(value, str):
        return None
    sides = [number for side in value if (number := _number(side)) is not None]
    return Box(*sides) if len(sides) == len(value) == 4 else None


def _number(value: Json) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    # JSON knows whole numbers that no float can hold.
    return float(value) if abs(value) <= sys.float_info.max else None
