"""Verdicts that people gave in the viewer, as labels that a judge is measured with."""

from dataclasses import replace
from pathlib import Path

from saccade.types import Answer, Attempt, Task, Trajectory, Turn
from saccade.viewer.store.annotations import FILE, AnnotationFile, annotation_from
from saccade.viewer.store.labels import annotated_labels
from saccade.viewer.store.run import file_identity


def attempt(name: str, sample: int) -> Attempt:
    turn = Turn(index=0, text="red", thought="", action=Answer(text="red"), is_well_formed=True)
    trajectory = Trajectory(
        task_id=name, family="f", stream="evaluation", sample=sample, seed=0, policy_version=0,
        segments=(), turns=(turn,), status="answered",
    )  # fmt: skip
    task = Task(id=name, family="f", question="Which?", answer="red", answer_kind="exact", images=())
    return Attempt(task=task, trajectory=trajectory)


def test_the_majority_of_each_persons_last_verdict_is_the_label(tmp_path: Path) -> None:
    records = tmp_path / "evaluations" / "tagged.jsonl"
    attempts = [attempt("a", 0), attempt("a", 1), attempt("b", 0), attempt("c", 0), attempt("d", 0)]
    identity = file_identity(records, tmp_path)
    file = AnnotationFile(path=tmp_path / FILE)

    def say(place: int, who: str, verdict: str, of: str = identity) -> None:
        said = {"subject": "verdict", "verdict": verdict, "name": who}
        file.add(annotation_from(said, trajectory=f"{of}.{place}", task="t"))

    say(0, "ann", "wrong")
    say(0, "ann", "right")
    say(1, "ann", "wrong")
    say(2, "ann", "right")
    say(2, "bob", "wrong")
    say(3, "bob", "unclear")
    say(4, "bob", "right", of="00000000")
    [_, last, *_] = file.read().items
    told = annotated_labels(tmp_path, records, attempts)
    assert told.labels == {("a", 0): True, ("a", 1): False}
    assert (told.people, told.split) == (2, 1)
    assert told.describe() == "2 answers labelled in saccade view by 2 people, 1 on which they are split"
    file.retract(last.id, "ann")
    assert annotated_labels(tmp_path, records, attempts).labels == {("a", 0): False, ("a", 1): False}


def test_a_run_that_nobody_annotated_has_no_labels(tmp_path: Path) -> None:
    assert not annotated_labels(tmp_path, tmp_path / "evaluations" / "x.jsonl", [replace(attempt("a", 0))]).labels
