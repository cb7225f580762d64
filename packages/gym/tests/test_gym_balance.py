"""Answers that many states give are not asked for much more often than others."""

from collections import Counter

import pytest

from saccade.gym.levels import Levels
from saccade.gym.program import ProgramQuestion, sentence
from saccade.gym.registry import gym_families
from saccade.seeding import generator_for

QUESTIONS = 48
MOST = 0.65
"""Of the answers, those that are the most frequent one; all programs below had more."""


def questions(name: str, level: float) -> list[ProgramQuestion]:
    family = gym_families()[name.partition("/")[0]]
    program = family.program(name.partition("/")[2])
    rngs = [generator_for(7, "balance", name, index) for index in range(QUESTIONS)]
    return [family.question(program, family.renderers[0], rng, Levels(base=level))[1] for rng in rngs]


@pytest.mark.parametrize(
    "name",
    [
        "molecule/amines",
        "molecule/hydroxyls",
        "molecule/carbonyls",
        "spot_the_difference/count_differences",
        "fine_differences/count_differences",
        "overlapping_discs/count_overlapping",
        "circuit/open_switches",
        "sequences/period",
        "fine_walks/length",
    ],
)
def test_no_answer_of_a_count_is_usual(name: str) -> None:
    [(_, most)] = Counter(one.answer for one in questions(name, 0.5)).most_common(1)
    assert most <= MOST * QUESTIONS


@pytest.mark.parametrize(
    ("name", "level", "answers"),
    [
        ("molecule/hydroxyls", 0.0, 2),
        ("molecule/count_element", 0.0, 3),
        ("overlapping_discs/count_free", 1.0, 3),
        ("overlapping_discs/count_overlapping", 0.5, 3),
        ("fine_walks/length", 0.0, 6),
        ("score/count_rests", 1.0, 5),
        ("score/count_signs", 0.0, 2),
        ("shape_counts/count_by_both", 0.0, 3),
        ("chess_board/count_kind", 0.0, 4),
        ("chart_bubble/between", 0.5, 4),
        ("chart_bar/count_above", 0.0, 3),
        ("chart_area/count_rises", 0.0, 5),
        ("graph/degree", 0.0, 4),
        ("screen_settings/count_in_section", 1.0, 9),
        ("shape_order/count_beyond_down", 0.5, 5),
        ("towns/blocks_between", 0.0, 6),
        ("questionnaire/count_option", 0.0, 4),
        ("marked_figures/count_right", 0.0, 3),
        ("function_plot/meeting", 0.5, 9),
    ],
)
def test_an_answer_is_about_as_frequent_as_the_others_at_its_level(name: str, level: float, answers: int) -> None:
    """No answer is right more than 16 points more often than one of so many that are as likely."""
    [(_, most)] = Counter(one.answer for one in questions(name, level)).most_common(1)
    assert most <= (1 / answers + 0.16) * QUESTIONS


def test_an_element_is_as_often_the_rarer_one_of_two_as_the_more_frequent() -> None:
    asked = [one for one in questions("molecule/more_of", 0.5) if "oxygen" in one.choices]
    assert 0.2 * len(asked) <= sum(one.answer == "oxygen" for one in asked) <= 0.8 * len(asked)


def test_a_ring_runs_through_each_element_as_often_as_not() -> None:
    by_element = Counter((one.words["element"], one.answer) for one in questions("molecule/in_ring", 0.5))
    assert set(by_element) == {(name, text) for name in ("oxygen", "nitrogen") for text in ("yes", "no")}


def test_no_factor_of_a_product_is_zero_and_no_value_of_a_function_is_told_by_its_place() -> None:
    assert "0" not in {one.answer for one in questions("fine_digits/product_of_digits", 0.5)}
    assert not [one for one in questions("function_plot/x_of_value", 0.5) if one.answer == one.words["y"]]


def test_the_article_before_a_slot_fits_the_word() -> None:
    wording = "Is there a {first}, and a {second}? A {first} is."
    assert sentence(wording, {"first": "edge", "second": "road"}) == "Is there an edge, and a road? An edge is."
