"""Replies in Chinese, Japanese and Korean: wide letters and digits, what counts things, and ways to name an option."""

import pytest

from saccade.quantities import Quantity, number_in_words, parse_quantity
from saccade.rewards.answers.kinds import right_by_kind
from saccade.tasks.rows.golds import infer_kind
from saccade.types import Task

ANIMALS = ("猫", "狗", "鸟", "以上都不是")
LISTED = "图中是什么？\nA．猫\nB．狗\nC．鸟\nD．以上都不是"


def asked(gold: str, question: str = "?", choices: tuple[str, ...] = ()) -> Task:
    """A question whose kind is told from its gold, as of a row without one."""
    kind = infer_kind(gold, choices, question)
    return Task(id="t", family="f", question=question, answer=gold, answer_kind=kind, images=(), choices=choices)


@pytest.mark.parametrize(
    "reply",
    [
        "Ｂ", "B。", "（B）", "（Ｂ）", "B．", "B、狗", "B：狗", "狗", "狗。", "「狗」", "选B", "选 B。",
        "选择B", "應選B", "故选B.", "选项B", "答案：B", "答案是B。", "因此，正确答案是B", "所以答案为（B）",
        "**答案：B**", "答えはBです", "答えはBです。", "정답은 B입니다."
    ],
)  # fmt: skip
def test_an_option_is_named_as_people_write_it(reply: str) -> None:
    assert [letter for letter in "ABCD" if right_by_kind(asked(letter, LISTED, ANIMALS), reply)] == ["B"]
    assert right_by_kind(asked("B", LISTED), reply)


@pytest.mark.parametrize(
    "reply",
    [
        "A或B", "选A或B", "不选B", "不是B", "答案不是B", "选B不对", "A、B", "选AB", "答案：A 答案：B", "选择",
        "答案：", "B吗？", "B还是A", "可能是B", "（A）（B）", "狗或猫", "不是狗", "答えはAかBです",
        "Bではない"
    ],
)  # fmt: skip
def test_a_reply_that_hedges_or_denies_names_none(reply: str) -> None:
    assert [letter for letter in "ABCD" if right_by_kind(asked(letter, LISTED, ANIMALS), reply)] == []


@pytest.mark.parametrize(
    "reply",
    [
        "１２",
        "12个",
        "12 只",
        "12个。",
        "１２人",
        "十二",
        "十二个",
        "十二只。",
        "答案是12",
        "答案：十二",
        "答えは12です",
    ],
)
def test_a_count_is_met_in_digits_and_signs(reply: str) -> None:
    assert right_by_kind(asked("12"), reply)
    assert right_by_kind(asked("１２"), reply)
    assert right_by_kind(asked("12个"), reply)
    assert not right_by_kind(asked("13"), reply)
    assert not right_by_kind(asked("2"), reply)


@pytest.mark.parametrize(
    "reply",
    ["12或13", "12个或13个", "12个左右", "约12", "12不对", "不是12", "一二", "十十二", "12十", "个12", "二一十二"],
)
def test_other_texts_with_the_number_do_not_meet_it(reply: str) -> None:
    assert not right_by_kind(asked("12"), reply)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("三", 3), ("两个", 2), ("十", 10), ("十二", 12), ("二十", 20), ("九十九人", 99), ("零", 0), ("个", None),
        ("十零", None), ("三四", None), ("两十", None), ("", None), ("百", None),
    ],
)  # fmt: skip
def test_signs_for_numbers_below_a_hundred(text: str, number: int | None) -> None:
    assert number_in_words(text) == number


def test_wide_units_and_currencies_are_those_of_ascii() -> None:
    assert parse_quantity("３５％") == parse_quantity("35%") == Quantity(35, "%")
    assert parse_quantity("￥35") == parse_quantity("35元") == parse_quantity("¥35")
    assert parse_quantity("12厘米") == Quantity(12, "cm")
    assert not right_by_kind(asked("12厘米"), "12个")
    assert right_by_kind(asked("12厘米"), "12 cm")


def test_a_long_gold_without_spaces_is_a_sentence_and_its_commas_do_not_count() -> None:
    task = asked("桌子上有三只猫，没有狗。")
    assert task.answer_kind == "sentence"
    assert right_by_kind(task, "桌子上有3只猫没有狗")
    assert not right_by_kind(task, "桌子上有三只猫，有狗。")
    assert not right_by_kind(task, "桌子上有四只猫，没有狗。")
    assert [asked(gold).answer_kind for gold in ("红色。", "平行四边形", "第３题")] == ["exact", "exact", "text"]
