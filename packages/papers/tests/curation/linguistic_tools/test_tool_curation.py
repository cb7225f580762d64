"""Curations of linguistic tools, one trajectory after the other: by rules, by models that fail, ramble and invent."""

import asyncio
import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from tools_samples import STEPS, down_on, rule, teacher, trajectory

from saccade.chat.wire import RefusedRequestError
from saccade.config.settings import apply_overrides
from saccade.curation.journal import FAILURES_IN_A_ROW, OUTCOMES
from saccade.curation.linguistic_tools import (
    CuratedTools,
    Curator,
    ReasonedTrajectory,
    RuleCurator,
    ToolCuration,
    curate_tools,
    tool_journal,
    written_reply,
)
from saccade.errors import MachineError, UserError
from saccade.protocols import ChainCall, LinguisticTool
from saccade.types import Message

RULES = RuleCurator(rule)
USE = written_reply([ChainCall(name="zoom", args="", finding="x")], [LinguisticTool("zoom", "Look closer.")])


def curated(
    trajectories: Sequence[ReasonedTrajectory], curator: Curator, *overrides: str, folder: Path | None = None
) -> CuratedTools:
    settings = apply_overrides(ToolCuration(), overrides)
    if folder is None:
        return asyncio.run(curate_tools(trajectories, curator, settings))
    with tool_journal(folder, trajectories, settings) as journal:
        return asyncio.run(curate_tools(trajectories, curator, settings, journal))


def test_rules_make_a_toolbox() -> None:
    made = curated([trajectory(number) for number in range(6)], RULES, "k=2")
    assert made.toolbox.names == ("find_the_page", "read_the_mark")
    assert [(one.tool.name, one.first, one.trajectories, one.calls) for one in made.pool] == [
        ("find_the_page", "q0", 6, 8),
        ("read_the_mark", "q1", 2, 2),
        ("compare_both", "q2", 2, 2),
    ]
    assert list(made.applications) == ["q0", "q1", "q3", "q4"]


def test_each_trajectory_sees_the_pool_of_those_before_it() -> None:
    """The order is part of the result: who defines a tool names it."""
    seen: list[str] = []

    def reply(tools: str, reasoning: str) -> str:
        seen.append(tools)
        name = "look" if "look" in tools else "gaze" if "gaze" in tools else reasoning.split()[0]
        return f"DEFINE_TOOL: {name} || a || First of {reasoning}\n<tool name='{name}' args=''>x</tool>\nEND_OF_TOOLS"

    pair = [trajectory(0, "look here"), trajectory(1, "gaze there")]
    assert [one.description for one in curated(pair, teacher(reply)).toolbox.tools] == ["First of look here"]
    assert curated(pair[::-1], teacher(reply)).toolbox.names == ("gaze",)
    assert "still empty" in seen[0]
    assert "look || a || First of look here" in seen[1]


def test_a_reply_that_is_cut_off_is_asked_for_again_and_then_skipped() -> None:
    replies = iter(["<tool", "cut", USE, "cut", "cut", "cut", USE])
    model = teacher(lambda tools, reasoning: next(replies))
    made = curated([trajectory(0), trajectory(1), trajectory(2)], model)
    assert [(one.status, one.asked, list(one)) for one in made.sets] == [
        ("read", 3, ["zoom"]),
        ("cut_off", 3, []),
        ("read", 1, ["zoom"]),
    ]
    assert [one.temperature for one in model.asked] == [0.01, 0.5, 0.5, 0.01, 0.5, 0.5, 0.01]
    assert len({one.seed for one in model.asked}) == 7
    assert (made.rests_on, made.statuses["cut_off"]) == (2, 1)


def test_a_curator_down_for_half_of_its_calls_is_counted_and_its_box_says_how_few_it_rests_on() -> None:
    trajectories = [trajectory(number) for number in range(40)]
    made = curated(trajectories, down_on({number for number in range(200) if number * 7 % 4 < 2}, USE), "attempts=1")
    assert made.statuses == {"read": 20, "cut_off": 0, "no_reply": 20}
    assert "They rest on 20 of 40 right trajectories, fewer than 100" in made.describe()
    assert "20 trajectories were skipped: without a reply." in made.describe()
    again = curated(trajectories, down_on({number for number in range(200) if number * 7 % 4 < 2}, USE))
    assert again.statuses == {"read": 40, "cut_off": 0, "no_reply": 0}


def test_a_curator_that_is_gone_ends_the_curation_and_uses_up_no_trajectory(tmp_path: Path) -> None:
    trajectories = [trajectory(number) for number in range(20)]
    with pytest.raises(MachineError, match="no reply for 8 trajectories in a row, the last of them q9"):
        curated(trajectories, down_on(set(range(2, 1000)), USE), "attempts=2", folder=tmp_path)
    assert len((tmp_path / OUTCOMES).read_text().splitlines()) == 2
    made = curated(trajectories, down_on(set(), USE), "attempts=2", folder=tmp_path)
    assert made.statuses["read"] == 20


def test_a_few_failures_at_the_end_are_kept(tmp_path: Path) -> None:
    trajectories = [trajectory(number) for number in range(3)]
    made = curated(trajectories, down_on({1, 2}, USE), "attempts=1", folder=tmp_path)
    assert [one.status for one in made.sets] == ["read", "no_reply", "no_reply"]
    assert curated(trajectories, down_on(set(), "never asked"), "attempts=1", folder=tmp_path) == made


def test_a_refused_request_skips_one_trajectory_and_a_refused_key_ends_all() -> None:
    def refusing(status: int) -> Curator:
        async def model(messages: Sequence[Message], *, temperature: float, samples: int, seed: int) -> Sequence[str]:
            raise RefusedRequestError("no", status)

        return model

    made = curated([trajectory(0)], refusing(413))
    assert made.statuses["no_reply"] == 1
    with pytest.raises(RefusedRequestError):
        curated([trajectory(0)], refusing(401))


def test_a_curator_that_always_invents_fills_its_pool_and_no_more() -> None:
    numbers = itertools.count()

    def reply(tools: str, reasoning: str) -> str:
        new = [LinguisticTool(f"tool_{next(numbers)}", "x") for _ in range(5)]
        return written_reply([ChainCall(name=one.name, args="", finding="x") for one in new], new)

    made = curated([trajectory(number) for number in range(10)], teacher(reply), "max_pool=12", "k=3")
    assert (len(made.pool), made.refused) == (12, {"pool_full": 38})
    assert made.coverage == pytest.approx(3 / 12)
    assert all(len(one.calls) == len(one.tools) for one in made.sets)


def test_a_curator_that_only_rambles_gives_an_empty_box_that_says_so() -> None:
    made = curated([trajectory(0), trajectory(1)], teacher(lambda tools, reasoning: "well " * 400_000))
    assert (len(made.toolbox), made.coverage, made.rests_on) == (0, None, 0)
    assert made.describe().startswith("0 of 0 tools.\nThey rest on 0 of 2 right trajectories")


def test_a_curation_stopped_anywhere_ends_with_the_same_bytes(tmp_path: Path) -> None:
    """Stopped after each outcome, and in the middle of a line."""
    trajectories = [trajectory(number) for number in range(9)]
    whole = curated(trajectories, RULES, folder=tmp_path / "whole")
    assert whole == curated(trajectories, RULES)
    lines = (tmp_path / "whole" / OUTCOMES).read_bytes().splitlines(keepends=True)
    assert len(lines) == 9
    for kept in range(10):
        folder = tmp_path / str(kept)
        with tool_journal(folder, trajectories):
            pass
        torn = b"".join(lines)[: len(b"".join(lines[:kept])) + 20]
        (folder / OUTCOMES).write_bytes(torn)
        assert curated(trajectories, RULES, folder=folder).to_json() == whole.to_json()
        assert (folder / OUTCOMES).read_bytes() == b"".join(lines)


def test_nothing_is_asked_twice(tmp_path: Path) -> None:
    trajectories = [trajectory(number) for number in range(3)]
    made = curated(trajectories, RULES, folder=tmp_path)
    silent = down_on(set(range(100)), "")
    assert curated(trajectories, silent, folder=tmp_path) == made
    assert silent.asked == []


def test_a_journal_of_other_trajectories_or_settings_is_refused_and_k_may_change(tmp_path: Path) -> None:
    trajectories = [trajectory(number) for number in range(3)]
    curated(trajectories, RULES, folder=tmp_path)
    with pytest.raises(UserError, match="was started with other settings"):
        curated(trajectories[:2], RULES, folder=tmp_path)
    with pytest.raises(UserError, match="max_pool: 64 then, 5 now"):
        curated(trajectories, RULES, "max_pool=5", folder=tmp_path)
    assert curated(trajectories, RULES, "k=1", folder=tmp_path).toolbox.names == (STEPS[0].replace(" ", "_"),)


@pytest.mark.parametrize(
    ("override", "says"),
    [
        ("k=0", "k=0"),
        ("attempts=0", "attempts=0"),
        ("max_pool=201", "from 1 to 200"),
        ("temperature=-1", "temperature"),
    ],
)
def test_settings_that_cannot_work_are_refused(override: str, says: str) -> None:
    with pytest.raises(UserError, match=says):
        apply_overrides(ToolCuration(), [override])


def test_two_trajectories_of_one_id_are_refused() -> None:
    with pytest.raises(UserError, match="two trajectories have the id 'q0'"):
        curated([trajectory(0), trajectory(0)], RULES)
    assert FAILURES_IN_A_ROW == 8
