"""Where a question of a file is asked: corpus, document, gold pages, shown pages."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from PIL import Image

from saccade.codec.wrong import BrokenRecordError
from saccade.config import RecipeContext, split_held_out, without_held_out
from saccade.curation.rows import question_row
from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.runs.task_json import task_from_json, task_to_json
from saccade.tasks.files import read_tasks
from saccade.types import Page, Task

ASKED = {"question": "What is the title?", "answer": "Sales"}


def read(tmp_path: Path, *rows: Mapping[str, object]) -> tuple[Task, ...]:
    for name, colour in (("a.png", "red"), ("b.png", "blue")):
        Image.new("RGB", (40, 50), colour).save(tmp_path / name)
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(rows))
    return read_tasks(path, media=MediaStore()).tasks


def test_a_row_names_its_scope(tmp_path: Path) -> None:
    whole, one, none = read(
        tmp_path,
        {**ASKED, "corpus": "decks", "gold_pages": ["a.pdf#3", "b.pdf#12", "a.pdf#3"]},
        {**ASKED, "document": "reports/a.pdf", "gold_pages": 3},
        {**ASKED, "document": "a.pdf", "gold_pages": [], "image": ["a.png", "b.png"], "shown_pages": [2, "c.pdf#1"]},
    )
    assert (whole.corpus, whole.document) == ("decks", None)
    assert whole.gold_pages == (Page(document="a.pdf", number=3), Page(document="b.pdf", number=12))
    assert (one.document, one.gold_pages) == ("reports/a.pdf", (Page(document="reports/a.pdf", number=3),))
    assert (none.gold_pages, none.shown_pages) == ((), (Page.read("a.pdf#2"), Page.read("c.pdf#1")))
    assert read(tmp_path, ASKED)[0].gold_pages is None


def test_one_question_of_two_documents_is_two_tasks(tmp_path: Path) -> None:
    tasks = read(tmp_path, {**ASKED, "document": "a.pdf"}, {**ASKED, "document": "b.pdf"}, ASKED)
    assert len({task.id for task in tasks}) == 3
    assert not any(task.id.endswith("-2") for task in tasks)


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        ({"gold_pages": [3]}, "gold_pages: 3 names no page"),
        ({"document": "a.pdf", "gold_pages": [0]}, "gold_pages: 'a.pdf#0' names no page"),
        ({"document": "a.pdf", "gold_pages": [True]}, "gold_pages: True names no page"),
        ({"gold_pages": ["page 3"]}, "gold_pages: 'page 3' names no page"),
        ({"document": ["a.pdf"]}, "document: must be text"),
        ({"image": "a.png", "document": "a.pdf", "shown_pages": [1, 2]}, "shown_pages: names 2 pages for 1 images"),
    ],
)
def test_a_wrong_scope_is_named(tmp_path: Path, scope: Mapping[str, object], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read(tmp_path, {**ASKED, **scope})


def test_records_and_rows_keep_the_scope(tmp_path: Path) -> None:
    scopes: list[Mapping[str, object]] = [
        {},
        {"document": "a.pdf"},
        {"corpus": "decks", "gold_pages": []},
        {"document": "a.pdf", "gold_pages": [1, 2], "image": ["a.png"], "shown_pages": [2]},
    ]
    tasks = read(tmp_path, *({**ASKED, **scope} for scope in scopes))
    assert tuple(task_from_json(task_to_json(task)) for task in tasks) == tasks
    rows = [{**question_row(task, ["a.png"] * len(task.images)), "source": "rows"} for task in tasks]
    assert read(tmp_path, *rows) == tasks
    assert "gold_pages" not in task_to_json(tasks[0])


def test_a_record_with_a_page_that_is_none_is_broken(tmp_path: Path) -> None:
    (task,) = read(tmp_path, {**ASKED, "document": "a.pdf", "gold_pages": [1]})
    with pytest.raises(BrokenRecordError, match=r"'gold_pages\[0\]' must be a page, DOCUMENT#NUMBER, not 'a.pdf'"):
        task_from_json({**task_to_json(task), "gold_pages": ["a.pdf"]})


def test_questions_of_one_document_stay_on_one_side(tmp_path: Path) -> None:
    tasks = read(
        tmp_path,
        *({**ASKED, "id": f"{number}", "gold_pages": [f"{number % 4}.pdf#{number + 1}"]} for number in range(16)),
        *({**ASKED, "id": f"d{number}", "document": f"{number}.pdf"} for number in range(4)),
    )
    training, held_out = split_held_out(tasks, 0.5, RecipeContext())

    def documents(side: list[Task]) -> set[str]:
        return {task.document or (task.gold_pages or ())[0].document for task in side}

    assert documents(training) & documents(held_out) == set()
    assert len(training) + len(held_out) == 20
    assert without_held_out(tasks, held_out, lambda task: task, what="questions") == training
