import json
from dataclasses import replace

from saccade.codec.codecs import plain_json
from saccade.evaluation.statistics import Accuracy, wilson_interval
from saccade.evaluation.summary import FamilySummary, StageSummary, Unfinished, summarise
from saccade.evaluation.tool_use import DifficultyBand, ToolUse, uses_tool
from saccade.rewards.reward import keeps_format
from saccade.types import Answer, Malformed, Score, Task, Term, ToolCall, ToolResult, Trajectory, Turn


def task(family: str, index: int = 0) -> Task:
    return Task(id=f"{family}/{index}", family=family, question="?", answer="yes", answer_kind="exact", images=())


CALL = Turn(
    index=0,
    text="",
    thought="",
    action=ToolCall(name="crop", arguments={}),
    is_well_formed=True,
    result=ToolResult(text="done"),
)
REFUSED = replace(CALL, result=None)
FAILED_CALL = replace(CALL, result=ToolResult(text="no such image", is_ok=False))


def answering(text: str, *before: Turn, family: str = "search") -> Trajectory:
    last = Turn(index=len(before), text="", thought="", action=Answer(text=text), is_well_formed=True)
    return Trajectory(
        task_id=f"{family}/0",
        family=family,
        stream="evaluation",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(*before, last),
        status="answered",
        score=Score(terms=(Term("yes", float(text == "yes")),)),
    )


def test_a_question_counts_in_each_of_its_buckets() -> None:
    chart = replace(task("pages"), buckets=("single page", "Chart"))
    text = replace(task("pages", 1), buckets=("single page", "Text"))
    summary = summarise(
        "test", [(chart, answering("yes")), (text, answering("no")), (task("pages", 2), answering("no"))]
    )
    shares = {name: (one.answers.accuracy, one.answers.n) for name, one in summary.buckets.items()}
    assert shares == {"Chart": (1.0, 1), "Text": (0.0, 1), "single page": (0.5, 2)}
    assert list(plain_json(summary)["buckets"]) == ["Chart", "Text", "single page"]  # type: ignore[arg-type]
    assert "buckets" not in plain_json(summarise("test", [(task("pages"), answering("no"))]))


def test_a_summary_takes_accuracy_apart_by_family() -> None:
    search, count = task("search"), task("count")
    summary = summarise(
        "after rl",
        [
            (search, answering("yes", CALL)),
            (search, answering("no")),
            (search, answering("yes", FAILED_CALL, CALL)),
            (count, answering("yes", REFUSED)),
        ],
    )
    assert summary == StageSummary(
        name="after rl",
        overall=Accuracy(accuracy=0.75, ci95=wilson_interval(3, 4), n=4),
        families={
            "count": FamilySummary(
                answers=Accuracy(accuracy=1.0, ci95=wilson_interval(1, 1), n=1), unfinished=Unfinished(of=1)
            ),
            "search": FamilySummary(
                answers=Accuracy(accuracy=2 / 3, ci95=wilson_interval(2, 3), n=3), unfinished=Unfinished(of=3)
            ),
        },
        tool_rate=0.5,
        turns_mean=2.0,
        format_rate=1.0,
        reward_mean=0.75,
        unfinished=Unfinished(of=4),
        tools=ToolUse(
            calls_mean=0.75,
            success_rate=2 / 3,
            answered_without_call=0.5,
            failures={"error": 1},
            by_tool={"crop": 3},
            bands=(
                DifficultyBand(low=0.5, calls_mean=1.0, groups=1),
                DifficultyBand(low=0.75, calls_mean=0.0, groups=1),
            ),
        ),
    )


def test_what_the_machine_failed_is_counted_and_not_scored() -> None:
    failed = replace(answering("yes"), status="failed", failure="tool server gone", score=None)
    summary = summarise("x", [(task("search"), failed), (task("search"), answering("no"))])
    assert (summary.overall.n, summary.overall.accuracy) == (1, 0.0)
    assert summary.unfinished == Unfinished(of=2, failed=1)
    assert summary.describe() == (
        "x: 0.0% right (0.0% to 79.3%, 1 tasks), tool used in 0%, 1 of 2 failed and is left out"
    )
    assert summary.describe(has_tools=False) == (
        "x: 0.0% right (0.0% to 79.3%, 1 tasks), 1 of 2 failed and is left out"
    )


def test_what_a_limit_cut_off_is_wrong_and_counted() -> None:
    cut_off = replace(answering("yes"), status="token_limit", turns=())
    failed = replace(answering("yes"), status="failed", failure="sandbox gone", score=None, turns=())
    summary = summarise("x", [(task("a"), failed), (task("b"), cut_off), (task("b", 1), answering("yes"))])
    assert summary.unfinished == Unfinished(of=3, failed=1, cut_off=1)
    assert summary.describe() == (
        "x: 50.0% right (9.5% to 90.5%, 2 tasks), tool used in 0%, 1 of 3 failed and is left out, "
        "1 of 3 cut off by a token limit"
    )
    assert {name: plain_json(family) for name, family in summary.families.items()} == {
        "a": {"accuracy": None, "ci95": [0.0, 1.0], "n": 0, "failed": 1, "cut_off": 0},
        "b": {"accuracy": 0.5, "ci95": list(wilson_interval(1, 2)), "n": 2, "failed": 0, "cut_off": 1},
    }


def test_a_summary_of_nothing_has_no_rates() -> None:
    summary = summarise("x", [])
    assert summary == StageSummary(
        name="x",
        overall=Accuracy(accuracy=None, ci95=(0.0, 1.0), n=0),
        families={},
        tool_rate=None,
        turns_mean=None,
        format_rate=None,
        reward_mean=None,
    )


def test_a_trajectory_out_of_turns_is_wrong() -> None:
    out_of_turns = replace(answering("yes"), status="turn_limit")
    assert summarise("x", [(task("search"), out_of_turns)]).overall.accuracy == 0.0


def test_only_a_call_that_ran_is_tool_use() -> None:
    assert uses_tool(answering("yes", CALL))
    assert not uses_tool(answering("yes", REFUSED, FAILED_CALL))
    assert not uses_tool(answering("yes"))


def test_one_malformed_turn_breaks_the_format() -> None:
    malformed = replace(CALL, action=Malformed(why="?"), result=None, is_well_formed=False)
    assert keeps_format(answering("yes", CALL))
    assert not keeps_format(answering("yes", malformed))
    assert not keeps_format(replace(answering("yes"), status="token_limit"))


def test_a_summary_is_strict_json_in_the_shape_of_the_report() -> None:
    values = plain_json(summarise("sft", [(task("search"), answering("yes"))]))
    assert json.loads(json.dumps(values, allow_nan=False)) == {
        "name": "sft",
        "accuracy": 1.0,
        "ci95": list(wilson_interval(1, 1)),
        "n": 1,
        "families": {
            "search": {"accuracy": 1.0, "ci95": list(wilson_interval(1, 1)), "n": 1, "failed": 0, "cut_off": 0}
        },
        "tool_rate": 0.0,
        "turns_mean": 1.0,
        "format_rate": 1.0,
        "reward_mean": 1.0,
        "failed": 0,
        "cut_off": 0,
        "tools": {
            "calls_mean": 0.0,
            "success_rate": None,
            "answered_without_call": 1.0,
            "failures": {},
            "by_tool": {},
            "bands": [{"low": 0.75, "calls_mean": 0.0, "groups": 1}],
        },
    }
