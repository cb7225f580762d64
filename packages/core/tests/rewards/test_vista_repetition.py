"""Texts that go round in circles, and texts that only look so."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from saccade.errors import UserError
from saccade.rewards.repetition import RepetitionLimits, repetition, worst

COUNTS = {"moderate": 0, "severe": 1, "extreme": 2}


def level_and_rule(text: str) -> tuple[str, str | None]:
    found = repetition(text)
    return found.level, found.rule


PROSE = """The chart has four bars. The first one, for 2018, reaches 12; the second one reaches 15, the third 15 as
well and the last one 31. So the largest difference between two neighbours is 31 - 15 = 16. I read the axis again: it
begins at 0 and ends at 40, in steps of 10. That fits. Therefore the answer is 16."""


@pytest.mark.parametrize(
    ("count", "level"), [(49, "none"), (50, "moderate"), (99, "moderate"), (100, "severe"), (199, "severe")]
)
def test_runs_of_a_character_by_their_length(count: int, level: str) -> None:
    assert level_and_rule("so " + "a" * count + " it is")[0] == level


def test_a_run_of_200_characters_is_extreme_and_says_so() -> None:
    found = repetition("h" + "m" * 200)
    assert (found.level, found.rule, found.count, found.unit) == ("extreme", "characters", 200, "m")


@pytest.mark.parametrize(
    ("count", "level"),
    [(9, "none"), (10, "moderate"), (19, "moderate"), (20, "severe"), (49, "severe"), (50, "extreme")],
)
def test_the_same_word_in_a_row_by_how_often(count: int, level: str) -> None:
    found = repetition("well " + "wait, " * count + "then")
    assert (found.level, found.count) == (level, count if level != "none" else 0)
    assert found.rule == ("words" if level != "none" else None)


@pytest.mark.parametrize(
    ("count", "level"), [(4, "none"), (5, "moderate"), (9, "moderate"), (10, "severe"), (19, "severe"), (20, "extreme")]
)
@pytest.mark.parametrize("phrase", ["let me check", "the red bar is higher than the blue bar and", "Wait! No:"])
def test_the_same_phrase_in_a_row_by_how_often(phrase: str, count: int, level: str) -> None:
    found = repetition("So " + f"{phrase} " * count + "done")
    assert (found.level, found.count) == (level, count if level != "none" else 0)


@pytest.mark.parametrize(("count", "level"), [(4, "none"), (5, "moderate"), (10, "severe"), (20, "extreme")])
def test_a_sentence_longer_than_any_phrase_repeats_as_a_sentence(count: int, level: str) -> None:
    sentence = " ".join(f"word{chr(97 + index)}" for index in range(25)) + ". "
    assert level_and_rule(sentence * count) == (level, "sentences" if level != "none" else None)


def test_two_long_sentences_in_turn_are_a_circle() -> None:
    first = "Now the angle at the left of the triangle " + " ".join("abcdefghijklmnop") + ". "
    second = "Then the angle at the right of the triangle " + " ".join("ponmlkjihgfedcba") + ". "
    assert level_and_rule((first + second) * 10) == ("severe", "sentences")


@pytest.mark.parametrize(
    "text",
    [
        "答案是三十度。" * 10,
        "この図を見ると、" * 10,
        "คำตอบคือสาม" * 10,
        "उत्तर तीन है " * 10,
        "الجواب هو ثلاثة " * 10,
        "정답은 셋입니다 " * 10,
        "Ответ: тридцать градусов. " * 10,
    ],
)
def test_a_phrase_ten_times_is_severe_in_any_script(text: str) -> None:
    assert repetition(text).level == "severe"


@pytest.mark.parametrize(
    "text",
    [
        "如图，在圆O中，AB是直径，CD是弦，AB垂直于CD，垂足为E，连接CO和AD。若角BOC等于三十度，则角BAD的度数是十五度。",
        "まず、グラフの縦軸を読む。次に、青い棒と赤い棒の高さを比べる。青い棒は三十、赤い棒は十二である。",
        "ขั้นแรก อ่านแกนตั้งของกราฟ จากนั้นเปรียบเทียบความสูงของแท่งสีน้ำเงินกับแท่งสีแดง",
        "पहले ग्राफ का अक्ष पढ़ें, फिर नीली और लाल पट्टी की ऊँचाई की तुलना करें।",
    ],
)
def test_plain_prose_in_any_script_repeats_nothing(text: str) -> None:
    assert repetition(text).level == "none"


def table(rows: int) -> str:
    return "| year | a | b |\n|------|---|---|\n" + "".join(f"| {1990 + row} | 0 | 0 |\n" for row in range(rows))


BOXES = [[10 * step, 20, 10 * step + 8, 40] for step in range(60)]


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "",
        table(80),
        "year,sales\n" + "".join(f"{1900 + row},0\n" for row in range(100)),
        "Boxes: " + ", ".join(str(box) for box in BOXES),
        "The mask is " + str([0] * 80),
        f"<tool_call>{json.dumps({'name': 'mark', 'arguments': {'boxes': BOXES}})}</tool_call>",
        json.dumps([{"label": "bar", "value": 10 * row} for row in range(60)]),
        json.dumps([{"label": "bar", "value": 0}] * 15),
        "0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0 0.0",
        "Result\n" + "=" * 120 + "\nTotal\n" + "-" * 120,
        "Chapter 1 " + "." * 150 + " 7",
        "Step 1: add 3. Step 2: add 3. Step 3: add 3. Step 4: add 3. Step 5: add 3. Step 6: add 3.",
        "0." + "0" * 300,
        "1" + "0" * 300 + " is " + "10" * 40,
        "3 x 3 x 3 x 3 x 3 x 3 x 3 x 3 is 6561",
        "hahahahahaha, that is a good one",
        "f(\n" + (" " * 60 + ")\n") * 3,
        "x" + " " * 200 + "y" + "\n" * 100,
    ],
)
def test_tables_coordinates_json_and_drawn_lines_are_no_repetition(text: str) -> None:
    assert repetition(text).level == "none"


@pytest.mark.parametrize(
    ("text", "level"),
    [
        ("| a | b |\n" * 25, "moderate"),
        ("| a | b |\n" * 120, "extreme"),
        ("[10, 20, 30, 40] " * 50, "severe"),
        ('{"x": 1} ' * 100, "extreme"),
        ("7 " * 300, "extreme"),
        ("1 2 " * 60, "severe"),
        ("-" * 600, "severe"),
        ("[" + "0, " * 5000, "extreme"),
    ],
)
def test_a_loop_over_rows_numbers_or_drawn_lines_is_found_later_than_one_over_words(text: str, level: str) -> None:
    assert repetition(text).level == level


CALL = '<tool_call>{"name": "crop", "arguments": {"box": {"x": 1, "y": 2}, "image": 0}}</tool_call>\n'
GRID = "".join(f"The cell in row {row} and column {column} is white. " for row in range(5) for column in range(5))


@pytest.mark.parametrize(
    ("text", "level", "rule"),
    [
        ("circle" * 60, "extreme", "characters"),
        ("ab" * 300, "extreme", "characters"),
        ("проверю" * 40, "severe", "characters"),
        ("다시확인" * 20, "moderate", "characters"),
        ("😀🎉" * 30, "moderate", "characters"),
        ("!?" * 60, "severe", "characters"),
        ("\n" * 500, "severe", "characters"),
        (" \n\t" * 100, "moderate", "characters"),
        ("142857" * 200, "severe", "characters"),
        ("<think>" * 50, "severe", "words"),
    ],
)
def test_a_loop_without_spaces_or_without_words_is_found(text: str, level: str, rule: str) -> None:
    assert level_and_rule(f"So {text} so") == (level, rule)


@pytest.mark.parametrize(("count", "level"), [(4, "none"), (5, "moderate"), (10, "severe"), (20, "extreme")])
@pytest.mark.parametrize("border", [" ", "\n\n"])
def test_a_paragraph_without_a_full_stop_repeats_as_a_sentence(border: str, count: int, level: str) -> None:
    paragraph = " ".join(f"word{chr(97 + index % 26)}{chr(97 + index // 26)}" for index in range(150))
    assert level_and_rule("First " + (paragraph + border) * count) == (level, "sentences" if level != "none" else None)


@pytest.mark.parametrize(("count", "level"), [(19, "none"), (20, "moderate"), (40, "severe"), (80, "extreme")])
@pytest.mark.parametrize(
    "form",
    [
        "{}. Look at the circle.\n",
        "Step {}: I look at the chart again. ",
        "wait {} and check and wait ",
        "第{}步：再检查图表上的数字。",
        "({}) it is {} once more ",
        "x{} = compute(a, b, c)\n",
    ],
)
def test_a_numbered_loop_is_found(form: str, count: int, level: str) -> None:
    found = repetition("".join(form.format(index, index) for index in range(1, count + 1)))
    assert (found.level, found.rule) == (level, "copies" if level != "none" else None)


def test_near_copies_in_which_a_word_changes_are_found() -> None:
    in_turn = "".join(f"Maybe the plate is {'red' if index % 3 else 'blue'} after all. " for index in range(40))
    assert repetition(in_turn).level == "severe"
    at_random = "".join(f"Maybe the plate is {'red' if index**3 % 7 % 2 else 'blue'} at all. " for index in range(40))
    assert repetition(at_random).level != "none"


def test_a_sentence_that_comes_again_and_again_is_found_whatever_stands_between() -> None:
    said = ["Let me look at it again.", "No, this cannot be right at all.", "I should check the axis first."]
    text = " ".join(said[index * index % 7 % 3] for index in range(60))
    assert repetition(text).level != "none"


@pytest.mark.parametrize(
    "text",
    [
        CALL * 19,
        GRID,
        "<table>" + "".join(f"<tr><td>{1980 + row}</td><td>{row * row}</td></tr>" for row in range(40)) + "</table>",
        ", ".join(f"person {index}" for index in range(1, 61)),
        "".join(f"{total} + 4 = {total + 4}. " for total in range(3, 203, 4)),
        "".join(f"In {1990 + row} the value was {row * row * 7 % 83} million. " for row in range(35)),
        "".join(f"the plate <box>[{row},{row * row},99,{row * 7}]</box> is white, " for row in range(40)),
        "".join(f"Chapter {row} {'. ' * 40}{row * 7}\n" for row in range(1, 15)),
    ],
)
def test_long_lists_of_similar_things_that_each_tell_something_are_no_repetition(text: str) -> None:
    assert repetition(text).level == "none"


def test_equal_nested_calls_are_pieces() -> None:
    assert level_and_rule(CALL * 20) == ("moderate", "phrases")


def test_a_phrase_with_a_number_in_it_is_a_phrase() -> None:
    assert level_and_rule("the bar is at 0 " * 5) == ("moderate", "phrases")


def test_characters_that_nobody_sees_do_not_hide_a_run() -> None:
    assert level_and_rule("a\u200b" * 120) == ("severe", "characters")


def test_case_and_marks_between_the_repeats_do_not_hide_them() -> None:
    assert level_and_rule("Wait! wait, WAIT... wait? Wait; wait: wait - wait, wait, wait") == ("moderate", "words")


def test_the_worst_rule_is_named() -> None:
    found = repetition("no " * 12 + "one two three " * 20)
    assert (found.level, found.rule, found.count, found.unit) == ("extreme", "phrases", 20, "one two three")


def test_limits_are_settings() -> None:
    limits = RepetitionLimits(words=(2, 3, 4))
    assert [repetition("so " * count, limits).level for count in (1, 2, 3, 4)] == [
        "none",
        "moderate",
        "severe",
        "extreme",
    ]


@pytest.mark.parametrize(
    "wrong", [{"words": (10, 5, 20)}, {"phrases": (1, 2, 3)}, {"max_phrase_words": 1}, {"digits": (1, 2, 3)}]
)
def test_limits_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(UserError, match=next(iter(wrong))):
        RepetitionLimits(**wrong)


def test_the_worst_of_nothing_is_nothing() -> None:
    assert worst([]).level == "none"


@pytest.mark.parametrize("piece", ["(", "|", "{", "[1,", "| |", "1.", " ", "ab", "。", "a b "])
def test_long_hostile_texts_are_read_through(piece: str) -> None:
    long, short = (repetition(piece * (length // len(piece)) + "x") for length in (60_000, 6_000))
    assert long.level == short.level


@given(st.text(max_size=300))
def test_any_text_has_a_level_and_a_rule_only_with_one(text: str) -> None:
    found = repetition(text)
    assert (found.rule is None) == (found.level == "none")


@given(st.text(alphabet="abc .\n", max_size=60), st.integers(2, 30))
def test_more_of_the_same_is_never_milder(text: str, times: int) -> None:
    order = ["none", "moderate", "severe", "extreme"]
    assert order.index(repetition(text * times).level) <= order.index(repetition(text * (times + 1)).level)
