"""Data sets on documents: pages from their own base, buckets, metrics, and what is wrong in them."""

import json
from pathlib import Path

import pytest
from document_releases import (
    fetatab,
    json_lines,
    lang2act,
    mmlongbench,
    opendocvqa,
    papertab,
    slide,
    slidevqa,
    slidevqa_hub,
    vidoseek,
)

from saccade.errors import UserError
from saccade.media.store import MediaStore
from saccade.rewards.answers.metrics_by_set import answer_is_right, credit
from saccade.rewards.answers.spans import slide_words, span_f1
from saccade.tasks.datasets import drop_duplicates, read_data_set
from saccade.types import Page, Task


def read(name: str, root: Path, split: str = "test") -> tuple[Task, ...]:
    return read_data_set(name, root, split=split, media=MediaStore()).tasks


def gold(task: Task) -> list[str] | None:
    return None if task.gold_pages is None else [str(page) for page in task.gold_pages]


def test_slidevqa_counts_slides_from_1(tmp_path: Path) -> None:
    one, several = read("slidevqa", slidevqa(tmp_path), "validation")
    deck = "growth-of-teashops-95"
    assert (one.id, one.document, one.images) == ("slidevqa/validation/11", deck, ())
    assert (gold(one), gold(several)) == ([f"{deck}#7"], [f"{deck}#3", f"{deck}#20"])
    assert one.buckets == ("single page", "Single-Hop", "Single-Span")
    assert several.buckets == ("multiple pages", "Multi-Hop", "Single-Span")
    assert [answer_is_right(one, said) for said in ("12", "Twelve.", "120", "twelve shops")] == [
        True,
        True,
        False,
        False,
    ]
    assert credit(several, "York and Leeds") == pytest.approx(0.5)


def test_slidevqa_of_the_hub_shows_its_deck(tmp_path: Path) -> None:
    (task,) = read("slidevqa", slidevqa_hub(tmp_path))
    assert len(task.images) == 20
    assert [str(page).rpartition("#")[2] for page in task.shown_pages] == [str(number) for number in range(1, 21)]
    assert task.missing_pages == ()
    (red,) = {image.hash for image in task.images[6:7]}
    assert [image.hash for image in task.images].count(red) == 1


def test_vidoseek_is_asked_of_the_corpus(tmp_path: Path) -> None:
    (task,) = read("vidoseek", vidoseek(tmp_path))
    assert (task.corpus, task.document) == ("vidoseek", None)
    assert gold(task) == ["Brewing_of_Tea.pdf#10", "Brewing_of_Tea.pdf#11"]
    assert task.buckets == ("multiple pages", "Multi-Hop", "Text")


def test_mmlongbench_tells_questions_without_an_answer_apart(tmp_path: Path) -> None:
    tasks = {task.question: task for task in read("mmlongbench-doc", mmlongbench(tmp_path))}
    document = "TEA_2016.06.08_Report.pdf"
    assert {task.document for task in tasks.values()} == {document}
    assert [(task.answer_kind, task.buckets) for task in tasks.values()] == [
        ("text", ("single page", "Chart")),
        ("integer", ("multiple pages", "Chart", "Layout")),
        ("number", ("multiple pages", "Text")),
        ("text", ("single page", "Table")),
        ("text", ("single page", "Figure")),
        ("exact", ("unanswerable",)),
        ("integer", ("multiple pages",)),
        ("text", ("single page", "Table")),
    ]
    assert gold(tasks["Which share drinks tea?"]) == [f"{document}#3", f"{document}#5"]
    assert gold(tasks["Which logo is on the cover?"]) == [f"{document}#1"]
    assert gold(tasks["How many coffees on page 9?"]) == []
    assert gold(tasks["How many horses are shown?"]) is None


@pytest.mark.parametrize(
    ("question", "right", "wrong"),
    [
        ("Which share drinks tea?", ["18.29%", "0.1829", "18.3 %"], ["19%", "1829"]),
        ("How many charts are there?", ["6", "six"], ["6.4", "7"]),
        ("Which teas are named?", ["Earl Grey, Assam", "['Assam', 'Earl Grey']"], ["Assam", "Assam, Earl Grey, Milk"]),
        ("How many coffees on page 9?", ["Not answerable", "unanswerable."], ["0", "Answerable"]),
        ("Who drinks most tea?", ["the retired"], ["retired", "The tailors"]),
    ],
)
def test_mmlongbench_grades_by_the_format_of_the_answer(
    question: str, right: list[str], wrong: list[str], tmp_path: Path
) -> None:
    task = next(task for task in read("mmlongbench-doc", mmlongbench(tmp_path)) if task.question == question)
    assert [answer_is_right(task, said) for said in [*right, *wrong]] == [True] * len(right) + [False] * len(wrong)


def test_opendocvqa_has_a_document_for_each_page(tmp_path: Path) -> None:
    (task,) = read("opendocvqa", opendocvqa(tmp_path))
    assert (task.question, task.accepted) == ("What is brewed in 2017?", ("green tea", "tea"))
    assert gold(task) == ["deck-95_7#1", "deck-95_9#1"]


def test_tables_of_articles_and_papers_have_a_document_and_no_pages(tmp_path: Path) -> None:
    (feta,) = read("fetatab", fetatab(tmp_path))
    assert (feta.document, feta.gold_pages, feta.missing_pages) == ("Tea (drink).pdf", None, ())
    assert feta.question == 'When was "tea" first sold?'
    paper, yes = read("papertab", papertab(tmp_path))
    assert (paper.document, paper.accepted) == ("1912.01214.pdf", ("Assam, Ceylon", "Ceylon and Assam"))
    assert (yes.accepted, yes.buckets) == ((), ("yes or no",))
    assert answer_is_right(yes, "Yes, it is.")
    assert not answer_is_right(yes, "No, it is not.")
    assert credit(feta, "In London tea was sold") == pytest.approx(10 / 12)
    # Words of the question are words of the answer: the credit of a set is no reward.
    assert not answer_is_right(feta, feta.question)


def test_lang2acts_files_bring_the_retrieved_pages(tmp_path: Path) -> None:
    media = MediaStore()
    found, unanswerable = read_data_set("lang2act", lang2act(tmp_path), split="test", media=media).tasks
    assert [str(page) for page in found.shown_pages] == ["img/Tea_9.jpg#1", "img/Tea_10.jpg#1", "img/Milk_1.jpg#1"]
    colours = [media.get(image).getpixel((5, 5)) for image in found.images]
    assert colours == [(255, 0, 0), (0, 128, 0), (255, 255, 255)]
    assert found.missing_pages == (Page(document="img/Tea_11.jpg", number=1),)
    assert found.buckets == ("multiple pages", "multi-hop")
    # The same path is another picture for another question.
    assert media.get(unanswerable.images[0]).getpixel((5, 5)) == (0, 0, 255)
    assert (unanswerable.id, unanswerable.buckets) == ("lang2act/test/7", ("unanswerable",))
    assert unanswerable.gold_pages == ()


def test_lang2acts_files_without_a_picture_are_named(tmp_path: Path) -> None:
    root = lang2act(tmp_path)
    rows = [json.loads(line) for line in (root / "top3_test.jsonl").read_text().splitlines()]
    rows[0]["top3_image_paths"][0] = "img/Lost.jpg"
    json_lines(root / "top3_test.jsonl", rows)
    with pytest.raises(UserError, match=r"row 1: top3_image_paths: 'img/Lost.jpg' of the question '04d8_2' is not in"):
        read("lang2act", root)
    (root / "images.parquet").unlink()
    with pytest.raises(UserError, match=r"images.parquet: the pictures of these questions cannot be read"):
        read("lang2act", root)


@pytest.mark.parametrize("pages", [[0], ["7"], [7.5], [True], "seven"])
def test_a_page_that_is_no_number_is_a_broken_row(pages: list[object], tmp_path: Path) -> None:
    json_lines(tmp_path / "test.jsonl", [{**slide(1, "?", "x", [1]), "evidence_pages": pages}])
    with pytest.raises(UserError, match="row 1: evidence_pages:"):
        read("slidevqa", tmp_path)


def test_the_same_question_of_two_documents_is_no_duplicate(tmp_path: Path) -> None:
    rows = [{**slide(number, "What is the title?", "Tea", [1]), "deck_name": f"deck {number}"} for number in (1, 2)]
    json_lines(tmp_path / "test.jsonl", rows)
    tasks = read("slidevqa", tmp_path)
    assert len(drop_duplicates(tasks, ()).train) == 2


def test_words_are_compared_by_the_sets_rules() -> None:
    assert span_f1("The cat sat.", "a cat, sat down") == pytest.approx(0.8)
    assert span_f1("", "cat") == 0.0
    assert slide_words("Five percent of the shops", "How many shops are 5.4?") == ["5", "of"]
    assert slide_words("$5.4m", "?") != slide_words("54m", "?")
