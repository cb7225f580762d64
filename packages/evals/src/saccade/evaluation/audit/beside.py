"""Answers beside the evidence: told by what the picture shows elsewhere, or not told by the evidence itself.

No solver is needed. The evidence of every task is painted over in the colour around it, so that its place is hidden
too, and what is left is given to the thumbnail probe and to the one pixel that goes best with the answers.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from saccade.evaluation.audit.blind import MARGIN, Patterns, answer_text, chance_of
from saccade.evaluation.audit.drawn import THUMBNAIL_PX, DrawnFamily
from saccade.evaluation.audit.findings import Checked, none_of, share_at_most
from saccade.evaluation.audit.thumbnail import ThumbnailProbe
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.types import Example, Task

EDGE_PX = 4
"""Around a region, where its ground is looked at."""
MOST_COVERED = 0.5
"""Share of a picture under evidence from which nothing is left to look at."""
MOST_BYTES = 1 << 28
"""Of all pictures in which single pixels are looked at."""
LEAST_AGREEMENT, LEAST_PAIRS = 0.7, 20
"""Share of the pairs of tasks with the same question and evidence that have the same answer, from which the evidence
tells it, and the others are mistakes; and how many pairs it takes to say so."""

Pixels = NDArray[np.uint8]


def beside_finding(drawn: DrawnFamily, patterns: Patterns, blind: float) -> Checked:
    """Accuracy of guesses from pictures whose evidence is painted over."""
    check = "beside the evidence"
    train, test = ([one for one in part if _is_judged(one.task)] for part in (drawn.train, drawn.held_out))
    if not train or not test:
        return Checked(
            check=check, verdict="not applicable", note="no task has regions and leaves a part of its picture"
        )
    learned, tasks = [one.task for one in train], [one.task for one in test]
    usual: dict[str, Counter[str]] = defaultdict(Counter)
    for task in learned:
        usual[patterns.of(task)][task.answer] += 1
    # Tasks without regions are left out, and with them perhaps all of one answer.
    by_pattern = [answer_is_right(task, _most_frequent(usual[patterns.of(task)])) for task in tasks]
    bound = max(chance_of(tasks, patterns), blind, sum(by_pattern) / len(tasks)) + MARGIN
    thumbnails, whole = _erased(drawn, [*learned, *tasks])
    probe = ThumbnailProbe(drawn, learned, thumbnails)
    guesses = {"a thumbnail": [probe.guess(task, task) for task in tasks]}
    if whole:
        guesses["one pixel"] = _by_one_pixel(learned, tasks, whole)
    found = {how: [answer_is_right(task, text) for task, text in zip(tasks, said)] for how, said in guesses.items()}
    best = max(found, key=lambda how: sum(found[how]))
    seen = next((f"{task.question} {task.answer}" for task, hit in zip(tasks, found[best]) if hit), "")
    return share_at_most(check, found[best], bound, note=f"{best}, evidence painted over", example=seen)


def _most_frequent(counts: Counter[str]) -> str | None:
    return max(counts, key=lambda text: counts[text], default=None)


def _is_judged(task: Task) -> bool:
    if len(task.images) != 1 or not task.targets:
        return False
    image = task.images[0]
    return sum(target.box.area for target in task.targets) < MOST_COVERED * image.width * image.height


def _erased(drawn: DrawnFamily, tasks: Sequence[Task]) -> tuple[dict[str, Pixels], dict[str, Pixels]]:
    """Thumbnails of the erased pictures by task id; and the pictures, where they have one size and are not vast."""
    sizes = {(task.images[0].width, task.images[0].height) for task in tasks}
    is_kept = len(sizes) == 1 and 3 * len(tasks) * int(np.prod(next(iter(sizes)))) <= MOST_BYTES
    thumbnails, whole = {}, {}
    for task in tasks:
        pixels = erased_picture(drawn, task)
        thumbnails[task.id] = _thumbnail(pixels)
        if is_kept:
            whole[task.id] = pixels
    return thumbnails, whole


def erased_picture(drawn: DrawnFamily, task: Task) -> Pixels:
    """The first picture, (height, width, 3), each region filled with the most frequent colour around it."""
    pixels = np.array(drawn.media.get(task.images[0]).convert("RGB"))
    for target in task.targets:
        left, top, right, bottom = (round(side) for side in target.box.as_tuple())
        y, x = max(0, top - EDGE_PX), max(0, left - EDGE_PX)
        around = pixels[y : bottom + EDGE_PX, x : right + EDGE_PX]
        edge = np.ones(around.shape[:2], dtype=bool)
        edge[top - y : bottom - y, left - x : right - x] = False
        colours, counts = np.unique(around[edge].reshape(-1, 3), axis=0, return_counts=True)
        if len(colours):
            pixels[max(0, top - 2) : bottom + 2, max(0, left - 2) : right + 2] = colours[counts.argmax()]
    return pixels


def _thumbnail(pixels: Pixels) -> Pixels:
    return np.asarray(Image.fromarray(pixels).resize((THUMBNAIL_PX, THUMBNAIL_PX), Image.Resampling.BOX))


def _by_one_pixel(train: Sequence[Task], test: Sequence[Task], erased: Mapping[str, Pixels]) -> list[str]:
    """Guesses by the channel of a pixel whose means differ most between answers."""
    x = np.stack([erased[task.id].ravel() for task in train])
    texts = [answer_text(task) for task in train]
    answers = list(dict.fromkeys(texts))
    of = np.array([answers.index(text) for text in texts])
    means = np.stack([x[of == place].mean(axis=0, dtype=np.float32) for place in range(len(answers))])
    shares = np.bincount(of) / len(of)
    mean = shares @ means
    between = shares @ (means - mean) ** 2
    within = x.var(axis=0, dtype=np.float32) - between
    # A grey level of noise is no difference.
    pixel = int(np.argmax(between / (within + 1.0)))
    values = means[:, pixel]
    found = []
    for task in test:
        value = float(erased[task.id].ravel()[pixel])
        allowed = [place for place, text in enumerate(answers) if text in task.choices] or range(len(answers))
        found.append(answers[min(allowed, key=lambda place: abs(float(values[place]) - value))])
    return found


@dataclass(frozen=True, kw_only=True, slots=True)
class SameEvidence:
    """Tasks of one pattern that ask the same of the same pixels."""

    pairs: int
    agree: int
    example: str
    """Of two that disagree."""


def same_evidence_finding(drawn: DrawnFamily, patterns: Patterns) -> Checked:
    """Tasks with the same question and the same pixels in their regions, which have other answers.

    Where most agree, the evidence tells the answer, and the rest is wrong or cannot be seen; where they do not, the
    answer depends on places or on what lies around, and nothing is said.
    """
    check, found = "same evidence", _by_pattern(drawn, patterns)
    judged = [one for one in found.values() if one.pairs >= LEAST_PAIRS and one.agree >= LEAST_AGREEMENT * one.pairs]
    if not judged:
        note = "too few tasks ask the same of the same pixels, or their answers depend on more than these"
        return Checked(check=check, verdict="not applicable", note=note)
    hits = [place >= one.agree for one in judged for place in range(one.pairs)]
    example = next((one.example for one in judged if one.agree < one.pairs), "")
    return none_of(check, hits, note=f"{len(hits)} pairs of tasks", example=example)


def _by_pattern(drawn: DrawnFamily, patterns: Patterns) -> dict[str, SameEvidence]:
    groups: dict[tuple[object, ...], list[Example]] = defaultdict(list)
    for one in drawn.all:
        if one.task.targets and one.task.images:
            key = (one.task.question, frozenset(one.task.choices), _evidence_pixels(drawn, one.task))
            groups[key].append(one)
    found: dict[str, SameEvidence] = {}
    for group in groups.values():
        texts = [answer_text(one.task).casefold() for one in group]
        counts = Counter(texts)
        pairs = len(group) * (len(group) - 1) // 2
        agree = sum(n * (n - 1) // 2 for n in counts.values())
        before = found.get(patterns.of(group[0].task), SameEvidence(pairs=0, agree=0, example=""))
        example = before.example
        if len(counts) > 1 and not example:
            other = next(one for one, text in zip(group, texts) if text != texts[0]).task
            first = group[0].task
            example = f"{first.id} and {other.id}: {first.question} {first.answer}, {other.answer}"
        found[patterns.of(group[0].task)] = SameEvidence(
            pairs=before.pairs + pairs, agree=before.agree + agree, example=example
        )
    return found


def _evidence_pixels(drawn: DrawnFamily, task: Task) -> tuple[bytes, ...]:
    crops = []
    for target in task.targets:
        left, top, right, bottom = (max(0, round(side)) for side in target.box.as_tuple())
        pixels = np.asarray(drawn.media.get(task.images[target.image_index]))[top:bottom, left:right]
        crops.append(repr(pixels.shape).encode() + pixels.tobytes())
    return tuple(crops)
