"""iVGR's group: the reference, whether this step or the archive gave it, and what the judge said of each text."""

from dataclasses import replace
from pathlib import Path

from view_client import only_run, viewing
from viewer_fake_run import looking_attempt, make_run, search_task

from saccade.media.store import MediaStore
from saccade.runs.position import Position
from saccade.runs.records import write_records
from saccade.runs.runinfo import RunPaths
from saccade.types import Attempt, Score, Task, Term

FIRST, SECOND = Position(stage="rl", step=41), Position(stage="rl", step=42)


def scored(media: MediaStore, task: Task, stream: str, sample: int, score: Score) -> Attempt:
    attempt = looking_attempt(media, task, task.answer, sample=sample)
    return replace(attempt, trajectory=replace(attempt.trajectory, stream=stream, sample=sample, score=score))


def grounded(box: float, *, is_reference: bool) -> Score:
    terms = (Term("format", 1.0), Term("accuracy", 1.0), Term("box", box))
    return Score(terms=terms, is_right=True, notes={"is_reference": float(is_reference)})


def textual(*terms: Term, **notes: float) -> Score:
    return Score(terms=(Term("format", 1.0), *terms), is_right=True, notes={"reference": 1.0, **notes})


def groups(root: Path, cache: Path, second: list[tuple[str, Score]], task_number: int = 5) -> dict[str, object]:
    """The second step's group; the first step found a reference with a box reward of 1.5."""
    media = MediaStore()
    task = search_task(media, task_number)
    steps = {
        FIRST: [("grounded", grounded(0.5, is_reference=True)), ("grounded", grounded(1.5, is_reference=True))],
        SECOND: second,
    }
    paths = RunPaths(root=root)
    for position, members in steps.items():
        records = [scored(media, task, stream, at, score) for at, (stream, score) in enumerate(members)]
        write_records(paths.trajectories(position), position, records, media=media, media_directory=paths.media)
    with viewing(root, cache=cache) as (client, viewer):
        run = only_run(viewer)
        rows = client.get(f"/api/runs/{run.id}/trajectories?step_min=42&stage=rl").json()["rows"]
        found: dict[str, object] = client.get(f"/api/runs/{run.id}/groups/{rows[0]['id']}").json()
        return found


def test_a_reference_of_the_archive_is_named_with_its_step_and_every_verdict(tmp_path: Path) -> None:
    root = make_run(tmp_path / "run", n=4)
    kept = {"from_archive": 1.0}
    members = [
        ("grounded", grounded(1.0, is_reference=True)),
        ("textual", textual(Term("consistency", 0.7), **kept)),
        ("textual", textual(Term("consistency", 0.0), judge_attack=1.0, **kept)),
        ("textual", textual(Term("consistency", 0.0, filled_from="no verdict: the lowest"), no_verdict=1.0, **kept)),
        ("textual", textual(**kept)),
    ]
    told = groups(root, tmp_path / "cache", members)["reference"]
    assert isinstance(told, dict)
    assert (
        told["words"]
        == "Reference from the archive, found in step 41: sample 1 of the stream “grounded”, box reward 1.5."
    )
    assert told["is_from_archive"] is True
    assert told["text"]
    assert sorted(one["words"] for one in told["verdicts"]) == [
        "agreement 0, filled in from no verdict: the lowest",
        "agreement 0.7",
        "agreement 0: the text addresses the judge, so the judge was not asked",
        "no verdict",
    ]


def test_a_reference_of_this_step_is_the_best_of_its_own_grounded_ones(tmp_path: Path) -> None:
    root = make_run(tmp_path / "run", n=4)
    members = [
        ("grounded", grounded(1.7, is_reference=True)),
        ("grounded", grounded(2.0, is_reference=False)),
        ("textual", textual(Term("consistency", 1.0), from_archive=0.0)),
    ]
    told = groups(root, tmp_path / "cache", members)["reference"]
    assert isinstance(told, dict)
    assert told["words"] == "Reference found in this step: sample 0 of the stream “grounded”, box reward 1.7."


def test_without_a_reference_that_is_said_and_other_groups_have_none(tmp_path: Path) -> None:
    root = make_run(tmp_path / "run", n=4)
    none = Score(terms=(Term("format", 1.0),), is_right=False, notes={"reference": 0.0})
    told = groups(root, tmp_path / "cache", [("textual", none)])["reference"]
    assert isinstance(told, dict)
    assert told["words"].startswith("No grounded trajectory")
    assert told["verdicts"][0]["words"] == "not judged: there is no reference"
    with viewing(root, cache=tmp_path / "cache") as (client, viewer):
        run = only_run(viewer)
        first = client.get(f"/api/runs/{run.id}/trajectories?step_max=3").json()["rows"][0]["id"]
        assert client.get(f"/api/runs/{run.id}/groups/{first}").json()["reference"] is None
