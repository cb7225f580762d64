"""The folder of a curation: one writer, same settings, half a line after a crash."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from saccade.curation.codedance.outcomes import QuestionOutcome, Rejected, StepVerdict
from saccade.curation.journal import Journal, kept_as, work_off
from saccade.errors import UserError
from saccade.heartbeat import PHASES

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
    with Journal(directory, {"seed": 1, "ways": ("play",)}, kept_as(QuestionOutcome), resume=False) as journal:
        journal.add(KEPT)
        journal.add(LEFT_OUT)


def test_outcomes_come_back_as_they_were(tmp_path: Path) -> None:
    filled(tmp_path)
    with Journal(tmp_path, {"seed": 1, "ways": ["play"]}, kept_as(QuestionOutcome), resume=True) as journal:
        assert journal.outcomes == {"a": KEPT, "b": LEFT_OUT}


def test_half_a_line_of_a_killed_process_is_cut_off(tmp_path: Path) -> None:
    filled(tmp_path)
    path = tmp_path / "outcomes.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"id": "c", "lev')
    with Journal(tmp_path, {"seed": 1, "ways": ["play"]}, kept_as(QuestionOutcome), resume=True) as journal:
        assert list(journal.outcomes) == ["a", "b"]
        journal.add(QuestionOutcome(task_id="c", level="easy", reason="no_way"))
    assert path.read_bytes().startswith(whole)
    assert len(path.read_bytes().splitlines()) == 3


def test_a_folder_is_never_overwritten_by_mistake(tmp_path: Path) -> None:
    filled(tmp_path)
    with pytest.raises(UserError, match="holds a curation already; go on with --resume"):
        Journal(tmp_path, {"seed": 1, "ways": ("play",)}, kept_as(QuestionOutcome), resume=False)
    with pytest.raises(UserError, match="was started with other settings:\n  seed: 1 then, 2 now"):
        Journal(tmp_path, {"seed": 2, "ways": ("play",)}, kept_as(QuestionOutcome), resume=True)
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.tex").write_text("")
    with pytest.raises(UserError, match=r"is not empty \(it has thesis.tex\)"):
        Journal(other, {}, kept_as(QuestionOutcome), resume=True)
    with pytest.raises(UserError, match="cannot be used"):
        Journal(other / "thesis.tex", {}, kept_as(QuestionOutcome), resume=False)


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    with (
        Journal(tmp_path, {}, kept_as(QuestionOutcome), resume=False),
        pytest.raises(UserError, match="is being written by another process"),
    ):
        Journal(tmp_path, {}, kept_as(QuestionOutcome), resume=True)
    Journal(tmp_path, {}, kept_as(QuestionOutcome), resume=True).close()


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{}", "'id' is missing in the outcome"),
        ('{"id": "", "level": "easy"}', "'id' must be text of 1 or more characters, not ''"),
        ('{"id": "c", "level": "odd"}', "'level' must be one of easy"),
        ('{"id": "c", "level": "easy", "weak": 2}', "'weak' must be a number from 0 to 1, not 2"),
        ("[]", "is not an object"),
        ('{"id": "c", "level": "easy", "reason": "bored"}', "'reason' must be one of unsuitable_image"),
    ],
)
def test_a_line_that_is_no_outcome_is_named(tmp_path: Path, line: str, why: str) -> None:
    filled(tmp_path)
    with (tmp_path / "outcomes.jsonl").open("a") as file:
        file.write(line + "\n")
    with pytest.raises(UserError, match="row 3: ") as caught:
        Journal(tmp_path, {"seed": 1, "ways": ("play",)}, kept_as(QuestionOutcome), resume=True)
    assert why in str(caught.value)


def test_a_curation_without_an_outcome_may_be_started_anew(tmp_path: Path) -> None:
    Journal(tmp_path, {"seed": 1}, kept_as(QuestionOutcome), resume=False).close()
    Journal(tmp_path, {"seed": 2}, kept_as(QuestionOutcome), resume=False).close()
    assert json.loads((tmp_path / "curation.json").read_text()) == {"seed": 2}


def test_how_many_questions_are_done_is_told_while_they_are_worked_off(tmp_path: Path) -> None:
    heard: list[str] = []

    async def outcome_of(name: str) -> QuestionOutcome:
        heard.append(PHASES.in_words().partition(",")[0])
        return replace(LEFT_OUT, task_id=name)

    with Journal(tmp_path / "c", {"seed": 1}, kept_as(QuestionOutcome), resume=False) as journal:
        items = {"b": "b", "c": "c"}
        asyncio.run(work_off(items, outcome_of, journal, at_once=1, on_outcome=lambda _: None))
    assert heard == ["0 of 2 questions", "1 of 2 questions"]
