"""Questions that are asked in training and in a test."""

from dataclasses import replace

from saccade.tasks.datasets.duplicates import Dropped, drop_duplicates
from saccade.types import ImageRef, Task

LONG = "In the figure, AB is a diameter of the circle and CD is a chord of it. What is the angle?"


def picture(name: str) -> ImageRef:
    return ImageRef(hash=name, width=8, height=8)


def task(number: int, question: str, *images: str, source: str = "geoqa", answer: str = "30") -> Task:
    return Task(
        id=f"{source}/{number}",
        family=source,
        question=question,
        answer=answer,
        answer_kind="exact",
        images=tuple(map(picture, images)),
        source=source,
    )


def ids(tasks: tuple[Task, ...]) -> list[str]:
    return [one.id for one in tasks]


def test_a_training_task_that_shows_an_image_of_the_test_is_dropped() -> None:
    train = [task(1, "How many?", "a"), task(2, "Which?", "b", "c")]
    found = drop_duplicates(train, [task(9, "Where?", "c", source="mathvista")])
    assert ids(found.train) == ["geoqa/1"]
    assert found.dropped == (
        Dropped(task_id="geoqa/2", source="geoqa", why="same image", other_id="mathvista/9", other_source="mathvista"),
    )


def test_of_several_test_tasks_the_first_is_named() -> None:
    test = [task(8, "A?", "a", source="mathvista"), task(9, "B?", "a", source="unigeo")]
    assert drop_duplicates([task(1, "C?", "a")], test).dropped[0].other_id == "mathvista/8"
    test = [task(8, LONG, "y", source="mathvista"), task(9, LONG, "z", source="unigeo")]
    assert drop_duplicates([task(1, LONG, "a")], test).dropped[0].other_id == "mathvista/8"


def test_a_long_question_with_the_same_answer_is_the_same_on_another_image() -> None:
    same = task(1, LONG.upper().replace(",", " ;"), "a")
    other_answer = task(2, LONG, "b", answer="60")
    found = drop_duplicates([same, other_answer], [task(9, LONG, "z", source="unigeo")])
    assert ids(found.train) == ["geoqa/2"]
    assert found.dropped[0].why == "same question"


def test_a_short_question_on_another_image_is_a_template() -> None:
    found = drop_duplicates(
        [task(1, "How many objects are there?", "a")], [task(9, "How many objects are there?", "z")]
    )
    assert ids(found.train) == ["geoqa/1"]


def test_long_questions_without_spaces_are_compared_too() -> None:
    long, short = "如图在圆中直径与弦互相垂直且垂足为点连接后求这个角的度数是多少", "这个几何体的主视图是什么"
    train = [task(1, long, "a"), task(2, short, "b")]
    found = drop_duplicates(train, [task(8, long, "y"), task(9, short, "z")])
    assert ids(found.train) == ["geoqa/2"]


def test_options_are_part_of_the_question() -> None:
    one = replace(task(1, LONG, "a"), choices=("10", "30"))
    other = replace(task(9, LONG, "z"), choices=("30", "40"))
    assert ids(drop_duplicates([one], [other]).train) == ["geoqa/1"]


def test_what_is_asked_twice_in_training_stays_once() -> None:
    train = [task(1, "How many?", "a"), task(2, "how  many", "a"), task(3, "How many?", "b"), task(4, "Which?", "a")]
    found = drop_duplicates(train, [])
    assert ids(found.train) == ["geoqa/1", "geoqa/3", "geoqa/4"]
    assert [(one.task_id, one.why, one.other_id) for one in found.dropped] == [("geoqa/2", "asked twice", "geoqa/1")]


def test_the_test_stays_as_it_is_and_its_repeats_are_counted() -> None:
    twice = [task(8, "How many?", "y"), task(9, "How many?", "y")]
    assert drop_duplicates([], twice).twice_in_test == 1


def test_images_may_be_compared_by_something_else_than_their_pixels() -> None:
    train, test = [task(1, "How many?", "a-small")], [task(9, "Which?", "a-large")]
    assert drop_duplicates(train, test).dropped == ()
    assert len(drop_duplicates(train, test, image_key=lambda image: image.hash[0]).dropped) == 1


def test_the_report_counts_by_set_and_reason() -> None:
    train = [task(1, "A?", "a"), task(2, "B?", "a"), task(3, LONG, "b"), task(4, "C?", "c"), task(5, "C?", "c")]
    test = [task(8, "Z?", "a", source="mathvista"), task(9, LONG, "y", source="unigeo")]
    found = drop_duplicates(train, test)
    assert found.as_json() == {
        "kept": 1,
        "dropped": 4,
        "twice_in_test": 0,
        "by": [
            {"train": "geoqa", "other": "geoqa", "why": "asked twice", "tasks": 1},
            {"train": "geoqa", "other": "mathvista", "why": "same image", "tasks": 2},
            {"train": "geoqa", "other": "unigeo", "why": "same question", "tasks": 1},
        ],
    }
    assert found.describe() == (
        "1 training tasks kept, 4 dropped\n"
        "  1 of geoqa: asked twice\n"
        "  2 of geoqa: same image as in the test of mathvista\n"
        "  1 of geoqa: same question as in the test of unigeo"
    )


def test_nothing_is_dropped_of_nothing() -> None:
    assert drop_duplicates([], []).describe() == "0 training tasks kept, 0 dropped"
