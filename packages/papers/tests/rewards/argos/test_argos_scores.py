"""Argos' scores by hand-worked cases, and the ways in which a policy would be paid for nothing."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from saccade.errors import MachineError, UserError
from saccade.geometry import Mask
from saccade.rewards.argos.scores import (
    answer_probability,
    gated,
    relative_accuracy,
    video_score,
)
from saccade.rewards.argos.spatial import PointForm, spatial_score
from saccade.rewards.mentions import frame_of, segment_of

SIZE = (100, 50)


def mask(x1: int, y1: int, x2: int, y2: int) -> NDArray[np.bool_]:
    found = np.zeros((SIZE[1], SIZE[0]), dtype=np.bool_)
    found[y1:y2, x1:x2] = True
    return found


REGIONS = {"jeep": [mask(10, 10, 20, 20), mask(60, 10, 70, 20)], "image": [mask(0, 0, 100, 50)], "ghost": []}


@pytest.mark.parametrize(
    ("points", "score"),
    [
        ([(10, 10, "jeep")], 1.0),
        ([(19.9, 19.9, "jeep")], 1.0),
        ([(20, 10, "jeep")], 0.0),
        ([(10, 10, "jeep"), (65, 15, "jeep")], 1.0),  # The union of two detections.
        ([(10, 10, "jeep"), (5, 5, "ghost")], 0.5),  # Nothing was detected.
        ([(10, 10, "jeep"), (5, 5, "unheard of")], 0.5),
        ([(10, 10, "jeep"), (None, 5, "jeep")], 0.5),
        ([(10, 10, "jeep"), (100, 10, "jeep")], 0.5),  # Beyond the right edge: never clipped into the picture.
        ([(10, 10, "jeep"), (-0.5, 10, "jeep")], 0.5),
        ([(10, 10, "jeep"), (math.nan, 10, "jeep")], 0.5),
        ([], 0.0),
    ],
)
def test_points_are_held_against_the_regions_of_their_labels(points: list[PointForm], score: float) -> None:
    assert spatial_score(points, REGIONS, SIZE) == score


def test_one_easy_point_repeated_is_worth_one() -> None:
    wrong: PointForm = (90, 40, "ghost")
    same: list[PointForm] = [(12, 12, "jeep")] * 9
    moved: list[PointForm] = [(12 + step / 2, 12, "The jeep") for step in range(9)]
    assert spatial_score([*same, wrong], REGIONS, SIZE) == 0.5
    assert spatial_score([*moved, *same, wrong], REGIONS, SIZE) == 0.5
    assert spatial_score([*same, wrong], REGIONS, SIZE, distinct=False) == 0.9


def test_a_label_of_everything_says_nothing() -> None:
    assert spatial_score([(5, 5, "image")], REGIONS, SIZE) == 0.0
    assert spatial_score([(5, 5, "image"), (90, 40, "jeep")], REGIONS, SIZE) == 0.0
    assert spatial_score([(5, 5, "image"), (12, 12, "jeep")], REGIONS, SIZE) == 1.0
    assert spatial_score([(5, 5, "image")], REGIONS, SIZE, grounding_expected=False) is None


def test_no_points_are_no_part_only_where_none_were_wanted() -> None:
    assert spatial_score([], REGIONS, SIZE, grounding_expected=False) is None
    assert spatial_score([(12, 12, "jeep")], REGIONS, SIZE, grounding_expected=False) == 1.0


@pytest.mark.parametrize(
    "wrong", [np.zeros((100, 50), dtype=np.bool_), np.full((50, 100), np.nan), np.full((50, 100), 7)]
)
def test_a_mask_that_is_none_is_the_machine_s_failure(wrong: NDArray[np.bool_]) -> None:
    with pytest.raises(MachineError, match="the region of 'jeep'"):
        spatial_score([(12, 12, "jeep")], {"jeep": [wrong]}, SIZE)


TIMES = (0.0, 0.8, 1.6, 2.4)


@pytest.mark.parametrize(
    ("frame", "time_s", "index"),
    [
        (1, None, 0),
        (4, None, 3),
        (0, None, None),
        (5, None, None),
        (True, None, None),
        (None, 0.39, 0),
        (None, 0.4, 0),
        (None, 0.41, 1),
        (None, -0.4, 0),
        (None, -0.41, None),
        (None, 2.8, 3),
        (None, 2.81, None),
        (None, math.nan, None),
        (None, math.inf, None),
        (2, 0.8, 1),
        (2, 1.6, 1),
        (1, 1.6, None),
        (1, 99.0, None),
        (None, None, None),
    ],
)
def test_a_frame_is_meant_by_its_number_or_its_time(frame: int | None, time_s: float | None, index: int | None) -> None:
    assert frame_of(TIMES, frame=frame, time_s=time_s) == index


def test_the_paper_s_frame_24_at_18_71_seconds() -> None:
    times = [index * 0.8134 for index in range(32)]
    assert frame_of(times, time_s=18.71) == frame_of(times, frame=24) == frame_of(times, frame=24, time_s=18.71) == 23


def test_a_segment_has_both_its_ends() -> None:
    assert segment_of(TIMES, start_frame=2, end_frame=3) == (1, 2)
    assert segment_of(TIMES, start_time=0.7, end_time=2.5) == (1, 3)
    assert segment_of(TIMES, start_frame=3) == (2, 3)
    assert segment_of(TIMES, end_time=0.9) == (0, 1)
    assert segment_of(TIMES, start_frame=3, end_frame=2) is None
    assert segment_of(TIMES, start_frame=1, end_frame=9) is None
    assert segment_of(TIMES) is None
    assert segment_of((), start_frame=1) is None


def test_lists_of_a_video_are_averaged_then_their_means() -> None:
    assert video_score([1, 0], [1], [0, 0, 1]) == pytest.approx((0.5 + 1 + 1 / 3) / 3)
    assert video_score([1, 0], [1], [0], form="two_sets") == pytest.approx((2 / 3 + 0) / 2)
    assert video_score([1, 0], [], []) == 0.5
    assert video_score([1, None], [None], []) == 1.0
    assert video_score([], [], []) == 0.0
    assert video_score([], [], [], grounding_expected=False) is None
    assert video_score([None], [], []) is None


@pytest.mark.parametrize(
    ("prediction", "gold", "value"),
    [
        ("1.05", "1.0", 1.0),
        ("1.06", "1.0", 0.0),
        ("0.04", "0.0", 1.0),
        ("3.0", "3.14", 1.0),
        (3.3, 3.14, 0.0),
        ("20", "21", 0.0),
        ("21.0", "21", 1.0),
        (20, 21, 0.0),
        ("There are 21", "21", 1.0),
        ("12 cm", "12.2 cm", 1.0),
        ("12 m", "12.2 cm", 0.0),
        ("many", "12.2", 0.0),
        (math.nan, 12.2, 0.0),
        ("12.2", "red", None),
    ],
)
def test_numbers_are_within_five_percent_and_counts_exact(
    prediction: str | float, gold: str | float, value: float | None
) -> None:
    assert relative_accuracy(prediction, gold) == value


def test_the_probability_of_an_answer() -> None:
    assert answer_probability([-0.1, -0.3]) == pytest.approx(math.exp(-0.2))
    assert answer_probability([-0.1, -0.3], "product") == pytest.approx(math.exp(-0.4))
    assert answer_probability([-0.1, -math.inf]) == 0.0
    assert answer_probability([]) is None
    with pytest.raises(MachineError):
        answer_probability([math.nan])
    with pytest.raises(MachineError):
        answer_probability([2.0, -1.0])


ONE = {"accuracy": 1.0, "grounding": 1.0, "reasoning": 1.0}


def test_the_gate() -> None:
    assert gated({"accuracy": 1.0, "grounding": 0.5, "reasoning": None}, ONE) == 0.75
    assert gated({"accuracy": 1.0, "grounding": 0.0, "reasoning": 0.5}, {**ONE, "accuracy": 2.0}) == 2.5 / 4
    assert gated({"accuracy": 0.0, "grounding": 1.0, "reasoning": 1.0}, ONE) == 0.0
    assert gated({"accuracy": 0.49, "grounding": 1.0}, ONE) == 0.49
    assert gated({"accuracy": None, "grounding": 1.0}, ONE) is None
    with pytest.raises(UserError, match="no weight for other"):
        gated({"accuracy": 1.0, "other": 1.0}, ONE)
    with pytest.raises(UserError, match="add up to 0"):
        gated({"accuracy": 1.0}, {"accuracy": 0.0})


def test_graded_accuracy_under_the_gate_is_not_monotone() -> None:
    """0.6 without grounding is paid less than one of 0.49: so the verifier takes right and wrong alone."""
    better = gated({"accuracy": 0.6, "grounding": 0.0, "reasoning": 0.0}, ONE)
    worse = gated({"accuracy": 0.49, "grounding": 0.0, "reasoning": 0.0}, ONE)
    assert better is not None
    assert worse is not None
    assert better < worse


def test_overlap_of_masks_is_that_of_their_arrays() -> None:
    chance = np.random.default_rng(0)
    for _ in range(50):
        one, other = chance.random((2, 7, 5)) < chance.random()
        union = (one | other).sum()
        wanted = (one & other).sum() / union if union else 0.0
        assert Mask.from_array(one).iou(Mask.from_array(other)) == pytest.approx(wanted)
    assert Mask.from_array(one).iou(Mask.from_array(one)) in (0.0, 1.0)
