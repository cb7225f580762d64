"""Ordinary ways to say an answer count; replies that offer several answers commit to none."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from saccade.evaluation.errors import can_be_read
from saccade.quantities import Quantity, number_in_words
from saccade.rewards.answers.metrics_by_set import answer_is_right, value_choice
from saccade.rewards.answers.replies import bare, stated_quantity, yes_or_no
from saccade.rewards.answers.rules import multiple_choice
from saccade.types import AnswerKind, Task

ANIMALS = ("a cat", "a dog", "a bird", "none of these")
PLAIN = Task(id="t", family="f", question="?", answer="", answer_kind="exact", images=())


def task(source: str, answer: str, kind: AnswerKind = "exact", **rest) -> Task:
    return replace(PLAIN, metric=source, answer=answer, answer_kind=kind, **rest)


@pytest.mark.parametrize(
    "reply",
    [
        "**B**", "*B*", "__B__", "`B`", "**B.**", "B!", r"\boxed{B}", r"$\boxed{B}$", r"\[\boxed{\text{B}}\]", r"\(B\)",
        "Option B is correct", "Option B is correct.", "B is correct", "(B) is the right answer.", "B is the answer",
        "The correct option is **B**.", "**Answer:** B", "Answer: **B**", "So the answer is (B).", "My answer is B",
        "Therefore, the final answer is $\\boxed{B}$.", "I choose B", "I think it is B", "The answer must be B",
        "### Answer: B", "**B. a dog**", r"\boxed{\text{a dog}}", "B - a dog", "B, a dog", "The answer is a dog.",
        "It's a dog!", "A dog is the correct answer", "<|begin_of_box|>B<|end_of_box|>",
        "The answer is <|begin_of_box|>a dog<|end_of_box|>.",
    ],
)  # fmt: skip
def test_a_letter_or_an_option_in_ordinary_dress_names_it(reply: str) -> None:
    named = [letter for letter in "ABCD" if multiple_choice(reply, letter, ANIMALS)]
    assert named == ["B"]
    assert can_be_read(task("", "B", "choice", choices=ANIMALS), reply)


@pytest.mark.parametrize(
    "reply",
    [
        "A or B", "**A** or **B**", r"\boxed{A}, \boxed{B}", r"\boxed{A or B}", "B, not A", "Not B", "It is not B",
        "The answer is not B", "B is incorrect", "B is not correct", "Option A or option B is correct", "A, B, C, D",
        "A. B. C. D.", "A is correct. B is correct.", "A is correct, B is correct", "(A)(B)(C)(D)", "a cat, a dog",
        "B. a cat", "either a dog or a cat", "The answer is A, that is, B", "B C", "AB", "all of them", "B?!",
        "Answer: A Answer: B", "Is it B? No, A", "<|begin_of_box|>A or B<|end_of_box|>",
    ],
)  # fmt: skip
def test_a_reply_that_hedges_names_no_option(reply: str) -> None:
    assert [letter for letter in "ABCD" if value_choice(reply, letter, ANIMALS)] == []


@pytest.mark.parametrize(
    ("source", "kind"),
    [("clevr", "integer"), ("clevr-math", "integer"), ("tabmwp", "integer"), ("iconqa", "integer"), ("mine", "integer"),
     ("chartqa", "number"), ("plotqa", "number"), ("mine", "number"), ("mathvista", "integer"), ("unigeo", "exact")],
)  # fmt: skip
def test_a_count_may_be_said_in_a_sentence(source: str, kind: AnswerKind) -> None:
    one = task(source, "3", kind)
    for reply in (
        "There are 3 cats", "There are three cats.", "**3**", r"\boxed{3}", "The answer is 3.", "3 cats", "3 CATS!",
        "There are exactly 3 red balls in the picture.", "The total number of cats is 3", "It is three.",
        "<|begin_of_box|>3<|end_of_box|>",
    ):  # fmt: skip
        assert answer_is_right(one, reply), reply
        assert can_be_read(one, reply), reply
    for reply in (
        "There are 4 cats", "There are 3 or 4 cats", "There are 13 cats", "3 more or less", "More than 3 cats",
        "There are at least 3 cats", "3, 4, 5", "1 2 3 4", "three or four", "3 cats and 4 dogs", "3 not 4", "not 3",
        "There are not 3 cats", "3 million people", "3 dozen eggs", "3 to 5 cats", "There are no cats", "3 per row",
        "\\boxed{3}, \\boxed{4}", "3 four", "Three hundred", "3.5 cats", "thirty-three cats", "3 of the four cats",
    ):  # fmt: skip
        assert not answer_is_right(one, reply), reply


def test_a_noun_does_not_hide_another_unit() -> None:
    wide = task("mathvista", "5 kg", "number")
    assert answer_is_right(wide, "5 kg")
    assert not answer_is_right(wide, "5 pounds")
    assert stated_quantity("45 percent of people", of=Quantity(45.0, "%")) == Quantity(45.0, "%")
    assert stated_quantity("45 people", of=Quantity(45.0, "%")) is None


def test_yes_and_no_may_be_called_out_or_said_in_a_sentence_that_agrees() -> None:
    for source in ("figureqa", "clevr", "plotqa", "mine"):
        one = task(source, "yes")
        assert [answer_is_right(one, said) for said in ("yes!", "**Yes**", "Yes!!", "Yes, there are.")] == [True] * 4
        assert not any(answer_is_right(one, said) for said in ("no!", "yes, no", "yes or no", "yes and no", "not yes"))
    assert yes_or_no("No, it isn't.") == "no"
    assert [yes_or_no(said) for said in ("Yes, it is not", "No, it is", "No, there are not many", "know")] == [None] * 4


def test_words_of_other_sets_lose_their_dress_too() -> None:
    assert answer_is_right(task("docvqa", "ITC Limited", "text"), "**ITC Limited**")
    assert answer_is_right(task("vizwiz", "dog", accepted=("dog",) * 10), "**dog**")
    assert answer_is_right(task("mapqa", "Ohio, Texas"), "**Texas and Ohio**")
    assert answer_is_right(task("mathvista", "[1, 2]"), r"\boxed{[1, 2]}")
    assert answer_is_right(task("mathvision", r"2\sqrt{2}"), r"The answer is $\boxed{2\sqrt{2}}$.")
    assert answer_is_right(task("mathvision", "125*a^2 + 250"), "**125*a^2 + 250**")
    assert answer_is_right(task("tabmwp", "2:35 P.M."), "The answer is 2:35 P.M..")
    assert not answer_is_right(task("chartqa", "Peru"), "Peru or Chile")


def test_stars_of_a_power_are_no_emphasis() -> None:
    assert (bare("2**3**2"), bare("**2**3**")) == ("2**3**2", "**2**3**")
    assert answer_is_right(task("mathvision", "8"), "2**3")


def test_number_words_reach_below_a_million() -> None:
    said = {"zero": 0, "Twenty-one": 21, "ninety": 90, "one hundred and five": 105, "two thousand and ten": 2010}
    said |= {"twelve thousand three hundred forty-five": 12_345, "nine hundred ninety-nine thousand": 999_000}
    assert {word: number_in_words(word) for word in said} == said
    for word in ("", "one two", "twenty twelve", "hundred", "one thousand zero", "two and", "third", "thirty zero"):
        assert number_in_words(word) is None


_PIECES = st.lists(
    st.sampled_from(
        ["A", "B", "(C)", "a dog", "a cat", "is correct", "Option", "The answer is", "**", r"\boxed{", "}", "$", "or",
         ",", ".", "!", "not", "There are", "3", "4", "three", "four", "million", "cats", "I see", "yes", "no", "it is",
         "\n", ":", "and", "-", "5%", "2/4", "it", "isn't", "`", "x ="]
    ),
    max_size=8,
).map(" ".join)  # fmt: skip


@settings(max_examples=40)
@given(reply=_PIECES)
def test_no_reply_is_right_for_two_different_answers(reply: str) -> None:
    assert sum(value_choice(reply, letter, ANIMALS) for letter in "ABCD") <= 1
    for source in ("clevr", "mine", "tabmwp", "mathvista"):
        right = [gold for gold in range(20) if answer_is_right(task(source, str(gold), "integer"), reply)]
        assert len(right) <= 1
    assert sum(answer_is_right(task("figureqa", word), reply) for word in ("yes", "no")) <= 1
