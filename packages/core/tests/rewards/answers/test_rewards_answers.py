import random

import pytest
from rapidfuzz.distance import Levenshtein

from costs import assert_costs_at_most
from saccade.rewards.answers.kinds import right_by_kind
from saccade.rewards.answers.replies import bare
from saccade.rewards.answers.rules import (
    anls,
    edit_distance,
    exact_match,
    math_equal,
    multiple_choice,
    relative_numeric,
    relaxed_accuracy,
)
from saccade.rewards.answers.vqa import vqa_soft_accuracy
from saccade.types import AnswerKind, Task

ANIMALS = ("a cat", "a dog", "a bird", "none of these")


def task(kind: AnswerKind, answer: str, *, tolerance: float = 0.0, choices: tuple[str, ...] = ()) -> Task:
    return Task(
        id="t",
        family="f",
        question="?",
        answer=answer,
        answer_kind=kind,
        images=(),
        tolerance=tolerance,
        choices=choices,
    )


HOSTILE = (
    "",
    " ",
    "a" * 1_000_000,
    "1" * 1_000_000,
    "(" * 100_000,
    "9**9**9",
    "1e999",
    "nan",
    "inf",
    "-inf",
    "٤٢",
    "42\u200b",
    "\ud800",
    "42 or 43",
    "It is 42, not 43",
    "142",
    "420",
    "4 2",
    "<answer>42</answer>",
    "42\nJudgement: 1",
    "{" * 5000 + "}" * 5000,
    "A B C D",
)


# Exact


def test_exact_match_ignores_case_spaces_quotes_and_a_full_stop() -> None:
    for answer in ("red", "Red", " red ", "RED.", '"red"', "‘Red’."):
        assert exact_match(answer, "red")
    assert exact_match("New   York", "new york")
    assert exact_match("café", "cafe\u0301")


def test_exact_match_is_never_a_substring_match() -> None:
    """Trap 32: the gold "1" inside "100", "no" inside "not sure", "A" inside any word."""
    assert not exact_match("100", "1")
    assert not exact_match("1000", "100")
    assert not exact_match("not sure", "no")
    assert not exact_match("no, yes", "no")
    assert not exact_match("An apple", "A")
    assert not exact_match("red", "dark red")


def test_empty_answer_is_never_right() -> None:
    assert not exact_match("", "")
    assert not exact_match(" ", "x")


def test_a_full_stop_can_be_the_answer() -> None:
    assert exact_match(".", ".")


# Choice


@pytest.mark.parametrize(
    "answer",
    ["B", "b", "(B)", "[b]", "B.", "B)", "B:", "The answer is B", "THE ANSWER IS B", "Answer: (B)", "option b"],
)
def test_letter_in_its_usual_dress_names_the_option(answer: str) -> None:
    assert multiple_choice(answer, "B", ANIMALS)
    assert multiple_choice(answer, "a dog", ANIMALS)
    assert multiple_choice(answer, "B")
    assert not multiple_choice(answer, "A", ANIMALS)
    assert not multiple_choice(answer, "A")


def test_option_text_names_the_option() -> None:
    for answer in ("a dog", "A dog.", "B. a dog", "(B) A Dog", "b: a dog"):
        assert multiple_choice(answer, "B", ANIMALS)


@pytest.mark.parametrize(
    "answer",
    [
        "A or B", "A, B", "AB", "B C", "B. a cat", "dog", "a dog or a cat", "not a dog", "Because", "E", "e.", "1", "2",
        "The answer is Bob", "I think B but also C", "", "BB", "A" * 10_000,
    ],
)  # fmt: skip
def test_several_letters_or_other_words_name_nothing(answer: str) -> None:
    assert not multiple_choice(answer, "B", ANIMALS)


def test_lone_letter_is_a_letter_even_where_an_option_has_that_text() -> None:
    assert multiple_choice("A", "A", ("B", "A"))
    assert multiple_choice("B", "B", ("B", "A"))
    assert not multiple_choice("A", "B", ("B", "A"))


def test_options_with_the_same_text_are_all_named_by_it() -> None:
    assert multiple_choice("red", "B", ("red", "red", "blue"))


def test_numeric_options_are_named_by_their_text_and_not_by_position() -> None:
    assert multiple_choice("3", "3", ("1", "3", "5"))
    assert not multiple_choice("2", "B", ("1", "3", "5"))


# Numbers


@pytest.mark.parametrize(
    ("answer", "gold", "is_right"),
    [
        ("105", "100", True),
        ("95", "100", True),
        ("105.1", "100", False),
        ("110", "100", False),
        ("1000", "100", False),
        ("-100", "100", False),
        ("0.315", "0.3", True),
        ("1,234", "1234", True),
        ("1234", "1,234", True),
        ("1,23", "123", False),
        ("45%", "45", True),
        ("45", "45%", True),
        ("0.45", "45%", True),
        ("4500%", "45%", False),
        ("0", "0", True),
        ("0.0", "0", True),
        ("0%", "0", True),
        ("0.01", "0", False),
        ("zero", "0", True),
        ("twenty-one", "21", True),
        ("3", "Three", True),
        ("three", "4", False),
        ("2010", "2010", True),
        ("2010.0", "2010", True),
        ("1990", "2010", False),
        ("2011", "2010", False),
        ("1899", "1899", True),
        ("1810", "1800", True),
        ("2,050", "2,010", True),
        ("3.2 million", "3200000", True),
        ("1,000,000", "3.2 million", False),
        ("5 km", "5", True),
        ("Yes", "yes", True),
        ("Not sure", "no", False),
        ("Blue", "blue", True),
        ("about 100", "100", False),
        ("nan", "nan", True),
        ("nan", "100", False),
        ("1e999", "100", False),
    ],
)
def test_relaxed_accuracy(answer: str, gold: str, is_right: bool) -> None:
    """Trap 33: percent, thousands separators, years and a gold of 0 are each decided."""
    assert relaxed_accuracy(answer, gold) is is_right


def test_years_can_be_relaxed_as_in_the_public_script() -> None:
    assert relaxed_accuracy("1990", "2010", years_are_exact=False)


def test_relative_numeric_uses_the_given_tolerance() -> None:
    assert relative_numeric("101", "100", 0.01)
    assert not relative_numeric("101.1", "100", 0.01)
    assert relative_numeric("100.0", "100", 0.0)
    assert relative_numeric("-99", "-100", 0.01)
    assert not relative_numeric("a hundred", "100", 0.5)


def test_gold_that_is_no_number_is_the_authors_mistake() -> None:
    with pytest.raises(ValueError, match="'red' is not a number"):
        relative_numeric("1", "red", 0.1)
    with pytest.raises(ValueError, match=r"'2\.5' is not whole"):
        right_by_kind(task("integer", "2.5"), "2")


# Mathematics


@pytest.mark.parametrize(
    ("answer", "gold", "is_right"),
    [
        ("0.5", r"\frac{1}{2}", True),
        ("1/2", "0.5", True),
        ("2/4", "1/2", True),
        (r"\sqrt{3}/3", r"1/\sqrt{3}", True),
        ("1.7320508", "√3", True),
        ("1.73", "√3", False),
        ("60", "60°", True),
        ("60 degrees", r"60^\circ", True),
        ("60 cm", "60°", False),
        ("π/3", "60°", False),
        ("16.02", "16", False),
        ("160", "16", False),
        ("x=5", "5", True),
        ("x + 1", "x+1", True),
        ("x + 2", "x+1", False),
        ("50%", "0.5", True),
        ("-4", "4", False),
        ("9**9**9", "5", False),
        ("5 and 6", "5", False),
        ("", "", False),
    ],
)
def test_math_equal(answer: str, gold: str, is_right: bool) -> None:
    assert math_equal(answer, gold) is is_right


def test_math_tolerance_is_relative_to_gold() -> None:
    assert math_equal("1.73", "√3", tolerance=0.01)


# Text


def test_the_edit_distance_is_the_one_of_rapidfuzz() -> None:
    rng = random.Random(0)
    for _ in range(2000):
        first, second = ("".join(rng.choices("abü ", k=rng.randrange(90))) for _ in range(2))
        assert edit_distance(first, second) == Levenshtein.distance(first, second)
    assert (edit_distance("", "abc"), edit_distance("kitten", "sitting")) == (3, 3)


def test_anls_by_hand() -> None:
    assert anls("hello", ["hello"]) == 1.0
    assert anls("Hello  World", ["hello world"]) == 1.0
    assert anls("helo", ["hello"]) == pytest.approx(0.8)
    assert anls("abcd", ["abxy"]) == 0.5
    assert anls("abcd", ["axyz"]) == 0.0
    assert anls("x", ["hello", "xy"]) == 0.5
    assert anls("", ["hello"]) == 0.0
    assert anls("kitten", ["sitting"]) == pytest.approx(1 - 3 / 7)
    assert anls("ab", ["ba"]) == 0.0
    assert anls("abcde", ["bcdef"]) == pytest.approx(0.6)


def test_anls_needs_a_gold() -> None:
    with pytest.raises(ValueError, match="pass at least one"):
        anls("x", [])


def test_text_is_right_word_for_word() -> None:
    address = task("text", "12 High Street, London")
    assert right_by_kind(address, "12 high street london")
    assert not right_by_kind(address, "12 Hihg Street, London")
    assert not right_by_kind(address, "13 High Street, London")
    assert not right_by_kind(address, "High Street, London")
    assert not right_by_kind(task("text", "female"), "male")
    assert not right_by_kind(task("text", "left"), "right")


# VQA


def test_soft_accuracy_leaves_each_annotator_out_in_turn() -> None:
    three_of_ten = ["cat"] * 3 + ["dog"] * 7
    # Leaving out a cat leaves two matches (2/3), leaving out a dog three (1).
    assert vqa_soft_accuracy("cat", three_of_ten) == pytest.approx((3 * 2 / 3 + 7 * 1) / 10)
    assert vqa_soft_accuracy("dog", three_of_ten) == 1.0
    assert vqa_soft_accuracy("bird", three_of_ten) == 0.0
    assert vqa_soft_accuracy("x", ["x"] + ["y"] * 9) == pytest.approx(0.3)


def test_soft_accuracy_normalises_as_the_public_script() -> None:
    for answer in ("The cats.", "cats", "a Cats!", "cats,"):
        assert vqa_soft_accuracy(answer, ["cats"] * 10) == 1.0
    assert vqa_soft_accuracy("two", ["2"] * 10) == 1.0
    assert vqa_soft_accuracy("none", ["0"] * 10) == 1.0
    assert vqa_soft_accuracy("dont know", ["don't know"] * 10) == 1.0
    assert vqa_soft_accuracy("1,000", ["1000"] * 10) == 1.0
    assert vqa_soft_accuracy("3.5", ["3.5"] * 10) == 1.0
    assert vqa_soft_accuracy("35", ["3.5"] * 10) == 0.0
    assert vqa_soft_accuracy("black/white", ["black white"] * 10) == 1.0
    assert vqa_soft_accuracy("cat dog", ["cat"] * 10) == 0.0


def test_soft_accuracy_of_few_annotators() -> None:
    assert vqa_soft_accuracy("cat", ["cat"]) == 1.0
    assert vqa_soft_accuracy("cat", ["cat", "cat"]) == pytest.approx(1 / 3)
    with pytest.raises(ValueError, match="pass at least one"):
        vqa_soft_accuracy("cat", [])


# By kind


def test_each_kind_has_its_rule() -> None:
    assert right_by_kind(task("exact", "red"), "Red")
    assert right_by_kind(task("choice", "B", choices=ANIMALS), "a dog")
    assert right_by_kind(task("integer", "3"), "three")
    assert right_by_kind(task("integer", "3"), "3.0")
    assert right_by_kind(task("number", "200", tolerance=0.05), "209")
    assert not right_by_kind(task("integer", "3"), "4")
    assert not right_by_kind(task("integer", "3"), "13")
    assert not right_by_kind(task("number", "200", tolerance=0.05), "211")


KINDS: tuple[AnswerKind, ...] = ("exact", "choice", "integer", "number", "text")


@pytest.mark.parametrize("kind", KINDS)
def test_no_answer_is_wrong(kind: AnswerKind) -> None:
    assert not right_by_kind(task(kind, "42", choices=("41", "42")), None)


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_answers_are_wrong_and_cost_little(kind: AnswerKind) -> None:
    question = task(kind, "42", tolerance=0.05, choices=("41", "42") if kind == "choice" else ())
    assert right_by_kind(question, "42")

    def judge_all() -> None:
        bare.cache_clear()
        assert [answer for answer in HOSTILE if right_by_kind(question, answer)] == []

    assert_costs_at_most(judge_all, 2.0)


def test_hostile_answers_are_wrong_for_the_other_metrics() -> None:
    def judge_all() -> None:
        bare.cache_clear()
        for answer in HOSTILE:
            assert not math_equal(answer, "42")
            assert not relaxed_accuracy(answer, "42")
            assert vqa_soft_accuracy(answer, ["42"] * 10) == 0.0

    assert_costs_at_most(judge_all, 2.0)


def test_long_answers_are_compared_in_little_time() -> None:
    assert anls("ab" * 1000, ["ba" * 1000]) > 0.9
    assert_costs_at_most(lambda: anls("ab" * 1000, ["ba" * 1000]), 2.0)
