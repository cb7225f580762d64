"""Lang2Act's reward: its values worked out by hand, its judge and its toolbox."""

import inspect
from dataclasses import dataclass, field, replace

import pytest
from lang2act_samples import (
    ASKED,
    BOX,
    NOTHING,
    PAGE,
    PAGES,
    READ,
    REWARD,
    RIGHT,
    UNANSWERED,
    UNCHAINED,
    WRONG,
    said,
    score,
)

from saccade.config.settings import apply_overrides, from_json, to_json
from saccade.errors import MachineError, UserError
from saccade.protocols import LinguisticToolbox, read_chain
from saccade.rewards.groups import is_without_verdict, score_question
from saccade.rewards.lang2act import Lang2ActForm, Lang2ActReward, graded_tools, lang2act_reward
from saccade.types import Group, Observation, Task, Trajectory, Turn


@pytest.mark.parametrize(("form", "values"), [("paper", [1.0, 0.8, 0.2, 0.0]), ("graded", [1.0, 0.0, 0.2, 0.0])])
def test_every_value_of_both_forms(form: Lang2ActForm, values: list[float]) -> None:
    cases = [(True, True), (True, False), (False, True), (False, False)]
    assert [lang2act_reward(is_right=right, is_valid=valid, form=form) for right, valid in cases] == values
    assert lang2act_reward(is_right=True, is_valid=True, form="graded", tool_score=0.5) == pytest.approx(0.95)
    assert lang2act_reward(is_right=True, is_valid=False, answer_weight=0.5, tool_weight=0.5) == 0.5


@pytest.mark.parametrize(
    ("trajectory", "total", "is_right"),
    [(RIGHT, 1.0, True), (WRONG, 0.2, False), (UNCHAINED, 0.8, True), (NOTHING, 0.0, False), (UNANSWERED, 0.2, False)],
)
def test_every_value_of_a_trajectory(trajectory: Trajectory, total: float, is_right: bool) -> None:
    found = score(trajectory)
    assert (found.total, found.is_right, [term.name for term in found.terms]) == (total, is_right, ["answer", "tool"])


def test_what_is_wrong_with_a_chain_is_noted() -> None:
    found = score(said(READ + READ + '<tool name="zoom" args="">x</tool>'))
    assert found.values == {"answer": 1.0, "tool": 0.0}
    assert found.notes == {
        "chain/format": 0.0,
        "chain/no_tool": 0.0,
        "chain/tool_not_contained": 1.0,
        "chain/page": 0.0,
        "tools_used": 3.0,
        "tools_distinct": 2.0,
        "tools_echoed": 0.0,
    }
    assert found.evidence == {
        "chain_error": "tool_not_contained",
        "chain_why": "the toolbox has no 'zoom'",
        "tools": ["read_cell", "read_cell", "zoom"],
        "pages": [2],
    }


def test_pages_that_were_found_on_the_way_are_pages() -> None:
    far = said(READ.replace("2:", "4:"), think="Image 4.")
    assert score(far).notes["chain/page"] == 1.0
    searched = Turn(
        index=0,
        text="",
        thought="",
        action=far.turns[0].action,
        is_well_formed=True,
        observation=Observation(text="", images=(PAGE,)),
    )
    later = replace(far, turns=(searched, replace(far.turns[0], index=1)))
    assert score(later).total == 1.0


def test_a_turn_without_text_and_a_trajectory_without_turns_earn_nothing() -> None:
    assert score(replace(UNANSWERED, turns=())).total == 0.0
    with pytest.raises(ValueError, match="leave it out"):
        score(replace(RIGHT, status="failed"))


@dataclass
class Judge:
    """Says what it is told to, and remembers what it was asked."""

    verdict: float | MachineError | None
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def __call__(self, task: Task, answer: str, /) -> float | None:
        self.asked.append((task.question, answer))
        if isinstance(self.verdict, MachineError):
            raise self.verdict
        return self.verdict


def test_the_judge_is_asked_with_the_question_where_rules_find_nothing_right() -> None:
    judge = Judge(1.0)
    reward = replace(REWARD, accuracy=judge)
    assert [score(one, reward).total for one in (RIGHT, WRONG, UNANSWERED)] == [1.0, 1.0, 0.2]
    assert judge.asked == [(ASKED.question, "plate 3")]
    assert score(WRONG, replace(REWARD, accuracy=Judge(0.0))).total == 0.2


@pytest.mark.parametrize("verdict", [None, MachineError("the judge is down")])
def test_no_verdict_is_never_a_score(verdict: MachineError | None) -> None:
    reward = replace(REWARD, accuracy=Judge(verdict))
    members = (RIGHT, replace(WRONG, sample=1), replace(UNANSWERED, sample=2))
    [group], _ = score_question([Group(task=PAGES, stream="main", trajectories=members)], reward)
    assert [is_without_verdict(one) for one in group.trajectories] == [False, True, False]
    assert [one.score and one.score.total for one in group.trajectories] == [1.0, None, 0.2]


def test_the_first_stage_rewards_answers_alone_and_asks_for_no_toolbox() -> None:
    first = Lang2ActReward(answer_weight=1.0, tool_weight=0.0)
    assert [score(one, first).total for one in (RIGHT, WRONG, UNCHAINED)] == [1.0, 0.0, 1.0]
    assert score(RIGHT, first).values == {"answer": 1.0}
    with pytest.raises(UserError, match="has no toolbox"):
        score(RIGHT, Lang2ActReward())


def test_a_toolbox_may_come_after_the_reward_was_made() -> None:
    made: list[LinguisticToolbox] = []
    reward = Lang2ActReward(toolbox=lambda: made[0])
    made.append(BOX)
    assert score(RIGHT, reward).total == 1.0


def test_the_reward_is_settings() -> None:
    reward = apply_overrides(
        Lang2ActReward(toolbox=lambda: BOX), ["form=graded", "pays_tools=right", "tool_weight=0.1"]
    )
    assert (reward.form, reward.pays_tools, reward.tool_weight) == ("graded", "right", 0.1)
    assert from_json(Lang2ActReward, to_json(reward)) == replace(reward, toolbox=None)
    with pytest.raises(UserError, match="tool_weight=-1"):
        Lang2ActReward(tool_weight=-1.0)
    assert inspect.iscoroutinefunction(REWARD.__call__)


@pytest.mark.parametrize(
    ("think", "description", "tools"),
    [
        ("Image 2", READ, 1.0),
        ("it", READ, 0.9),
        ("Image 2", READ * 9, 0.9),
        ("Image 2", '<tool name="zoom" args="Image 9: x">x</tool>' + READ, 0.7),
        ("Image 2", '<tool name="read_cell" args="7 vs 8">x</tool>', 0.6),
        ("Image 2", '<tool name="read_cell" args="row 1 of Image 2">x</tool>', 0.8),
        ("Image 2", '<tool name="read_cell" args="Image 4: x">x</tool>', 0.5),
        ("Image 2", '<tool name="read_cell" args="Images 3 and 4: x"></tool>', 0.3),
        ("Image 2", '<tool name="compute_difference" args="7, 8">1</tool>', 1.0),
        ("Image 2", '<tool name="compute_difference" args="">1</tool>', 0.8),
        ("Image 2", '<tool name="zoom" args="">x</tool>' * 4, 0.0),
        ("Image 2", "words", 0.0),
    ],
)
def test_the_graded_score_of_tools(think: str, description: str, tools: float) -> None:
    chain = read_chain(said(description, think=think).turns[0].text, BOX, 3)
    assert graded_tools(chain, BOX, 3, ("Compute_Difference",)) == pytest.approx(tools)


def test_the_graded_form_pays_nothing_unless_blocks_are_in_order() -> None:
    graded = replace(REWARD, form="graded")
    beside = replace(RIGHT, turns=(replace(RIGHT.turns[0], text=RIGHT.turns[0].text + " thanks"),))
    assert [score(one, graded).total for one in (RIGHT, beside, WRONG, UNCHAINED)] == pytest.approx([1, 1, 0.2, 0.9])
    assert score(said(think=READ), graded).total == 0.0
    assert score(said(think=READ), graded).is_right
