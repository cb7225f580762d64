"""Pictures that a family shows twice: across splits, within a split, and in another family.

Two tasks are copies where their pictures look the same (256-bit perceptual hash, and no visible difference at 64 x 64)
and both question and answer are equal: what was learned by heart for one answers the other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from saccade.evaluation.audit.drawn import DrawnFamily, PictureLook
from saccade.evaluation.audit.findings import Checked, none_of, share_at_most
from saccade.evaluation.contamination import words_of
from saccade.evaluation.picture_likeness import picture_pairs
from saccade.types import ImageRef, Task

MOST_DIFFERENCE = 8
"""Of 255, in any pixel of two thumbnails that count as the same."""
COPIES_ACROSS = 0.05
COPIES_WITHIN = 0.1
LIKE_OTHER_FAMILY = 0.05
KEPT_PICTURES = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class FamilyLook:
    """Some of a family's pictures, kept to be compared with those of other families."""

    family: str
    images: tuple[ImageRef, ...]
    seen: Mapping[str, PictureLook]


def look_of(drawn: DrawnFamily) -> FamilyLook:
    images = [task.images[0] for task in (one.task for one in drawn.train) if task.images][:KEPT_PICTURES]
    kept = tuple(dict.fromkeys(images))
    return FamilyLook(family=drawn.name, images=kept, seen={image.hash: drawn.seen[image.hash] for image in kept})


def splits_finding(drawn: DrawnFamily) -> Checked:
    """Held-out tasks that show a picture of the training split, pixel by pixel; without pictures, its words."""
    train = {key for one in drawn.train for key in _content(one.task)}
    hits = [any(key in train for key in _content(one.task)) for one in drawn.held_out]
    shared = next((one.task for one, hit in zip(drawn.held_out, hits) if hit), None)
    return none_of("splits", hits, example=f"{shared.id}: {shared.question}" if shared else "")


def _content(task: Task) -> tuple[str, ...]:
    return tuple(image.hash for image in task.images) or (words_of(task),)


def copies_across_finding(drawn: DrawnFamily) -> Checked:
    """Held-out tasks with a copy in the training split."""
    return _copies(
        "copies across splits", drawn, drawn_train(drawn), [one.task for one in drawn.held_out], COPIES_ACROSS
    )


def copies_within_finding(drawn: DrawnFamily) -> Checked:
    """Training tasks with an earlier copy: a family that has few different tasks."""
    tasks = drawn_train(drawn)
    return _copies("copies within", drawn, tasks, tasks, COPIES_WITHIN)


def drawn_train(drawn: DrawnFamily) -> list[Task]:
    return [one.task for one in drawn.train]


def _copies(check: str, drawn: DrawnFamily, known: Sequence[Task], tested: Sequence[Task], bound: float) -> Checked:
    by_image: dict[str, list[int]] = {}
    for place, task in enumerate(known):
        by_image.setdefault(task.images[0].hash if task.images else "", []).append(place)
    like = _alike([t.images[0] for t in known if t.images], [t.images[0] for t in tested if t.images], drawn.seen)
    hits, example = [], ""
    for place, task in enumerate(tested):
        images = like.get(task.images[0].hash, ()) if task.images else ("",)
        others = (other for image in images for other in by_image.get(image, ()))
        # In one list a task has copies before it alone.
        copies = [
            known[other] for other in others if (known is not tested or other < place) and _is_asked(known[other], task)
        ]
        hits.append(bool(copies))
        example = example or (f"{copies[0].id} and {task.id}: {task.question} {task.answer}" if copies else "")
    return share_at_most(check, hits, bound, example=example)


def _is_asked(one: Task, other: Task) -> bool:
    return words_of(one) == words_of(other) and one.answer == other.answer and len(one.images) == len(other.images)


def _alike(
    known: Sequence[ImageRef], tested: Sequence[ImageRef], seen: Mapping[str, PictureLook]
) -> dict[str, tuple[str, ...]]:
    """For each tested picture those known that look the same, itself among them."""
    known, tested = list(dict.fromkeys(known)), list(dict.fromkeys(tested))
    found: dict[str, tuple[str, ...]] = {}
    hashes = {key: one.hashes for key, one in seen.items()}
    for pair in picture_pairs(known, tested, hashes):
        if pair.is_identical or _looks_same(seen[pair.test.hash], seen[pair.train.hash]):
            found[pair.test.hash] = (*found.get(pair.test.hash, ()), pair.train.hash)
    return found


def _looks_same(one: PictureLook, other: PictureLook) -> bool:
    difference = np.abs(one.thumbnail.astype(np.int16) - other.thumbnail.astype(np.int16))
    return int(difference.max()) <= MOST_DIFFERENCE


def other_families_finding(look: FamilyLook, others: Sequence[FamilyLook]) -> Checked:
    """The largest share of a family's pictures that another family shows as well."""
    check = "copies in another family"
    if not look.images or not others:
        return Checked(check=check, verdict="not applicable", bound=LIKE_OTHER_FAMILY, note="nothing to compare with")
    best, hits = "", [False] * len(look.images)
    for other in others:
        like = _alike(other.images, look.images, {**other.seen, **look.seen})
        here = [image.hash in like for image in look.images]
        if sum(here) > sum(hits):
            best, hits = other.family, here
    return share_at_most(check, hits, LIKE_OTHER_FAMILY, note=f"of {best}" if best else "", example=best)
