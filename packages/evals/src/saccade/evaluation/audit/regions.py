"""Regions of evidence under doubt: outside of their picture, on one colour, all of it, or not what their mask is."""

import numpy as np
from numpy.typing import NDArray

from saccade.evaluation.audit.drawn import DrawnFamily
from saccade.evaluation.audit.findings import Checked, none_of
from saccade.types import Target, Task

WHOLE = 0.95
"""Share of a picture from which a region is all of it."""
MOST_WHOLE = 0.5
"""Share of tasks whose regions may all be whole pictures: a question may be about everything."""
GROWN = 1.5
"""How much larger than its mask's pieces a box may be."""
LEAST_GROWN_PX = 100


def evidence_finding(drawn: DrawnFamily) -> Checked:
    """Targets that say nothing of where the evidence is."""
    tasks = [one.task for one in drawn.all if one.task.images]
    targets = [(task, target) for task in tasks for target in task.targets]
    bare = sum(not task.targets for task in tasks)
    if not tasks:
        return Checked(check="evidence", verdict="not applicable", note="there are no pictures")
    if not targets:
        return Checked(check="evidence", verdict="convicted", bound=0.0, note="no task says where its evidence is")
    whole = [task for task in tasks if task.targets and all(_share(task, target) >= WHOLE for target in task.targets)]
    too_many = len(whole) > MOST_WHOLE * (len(tasks) - bare)
    hits, example = [], ""
    for task, target in targets:
        why = _what_is_wrong(drawn, task, target)
        if not why and too_many and _share(task, target) >= WHOLE:
            why = "is the whole picture, as in most tasks"
        hits.append(bool(why))
        example = example or (f"{task.id}: {target.label} at {target.box.as_tuple()} {why}" if why else "")
    note = f"{len(targets)} regions; {bare} of {len(tasks)} tasks name none, {len(whole)} the whole picture"
    return none_of("evidence", hits, note=note, example=example)


def _share(task: Task, target: Target) -> float:
    if not 0 <= target.image_index < len(task.images):
        return 0.0
    image = task.images[target.image_index]
    return target.box.area / (image.width * image.height)


def _what_is_wrong(drawn: DrawnFamily, task: Task, target: Target) -> str:
    if not 0 <= target.image_index < len(task.images):
        return "is on a picture that is not there"
    image, box = task.images[target.image_index], target.box
    if not (0 <= box.x1 < box.x2 <= image.width and 0 <= box.y1 < box.y2 <= image.height):
        return f"lies outside of {image.width} x {image.height}"
    picture = drawn.media.get(image)
    left, top, right, bottom = (round(side) for side in box.as_tuple())
    pixels = np.asarray(picture)[max(0, top - 2) : bottom + 2, max(0, left - 2) : right + 2]
    if pixels.size and (pixels == pixels[0, 0]).all():
        return "shows nothing"
    return "" if target.mask is None else box_against_mask(target)


def box_against_mask(target: Target) -> str:
    """What is wrong with a target's box beside its mask; "" where it is the mask's, but for lone pixels."""
    assert target.mask is not None
    found = bounds_of(without_lone_pixels(target.mask.to_array()))
    if found is None:
        found = bounds_of(target.mask.to_array())
    if found is None:
        return "has an empty mask"
    left, top, right, bottom = found
    held, box = (right - left) * (bottom - top), target.box
    if box.area > GROWN * held and box.area - held > LEAST_GROWN_PX:
        return f"is far larger than its mask, which lies in {found} but for lone pixels"
    # Masks are whole pixels.
    outside = left < box.x1 - 1 or top < box.y1 - 1 or right > box.x2 + 1 or bottom > box.y2 + 1
    return f"does not hold its mask, which lies in {found}" if outside else ""


def without_lone_pixels(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The mask, (height, width), without pixels of which the eight around hold one more at most."""
    padded = np.pad(mask, 1).astype(np.uint8)
    rows = padded[:-2] + padded[1:-1] + padded[2:]
    around = rows[:, :-2] + rows[:, 1:-1] + rows[:, 2:]
    kept: NDArray[np.bool_] = mask & (around > 2)
    return kept


def bounds_of(mask: NDArray[np.bool_]) -> tuple[int, int, int, int] | None:
    """Left, top, right and bottom of what is set, the last two beyond it; None where nothing is."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return None
    return int(columns[0]), int(rows[0]), int(columns[-1]) + 1, int(rows[-1]) + 1
