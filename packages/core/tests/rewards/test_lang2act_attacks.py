"""Chains that only want the reward: without an answer, of many tools, of tools that say the question again."""

from dataclasses import replace

import pytest
from lang2act_samples import ASKED, BOX, NOTHING, PAGES, READ, REWARD, RIGHT, UNANSWERED, UNCHAINED, WRONG, said, score

from saccade.algorithms.advantages import group_relative, is_constant
from saccade.config.settings import apply_overrides
from saccade.protocols import read_chain
from saccade.rewards.groups import score_question
from saccade.rewards.lang2act import Lang2ActReward, is_echo
from saccade.types import Group, Trajectory


@pytest.mark.parametrize(
    ("pays", "totals"),
    [("always", [1.0, 0.2, 0.2, 0.8]), ("answered", [1.0, 0.2, 0.0, 0.8]), ("right", [1.0, 0.0, 0.0, 0.8])],
)
def test_chains_without_an_answer_and_with_a_wrong_one_need_not_be_paid(pays: str, totals: list[float]) -> None:
    reward = apply_overrides(REWARD, [f"pays_tools={pays}"])
    assert [score(one, reward).total for one in (RIGHT, WRONG, UNANSWERED, UNCHAINED)] == totals


def test_where_nobody_is_right_an_unanswered_chain_has_a_right_answers_advantage() -> None:
    """0.2 against 0 is divided by its own spread: seven zeros and one 0.2 teach as much as seven zeros and one 1."""

    def advantages(*members: Trajectory, reward: Lang2ActReward = REWARD) -> list[float]:
        numbered = tuple(replace(one, sample=sample) for sample, one in enumerate(members))
        [group], _ = score_question([Group(task=PAGES, stream="main", trajectories=numbered)], reward)
        [found] = group_relative([group])
        assert is_constant(group) == (not any(one for [one] in found))
        return [one for [one] in found]

    hacked = advantages(UNANSWERED, *[NOTHING] * 7)
    assert hacked == pytest.approx([7 / 8**0.5, *[-1 / 8**0.5] * 7], rel=1e-4)
    assert advantages(RIGHT, *[NOTHING] * 7) == pytest.approx(hacked, rel=1e-4)
    # Once all write chains, to leave out a hopeless answer costs nothing, and nothing is learned from the group.
    assert advantages(*[UNANSWERED] * 4, *[WRONG] * 4) == [0.0] * 8
    for pays in ("answered", "right"):
        assert (
            advantages(UNANSWERED, *[NOTHING] * 7, reward=apply_overrides(REWARD, [f"pays_tools={pays}"])) == [0.0] * 8
        )


def test_tools_that_only_say_the_question_again_are_noted_and_need_not_be_paid() -> None:
    echo = '<tool name="read_cell" args="Image 2: x">the second page is red</tool>'
    strict = replace(REWARD, pays_echoes=False)
    assert [score(said(echo), one).total for one in (REWARD, strict)] == [1.0, 0.8]
    assert score(said(echo)).notes["tools_echoed"] == 1.0
    assert score(said(echo + READ), strict).total == 1.0
    assert score(said(echo), replace(strict, form="graded")).total == pytest.approx(0.9)


@pytest.mark.parametrize(
    ("args", "finding", "echoes"),
    [
        ("Image 2: plate", "Image 2, plate.", True),
        ("Image 2: plate", "WHICH plate on the second page is red", True),
        ("Image 2: plate", "the second page is redder", False),
        ("Image 2: plate", "red", False),
        ("Image 2: plate", "which plates on the second page is red", True),
        ("7", "7", True),
        ("", "the page", False),
    ],
)
def test_echoes(args: str, finding: str, echoes: bool) -> None:
    [call] = read_chain(said(f'<tool name="read_cell" args="{args}">{finding}</tool>').turns[0].text, BOX, 3).calls
    assert is_echo(call, ASKED.question) == echoes


def test_fifty_tools_are_paid_as_one_is() -> None:
    assert score(said(READ * 50)).total == score(RIGHT).total
    assert score(said(READ * 50)).notes["tools_used"] == 50.0


def test_the_toolbox_s_own_words_are_echoes_too() -> None:
    [tool, *_] = BOX.tools
    copied = f'<tool name="{tool.name}" args="Image 2: x">{tool.description} of it all</tool>'
    told = tool.description
    [call] = read_chain(said(copied.replace(" of it all", "")).turns[0].text, BOX, 3).calls
    assert is_echo(call, ASKED.question, told) == (len(told.split()) >= 4)
    assert not is_echo(call, ASKED.question)


@pytest.mark.parametrize("page", ["Image nine", "Image ９", "Image -1", "images one and nine"])
def test_a_page_that_does_not_exist_is_found_however_it_is_written(page: str) -> None:
    chain = read_chain(said(f'<tool name="read_cell" args="{page}: x">red</tool>').turns[0].text, BOX, 3)
    assert chain.error == "page"
    fine = read_chain(said('<tool name="read_cell" args="Image two: x">red</tool>').turns[0].text, BOX, 3)
    assert (fine.error, [one.pages for one in fine.calls]) == (None, [(2,)])
