"""The folder of a curation: one writer, same settings, half a line after a crash."""

import json
from pathlib import Path

import pytest

from saccade.curation.codedance.outcomes import QuestionOutcome, Rejected, StepVerdict, outcome_from
from saccade.curation.journal import Journal
from saccade.errors import UserError

KEPT = QuestionOutcome(
    task_id="a",
    level="hard",
    weak=0.0,
    strong=0.5,
    way="play",
    asked_kind="draw",
    kind="compute",
    row={"id": "a", "turns": [{"thought": "é", "code": "1"}]},
    tries=(Rejected(way="play", reason="wrong_answer", detail="answered '5'"),),
    verdicts=(StepVerdict(step="question", value="good"), StepVerdict(step="solution", value="none")),
)
LEFT_OUT = QuestionOutcome(task_id="b", level="unsolved", reason="unsolved", weak=0.0, strong=0.0)


def filled(directory: Path) -> None:
    with Journal(directory, {"seed": 1, "ways": ("play",)}, outcome_from, resume=False) as journal:
        journal.add(KEPT)
        journal.add(LEFT_OUT)


def test_outcomes_come_back_as_they_were(tmp_path: Path) -> None:
    filled(tmp_path)
    with Journal(tmp_path, {"seed": 1, "ways": ["play"]}, outcome_from, resume=True) as journal:
        assert journal.outcomes == {"a": KEPT, "b": LEFT_OUT}


def test_half_a_line_of_a_killed_process_is_cut_off(tmp_path: Path) -> None:
    filled(tmp_path)
    path = tmp_path / "outcomes.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id": "c", "lev')
    with Journal(tmp_path, {"seed": 1, "ways": ["play"]}, outcome_from, resume=True) as journal:
        assert list(journal.outcomes) == ["a", "b"]
        journal.add(QuestionOutcome(task_id="c", level="easy", reason="no_way"))
    assert path.read_bytes().startswith(whole)
    assert len(path.read_bytes().splitlines()) == 3


def test_a_folder_is_never_overwritten_by_mistake(tmp_path: Path) -> None:
    filled(tmp_path)
    with pytest.raises(UserError, match="holds a curation already; go on with --resume"):
        Journal(tmp_path, {"seed": 1, "ways": ("play",)}, outcome_from, resume=False)
    with pytest.raises(UserError, match="was started with other settings:\n  seed: 1 then, 2 now"):
        Journal(tmp_path, {"seed": 2, "ways": ("play",)}, outcome_from, resume=True)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("")
    with pytest.raises(UserError, match=r"is not empty \(it has thesis.tex\)"):
        Journal(other, {}, outcome_from, resume=True)
    with pytest.raises(UserError, match="cannot be used"):
        Journal(other / "thesis.tex", {}, outcome_from, resume=False)


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with (
        Journal(tmp_path, {}, outcome_from, resume=False),
        pytest.raises(UserError, match="is being written by another process"),
    ):
        Journal(tmp_path, {}, outcome_from, resume=True)
    Journal(tmp_path, {}, outcome_from, resume=True).close()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{}", "id: is missing"),
        ('{"id": "c", "level": "odd"}', "level: must be one of easy"),
        ("[]", "is not an object"),
        ('{"id": "c", "level": "easy", "reason": "bored"}', "reason: must be one of"),
    ],
)
def test_a_line_that_is_no_outcome_is_named(tmp_path: Path, line: str, why: str) -> None:
    filled(tmp_path)
    with (tmp_path / "outcomes.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UserError, match="row 3: ") as caught:
        Journal(tmp_path, {"seed": 1, "ways": ("play",)}, outcome_from, resume=True)
    assert why in str(caught.value)


def test_a_curation_without_an_outcome_may_be_started_anew(tmp_path: Path) -> None:
    Journal(tmp_path, {"seed": 1}, outcome_from, resume=False).close()
    Journal(tmp_path, {"seed": 2}, outcome_from, resume=False).close()
    assert json.loads((tmp_path / "curation.json").read_text()) == {"seed": 2}
