"""Agreement of a verifier with ground truth: its verdicts on points and its scores of responses, before any training.

Responses are written to tasks whose things are known: some point at a thing, some beside it, some at a thing that is
not there, in all shares of right points. The verifier measures them, and so do exact regions.
"""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from saccade.errors import UserError
from saccade.geometry import Box, Point
from saccade.protocols.points import written_point
from saccade.rewards.argos.regions import ExactRegions
from saccade.rewards.argos.selection import Selection, by_rules
from saccade.rewards.argos.verifier import MeasuredPoints, Verifier
from saccade.rewards.hack_check import written_response
from saccade.rewards.hacks import FAR
from saccade.seeding import generator_for
from saccade.types import Json, Task, Trajectory
from saccade.waiting import run_to_end

RESPONSES = 5
"""Responses to each task by default: none, a quarter, … all of their points are right."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TruthAgreement:
    """How a verifier's verdicts and scores compare with exact ones; NaN where nothing can be said."""

    tasks: int
    points: int
    """Points with a verdict of both."""
    no_verdict: int
    """Points that the verifier's machine failed on."""
    vague: int
    """Points that it does not count: what it finds for their names covers over half of the picture."""
    repeated: int
    """Points that it does not count, since it takes them for repeats of others."""
    accuracy: float
    """Share of points with the right verdict."""
    precision: float
    """Share of the verifier's hits that are hits."""
    recall: float
    """Share of hits that the verifier finds."""
    pearson: float
    """Of the scores of responses."""
    spearman: float
    roc_auc: float
    """How often a response whose points are all right scores higher than one with wrong points."""

    def describe(self) -> str:
        """One line for people."""
        numbers = {name: value for name, value in asdict(self).items() if isinstance(value, float)}
        shown = "  ".join(f"{name} {'-' if math.isnan(value) else f'{value:.3f}'}" for name, value in numbers.items())
        of = [f"{self.points} points of {self.tasks} tasks", f"{self.no_verdict} without a verdict"]
        if self.vague:
            of.append(f"{self.vague} not counted, as their names cover over half of the picture")
        if self.repeated:
            of.append(f"{self.repeated} not counted, as they repeat others")
        return f"{shown}  ({', '.join(of)})"

    def to_json(self) -> dict[str, Json]:
        """The numbers by name, None for NaN."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }


@dataclass(frozen=True, slots=True)
class _Thing:
    name: str
    box: Box
    point: Point
    image_index: int


def agreement_with_truth(
    verifier: Verifier, tasks: Sequence[Task], *, responses: int = RESPONSES, seed: int = 0
) -> TruthAgreement:
    """How the verifier's points compare with the regions that the tasks know exactly.

    Of drawn tasks all things are known; of the user's own those with boxes, and a point beside a box may lie on
    another such thing that has none. Videos are measured by their points alone. UserError for tasks where nothing is
    known, and as the verifier raises.
    """
    things = {task.id: _known_things(task) for task in tasks}
    if bare := [task.id for task in tasks if not things[task.id]]:
        raise UserError(
            f"{len(bare)} of {len(tasks)} tasks, {bare[0]} first, have no boxes of their things; give each its boxes"
        )
    if not tasks or responses < 2:
        raise UserError(f"{len(tasks)} tasks with {responses} responses are too few; give a task and 2 responses")
    asked = [
        (
            task,
            [
                _written_response(task, things[task.id], share / (responses - 1), share, seed)
                for share in range(responses)
            ],
        )
        for task in tasks
    ]
    exact = Verifier(regions=ExactRegions(), forms=verifier.forms)
    found, true = run_to_end(_measure_points(verifier, asked)), run_to_end(_measure_points(exact, asked))
    return _agreement(len(tasks), found, true)


def _known_things(task: Task) -> list[_Thing]:
    if task.objects:
        return [_Thing(one.name, one.box, one.box.center, one.image_index) for one in task.objects]
    return [_Thing(one.label, one.box, one.point, one.image_index) for one in task.targets]


def _written_response(task: Task, things: Sequence[_Thing], right: float, number: int, seed: int) -> Trajectory:
    """A response that points at each known thing once; the share ``right`` of its points is on them."""
    chance = generator_for(seed, "agreement", task.id, number)
    are_right = chance.permutation(len(things)) < round(right * len(things))
    said = []
    for one, is_right in zip(things, are_right):
        name, point = (one.name, one.point) if is_right else _wrong(one, task, chance)
        where = "frame" if task.frame_times_s else "image"
        said.append(f"In {where} {one.image_index + 1} there is {written_point(name, [point])}.")
    text = f"<think>{' '.join(said)}</think><answer>{task.answer}</answer>"
    return written_response(task, text, sample=number)


def _wrong(one: _Thing, task: Task, chance: Generator) -> tuple[str, Point]:
    """The thing's name beside it, or the name of a thing that is not there."""
    image = task.images[one.image_index]
    if chance.random() < 0.25:
        return FAR, one.point
    spots = [Point(*chance.integers(0, (image.width, image.height)).tolist()) for _ in range(20)]
    beside = next((spot for spot in spots if not one.box.contains(spot)), None)
    return (FAR, one.point) if beside is None else (one.name, beside)


async def _measure_points(
    verifier: Verifier, asked: Sequence[tuple[Task, Sequence[Trajectory]]]
) -> list[MeasuredPoints]:
    selections = [Selection(by_rules(task).grounding) for task, _ in asked]
    found = await asyncio.gather(
        *(verifier.groundings(task, members, how) for (task, members), how in zip(asked, selections))
    )
    return [one for of_task in found for one in of_task]


def _agreement(tasks: int, found: Sequence[MeasuredPoints], true: Sequence[MeasuredPoints]) -> TruthAgreement:
    pairs = [
        (a, b, one.silent.get(place))
        for one, other in zip(found, true)
        for place, (a, b) in enumerate(zip(one.hits, other.hits))
        if b is not None
    ]
    silent = Counter(why for _, _, why in pairs)
    judged = np.asarray([(a, b) for a, b, _ in pairs if a is not None], dtype=np.bool_).reshape(-1, 2)
    said, is_so = judged[:, 0], judged[:, 1]
    scores = [
        (one.value, other.value) for one, other in zip(found, true) if one.value is not None and other.value is not None
    ]
    mine, exact = [one for one, _ in scores], [one for _, one in scores]
    return TruthAgreement(
        tasks=tasks,
        points=len(judged),
        no_verdict=silent["failed"],
        vague=silent["vague"],
        repeated=silent["repeated"],
        accuracy=_share(said == is_so),
        precision=_share(is_so[said]),
        recall=_share(said[is_so]),
        pearson=pearson(mine, exact),
        spearman=spearman(mine, exact),
        roc_auc=roc_auc(mine, [one == 1.0 for one in exact]),
    )


def _share(of: "np.typing.NDArray[np.bool_]") -> float:
    return float(of.mean()) if of.size else math.nan


def pearson(one: Sequence[float], other: Sequence[float]) -> float:
    """Pearson's correlation of two equally long rows; NaN where one of them is constant or shorter than two."""
    if len(one) < 2:
        return math.nan
    a, b = (np.asarray(row, dtype=np.float64) - np.mean(row) for row in (one, other))
    scale = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum()) / scale if scale > 0 else math.nan


def spearman(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's correlation: Pearson's of the ranks, equal values with the mean of theirs."""
    return pearson(_ranks(one).tolist(), _ranks(other).tolist())


def roc_auc(scores: Sequence[float], labels: Sequence[bool]) -> float:
    """Area under the ROC curve: how often a positive's score is above a negative's, ties counted half.

    NaN without positives or without negatives.
    """
    positive = np.asarray(labels, dtype=np.bool_)
    count, rest = int(positive.sum()), int((~positive).sum())
    if not count or not rest:
        return math.nan
    above = float(_ranks(scores)[positive].sum()) - count * (count + 1) / 2
    return above / (count * rest)


def _ranks(values: Sequence[float]) -> NDArray[np.float64]:
    """Ranks from 1; equal values have the mean of theirs."""
    _, places, counts = np.unique(np.asarray(values, dtype=np.float64), return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: NDArray[np.float64] = (last - (counts - 1) / 2)[places]
    return ranks
