"""Retrieved pages, and gold pages among others, as the images of questions."""

from dataclasses import replace
from pathlib import Path

import pytest
from retrieval_samples import pdf_of

from saccade.errors import UserError
from saccade.geometry import Box
from saccade.media.store import MediaStore
from saccade.retrieval import PageStore, build_index, open_index, oracle_pages, retrieved_pages
from saccade.testing.color_encoder import ColorEncoder
from saccade.types import Page, SceneObject, Target, Task


@pytest.fixture
def index(tmp_path: Path) -> PageStore:
    pdf_of(tmp_path / "folder" / "a.pdf", "red", "green", "blue", "white")
    pdf_of(tmp_path / "folder" / "b.pdf", "red", "yellow", "black")
    build_index(tmp_path / "folder", ColorEncoder(), tmp_path / "index")
    return open_index(tmp_path / "index")


def asked(question: str, document: str | None = None, *gold: str, name: str = "one") -> Task:
    return Task(
        id=name,
        family="pages",
        question=question,
        answer="yes",
        answer_kind="text",
        images=(),
        document=document,
        gold_pages=tuple(Page.read(page) for page in gold),
    )


def names(task: Task) -> list[str]:
    return [str(page) for page in task.shown_pages]


def test_pages_are_looked_for_in_the_tasks_document_best_first(index: PageStore) -> None:
    media = MediaStore()
    tasks = [asked("green", "a.pdf", "a.pdf#2"), asked("yellow or red", None, "b.pdf#2")]
    found = retrieved_pages(tasks, index, ColorEncoder(), media=media)
    assert names(found[0])[0] == "a.pdf#2"
    assert {page.document for page in found[0].shown_pages} == {"a.pdf"}
    assert sorted(names(found[1])) == ["a.pdf#1", "a.pdf#4", "b.pdf#2"]  # The picture of b.pdf#1 is that of a.pdf#1.
    for task in found:
        assert len(task.images) == 3
        pictures = [index.picture(page).tobytes() for page in task.shown_pages]
        assert [media.get(image).tobytes() for image in task.images] == pictures
    assert [replace(task, images=(), shown_pages=()) for task in found] == tasks


def test_the_scope_of_the_corpus_looks_beyond_the_document_and_a_small_one_gives_fewer_pages(index: PageStore) -> None:
    (wide,) = retrieved_pages([asked("red", "b.pdf")], index, ColorEncoder(), 2, media=MediaStore(), scope="corpus")
    assert names(wide) == ["a.pdf#1", "b.pdf#2"]  # b.pdf#1 has the picture of a.pdf#1.
    (all_of_it,) = retrieved_pages([asked("red", "b.pdf")], index, ColorEncoder(), 9, media=MediaStore())
    assert len(all_of_it.images) == 3


def test_a_task_whose_gold_page_was_not_found_stays_and_says_so(index: PageStore) -> None:
    task = asked("green", "a.pdf", "a.pdf#2", "a.pdf#3")
    assert task.missing_pages == (Page.read("a.pdf#2"), Page.read("a.pdf#3"))
    (found,) = retrieved_pages([task], index, ColorEncoder(), 1, media=MediaStore())
    assert names(found) == ["a.pdf#2"]
    assert found.missing_pages == (Page.read("a.pdf#3"),)
    assert asked("?").missing_pages == ()


def test_targets_go_along_with_their_page(index: PageStore) -> None:
    box = Box(1, 2, 30, 40)
    drawn = replace(
        asked("blue", "a.pdf", "a.pdf#3"),
        shown_pages=tuple(index.pages("a.pdf")),
        targets=tuple(Target(label=name, box=box, point=box.center, image_index=place) for name, place in (("b", 2),)),
        objects=tuple(SceneObject(name=name, box=box, image_index=place) for place, name in enumerate("rgbw")),
    )
    (found,) = retrieved_pages([drawn], index, ColorEncoder(), 2, media=MediaStore())
    shown = {name: place for place, name in enumerate(names(found))}
    assert [(one.label, one.image_index) for one in found.targets] == [("b", shown["a.pdf#3"])]
    numbers = dict(zip("rgbw", range(1, 5)))
    assert len(found.objects) == 2
    assert all(shown[f"a.pdf#{numbers[one.name]}"] == one.image_index for one in found.objects)


def test_gold_pages_stand_among_drawn_ones_in_an_order_of_the_seed(index: PageStore) -> None:
    tasks = [asked("?", "a.pdf", "a.pdf#3", name=str(number)) for number in range(20)]
    alone = oracle_pages(tasks, index, media=MediaStore())
    assert [names(task) for task in alone] == [["a.pdf#3"]] * 20
    among = oracle_pages(tasks, index, media=MediaStore(), distractors=2, seed=1)
    assert among == oracle_pages(tasks, index, media=MediaStore(), distractors=2, seed=1)
    assert {names(task).index("a.pdf#3") for task in among} == {0, 1, 2}
    assert all(len(set(task.shown_pages)) == 3 and not task.missing_pages for task in among)
    assert {page.document for task in among for page in task.shown_pages} == {"a.pdf"}
    wide = oracle_pages(tasks, index, media=MediaStore(), distractors=9, scope="corpus")
    assert all(len(set(task.shown_pages)) == 7 for task in wide)


def test_a_question_without_an_answer_is_shown_other_pages(index: PageStore) -> None:
    (task,) = oracle_pages([asked("?", "b.pdf")], index, media=MediaStore(), distractors=2)
    assert len(task.images) == 2
    with pytest.raises(UserError, match="task one has no gold page"):
        oracle_pages([asked("?", "b.pdf")], index, media=MediaStore())


def test_what_the_index_does_not_have_is_named(index: PageStore) -> None:
    with pytest.raises(
        UserError,
        match=r"1 tasks ask about documents that are not in the index.* Task one: the index has no document 'c.pdf'",
    ):
        retrieved_pages([asked("?", "c.pdf")], index, ColorEncoder(), media=MediaStore())
    with pytest.raises(UserError, match="was made by the encoder colors:4, not by colors:2"):
        retrieved_pages([asked("?")], index, ColorEncoder(grid=2), media=MediaStore())
    unknown = replace(asked("?", name="two"), gold_pages=None)
    with pytest.raises(UserError, match=r"of 2 tasks are not in the index: two \(not known\), one \(a.pdf#9\)"):
        oracle_pages([asked("?", "a.pdf", "a.pdf#9"), unknown], index, media=MediaStore())
