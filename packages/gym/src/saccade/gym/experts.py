"""Experts of drawn questions, from the regions that an answer depends on: crops, boxes, points, code."""

from collections.abc import Sequence

from saccade.geometry import Box, Point
from saccade.gym.code_experts import code_turn
from saccade.gym.program import ExpertKind
from saccade.gym.rendering import SeenRegion
from saccade.tasks.scene import SIZE_PX, call, look_box, place_of
from saccade.types import ExpertTurn, Json

MOST_CROPS, MOST_FINE_CROPS = 6, 18
"""So many looks at most, and at fine print; evidence beyond it is seen by a crop that holds all of it."""

Size = tuple[int, int]


def expert_turns(
    kind: ExpertKind, evidence: Sequence[tuple[str, SeenRegion]], sizes: Sequence[Size], code: str, *, is_fine: bool
) -> tuple[ExpertTurn, ...]:
    """The tool calls of an expert of this kind, in pixels; after them it answers.

    ``evidence`` are labels and regions in order, ``sizes`` the width and height of each picture.
    """
    if kind == "code":
        return (code_turn("compute", code),)
    if kind == "glance" or not evidence:
        return ()
    by_image: dict[int, list[tuple[str, SeenRegion]]] = {}
    for label, region in evidence:
        by_image.setdefault(region.image_index, []).append((label, region))
    if kind == "crop":
        return _crops(evidence, by_image, sizes, is_fine)
    turns = []
    for index, found in by_image.items():
        words = " ".join(_label_and_place(label, region, sizes[index]) for label, region in found)
        if kind == "points":
            marks = [[int(region.point().x), int(region.point().y)] for _, region in found]
            turns.append(call(words, "draw_points", index + 1, points=_json(marks)))
        else:
            boxes = [[int(side) for side in region.box.as_tuple()] for _, region in found]
            turns.append(call(words, "draw_boxes", index + 1, boxes=_json(boxes)))
    return tuple(turns)


def crop_box(box: Box, size: Size, *, is_fine: bool = False) -> Box:
    """A box with whole sides on the grid of eighths of the picture around a box: a quarter of its sides at least, or
    an eighth where what it shows is fine print."""
    scale_x, scale_y = SIZE_PX / size[0], SIZE_PX / size[1]
    unit = Box(box.x1 * scale_x, box.y1 * scale_y, box.x2 * scale_x, box.y2 * scale_y)
    found = look_box(unit, 32, 0) if is_fine else look_box(unit)
    return Box(
        round(found.x1 / scale_x), round(found.y1 / scale_y), round(found.x2 / scale_x), round(found.y2 / scale_y)
    )


def place_in(point: Point, size: Size) -> str:
    """Where a point of a picture of this size is, in two words (``tasks/scene.py:place_of``)."""
    return place_of(Point(point.x * SIZE_PX / size[0], point.y * SIZE_PX / size[1]))


def _crops(
    evidence: Sequence[tuple[str, SeenRegion]],
    by_image: dict[int, list[tuple[str, SeenRegion]]],
    sizes: Sequence[Size],
    is_fine: bool,
) -> tuple[ExpertTurn, ...]:
    """Each region in its turn; those that a crop shows already are not cropped again."""
    looks: list[tuple[int, Box, str]] = []
    for label, region in evidence:
        box = crop_box(region.box, sizes[region.image_index], is_fine=is_fine)
        said = _label_and_place(label, region, sizes[region.image_index])
        if not any(index == region.image_index and _holds(seen, region.box) for index, seen, _ in looks):
            looks.append((region.image_index, box, said))
    if len(looks) > (MOST_FINE_CROPS if is_fine else MOST_CROPS):
        looks = []
        for index, found in by_image.items():
            box = crop_box(_union([region.box for _, region in found]), sizes[index], is_fine=is_fine)
            looks.append((index, box, " ".join(label for label, _ in found)))
    return tuple(
        call(said, "crop", index + 1, bbox_2d=[int(side) for side in box.as_tuple()]) for index, box, said in looks
    )


def _label_and_place(label: str, region: SeenRegion, size: Size) -> str:
    return f"{label} {place_in(region.point(), size)}"


def _holds(outer: Box, inner: Box) -> bool:
    return outer.x1 <= inner.x1 and outer.y1 <= inner.y1 and inner.x2 <= outer.x2 and inner.y2 <= outer.y2


def _union(boxes: Sequence[Box]) -> Box:
    return Box(
        min(box.x1 for box in boxes),
        min(box.y1 for box in boxes),
        max(box.x2 for box in boxes),
        max(box.y2 for box in boxes),
    )


def _json(rows: list[list[int]]) -> Json:
    return [list(row) for row in rows]
