"""Right answers in the wrappings that people's files have, and the kinds that they are taken for."""

import json
from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.tasks.files import read_tasks
from saccade.tasks.rows.golds import infer_kind, unwrapped
from saccade.types import Task

WRAPPED = [
    (r"\boxed{A}", "A"),
    (r"$\frac{3}{10}$", r"\frac{3}{10}"),
    ("$3 x-y=0$.", "3 x-y=0"),
    ("<answer>red</answer>", "red"),
    ("<think>It is not blue.</think><answer>red</answer>", "red"),
    ("He has 3 + 4 apples. #### 7", "7"),
    (r"\text{B}", "B"),
    ("**B**", "B"),
    (r"The answer is \boxed{\frac{1}{2}}.", r"\frac{1}{2}"),
    (r"<think>x</think> So \boxed{\text{red}}", "red"),
    (r"$\boxed{60^\circ}$", r"60^\circ"),
]
BARE = ["$5", "cost: $5 and $6", "#1", "C# and F#", "red", r"\frac{1}{2}", "a </b> c", r"\boxed{1} or \boxed{2}"]
KINDS = [
    ("7", "integer"),
    ("1,000", "integer"),
    ("007", "exact"),
    ("0.75", "number"),
    ("$5.00", "number"),
    (r"2 \sqrt { 221 }", "math"),
    ("1/2", "math"),
    ("10√3", "math"),
    ("3x + 2y = 7", "math"),
    ("(3, 4)", "math"),
    ("red", "exact"),
    ("N/A", "exact"),
    ("1990-1995", "exact"),
    ("12:30", "exact"),
    ("Room 12B", "text"),
    ("The dog is on the left.", "sentence"),
    ('{"total": 5, "number": 3}', "exact"),
    ("1{,}250", "math"),
    (r"25\%", "math"),
    (r"12\,\text{cm}", "math"),
    (r"\{1, 2\}", "math"),
    (r"\angle ABC", "math"),
    ("(A)", "choice"),
    ("A", "exact"),
    ("１２", "integer"),
    ("３５％", "number"),
]


def read(folder: Path, *rows: object, **how: object) -> tuple[Task, ...]:
    file = folder / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return read_tasks(file, media=MediaStore(), **how).tasks  # type: ignore[arg-type]


@pytest.mark.parametrize(("gold", "inside"), WRAPPED)
def test_a_wrapped_answer_loses_its_wrapping(gold: str, inside: str) -> None:
    assert unwrapped(gold) == inside


@pytest.mark.parametrize("gold", BARE)
def test_an_answer_without_wrapping_stays(gold: str) -> None:
    assert unwrapped(gold) == gold


@pytest.mark.parametrize(("gold", "kind"), KINDS)
def test_kinds_follow_from_how_an_answer_is_written(gold: str, kind: str) -> None:
    assert infer_kind(gold, (), "What is it?") == kind


def test_a_kind_for_the_file_holds_for_rows_without_one(tmp_path: Path) -> None:
    rows = ({"question": "q1", "answer": "3"}, {"question": "q2", "answer": "4", "answer_kind": "exact"})
    assert [task.answer_kind for task in read(tmp_path, *rows, answer_kind="math")] == ["math", "exact"]


def test_items_of_a_list_are_alternatives_unless_the_row_asks_for_all(tmp_path: Path) -> None:
    any_of, all_of = read(
        tmp_path,
        {"question": "q1", "answer": ["grey", "gray"]},
        {"question": "q2", "answer": ["2007", "2008"], "answer_kind": "list"},
    )
    assert (any_of.accepted, any_of.answer_kind) == (("grey", "gray"), "exact")
    assert (all_of.answer, all_of.accepted) == ('["2007", "2008"]', ())


def test_lists_in_text_and_annotators_answers_are_alternatives(tmp_path: Path) -> None:
    in_text, annotated = read(
        tmp_path,
        {"question": "q1", "answer": "['body butter', 'body-butter']"},
        {"question": "q2", "answers": [{"answer": "net", "answer_id": 1}, {"answer": "netting", "answer_id": 2}]},
    )
    assert (in_text.answer, in_text.accepted) == ("body butter", ("body butter", "body-butter"))
    assert annotated.accepted == ("net", "netting")


def test_the_place_of_an_option_is_read_by_its_key_and_else_refused(tmp_path: Path) -> None:
    row = {"question": "q1", "options": ["cat", "dog", "cow"]}
    (placed,) = read(tmp_path, row | {"correct_choice_idx": 2, "direct_answers": "['cow']"})
    assert (placed.answer, placed.answer_kind) == ("C", "choice")
    with pytest.raises(UserError, match="its place counted from 0 goes under `answer_index`"):
        read(tmp_path, row | {"answer": 2})


def test_options_lose_letters_of_their_own_and_padding(tmp_path: Path) -> None:
    lettered, padded = read(
        tmp_path,
        {"question": "q1", "answer": "A", "options": ["A. red", "B. blue"]},
        {"question": "q2", "answer": "Yes", "options": ["Yes", "No", "nan", None]},
    )
    assert lettered.choices == ("red", "blue")
    assert padded.choices == ("Yes", "No")
