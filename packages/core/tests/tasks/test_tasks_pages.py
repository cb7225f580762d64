"""Drawn documents: their heads, the questions on their pages, and what is known of the answers."""

from collections import Counter

import numpy as np
import pytest

from saccade.gym.drawn import PAGE_FAMILIES
from saccade.gym.drawn.pages import HEAD_BOX, PAGES, draw_page_cross, drawn_document, mark_side
from saccade.gym.drawn.plates import MARKS
from saccade.media.store import MediaStore
from saccade.tasks.drawing import COLOURS
from saccade.tasks.procedural import generate, split_of
from saccade.types import Task

every_family = pytest.mark.parametrize("family", list(PAGE_FAMILIES))


def task_of(family: str, index: int, media: MediaStore, difficulty: float = 0.5) -> Task:
    return generate(family, split="train", index=index, seed=5, media=media, difficulty=difficulty).task


def test_pages_come_in_pairs_of_turned_heads_with_plates_of_the_same_colours() -> None:
    document = drawn_document(np.random.default_rng(3))
    by_head = {page.head: page for page in document.pages}
    assert len(by_head) == len(document.pages) == PAGES
    for (one, other), page in by_head.items():
        turned = by_head[other, one]
        assert [plate.colour for plate in page.plates] == [plate.colour for plate in turned.plates]
    assert len(drawn_document(np.random.default_rng(3), pages=4).pages) == 4


@every_family
def test_targets_are_on_pages_whose_heads_the_question_names(family: str) -> None:
    media = MediaStore()
    for index in range(12):
        task = task_of(family, index, media)
        assert len(task.images) == PAGES
        heads = {one.image_index: one.attributes["colours"] for one in task.objects if one.name == "head"}
        marks = {(one.image_index, one.box): one for one in task.objects}
        seen = [marks[target.image_index, target.box] for target in task.targets]
        assert task.answer == " and ".join(one.attributes["mark"] for one in seen)
        for target, one in zip(task.targets, seen):
            first, second = heads[target.image_index].split()
            assert f"headed {first} and {second}" in task.question
            assert f"{one.name} plate" in task.question
        pages = {target.image_index for target in task.targets}
        assert len(pages) == (2 if family == "page_cross" else 1)
        assert len(task.targets) == (1 if family == "page_mark" else 2)


def test_a_page_shows_what_is_said_of_it() -> None:
    media = MediaStore()
    for index, difficulty in enumerate((0.0, 0.5, 1.0)):
        task = task_of("page_mark", index, media, difficulty)
        for one in task.objects:
            pixels = np.asarray(media.get(task.images[one.image_index]))
            x, y = (int(side) for side in (one.box.center.x, one.box.center.y))
            if one.name == "head":
                halves = [tuple(pixels[y, int(HEAD_BOX.x1) + at]) for at in (32, 96)]
                assert halves == [COLOURS[name] for name in one.attributes["colours"].split()]
                continue
            side = mark_side(difficulty)
            box = pixels[int(one.box.y1) : int(one.box.y2), int(one.box.x1) : int(one.box.x2)]
            is_mark = (box == MARKS[one.attributes["mark"]]).all(axis=2)
            assert tuple(pixels[y, x]) == MARKS[one.attributes["mark"]]
            assert is_mark.sum() == side**2
            assert tuple(box[1, 1]) == COLOURS[one.name]
    assert [mark_side(knob) for knob in (0.0, 0.5, 1.0)] == [32, 28, 6]


def test_documents_of_one_code_are_in_one_split() -> None:
    rng = np.random.default_rng(0)
    splits = Counter(split_of(draw_page_cross(rng, 0.5)) for _ in range(160))
    assert min(splits[name] for name in ("train", "validation", "held_out")) > 5
    one, other = draw_page_cross(np.random.default_rng(1), 0.5), draw_page_cross(np.random.default_rng(2), 0.0)
    assert one.split_key != other.split_key
    assert len(one.split_key.decode().split()) == 5
