"""Weak-to-strong filtering on pass rates worked out by hand."""

import json
from pathlib import Path

import pytest

from saccade.curation.codedance.settings import CurationSettings, Thresholds
from saccade.curation.rows import check_covered, level_of, pass_rates_of, read_pass_rates
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.testing.tasks import tiny_example
from saccade.types import Answer, Attempt, Malformed, Task, Trajectory, Turn

USUAL = Thresholds()


@pytest.mark.parametrize(
    ("weak", "strong", "level"),
    [
        (1.0, None, "easy"),
        (0.75, None, "easy"),
        (0.5, None, "medium"),
        (0.25, 0.0, "medium"),
        (0.0, 0.25, "hard"),
        (0.0, 1.0, "hard"),
        (0.2, 0.2, "unsolved"),
        (0.0, 0.0, "unsolved"),
        (0.0, None, "hard"),
        (None, None, "unsorted"),
        (None, 1.0, "unsorted"),
        (None, 0.0, "unsolved"),
    ],
)
def test_pass_rates_of_two_models_sort_questions(weak: float | None, strong: float | None, level: str) -> None:
    assert level_of(weak, strong, USUAL) == level


def test_the_thresholds_are_settings() -> None:
    strict = Thresholds(easy_from=1.0, medium_from=0.5, solved_from=0.0)
    assert [level_of(weak, 0.0, strict) for weak in (0.9, 0.4)] == ["medium", "hard"]


@pytest.mark.parametrize(
    "thresholds",
    [Thresholds(easy_from=1.5), Thresholds(solved_from=float("nan")), Thresholds(easy_from=0.2, medium_from=0.5)],
)
def test_thresholds_that_make_no_sense_are_refused(thresholds: Thresholds) -> None:
    with pytest.raises(UserError, match="_from="):
        thresholds.check()


@pytest.mark.parametrize(
    "change",
    [
        {"samples": 0},
        {"attempts": 0},
        {"verdict_tries": 0},
        {"questions_at_once": 0},
        {"max_turns": 1},
        {"kinds": ()},
        {"teacher_temperature": -1.0},
        {"hard_ways": ("direct",)},
    ],
)
def test_settings_that_make_no_sense_are_refused(change: dict) -> None:
    with pytest.raises(UserError):
        CurationSettings(**change).check()


def attempt(task: Task, said: str | None, status: str = "answered") -> Attempt:
    action = Malformed(why="") if said is None else Answer(text=said)
    turn = Turn(index=0, text="", thought="", action=action, is_well_formed=True)
    trajectory = Trajectory(
        task_id=task.id,
        family=task.family,
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(turn,),
        status=status,
    )
    return Attempt(task=task, trajectory=trajectory)


def test_trajectories_of_a_run_give_pass_rates_without_what_the_machine_failed() -> None:
    media = MediaStore()
    red, green = (tiny_example(media, index).task for index in range(2))
    attempts = [
        attempt(red, "red"),
        attempt(red, "blue"),
        attempt(red, "red"),
        attempt(red, None, "turn_limit"),
        attempt(red, "blue", "failed"),
        attempt(green, "red"),
    ]
    assert pass_rates_of(attempts) == {red.id: 0.5, green.id: 0.0}
    assert pass_rates_of([attempt(green, None, "failed")]) == {}


def test_pass_rates_are_read_from_json_lines(tmp_path: Path) -> None:
    file = tmp_path / "rates.jsonl"
    file.write_text('{"id": "a", "pass_rate": 0.25, "samples": 8}\n\n{"id": 7, "pass_rate": 1}\n')
    assert read_pass_rates(file) == {"a": 0.25, "7": 1.0}


def test_bad_rows_of_pass_rates_are_named(tmp_path: Path) -> None:
    file = tmp_path / "rates.jsonl"
    rows = [{"id": "a", "pass_rate": 2}, {"pass_rate": 1}, {"id": "b"}, {"id": "c", "pass_rate": 0}]
    file.write_text("\n".join([*map(json.dumps, [*rows, rows[-1]]), "{"]))
    with pytest.raises(UserError) as caught:
        read_pass_rates(file)
    message = str(caught.value)
    assert message.startswith(f"{file}: 5 rows cannot be used")
    assert "row 1: pass_rate: must be a number from 0 to 1, not 2" in message
    assert "row 2: id: is missing or empty" in message
    assert "row 3: pass_rate: is missing" in message
    assert "row 5: id: 'c' appears twice" in message
    assert "row 6: is not JSON" in message
    with pytest.raises(UserError, match="cannot be read"):
        read_pass_rates(tmp_path / "absent.jsonl")


def test_questions_without_a_pass_rate_are_named_before_work_starts() -> None:
    media = MediaStore()
    tasks = [tiny_example(media, index).task for index in range(7)]
    check_covered(tasks[:1], {tasks[0].id: 0.5}, "weak.jsonl")
    with pytest.raises(UserError, match=r"weak.jsonl has no pass rate for 6 of the questions \(tiny/000001, .*, …\)"):
        check_covered(tasks, {tasks[0].id: 0.5}, "weak.jsonl")
