"""Boxes of a row to targets, in pixels of the original, upright image."""

from collections.abc import Sequence

from saccade.geometry import Box
from saccade.tasks.readers.fields import as_number, is_encodable, kind_of, listed, literal, short
from saccade.tasks.readers.rows import Row, RowError, RowValue
from saccade.types import ImageRef, Target

EDGE_SLACK_PX = 1.0
"""A box may reach this far over the image's edge, as rounding makes it, and is then cut off there."""

BOX_KEYS = ("bbox", "box", "bbox_2d")
LABEL_KEYS = ("label", "name")


def read_targets(value: RowValue, key: str, images: Sequence[ImageRef]) -> tuple[Target, ...]:
    """From a list, or text that holds one, of ``[x1, y1, x2, y2]`` or ``{"bbox": [...], "label": ...}``.

    ``image_index`` in an object says which image, counted from 0; without it the first.
    """
    items = literal(value, key)
    if items is None:
        return ()
    if not isinstance(items, list | tuple):
        raise RowError(key, f"must be a list of boxes, not {kind_of(items)}")
    if len(items) == 4 and all(as_number(item) is not None for item in items):
        items = [items]
    return tuple(_target(item, key, images) for item in items)


def _target(item: RowValue, key: str, images: Sequence[ImageRef]) -> Target:
    fields: Row = item if isinstance(item, dict) else {"bbox": item}
    corners = next((fields[name] for name in BOX_KEYS if name in fields), None)
    given = [fields[name] for name in LABEL_KEYS if fields.get(name) is not None]
    # A label may be a category's number beside the name in words.
    label = next((one for one in given if isinstance(one, str)), given[0] if given else "")
    index = fields.get("image_index", 0)
    if not isinstance(label, str):
        raise RowError(key, f"a label must be text, not {kind_of(label)}")
    if not is_encodable(label):
        raise RowError(key, "a label holds half a surrogate pair, which is no text")
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(images):
        raise RowError(key, f"image_index {short(index)} names none of the {len(images)} images")
    box = _box(corners, key, images[index])
    return Target(label=label, box=box, point=box.center, image_index=index)


def _box(corners: RowValue, key: str, image: ImageRef) -> Box:
    numbers = [as_number(corner) for corner in listed(corners, key)]
    known = [number for number in numbers if number is not None]
    if len(numbers) != 4 or len(known) != 4:
        raise RowError(key, f"a box must be four finite numbers x1, y1, x2, y2, not {short(corners)}")
    return inside(Box(*known), image, key)


def inside(box: Box, image: ImageRef, key: str) -> Box:
    """The box cut off at the image's edge; ``RowError`` when it is no box, or reaches further than rounding does."""
    sides = list(box.as_tuple())
    if not box.is_ordered:
        raise RowError(key, f"the box {sides} is empty or inverted; give x1 < x2 and y1 < y2")
    clipped = box.clipped(image.width, image.height)
    reach = max(abs(a - b) for a, b in zip(box.as_tuple(), clipped.as_tuple()))
    if reach > EDGE_SLACK_PX or not clipped.is_ordered:
        raise RowError(key, f"the box {sides} lies outside the image of {image.width} x {image.height} px")
    return clipped
