"""Each data set's metric, and the wrong answers that a published gym for these sets lets through."""

from dataclasses import replace

import pytest

from saccade.rewards.answers.metrics_by_set import (
    answer_is_right,
    credit,
    rounds_to,
    same_range,
    same_words_in_list,
    value_choice,
)
from saccade.types import AnswerKind, Task

PLAIN = Task(id="t", family="f", question="?", answer="", answer_kind="exact", images=())


def task(source: str, answer: str, kind: AnswerKind = "exact", *, accepted: tuple[str, ...] = (), **rest) -> Task:
    return replace(PLAIN, metric=source, answer=answer, answer_kind=kind, accepted=accepted, **rest)


def options(source: str, answer: str, *choices: str) -> Task:
    return task(source, answer, "choice", choices=choices)


def right(one: Task, *answers: str) -> list[bool]:
    return [answer_is_right(one, answer) for answer in answers]


# Substrings, in every set


@pytest.mark.parametrize(
    ("source", "gold", "answer"),
    [
        ("chartqa", "100", "1000"),
        ("chartqa", "1", "the answer is near 1"),
        ("plotqa", "12", "112"),
        ("docvqa", "ITC Limited", "the company is called ITC Limited and it sells tobacco products"),
        ("infographicvqa", "5", "50%"),
        ("vizwiz", "dog", "dog food"),
        ("aokvqa-direct", "cab", "a cabbage"),
        ("figureqa", "no", "not sure"),
        ("clevr", "red", "the red cube"),
        ("clevr-math", "4", "44"),
        ("mapqa", "Texas", "Texas and Ohio"),
        ("geometry3k", "16", "16.02"),
        ("geoqa", "15", "115"),
        ("unigeo", "6", "16"),
        ("mathvision", "2", "12"),
        ("mathv360k", "A", "ABC"),
        ("tabmwp", "no", "none"),
        ("iconqa", "3", "13"),
        ("mathvista", "1.2", "11.2"),
        ("thinkvl", "blue", "the blue one"),
        ("somebody's own", "red", "a red car"),
    ],
)
def test_an_answer_that_only_holds_the_right_one_is_wrong(source: str, gold: str, answer: str) -> None:
    assert not answer_is_right(task(source, gold, accepted=(gold,) * 3), answer)


def test_something_long_is_not_right_where_there_is_nothing_to_compare_with() -> None:
    assert not answer_is_right(task("chartqa", ""), "more than ten characters")


def test_no_answer_is_wrong() -> None:
    assert (credit(task("chartqa", "1"), None), answer_is_right(task("docvqa", "1"), None)) == (0.0, False)


# Charts


def test_chart_numbers_are_right_within_five_percent_and_not_within_ten() -> None:
    one = task("chartqa", "100", "number", tolerance=0.05)
    assert right(one, "100", "95", "105", "94.9", "109", "100%") == [True, True, True, False, False, True]


def test_scales_and_letters_of_chart_numbers_are_read_whole() -> None:
    one = task("chartqa", "3200000")
    assert right(one, "3.2 million", "3.2M", "1,000,000", "3.2 km") == [True, True, False, False]
    assert right(task("chartqa", "12"), "12 bananas", "12 b", "12 million bananas") == [True, False, False]


def test_years_of_charts_are_exact_and_words_too() -> None:
    assert right(task("chartqa", "2010"), "2010", "2012") == [True, False]
    assert right(task("chartqa", "2010", "integer"), "2010", "2012") == [True, False]
    assert right(task("chartqa", "Ireland"), "ireland", "Iceland") == [True, False]


def test_years_are_relaxed_where_the_task_says_so() -> None:
    assert right(task("chartqa", "2010", "number", tolerance=0.05), "1990", "1800") == [True, False]


def test_small_whole_numbers_of_plots_are_not_right_within_a_half() -> None:
    assert right(task("plotqa", "3"), "3", "3.1", "3.4", "values 1, 2 and 3") == [True, True, False, False]


# Documents


def test_documents_are_worth_their_similarity_to_the_best_spelling() -> None:
    one = task("docvqa", "hello", "text", accepted=("hello", "helloo"))
    assert credit(one, "Helo") == pytest.approx(0.8)
    assert credit(one, "hellooo") == pytest.approx(1 - 1 / 7)
    assert credit(one, "no") == 0.0


def test_a_document_answer_counts_as_right_only_when_it_is_nearly_the_same() -> None:
    male = task("infographicvqa", "female", "text", accepted=("female",))
    assert (credit(male, "male"), answer_is_right(male, "male")) == (pytest.approx(2 / 3), False)
    date = task("docvqa", "12 May 1998", "text", accepted=("12 May 1998", "May 12, 1998"))
    assert right(date, "12 may 1998", "may 12 1998", "12 May 1999") == [True, True, False]


# Annotators


def test_photos_are_worth_what_annotators_agree_on() -> None:
    one = task("vizwiz", "yes", accepted=("yes",) * 2 + ("no",) * 7 + ("unanswerable",))
    # Each annotator left out in turn: 8 others see both, min(1, 2/3); the 2 who said it see one, 1/3.
    assert credit(one, "Yes") == pytest.approx((8 * 2 / 3 + 2 / 3) / 10)
    # One of ten: the 9 others see one match, 1/3; the one sees none.
    assert credit(one, "unanswerable") == pytest.approx(0.3)
    assert right(one, "no", "yes", "unanswerable", "maybe") == [True, True, False, False]


def test_direct_answers_leave_out_articles_and_know_number_words() -> None:
    one = task("aokvqa-direct", "2", accepted=("two", "2", "two", "2", "the two"))
    assert credit(one, "the two") == 1.0


# Yes and no, words and counts


def test_yes_and_no_are_the_words_alone() -> None:
    assert right(task("figureqa", "yes"), "Yes.", "YES", "yes, it is", "no", "1") == [True, True, True, False, False]
    assert right(task("figureqa", "yes"), "yes, it is not", "yes and no", "yes or no") == [False, False, False]


def test_counts_may_be_words() -> None:
    assert right(task("clevr-math", "3", "integer"), "3", "three", "3.0", "2.6", "four") == [
        True,
        True,
        True,
        False,
        False,
    ]
    assert right(task("clevr", "metal"), "Metal", "rubber") == [True, False]


# Maps


def test_maps_are_right_by_word_range_or_list_in_any_order() -> None:
    assert right(task("mapqa", "170,181-226,171"), "170181 – 226171", "170,181 to 226,171", "170181") == [
        True,
        True,
        False,
    ]
    states = task("mapqa", "Ohio, Texas, Utah")
    assert right(states, "Utah, Ohio and Texas", "ohio; texas; utah", "Ohio, Texas", "Ohio") == [
        True,
        True,
        False,
        False,
    ]
    assert right(task("mapqa", "Yes"), "yes", "no") == [True, False]


def test_lists_and_ranges_of_nothing_are_not_the_same() -> None:
    assert not same_words_in_list("", "")
    assert not same_range("", "")


# Options


def test_an_option_is_the_letter_that_is_meant_and_not_the_first_one_in_the_text() -> None:
    one = options("geoqa", "B", "15°", "30°", "45°", "60°")
    assert right(one, "THE ANSWER IS B", "B", "(b)", "A", "THE ANSWER IS A") == [True, True, True, False, False]


def test_an_option_may_be_named_by_its_value_in_mathematics() -> None:
    one = options("unigeo", "D", "15°", "30°", "45°", "60°")
    assert right(one, "60", "60°", "60.0", "d", "4", "45") == [True, True, True, True, False, False]
    assert value_choice(r"\frac{\sqrt{3}}{2}", "A", ["√3/2", "1/2"])
    assert not value_choice("60", "A", ["60°", "60 cm"]), "two options have this value"


def test_an_option_is_not_named_by_its_index() -> None:
    one = options("aokvqa", "D", "skateboarder", "train", "delivery", "cab")
    assert right(one, "D", "cab", "3", "4", "a cab") == [True, True, False, False, False]
    assert right(options("ai2d", "A", "ears", "nose"), "A", "0", "1") == [True, False, False]


def test_options_of_pictures_and_science_are_named_by_letter_or_text() -> None:
    assert right(options("scienceqa", "B", "solid", "liquid"), "B. liquid", "liquid", "A. liquid") == [
        True,
        True,
        False,
    ]
    assert right(options("iconqa", "A", "image 2", "image 3"), "image 2", "A", "2") == [True, True, False]


# Mathematics


@pytest.mark.parametrize("source", ["geometry3k", "geoqa", "unigeo", "mathvision", "mathv360k", "tabmwp", "iconqa"])
def test_mathematics_is_the_same_value_in_any_spelling(source: str) -> None:
    assert right(task(source, r"10\sqrt{3}"), "10√3", "17.3205081", "17", "10") == [True, True, False, False]
    assert right(task(source, "1/2"), "0.5", r"\frac{1}{2}", "0.505") == [True, True, False]
    assert right(task(source, "60"), "60°", "60.4", "59.6") == [True, False, False]


def test_one_percent_is_not_close_enough_for_tables() -> None:
    assert right(task("tabmwp", "1,000", "integer"), "1000", "$1,000", "1005", "1010") == [True, True, False, False]
    assert right(task("tabmwp", "Monday"), "monday", "Sunday") == [True, False]


def test_rounded_answers_are_held_to_the_decimals_that_they_have() -> None:
    assert [rounds_to(given, "1.2") for given in ("1.2", "1.24", "1.15", "1.26", "1.1", "6/5")] == [
        True,
        True,
        True,
        False,
        False,
        True,
    ]
    one = task("mathvista", "1000", "integer")
    assert right(one, "1000", "1,000", "1000.4", "950", "1000 g") == [True, True, False, False, True]


def test_lists_of_mathvista_are_the_same_list() -> None:
    assert right(task("mathvista", "[2000, 2005]"), "[2000,2005]", "[2005, 2000]", "2000") == [True, False, False]


def test_other_sets_are_counted_by_the_kind_of_their_answer() -> None:
    assert right(task("mine", "5", "number", tolerance=0.1), "5.4", "5.6") == [True, False]


def test_endless_answers_are_wrong_without_being_read() -> None:
    assert credit(task("mapqa", "Ohio"), "Ohio, " * 100_000) == 0.0
