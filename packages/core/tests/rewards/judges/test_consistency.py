"""The archive of the best grounded reasoning: who may enter, who stays (equation 4), and how it survives."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ivgr_samples import BLUE, RED, TASK, grounded, tag

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.rewards.grounding import GroundingReward
from saccade.rewards.judges.consistency import (
    Reference,
    best_reference,
    better_reference,
    reference_from_json,
    reference_to_json,
)
from saccade.types import Json, Trajectory


def best(*trajectories: Trajectory, tau: float = 0.3) -> Reference | None:
    return best_reference([(one, GroundingReward()(TASK, one)) for one in trajectories], tau)


def reference(box_reward: float, text: str = "red") -> Reference:
    return Reference(text=text, boxes=(RED,), box_reward=box_reward)


def high(height: float) -> Box:
    """The red plate's upper part: its box reward is height / 48."""
    return Box(8, 8, 56, 8 + height)


def test_the_best_boxes_of_a_right_answer_are_the_reference() -> None:
    found = best(
        grounded(f"red {tag(high(24))} white", sample=0),
        grounded(f"red {tag(high(36))} white", sample=1),
        grounded(f"red {tag(RED)} black", "black", sample=2),
        grounded(f"red {tag(RED)} white</box>", sample=3),
    )
    assert found == Reference(text=f"red {tag(high(36))} white", boxes=(high(36),), box_reward=0.75)


def test_a_box_reward_at_the_threshold_is_not_enough() -> None:
    half = grounded(f"red {tag(high(24))} white")
    assert best(half, tau=0.5) is None
    assert best(half, tau=0.4999) is not None


def test_nobody_may_be_a_reference_without_targets_boxes_or_a_right_answer() -> None:
    assert best() is None
    assert best(grounded("red white"), grounded(f"red {tag(RED)}", "black")) is None


def test_of_equals_the_first_sample_counts_in_whatever_order_they_come() -> None:
    first, second = grounded(f"zebra {tag(RED)}", sample=0), grounded(f"ant {tag(RED)}", sample=1)
    assert best(first, second) == best(second, first)
    assert best(second, first).text == f"zebra {tag(RED)}"


def test_the_text_of_several_turns_is_all_their_thoughts() -> None:
    first, last = grounded(f"red {tag(RED)}"), grounded(f"so blue {tag(BLUE)}")
    both = replace(first, turns=(first.turns[0], replace(last.turns[0], index=1)))
    found = best(both)
    assert found is not None
    assert (found.text, found.boxes) == (f"red {tag(RED)}\nso blue {tag(BLUE)}", (RED, BLUE))


def test_equation_4_by_hand() -> None:
    assert better_reference(None, None) is None
    assert better_reference(None, reference(0.4)) == reference(0.4)
    assert better_reference(reference(0.4), None) == reference(0.4)
    assert better_reference(reference(0.4), reference(0.5)) == reference(0.5)
    assert better_reference(reference(0.5), reference(0.4)) == reference(0.5)
    assert better_reference(reference(0.5, "old"), reference(0.5, "new")) == reference(0.5, "old")


@given(st.lists(st.one_of(st.none(), st.floats(0.3, 1.0)), max_size=20))
def test_the_archive_never_gets_worse(rewards: list[float | None]) -> None:
    kept: Reference | None = None
    for reward in rewards:
        before, kept = kept, better_reference(kept, None if reward is None else reference(reward))
        assert before is None or (kept is not None and kept.box_reward >= before.box_reward)
    assert (kept.box_reward if kept else None) == max((one for one in rewards if one is not None), default=None)


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.text(), st.lists(st.builds(Box, numbers, numbers, numbers, numbers), max_size=3), numbers)
def test_a_reference_survives_json_to_the_last_bit(text: str, boxes: list[Box], box_reward: float) -> None:
    kept = Reference(text=text, boxes=tuple(boxes), box_reward=box_reward)
    assert reference_from_json(json.loads(json.dumps(reference_to_json(kept))), "t") == kept


def test_nothing_remembered_is_no_reference() -> None:
    assert reference_from_json(None, "t") is None


@pytest.mark.parametrize(
    "memory",
    [
        {},
        [],
        "red",
        1.0,
        {"text": "red", "boxes": []},
        {"text": "red", "boxes": [], "box_reward": 0.5, "more": 1},
        {"text": None, "boxes": [], "box_reward": 0.5},
        {"text": "red", "boxes": "1234", "box_reward": 0.5},
        {"text": "red", "boxes": ["1234"], "box_reward": 0.5},
        {"text": "red", "boxes": [[1, 2, 3]], "box_reward": 0.5},
        {"text": "red", "boxes": [[1, 2, 3, None]], "box_reward": 0.5},
        {"text": "red", "boxes": [[1, 2, 3, 10**400]], "box_reward": 0.5},
        {"text": "red", "boxes": [{"x1": 1}], "box_reward": 0.5},
        {"text": "red", "boxes": [], "box_reward": True},
        {"text": "red", "boxes": [], "box_reward": float("nan")},
    ],
)
def test_a_damaged_memory_is_told_of_with_its_task(memory: Json) -> None:
    with pytest.raises(UserError, match=r"the memory of task plates/7.*earlier"):
        reference_from_json(memory, "plates/7")
