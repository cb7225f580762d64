"""Experts on drawn pages, the pages they are shown, and the rules that rewrite what they say as linguistic tools."""

from collections import Counter

import numpy as np
import pytest

from saccade.curation.linguistic_tools import ReasonedTrajectory, read_reply
from saccade.errors import UserError
from saccade.media import MediaStore
from saccade.miniature.lang2act import ReadingLessons
from saccade.miniature.pages import PageQuestions
from saccade.miniature.reading import RULES, TOOLS, ReadingHabit, read_by, sentence_calls
from saccade.protocols import LinguisticToolbox, chain_thought, described_protocol, read_chain, toolchain_protocol
from saccade.protocols.described import described_parts
from saccade.testing.color_encoder import ColorEncoder
from saccade.types import Answer, ExpertTurn

TOOLBOX = LinguisticToolbox(tuple(TOOLS.values()))
HABITS: tuple[ReadingHabit, ReadingHabit] = ("look", "guess")


@pytest.fixture(scope="module")
def questions() -> PageQuestions:
    return PageQuestions(seed=3, media=MediaStore(), documents=4)


def test_gold_pages_are_among_those_shown(questions: PageQuestions) -> None:
    for number in range(24):
        asked = questions.asked_pages("train", number)
        assert not asked.task.missing_pages
        assert len(asked.task.images) == len(asked.task.shown_pages) == 3
        assert [one.image_index for one in asked.task.targets] == [
            asked.shown.index(sought.page) for sought in asked.sought
        ]


def test_a_question_is_a_function_of_its_number(questions: PageQuestions) -> None:
    again = PageQuestions(seed=3, media=MediaStore(), documents=4)
    assert [again.asked_pages("train", number).task for number in (5, 0)] == [
        questions.asked_pages("train", number).task for number in (5, 0)
    ]
    documents = {
        split: {questions.document(split, place).name for place in range(4)} for split in ("train", "held_out")
    }
    assert not documents["train"] & documents["held_out"]


def test_an_encoder_brings_pages_and_an_oracle_gold_ones_alone() -> None:
    brought = PageQuestions(seed=3, media=MediaStore(), documents=2, encoder=ColorEncoder(grid=8))
    missing = [brought.asked_pages("train", number).task.missing_pages for number in range(12)]
    assert any(missing)
    assert not all(missing)
    oracle = PageQuestions(seed=3, media=MediaStore(), documents=2, oracle=True)
    for number in range(6):
        task = oracle.asked_pages("train", number).task
        assert task.gold_pages == task.shown_pages
    with pytest.raises(UserError, match="use 2 or more"):
        PageQuestions(seed=3, media=MediaStore(), documents=2, pages=1)


def test_whether_two_of_three_marks_are_the_same_is_guessed_right_in_half() -> None:
    asked = PageQuestions(seed=3, media=MediaStore(), documents=40, kinds=("same",), oracle=True)
    answers, guesses = Counter[str](), 0
    for number in range(80):
        one = asked.asked_pages("train", number)
        marks = [sought.plate.mark for sought in one.sought]
        assert one.task.answer == ("yes" if len(set(marks)) < 3 else "no")
        assert len(marks) == 3
        assert len(one.task.images) == 1
        [look], [guess] = (read_by(one, habit, np.random.default_rng(number)).turns for habit in HABITS)
        assert look.action == Answer(text=one.task.answer)
        looked, guessed = (sentence_calls(described_parts(turn.thought)[1]) for turn in (look, guess))
        assert [call.finding for call in looked if call.name == "read_mark"] == marks
        assert [call.name for call in guessed] == ["guess_mark"]
        answers[one.task.answer] += 1
        guesses += guess.action == Answer(text=one.task.answer)
    assert 26 <= answers["yes"] <= 54
    assert 26 <= guesses <= 54


@pytest.mark.parametrize(("habit", "tools"), [
    ("look", {"read_head", "locate_plate", "read_mark"}),
    ("idle", {"note_ground", "repeat_question"}),
    ("guess", {"guess_mark"}),
])  # fmt: skip
def test_what_experts_say_can_be_imitated_and_curated(
    questions: PageQuestions, habit: ReadingHabit, tools: set[str]
) -> None:
    described, pool = described_protocol(style="brief"), LinguisticToolbox(())
    for number in range(8):
        asked = questions.asked_pages("train", number)
        [turn] = read_by(asked, habit, np.random.default_rng(number)).turns
        parsed = described.parse(described.write(turn))
        assert parsed.is_well_formed
        assert parsed.action == turn.action
        description = turn.thought.partition("<description>")[2].removesuffix("</description>")
        trajectory = ReasonedTrajectory(id="a", question=asked.task.question, reasoning=description, answer="")
        read = read_reply(RULES.reply(trajectory, pool), pool)
        assert read.is_complete
        assert {tool.name for tool in read.tools} == tools
        assert not read.refused
        assert list(read.calls) == sentence_calls(description)
        # The same as a chain of tools.
        assert isinstance(turn.action, Answer)
        chained = ExpertTurn(thought=chain_thought("Image 1.", sentence_calls(description)), action=turn.action)
        text = toolchain_protocol(toolbox=TOOLBOX, style="brief").write(chained)
        assert read_chain(text, TOOLBOX, 3).is_valid


def test_who_looks_is_right_and_who_guesses_is_right_by_chance(questions: PageQuestions) -> None:
    right: Counter[str] = Counter()
    for habit in ("look", "idle", "guess"):
        for number in range(60):
            asked = questions.asked_pages("train", number)
            [turn] = read_by(asked, habit, np.random.default_rng(number)).turns
            assert isinstance(turn.action, Answer)
            right[habit] += turn.action.text == asked.task.answer
    assert right["look"] == right["idle"] == 60
    assert 0 < right["guess"] < 30


def test_shares_of_habits() -> None:
    lessons = ReadingLessons(mixed_from=0.5, idle_share=0.25, guess_share=0.25)
    drawn = (0.0, 0.24, 0.26, 0.49, 0.51)
    assert [lessons.habit(draw, 0.5) for draw in drawn] == ["idle", "idle", "guess", "guess", "look"]
    assert {lessons.habit(draw, 0.49) for draw in drawn} == {"look"}
    with pytest.raises(UserError, match="must not be more than 1 together"):
        ReadingLessons(idle_share=0.7, guess_share=0.7).check()
