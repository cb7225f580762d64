"""Answers of each kind against right ones as people's files write them: the same value is right, a near miss is not."""

from dataclasses import replace

import pytest

from saccade.evaluation.errors import can_be_read
from saccade.rewards.answers.kinds import options_in, right_by_kind
from saccade.rewards.answers.metrics_by_set import answer_is_right
from saccade.tasks.rows.golds import infer_kind
from saccade.types import AnswerKind, Task

SAME_SENTENCES = [
    ("The color of the flag is white.", "The color of the flag is white"),
    ("A dog is on the left.", "There is a dog on the left"),
    ("There are three dogs.", "There are 3 dogs"),
    ("No, the two angles are not equal.", "No, the two angles aren't equal."),
    ("Action: click(start_box=[615, 226])", "Action: click(start_box=[615,226])"),
    ("It has 5,000 seats in all", "It has 5000 seats in all."),
]
OTHER_SENTENCES = [
    ("The color of the flag is white.", "The color of the flag is red."),
    ("The man is on the left side of the car.", "The man is on the right side of the car."),
    ("The dog is above the table.", "The dog is below the table."),
    ("No, the two angles are not equal.", "No, the two angles are equal."),
    ("The value increases from 2010 to 2015.", "The value decreases from 2010 to 2015."),
    ("They are celebrating on the soccer field.", "They are not celebrating on the soccer field."),
    ("There are three dogs in the picture.", "There are two dogs in the picture."),
    ("There are 3 dogs in the picture.", "There are 2 dogs in the picture."),
    ("a woman in a red shirt holding an umbrella", "a woman in a blue shirt holding an umbrella"),
    ("Action: click(start_box=[615, 226])", "Action: type(start_box=[615, 226])"),
    ("x > 5 and y < 3 hold", "x < 5 and y > 3 hold"),
    ("The change is -2 in all", "The change is 2 in all"),
    ("It is in Austria, not far away", "It is in Australia, not far away"),
]
SAME_VALUES = [
    (r"2 \sqrt { 221 }", r"2\sqrt{221}"),
    (r"2 \sqrt { 221 }", "2√221"),
    (r"2 \sqrt { 221 }", "29.73"),
    (r"\frac { 3 } { 4 }", "0.75"),
    (r"\frac{1}{2}", r"\frac12"),
    (r"\frac{1}{2}", r"\cfrac{1}{2}"),
    (r"\sqrt[3]{8}", "2"),
    ("1/2", "0.5"),
    ("1 1/2", "3/2"),
    (r"48^\circ", "48"),
    (r"48^\circ", "48 degrees"),
    (r"10\sqrt{3}", "10√3"),
    (r"4 \pi - 8", r"4\pi-8"),
    ("3x + 2y = 7", "2y + 3x = 7"),
    ("3x + 2y = 7", "7 = 3x + 2y"),
    (r"y = 2x + 1", "2x + 1"),
    (r"x \geq 5", "5 <= x"),
    ("(3, 4)", "(3,4)"),
    (r"(\frac{1}{2}, 1)", "(0.5, 1)"),
    ("x = 1, x = 2", "x=2, x=1"),
    ("1{,}250", "1250"),
    (r"\$12.50", "$12.50"),
    (r"25\%", "25%"),
    (r"12\,\text{cm}", "12 cm"),
    (r"6 \mathrm{~cm}^2", "6 cm^2"),
    (r"60\text{ degrees}", "60°"),
    (r"1:\sqrt{2}", "1:√2"),
    (r"\{1, 2\}", "{2, 1}"),
    (r"120^\circ, 60^\circ", "60° and 120°"),
    (r"\pm 3", "±3"),
    (r"\angle ABC", "∠ABC"),
]
OTHER_VALUES = [
    (r"- 3 \sqrt { 2 }", r"3 \sqrt { 2 }"),
    (r"2 \sqrt { 221 }", r"2 \sqrt { 212 }"),
    (r"\frac { 3 } { 4 } \pi", r"\frac { 4 } { 3 } \pi"),
    ("3x + 2y = 7", "3x - 2y = 7"),
    (r"5 \sqrt { 3 } + 2", r"5 \sqrt { 3 } - 2"),
    (r"x \geq 5", r"x \leq 5"),
    ("x > 5", "x >= 5"),
    ("(3, 4)", "(4, 3)"),
    ("[3, 4)", "(3, 4)"),
    (r"\frac{63}{400}", r"\frac{64}{400}"),
    ("(3, 4)", "3"),
    (r"1:\sqrt{2}", r"\sqrt{2}:1"),
    ("1:2", "1:2:3"),
    (r"\{1, 2\}", "{1, 3}"),
    (r"\{1, 2\}", "(1, 2)"),
    (r"25\%", "52%"),
    (r"12\,\text{cm}", "12 m"),
]
UNFINISHED = [("391", "17*23"), (r"\frac{1}{2}", r"\sin 30^\circ"), ("3/4", "1/4 + 1/2"), ("12", "20 - 8")]


def task(kind: AnswerKind, gold: str, question: str = "?", choices: tuple[str, ...] = ()) -> Task:
    return Task(
        id="t", family="f", question=question, answer=gold, answer_kind=kind, images=(), choices=choices, source="mine"
    )


@pytest.mark.parametrize(("gold", "reply"), SAME_SENTENCES)
def test_a_sentence_is_right_in_other_function_words(gold: str, reply: str) -> None:
    assert right_by_kind(task("sentence", gold), reply)


@pytest.mark.parametrize(("gold", "reply"), OTHER_SENTENCES)
def test_a_sentence_with_another_word_number_or_denial_is_wrong(gold: str, reply: str) -> None:
    assert not right_by_kind(task("sentence", gold), reply)


@pytest.mark.parametrize(("gold", "reply"), SAME_VALUES)
def test_equal_values_are_right_however_they_are_written(gold: str, reply: str) -> None:
    assert right_by_kind(task("math", gold), reply)
    assert right_by_kind(task("math", gold), rf"\boxed{{{reply}}}")


@pytest.mark.parametrize(("gold", "reply"), OTHER_VALUES)
def test_other_values_are_wrong(gold: str, reply: str) -> None:
    assert not right_by_kind(task("math", gold), reply)


@pytest.mark.parametrize(("gold", "reply"), UNFINISHED)
def test_a_calculation_that_is_left_to_do_is_no_answer(gold: str, reply: str) -> None:
    assert not right_by_kind(task("math", gold), reply)


@pytest.mark.parametrize("reply", ["0.5", "1/2", r"\frac12", r"$\frac{1}{2}$", "x = 0.5"])
def test_a_number_may_be_a_fraction(reply: str) -> None:
    assert right_by_kind(task("number", "0.5"), reply)


def test_a_list_of_named_values_needs_each_by_its_name() -> None:
    gold = task("list", '["x=2", "y=3"]')
    assert right_by_kind(gold, "y = 3, x = 2")
    assert right_by_kind(gold, "2, 3")
    assert not right_by_kind(gold, "x=3, y=2")


def test_a_list_needs_all_items_in_any_order() -> None:
    years = task("list", '["2007", "2008"]')
    assert all(
        right_by_kind(years, reply) for reply in ("2007, 2008", "[2008, 2007]", "2007 and 2008", '["2007","2008"]')
    )
    assert not any(right_by_kind(years, reply) for reply in ("2007", "2007, 2008, 2009", "2007, 2007", "[2007]", ""))


@pytest.mark.parametrize(
    "question",
    [
        "What? A. cat B. dog C. cow",
        "What?\n(A) cat\n(B) dog\n(C) cow\nAnswer with the letter.",
        "What? A: cat, B: dog, C: cow",
    ],
)
def test_options_inside_a_question_are_named_by_letter_or_text(question: str) -> None:
    asked = task("choice", "A", question)
    assert options_in(question) == ("cat", "dog", "cow")
    assert all(right_by_kind(asked, reply) for reply in ("A", "(A)", "A. cat", "Option A: cat", "cat"))
    assert not any(right_by_kind(asked, reply) for reply in ("B", "dog", "A or B", "A. dog", ""))


@pytest.mark.parametrize("gold", ["A. red", "(A) red", "red", "Option A: red"])
def test_a_gold_with_the_text_of_an_option_is_named_by_its_letter_too(gold: str) -> None:
    asked = task("exact", gold, "What colour?\n(A) red\n(B) blue\nAnswer with the letter.")
    assert all(right_by_kind(asked, reply) for reply in ("A", "red", "A. red"))
    assert not any(right_by_kind(asked, reply) for reply in ("B", "blue", "B. red", "A. blue", "A or B", "not red"))


def test_several_options_are_named_by_their_letters_in_any_order() -> None:
    asked = task("exact", "ACD", "Which are red?\nA. w\nB. x\nC. y\nD. z")
    assert all(right_by_kind(asked, reply) for reply in ("ACD", "A, C, D", "A, C and D", "D、C、A"))
    assert not any(right_by_kind(asked, reply) for reply in ("AC", "A", "ABCD", "AACD", "w", ""))


@pytest.mark.parametrize(
    "question", ["何？\nA．猫\nB．狗", "何？ A、猫 B、狗", "何？（A）猫 （B）狗", "What? (a) 猫 (b) 狗"]
)
def test_options_may_have_marks_of_other_scripts_and_small_letters(question: str) -> None:
    asked = task("choice", "a" if "(a)" in question else "A", question)
    assert options_in(question) == ("猫", "狗")
    assert infer_kind(asked.answer, (), question) == "choice"
    assert all(right_by_kind(asked, reply) for reply in ("A", "猫", "A．猫", "(A)"))
    assert not any(right_by_kind(asked, reply) for reply in ("B", "狗"))


def test_a_number_that_is_an_option_is_named_by_its_letter_too() -> None:
    asked = task("integer", "13", "How many?\nA. 3\nB. 13")
    assert all(right_by_kind(asked, reply) for reply in ("B", "13", "thirteen"))
    assert not any(right_by_kind(asked, reply) for reply in ("A", "3"))


def test_a_full_stop_after_a_letter_in_a_sentence_starts_no_option() -> None:
    assert options_in("Is Plan A. better than the others?") == ()
    plans = ("Plan A. It is cheap", "Plan B. It is fast", "both")
    assert options_in(f"Which? A: {plans[0]}, B: {plans[1]}, C: {plans[2]}") == plans
    assert options_in("B. is before A.") == ()


def test_the_same_row_is_graded_the_same_whatever_its_file_is_called() -> None:
    for name in ("mine", "chartqa", "geometry3k", "textvqa"):
        row = Task(id="t", family="f", question="?", answer="100", answer_kind="integer", images=(), source=name)
        assert answer_is_right(row, "100")
        assert not answer_is_right(row, "104")


@pytest.mark.parametrize(
    ("gold", "said", "is_same"),
    [
        ("80–90", "80-90", True),
        ("80–90", "80 - 90", True),
        ("80–90", "80 to 90", True),
        ("80–90", "8090", False),
        ("80–90", "80–100", False),
        ("pink cube", "the pink cube", True),
        ("white pawn", "A white pawn.", True),
        ("pink cube", "not the pink cube", False),
        ("C5H14N2", "C₅H₁₄N₂", True),
        ("C5H14N2", "$C_5H_{14}N_2$", True),
        ("C5H14N2", "C₅H₁₂N₂", False),
        ("E flat major", "E♭ major", True),
        ("E flat major", "E major", False),
        ("A", "a", True),
        ("the A", "A", False),
    ],
)
def test_forms_of_the_same_words_are_right_and_others_are_not(gold: str, said: str, is_same: bool) -> None:
    task = Task(id="x", family="f", question="What is it?", answer=gold, answer_kind="exact", images=())
    assert answer_is_right(task, said) is is_same


CHOICE = Task(
    id="x", family="f", question="", answer="Wolves", answer_kind="choice", images=(), choices=("Wolves", "Stags")
)


@pytest.mark.parametrize(
    ("question", "changes", "right", "wrong"),
    [
        ("Which is larger, Stags or Wolves?", {}, "Wolves", "A"),
        ("Which is larger, Stags or Wolves?", {}, "the answer is Wolves", "(A)"),
        ("Which is larger, Stags or Wolves?", {"metric": "iconqa"}, "Wolves", "A"),
        ("Which is larger, Stags or Wolves?", {"accepted": ("Wolves", "wolf")}, "Wolves", "A"),
        ("Which is larger, A or B?", {"choices": ("B", "A"), "answer": "B"}, "B", "A"),
        ("Which is larger?", {}, "A", "B"),
        ("Is it (A) Wolves or (B) Stags?", {}, "A", "B"),
        ("Which is larger, Stags or Wolves?", {"answer": "A"}, "A", "B"),
        ("Which is larger, Stags or Wolves?", {"wordings": {"textual": "Which is larger?"}}, "A", "B"),
    ],
)
def test_a_letter_names_an_option_only_where_letters_were_shown(
    question: str, changes: dict[str, object], right: str, wrong: str
) -> None:
    task = replace(CHOICE, question=question, **changes)  # type: ignore[arg-type]
    assert answer_is_right(task, right)
    assert not answer_is_right(task, wrong)
    assert can_be_read(task, right)
