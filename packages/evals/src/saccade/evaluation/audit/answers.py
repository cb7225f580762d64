"""Gold answers under doubt: pictures that do not matter, questions with two answers, evidence that is not there."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from PIL import Image

from saccade.evaluation.audit.blind import MARGIN, Patterns, chance_of
from saccade.evaluation.audit.drawn import DrawnFamily
from saccade.evaluation.audit.findings import Checked, none_of, share_at_most
from saccade.evaluation.audit.thumbnail import ThumbnailProbe
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.tasks.claims import SecondSolver
from saccade.types import Example, Task

LEAST_PAIRS = 30
"""Pairs of tasks with the same question below which they say nothing."""
PAIR_MARGIN = 0.25
"""What two pictures may agree more often than by chance: some answers are more frequent than others."""
GREY = (128, 128, 128)


def other_picture_finding(
    drawn: DrawnFamily, probe_of: Callable[[], ThumbnailProbe], patterns: Patterns, prior: float
) -> Checked:
    """How often a question keeps its answer on the picture of another task."""
    check = "other picture"
    tasks = [example.task for example in drawn.held_out if example.task.images]
    swapped = [(one, other) for one, other in _others(tasks)]
    if not swapped:
        return Checked(check=check, verdict="not applicable", note="there are no two tasks with different pictures")
    if (solver := drawn.claims.solver) is not None:
        return _by_solver(drawn, solver, swapped, max(prior, chance_of(tasks, patterns)) + MARGIN)
    pairs = _same_question([example.task for example in drawn.all])
    if len(pairs) >= LEAST_PAIRS:
        hits = [answer_is_right(one, other.answer) for one, other in pairs]
        bound = chance_of([one for one, _ in pairs], patterns) + PAIR_MARGIN
        note = f"{len(pairs)} pairs of tasks with the same question and different pictures"
        kept = next((one.question for (one, _), hit in zip(pairs, hits) if hit), "")
        return share_at_most(check, hits, bound, note=note, example=kept)
    probe = probe_of()
    hits = [probe.guess(one, one) == probe.guess(one, other) for one, other in swapped]
    note = "no solver, and too few questions come twice: the share in which the thumbnail probe keeps its answer"
    return Checked(check=check, verdict="reported", figure=sum(hits) / len(hits), note=note)


def _others(tasks: Sequence[Task]) -> Iterator[tuple[Task, Task]]:
    """Each task with the next one that has as many pictures, and others."""
    for place, task in enumerate(tasks):
        for other in (*tasks[place + 1 :], *tasks[:place]):
            if len(other.images) == len(task.images) and other.images != task.images:
                yield task, other
                break


def _by_solver(drawn: DrawnFamily, solver: SecondSolver, swapped: Sequence[tuple[Task, Task]], bound: float) -> Checked:
    said = [(one, solver(one, drawn.pictures(other))) for one, other in swapped]
    hits = [answer_is_right(one, answer) for one, answer in said]
    kept = next((f"{one.question} {one.answer}" for (one, _), hit in zip(said, hits) if hit), "")
    note = "the second solver, shown another task's picture"
    return share_at_most("other picture", hits, bound, note=note, example=kept)


def _same_question(tasks: Sequence[Task]) -> list[tuple[Task, Task]]:
    """Neighbouring tasks of each question, where their pictures differ."""
    asked: dict[tuple[str, tuple[str, ...]], list[Task]] = {}
    for task in tasks:
        asked.setdefault((task.question, task.choices), []).append(task)
    return [(one, other) for group in asked.values() for one, other in pairwise(group) if one.images != other.images]


def options_finding(drawn: DrawnFamily) -> Checked:
    """Tasks whose answer their own rule refuses, or of whose options not exactly one is right."""
    hits, example = [], ""
    for task in (one.task for one in drawn.all):
        right = sum(answer_is_right(task, choice) for choice in task.choices)
        why = ""
        if not answer_is_right(task, task.answer):
            why = "the answer is not right by its own rule"
        elif task.choices and right != 1:
            why = f"{right} of the options {', '.join(task.choices)} are right"
        elif len({choice.casefold() for choice in task.choices}) < len(task.choices):
            why = f"two of the options {', '.join(task.choices)} are the same"
        hits.append(bool(why))
        example = example or (f"{task.id}: {task.question} {task.answer}: {why}" if why else "")
    return none_of("options", hits, example=example)


def ambiguity_finding(drawn: DrawnFamily) -> Checked:
    """Tasks that the second solver answers otherwise, or that are asked twice of one picture with two answers."""
    check = "ambiguous"
    answers: dict[tuple[object, ...], Task] = {}
    for task in (one.task for one in drawn.all):
        first = answers.setdefault((task.question, task.choices, task.images), task)
        if not answer_is_right(first, task.answer):
            example = f"{first.id} and {task.id}: {task.question} {first.answer}, {task.answer}"
            note = "the same question on the same pictures has two answers"
            return Checked(check=check, verdict="convicted", bound=0.0, note=note, example=example)
    if (solver := drawn.claims.solver) is None:
        note = "the family names no second solver; see expert"
        return Checked(check=check, verdict="not applicable", bound=0.0, note=note)
    hits, example = [], ""
    for task in (one.task for one in drawn.held_out):
        said = solver(replace(task, answer="", targets=(), objects=()), drawn.pictures(task))
        if said is not None:
            hits.append(not answer_is_right(task, said))
            example = example or (f"{task.id}: {task.question} {task.answer}, or {said}" if hits[-1] else "")
    return none_of(check, hits, note=f"second solver, {len(hits)} of {len(drawn.held_out)} tasks", example=example)


def erased_finding(drawn: DrawnFamily, patterns: Patterns, prior: float) -> Checked:
    """How often the second solver is still right when the evidence is painted over: then it lies elsewhere."""
    check = "evidence matters"
    examples = [one for one in drawn.held_out if one.task.images and one.task.targets]
    if (solver := drawn.claims.solver) is None or not examples:
        return Checked(check=check, verdict="not applicable", note="the family names no second solver")
    hits = [_still_right(drawn, solver, one) for one in examples]
    bound = max(prior, chance_of([one.task for one in examples], patterns)) + MARGIN
    kept = next((f"{one.task.id}: {one.task.question}" for one, hit in zip(examples, hits) if hit), "")
    return share_at_most(check, hits, bound, note="the second solver, evidence painted over", example=kept)


def _still_right(drawn: DrawnFamily, solver: SecondSolver, example: Example) -> bool:
    task = example.task
    pictures = [picture.copy() for picture in drawn.pictures(task)]
    for target in task.targets:
        box = tuple(round(side) for side in target.box.as_tuple())
        pictures[target.image_index].paste(Image.new("RGB", (box[2] - box[0], box[3] - box[1]), GREY), (box[0], box[1]))
    return answer_is_right(task, solver(replace(task, answer="", targets=(), objects=()), tuple(pictures)))
