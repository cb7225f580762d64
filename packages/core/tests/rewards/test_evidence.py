"""Evidence of calls and trajectories, on areas worked out by hand."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.geometry import Box, Mask
from saccade.rewards.evidence import EvidenceFit, TrajectoryEvidence, evidence_of
from saccade.types import (
    ImageRef,
    Json,
    Page,
    Target,
    Task,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

PICTURE = ImageRef(hash="a", width=100, height=100)
TARGET = Box(10, 10, 30, 30)


def target(box: Box, mask: Mask | None = None, image_index: int = 0) -> Target:
    return Target(label="cup", box=box, point=box.center, mask=mask, image_index=image_index)


def task_with(
    *targets: Target, images: tuple[ImageRef, ...] = (PICTURE,), gold: tuple[Page, ...] | None = None
) -> Task:
    return Task(
        id="t", family="f", question="?", answer="a", answer_kind="exact", images=images, targets=targets,
        gold_pages=gold,
    )  # fmt: skip


def turn_of(name: str, result: ToolResult | None, **arguments: Json) -> Turn:
    action = ToolCall(name=name, arguments=arguments)
    return Turn(index=0, text="", thought="", action=action, is_well_formed=True, result=result)


def crop(*box: float, image: int = 1) -> Turn:
    return turn_of("crop", ToolResult(), bbox_2d=list(box), image=image)


def evidence(task: Task, *turns: Turn) -> TrajectoryEvidence:
    played = Trajectory(
        task_id="t", family="f", stream="main", sample=0, seed=0, policy_version=0, segments=(), turns=turns,
        status="answered",
    )  # fmt: skip
    found = evidence_of(task, played)
    assert found is not None
    return found


def fit_of(found: TrajectoryEvidence, call: int = 0) -> EvidenceFit:
    fit = found.calls[call].fit
    assert fit is not None
    return fit


def test_a_crop_of_half_of_the_target_and_as_much_beside_it() -> None:
    # The crop is 20 x 20, and 10 x 20 of it is on the target of 20 x 20.
    found = evidence(task_with(target(TARGET)), crop(20, 10, 40, 30))
    assert found.fit == fit_of(found) == EvidenceFit(recall=0.5, precision=0.5, best=0.5, is_aimed=True)
    assert found.is_faithful


def test_less_than_half_of_the_target_is_not_faithful() -> None:
    assert not evidence(task_with(target(TARGET)), crop(20.1, 10, 40, 30)).is_faithful


def test_crops_that_overlap_are_counted_once() -> None:
    # 10..25 and 20..30 across are all of the target's 20; together they return 20 x 20, not 15 x 20 + 10 x 20.
    found = evidence(task_with(target(TARGET)), crop(10, 10, 25, 30), crop(20, 10, 30, 30))
    assert [fit_of(found, call).recall for call in (0, 1)] == [0.75, 0.5]
    assert found.fit == EvidenceFit(recall=1.0, precision=1.0, best=1.0, is_aimed=True)


def test_of_targets_that_overlap_the_union_is_held_against_what_was_returned() -> None:
    # Two boxes of 20 x 20 that share 10 x 20: a union of 600, of which the crop holds 400.
    found = evidence(task_with(target(TARGET), target(Box(20, 10, 40, 30))), crop(10, 10, 30, 30))
    assert found.fit == EvidenceFit(recall=400 / 600, precision=1.0, best=1.0, is_aimed=True)


def test_of_a_target_with_a_mask_its_pixels_count() -> None:
    drawn = np.zeros((100, 100), dtype=bool)
    drawn[10:30, 10:12] = True
    # Two columns of 20 pixels; the crop from x = 11.5 on holds a quarter of them, and 10 of its 170 pixels are on them.
    found = evidence(task_with(target(TARGET, Mask.from_array(drawn))), crop(11.5, 10, 20, 30))
    assert found.fit == EvidenceFit(recall=0.25, precision=10 / 170, best=0.25, is_aimed=True)


def test_beside_a_mask_a_target_without_one_counts_its_box() -> None:
    drawn = np.zeros((100, 100), dtype=bool)
    drawn[10:20, 10:20] = True
    task = task_with(target(TARGET, Mask.from_array(drawn)), target(Box(50, 50, 60, 70)))
    assert evidence(task, crop(50, 50, 70, 70)).fit == EvidenceFit(
        recall=200 / 300, precision=0.5, best=1.0, is_aimed=True
    )


def test_a_mask_of_another_size_than_its_picture_is_not_read() -> None:
    task = task_with(target(TARGET, Mask(width=2, height=2, counts=(0, 4))))
    assert evidence(task, crop(10, 10, 30, 30)).fit == EvidenceFit(recall=1.0, precision=1.0, best=1.0, is_aimed=True)


def test_a_crop_of_another_picture_costs_precision() -> None:
    task = task_with(target(TARGET), images=(PICTURE, PICTURE))
    found = evidence(task, crop(10, 10, 30, 30), crop(0, 0, 20, 20, image=2))
    assert found.fit == EvidenceFit(recall=1.0, precision=0.5, best=1.0, is_aimed=True)


def test_nothing_returned_has_no_precision() -> None:
    found = evidence(task_with(target(TARGET)), turn_of("crop", None, bbox_2d=[10, 10, 30, 30]))
    assert found.fit == EvidenceFit(recall=0.0, precision=None, best=0.0, is_aimed=True)
    assert not found.is_faithful


def test_what_is_unknown_leaves_the_trajectory_without_a_fit() -> None:
    found = evidence(task_with(target(TARGET)), crop(10, 10, 30, 30), turn_of("python", ToolResult(), code="1"))
    assert [call.is_faithful for call in found.calls] == [True, False]
    assert (found.calls[1].fit, found.fit, found.is_faithful) == (None, None, False)


def test_a_task_without_regions_and_pages_has_no_evidence() -> None:
    played = Trajectory(
        task_id="t", family="f", stream="main", sample=0, seed=0, policy_version=0, segments=(), turns=(),
        status="answered",
    )  # fmt: skip
    assert evidence_of(task_with(), played) is None
    assert evidence_of(task_with(target(TARGET, image_index=1)), played) is None
    shown = task_with(gold=())
    assert evidence_of(shown, played) is None


def tiles(count: int, side: int) -> list[Turn]:
    """The first tiles of the picture, row by row."""
    return [crop(x, y, x + side, y + side) for y in range(0, 100, side) for x in range(0, 100, side)][:count]


HACKS = {
    "everything": [crop(0, 0, 100, 100)],
    "nearly everything": [crop(1, 1, 100, 100)],
    "half": [crop(0, 0, 50, 100)],
    "all tiles": tiles(25, 20),
    "two halves": [crop(0, 0, 100, 50), crop(0, 50, 100, 100)],
    "everything, then the target": [crop(0, 0, 100, 100), crop(10, 10, 30, 30)],
    "the whole picture by another tool": [turn_of("contrast", ToolResult(), factor=2)],
}


@pytest.mark.parametrize("name", HACKS)
def test_who_returns_everything_is_not_faithful(name: str) -> None:
    found = evidence(task_with(target(TARGET)), *HACKS[name])
    assert found.fit is not None
    assert found.fit.recall >= 0.99
    assert not found.is_faithful


def test_a_quarter_is_aimed_and_more_is_not() -> None:
    task = task_with(target(TARGET))
    assert evidence(task, crop(0, 0, 50, 50)).is_faithful
    assert not evidence(task, crop(0, 0, 50, 51)).is_faithful


def test_calls_together_may_return_half() -> None:
    task = task_with(target(Box(2, 2, 18, 18)))
    assert evidence(task, *tiles(12, 20)).is_faithful
    assert not evidence(task, *tiles(13, 20)).is_faithful


def test_a_large_target_may_be_cropped_as_a_whole_but_not_the_picture() -> None:
    task = task_with(target(Box(0, 0, 100, 60)))
    assert evidence(task, crop(0, 0, 100, 60)).is_faithful
    assert not evidence(task, crop(0, 0, 100, 61)).is_faithful
    assert not evidence(task_with(target(Box(0, 0, 100, 100))), crop(0, 0, 100, 100)).is_faithful


def test_a_large_target_elsewhere_widens_nothing() -> None:
    # Half of the small target's picture; the large target, which would allow it, is not in the crop.
    task = task_with(target(Box(0, 0, 10, 10)), target(Box(50, 0, 100, 100)))
    assert not evidence(task, crop(0, 0, 50, 100)).is_faithful


def test_a_repeated_call_counts_once() -> None:
    task = task_with(target(TARGET))
    calls = evidence(task, crop(60, 60, 80, 80), *[crop(10, 10, 30, 30)] * 3, crop(10, 10, 30, 29)).calls
    assert [call.is_repeat for call in calls] == [False, False, True, True, True]
    assert [call.is_faithful for call in calls] == [False, True, False, False, False]


def test_a_closer_look_at_a_part_is_no_repeat() -> None:
    calls = evidence(task_with(target(TARGET)), crop(0, 0, 40, 40), crop(10, 10, 30, 30)).calls
    assert [call.is_faithful for call in calls] == [True, True]


def page(number: int) -> Page:
    return Page(document="a.pdf", number=number)


def search(*numbers: int) -> Turn:
    found: list[Json] = [{"page": str(page(number)), "is_new": True} for number in numbers]
    images = tuple(ImageRef(hash=f"p{number}", width=9, height=9) for number in numbers)
    return turn_of("search_pages", ToolResult(data={"pages": found}, images=images), query="tea")


def test_pages_that_were_found_are_held_against_the_gold_ones() -> None:
    found = evidence(task_with(gold=(page(1), page(2))), search(1, 7, 8), search(3, 4))
    assert fit_of(found) == EvidenceFit(recall=0.5, precision=1 / 3, best=1.0, is_aimed=True)
    assert fit_of(found, 1) == EvidenceFit(recall=0.0, precision=0.0, best=0.0, is_aimed=False)
    assert found.fit == EvidenceFit(recall=0.5, precision=0.2, best=1.0, is_aimed=True)
    assert found.is_faithful


def test_who_fetches_every_page_is_not_faithful() -> None:
    task = task_with(gold=(page(1),))
    assert not evidence(task, search(*range(1, 11))).is_faithful
    assert not evidence(task, *(search(*range(at, at + 4)) for at in range(1, 13, 4))).is_faithful


sides = st.tuples(st.integers(0, 99), st.integers(1, 100)).map(lambda one: (one[0], min(sum(one), 100)))
boxes = st.tuples(sides, sides).map(lambda one: (one[0][0], one[1][0], one[0][1], one[1][1]))


@settings(max_examples=60, deadline=None)
@given(st.lists(boxes, min_size=1, max_size=5), st.lists(boxes, min_size=1, max_size=3))
def test_areas_are_those_of_drawn_pixels(crops: list[tuple[int, ...]], regions: list[tuple[int, ...]]) -> None:
    def drawn(shapes: list[tuple[int, ...]]) -> "np.ndarray[tuple[int, int], np.dtype[np.bool_]]":
        pixels = np.zeros((100, 100), dtype=bool)
        for x1, y1, x2, y2 in shapes:
            pixels[y1:y2, x1:x2] = True
        return pixels

    found = evidence(task_with(*(target(Box(*one)) for one in regions)), *(crop(*one) for one in crops)).fit
    returned, wanted = drawn(crops), drawn(regions)
    both = int((returned & wanted).sum())
    assert found is not None
    assert found.recall == pytest.approx(both / wanted.sum())
    assert found.precision == pytest.approx(both / returned.sum())


@settings(max_examples=60, deadline=None)
@given(st.lists(boxes, min_size=1, max_size=6))
def test_recall_never_falls_and_is_a_share(crops: list[tuple[int, ...]]) -> None:
    task = task_with(target(TARGET), target(Box(20, 15, 90, 33.5)))
    recalls = [
        fit.recall
        for count in range(1, len(crops) + 1)
        if (fit := evidence(task, *(crop(*one) for one in crops[:count])).fit) is not None
    ]
    assert len(recalls) == len(crops)
    assert recalls == sorted(recalls)
    assert recalls[0] >= 0
    assert recalls[-1] <= 1 + 1e-12


@settings(max_examples=60, deadline=None)
@given(boxes)
def test_no_single_crop_of_more_than_a_quarter_is_faithful(box: tuple[int, ...]) -> None:
    found = evidence(task_with(target(TARGET)), crop(*box))
    area = (box[2] - box[0]) * (box[3] - box[1])
    assert not (found.is_faithful and area > 2500)
