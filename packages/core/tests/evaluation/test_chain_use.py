"""Chains of an evaluation: Tables 9 and 10 on trajectories made by hand, and in a report's words."""

import asyncio
import json
from dataclasses import replace

import pytest
from lang2act_samples import NOTHING, PAGES, READ, REWARD, RIGHT, UNANSWERED, WRONG, said

from saccade.evaluation.chains import ChainUse, chain_use
from saccade.evaluation.summary import summarise
from saccade.types import Attempt, Score, Term, Trajectory

BOTH = READ + '<tool name=" Compute_Difference " args="7, 8">the second page is red</tool>' + READ


def scored(trajectory: Trajectory) -> Attempt:
    score = asyncio.run(REWARD(PAGES, trajectory))
    return Attempt(task=PAGES, trajectory=replace(trajectory, score=score))


ATTEMPTS = [
    scored(one)
    for one in (
        *(RIGHT, WRONG, UNANSWERED, NOTHING),
        said(BOTH),
        said(READ + "</tool>"),
        said(READ.replace("read_cell", "zoom")),
        said(READ.replace("2:", "9:")),
    )
]


def test_errors_tools_and_uses_are_counted() -> None:
    assert chain_use(ATTEMPTS) == ChainUse(
        chains=8,
        errors={"format": 1, "no_tool": 1, "tool_not_contained": 1, "page": 1},
        tools={"read_cell": 6, "compute_difference": 1, "zoom": 1},
        calls_mean=9 / 8,
        echoed=1 / 9,
        unanswered=1,
    )


def test_valid_shares_are_of_the_chains_that_were_read() -> None:
    use = chain_use(ATTEMPTS[:4])
    assert use is not None
    assert (use.valid, use.errors) == (0.75, {"no_tool": 1})


def test_trajectories_whose_reward_read_no_chain_are_none() -> None:
    plain = replace(RIGHT, score=Score(terms=(Term("accuracy", 1.0),), is_right=True))
    failed = replace(RIGHT, status="failed", failure="the machine")
    assert chain_use([Attempt(task=PAGES, trajectory=one) for one in (plain, failed)]) is None
    assert chain_use([]) is None


def test_a_summary_and_its_report_tell_of_chains() -> None:
    summary = summarise("after", [(one.task, one.trajectory) for one in ATTEMPTS])
    assert json.loads(json.dumps(summary.as_json()))["chains"]["errors"]["page"] == 1
    assert summary.figures["chains"].line.replace("\u00a0", " ") == (
        "chains: 50 % valid (1 format, 1 no tool, 1 tool not contained, 1 page); 1.12 tools a chain: "
        "read_cell in 75 %, "
        "compute_difference in 12.5 %, zoom in 12.5 %; 11.1 % of their findings say the question again; "
        "1 valid without an answer"
    )
    assert "chains" not in summarise("after", []).as_json()


@pytest.mark.parametrize("count", [8, 9, 30])
def test_many_tools_are_not_all_named(count: int) -> None:
    tools = {f"tool_{number}": 1 for number in range(count)}
    use = ChainUse(chains=1, errors={}, tools=tools, calls_mean=float(count), echoed=0.0, unanswered=0)
    assert use.describe().count("tool_") == 8
    assert (f"{count - 8} more" in use.describe()) == (count > 8)
