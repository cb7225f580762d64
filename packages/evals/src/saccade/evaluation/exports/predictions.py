"""Predictions: the final answers of an evaluation beside their questions, which is what harnesses keep of a run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.errors import UserError
from saccade.evaluation.benchmarks.benchmark import LETTERS
from saccade.evaluation.benchmarks.reward import reply_of
from saccade.runs.records import read_records
from saccade.types import Attempt

_FOLDER = "evaluations"


@dataclass(frozen=True, kw_only=True, slots=True)
class Prediction:
    """One question and its final answer."""

    index: str
    """By which the set's own rows are found: a number of the benchmark, else the place in the evaluation."""
    id: str
    question: str
    gold: str
    """A letter where there are options."""
    reply: str | None
    """Empty where an episode ended without an answer; None where the machine failed."""
    options: tuple[str, ...] = ()
    category: str = ""


def evaluation_records(run: Path, name: str | None = None) -> tuple[str, list[Attempt]]:
    """The name of an evaluation of a run and its trajectories; UserError where there is none, or several unnamed."""
    folder = run / _FOLDER
    found = {path.stem: path for path in sorted(folder.glob("*.jsonl"))} if folder.is_dir() else {}
    if not found:
        raise UserError(f"{run} holds no evaluation (evaluations/NAME.jsonl); give the --out of saccade eval")
    if name is None and len(found) > 1:
        raise UserError(f"{run} holds several evaluations; choose one with --name: {', '.join(found)}")
    chosen = name or next(iter(found))
    if chosen not in found:
        raise UserError(f"{run} holds no evaluation {chosen!r}; it has {', '.join(found)}")
    return chosen, list(read_records(found[chosen]))


def predictions_of(attempts: Sequence[Attempt]) -> list[Prediction]:
    """The first sample of each question; harnesses keep one."""
    found: list[Prediction] = []
    for attempt in attempts:
        task, trajectory = attempt.task, attempt.trajectory
        if trajectory.sample != 0:
            continue
        family, _, index = task.id.rpartition("/")
        is_numbered = family == task.family
        gold = task.answer
        if task.choices and gold in task.choices:
            gold = LETTERS[task.choices.index(gold)]
        found.append(
            Prediction(
                index=index if is_numbered else str(len(found)),
                id=task.id,
                question=task.question,
                gold=gold,
                reply=reply_of(attempt),
                options=task.choices,
                category=task.buckets[0] if task.buckets else task.family,
            )
        )
    return found
