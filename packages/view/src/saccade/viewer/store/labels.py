"""Labels of people from the viewer's annotations: what they said of the trajectories of an evaluation."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from saccade.evaluation.judging import Labels
from saccade.types import Attempt
from saccade.viewer.store.annotations import FILE, AnnotationFile
from saccade.viewer.store.run import file_identity


@dataclass(frozen=True, kw_only=True, slots=True)
class AnnotatedLabels:
    """Labels of an evaluation's trajectories."""

    labels: Labels
    people: int
    split: int
    """Trajectories of which as many people say right as wrong: they have no label."""
    notes: tuple[str, ...] = ()
    """Lines that cannot be read."""

    def describe(self) -> str:
        text = f"{len(self.labels):,} answers labelled in saccade view by {self.people} people"
        text += f", {self.split} on which they are split" if self.split else ""
        return text + (f"; {len(self.notes)} lines of {FILE} cannot be read" if self.notes else "")


def annotated_labels(run: Path, records: Path, attempts: Sequence[Attempt]) -> AnnotatedLabels:
    """The verdicts in ``annotations.jsonl`` of the run on the attempts of one of its files of records, in its order.

    The last verdict of each person counts, ``unclear`` for nothing; of several people the majority.
    """
    told = AnnotationFile(path=run / FILE).read()
    identity = file_identity(records, run)
    at = {f"{identity}.{place}": attempt for place, attempt in enumerate(attempts)}
    last = {
        (item.trajectory, item.name): item.verdict
        for item in told.standing
        if item.subject == "verdict" and item.trajectory in at
    }
    votes: dict[str, Counter[bool]] = defaultdict(Counter)
    for (trajectory, _), verdict in last.items():
        if verdict in ("right", "wrong"):
            votes[trajectory][verdict == "right"] += 1
    decided = {name: one for name, one in votes.items() if one[True] != one[False]}
    return AnnotatedLabels(
        labels={
            (at[name].task.id, at[name].trajectory.sample): one[True] > one[False] for name, one in decided.items()
        },
        people=len({name for _, name in last}),
        split=len(votes) - len(decided),
        notes=told.notes,
    )
