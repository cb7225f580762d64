"""What calls returned, in pixels of the question's own pictures, through every tool that changes a picture."""

import numpy as np
import pytest
from PIL import Image

from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.rewards.places import NOTHING, UNKNOWN, Patch, SeenParts
from saccade.rewards.seen import seen_by_turn
from saccade.tools.images import IMAGE_TOOLS
from saccade.tools.tool import find_tool
from saccade.types import (
    SEEN,
    ImageRef,
    Json,
    Malformed,
    Page,
    Task,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

WIDTH, HEIGHT = 40, 30


def coloured() -> Image.Image:
    """A picture of which no two pixels have one colour: red is x, green is y."""
    picture = Image.new("RGB", (WIDTH, HEIGHT))
    picture.putdata([(x, y, 0) for y in range(HEIGHT) for x in range(WIDTH)])
    return picture


def task_on(*images: ImageRef) -> Task:
    return Task(id="t", family="f", question="?", answer="a", answer_kind="exact", images=images)


def turn_of(index: int, name: str, result: ToolResult | None, **arguments: Json) -> Turn:
    action = ToolCall(name=name, arguments=arguments)
    return Turn(index=index, text="", thought="", action=action, is_well_formed=True, result=result)


def trajectory_of(*turns: Turn) -> Trajectory:
    return Trajectory(
        task_id="t", family="f", stream="main", sample=0, seed=0, policy_version=0, segments=(), turns=turns,
        status="answered",
    )  # fmt: skip


def ran(*calls: tuple[str, dict[str, Json]]) -> tuple[tuple[SeenParts | None, ...], list[Image.Image]]:
    """What calls of the real tools on the coloured picture returned, and their pictures."""
    media = MediaStore()
    images = [media.add(coloured())]
    task, turns = task_on(images[0]), list[Turn]()
    for name, arguments in calls:
        result = find_tool(name, IMAGE_TOOLS).call(arguments, images, media)
        turns.append(turn_of(len(turns), name, result, **arguments))
        images += result.images
    return seen_by_turn(task, trajectory_of(*turns)), [media.get(one) for one in images]


def seen_box(seen: SeenParts | None) -> tuple[int, ...]:
    assert seen is not None
    (patch,) = seen.patches
    assert patch.image_index == 0
    assert [round(side) for side in patch.box.as_tuple()] == pytest.approx(patch.box.as_tuple())
    return tuple(round(side) for side in patch.box.as_tuple())


def crop(image: int, *box: int) -> tuple[str, dict[str, Json]]:
    return "crop", {"image": image, "bbox_2d": list(box)}


CHAINS: dict[str, list[tuple[str, dict[str, Json]]]] = {
    "a crop": [crop(1, 3, 4, 20, 15)],
    "a crop of a crop": [crop(1, 10, 5, 30, 25), crop(2, 4, 6, 12, 16)],
    "of a mirrored crop": [
        crop(1, 10, 5, 30, 25),
        ("flip", {"image": 2, "direction": "horizontal"}),
        crop(3, 1, 6, 9, 16),
    ],
    "of the picture upside down": [("flip", {"direction": "vertical"}), crop(2, 4, 6, 12, 11)],
    "of a quarter turn": [("rotate", {"degrees": 90}), crop(2, 2, 3, 10, 20)],
    "of a quarter turn clockwise": [("rotate", {"degrees": -90}), crop(2, 2, 3, 10, 20)],
    "of three turns and a mirror": [
        crop(1, 5, 2, 33, 28),
        ("rotate", {"image": 2, "degrees": 270}),
        ("flip", {"image": 3, "direction": "vertical"}),
        ("rotate", {"image": 4, "degrees": 180}),
        crop(5, 3, 4, 11, 21),
    ],
}


@pytest.mark.parametrize("name", CHAINS)
def test_the_region_holds_the_very_pixels_that_were_shown(name: str) -> None:
    seen, pictures = ran(*CHAINS[name])
    shown = {tuple(colour) for row in np.asarray(pictures[-1]).tolist() for colour in row}
    left, top, right, bottom = seen_box(seen[-1])
    assert shown == {(x, y, 0) for x in range(left, right) for y in range(top, bottom)}


def test_a_part_of_an_enlarged_region_is_followed_to_the_pixels_it_was_made_of() -> None:
    # 10 x 10 pixels become 40 x 40: a part from 8 to 20 of it is 2 to 5 of the region.
    seen, _ = ran(("zoom", {"bbox_2d": [10, 10, 20, 20]}), crop(2, 8, 12, 20, 24))
    assert [seen_box(one) for one in seen] == [(10, 10, 20, 20), (12, 13, 15, 16)]


def test_drawing_and_contrast_keep_places() -> None:
    seen, _ = ran(
        ("contrast", {"factor": 2}),
        ("draw_boxes", {"image": 2, "boxes": [[1, 1, 9, 9]]}),
        ("draw_points", {"image": 3, "points": [[3, 3]]}),
        crop(4, 3, 4, 20, 15),
    )
    assert [seen_box(one) for one in seen] == [(0, 0, 40, 30)] * 3 + [(3, 4, 20, 15)]


def test_a_crop_of_a_slanted_crop_counts_as_all_that_was_turned() -> None:
    seen, _ = ran(crop(1, 10, 5, 30, 25), ("rotate", {"image": 2, "degrees": 10}), crop(3, 8, 8, 14, 14))
    assert [seen_box(one) for one in seen] == [(10, 5, 30, 25)] * 3


def test_a_crop_that_reaches_outside_returned_what_is_inside() -> None:
    seen, _ = ran(crop(1, -10, 20, 12, 90))
    assert seen_box(seen[0]) == (0, 20, 12, 30)


def test_a_measured_line_returns_no_pixel() -> None:
    seen, _ = ran(("measure", {"start": [1, 1], "end": [5, 5]}))
    assert seen == (NOTHING,)


def seen_of(name: str, data: dict[str, Json] | None = None, *, is_ok: bool = True, **arguments: Json) -> SeenParts:
    """What a call with these arguments and data returned of two pictures of 40 x 30 and 100 x 100 pixels."""
    images = ImageRef(hash="a", width=40, height=30), ImageRef(hash="b", width=100, height=100)
    result = ToolResult(data=data or {}, is_ok=is_ok)
    (seen,) = seen_by_turn(task_on(*images), trajectory_of(turn_of(0, name, result, **arguments)))
    assert seen is not None
    return seen


def at(image_index: int, *corners: float) -> Patch:
    return Patch(image_index=image_index, box=Box(*corners))


def test_a_failed_call_returned_nothing_and_a_refused_one_neither() -> None:
    assert seen_of("crop", is_ok=False, bbox_2d=[1, 1, 9, 9]) == NOTHING
    refused = trajectory_of(turn_of(0, "crop", None, bbox_2d=[1, 1, 9, 9]))
    assert seen_by_turn(task_on(ImageRef(hash="a", width=40, height=30)), refused) == (NOTHING,)


def test_a_turn_without_a_call_is_none() -> None:
    turn = Turn(index=0, text="", thought="", action=Malformed(why="?"), is_well_formed=False)
    assert seen_by_turn(task_on(), trajectory_of(turn)) == (None,)


@pytest.mark.parametrize(
    ("seen", "patches"),
    [
        (seen_of("crop", bbox_2d=[1, 2, 9, 9], image=2.0), [at(1, 1, 2, 9, 9)]),
        (seen_of("read_region", bbox_2d=[1, 2, 9, 9]), [at(0, 1, 2, 9, 9)]),
        (seen_of("read_text"), [at(0, 0, 0, 40, 30)]),
        (seen_of("chart_to_table", image=2), [at(1, 0, 0, 100, 100)]),
        (seen_of("somebodys_reader", image=2), [at(1, 0, 0, 100, 100)]),
        (seen_of("somebodys_zoom", bbox_2d=[1, 2, 9, 9]), [at(0, 1, 2, 9, 9)]),
        (
            seen_of("detect_objects", {"detections": [{"box": [1, 2, 9, 9]}, {"box": [20, 2, 30, 9]}]}, phrases="cup"),
            [at(0, 1, 2, 9, 9), at(0, 20, 2, 30, 9)],
        ),
        (seen_of("detect_objects", {"detections": []}, phrases="cup"), []),
        (seen_of("segment", {"box": [3, 3, 8, 8]}, bbox_2d=[1, 2, 9, 9]), [at(0, 3, 3, 8, 8)]),
        (seen_of("segment", {"box": None}, bbox_2d=[1, 2, 9, 9]), []),
        (seen_of("solve_geometry", logic_forms="Find(x)"), []),
        (seen_of("code", {SEEN: [{"image": 1, "box": [1, 2, 300, 9]}]}), [at(1, 1, 2, 100, 9)]),
        (seen_of("code", {SEEN: [{"image": 0, "cells": ["0110", "0000", "1001"]}]}),
         [at(0, 10, 0, 30, 10), at(0, 0, 20, 10, 30), at(0, 30, 20, 40, 30)]),
        (seen_of("code", {SEEN: []}), []),
    ],
)  # fmt: skip
def test_each_kind_of_tool(seen: SeenParts, patches: list[Patch]) -> None:
    assert seen == SeenParts(patches=tuple(patches))


@pytest.mark.parametrize(
    "seen",
    [
        seen_of("execute_python_code", code="print(1)"),
        seen_of("execute_python_code", code="print(1)", image=1),
        seen_of("somebodys_tool", words="cup"),
        seen_of("crop", bbox_2d=[1, 2, 9, 9], image=7),
        seen_of("crop", bbox_2d="all"),
        seen_of("code", {SEEN: [{"image": 2, "box": [1, 2, 9, 9]}]}),
        seen_of("code", {SEEN: [{"image": 0, "box": [1, 2, 9]}]}),
        seen_of("code", {SEEN: [{"image": 0, "cells": ["01", "0"]}]}),
        seen_of("code", {SEEN: [{"image": 0, "cells": []}]}),
        seen_of("code", {SEEN: ["all"]}),
        seen_of("code", {SEEN: "all"}),
    ],
)
def test_what_a_record_does_not_say_is_unknown_not_nothing(seen: SeenParts) -> None:
    assert seen == UNKNOWN


def searched(*pages: tuple[str, bool]) -> ToolResult:
    images = tuple(ImageRef(hash=page, width=50, height=70) for page, is_new in pages if is_new)
    return ToolResult(data={"pages": [{"page": page, "is_new": is_new} for page, is_new in pages]}, images=images)


def test_a_search_returns_the_pages_that_it_shows_and_a_crop_of_one_returns_that_page() -> None:
    found = turn_of(0, "search_pages", searched(("a.pdf#1", False), ("a.pdf#2", True), ("b.pdf#9", True)), query="tea")
    cut = turn_of(1, "crop", ToolResult(), image=3, bbox_2d=[1, 1, 9, 9])
    seen = seen_by_turn(task_on(ImageRef(hash="q", width=40, height=30)), trajectory_of(found, cut))
    second, ninth = Page(document="a.pdf", number=2), Page(document="b.pdf", number=9)
    assert seen == (SeenParts(pages=(second, ninth)), SeenParts(pages=(ninth,)))


def test_a_picture_that_code_made_shows_what_the_code_read() -> None:
    said: dict[str, Json] = {SEEN: [{"image": 0, "box": [1, 2, 9, 9]}]}
    picture = ImageRef(hash="p", width=80, height=70)
    code = turn_of(0, "execute_python_code", ToolResult(data=said, images=(picture,)), code="show(...)")
    cut = turn_of(1, "crop", ToolResult(), image=2, bbox_2d=[1, 1, 5, 5])
    seen = seen_by_turn(task_on(ImageRef(hash="q", width=40, height=30)), trajectory_of(code, cut))
    assert seen == (SeenParts(patches=(at(0, 1, 2, 9, 9),)),) * 2


def test_a_crop_of_what_a_detector_drew_is_a_crop_of_the_picture() -> None:
    picture = ImageRef(hash="p", width=40, height=30)
    found = turn_of(0, "detect_objects", ToolResult(data={"detections": []}, images=(picture,)), phrases="cup")
    cut = turn_of(1, "crop", ToolResult(), image=2, bbox_2d=[1, 1, 5, 5])
    seen = seen_by_turn(task_on(ImageRef(hash="q", width=40, height=30)), trajectory_of(found, cut))
    assert seen == (NOTHING, SeenParts(patches=(at(0, 1, 1, 5, 5),)))
