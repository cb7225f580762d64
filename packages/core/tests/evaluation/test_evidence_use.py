"""Figures of evidence, of trajectories that can be counted by hand."""

import json

import pytest

from saccade.evaluation.evidence import EvidenceUse, call_texts, evidence_use
from saccade.evaluation.figure import measure_figures, recorded_lines
from saccade.geometry import Box
from saccade.rewards.evidence import evidence_of
from saccade.types import (
    Answer,
    Attempt,
    ImageRef,
    Score,
    Target,
    Task,
    ToolCall,
    ToolResult,
    Trajectory,
    TrajectoryStatus,
    Turn,
)

PLACE = Box(10, 10, 30, 30)
TARGET = Target(label="cup", box=PLACE, point=PLACE.center)
HIT, HALF, MISS, WHOLE = [10, 10, 30, 30], [10, 10, 30, 20], [60, 60, 80, 80], [0, 0, 100, 100]


def attempt(
    question: int,
    *crops: list[int],
    right: bool,
    targets: tuple[Target, ...] = (TARGET,),
    tool: str = "crop",
    status: TrajectoryStatus = "answered",
) -> Attempt:
    task = Task(
        id=f"t/{question}",
        family="f",
        question="?",
        answer="a",
        answer_kind="exact",
        images=(ImageRef(hash="a", width=100, height=100),),
        targets=targets,
    )
    calls = [
        Turn(
            index=index,
            text="",
            thought="",
            action=ToolCall(name=tool, arguments={"bbox_2d": list(box)} if tool == "crop" else {"code": "1"}),
            is_well_formed=True,
            result=ToolResult(),
        )
        for index, box in enumerate(crops)
    ]
    last = Turn(index=len(calls), text="", thought="", action=Answer(text="a"), is_well_formed=True)
    trajectory = Trajectory(
        task_id=task.id,
        family="f",
        stream="main",
        sample=0,
        seed=0,
        policy_version=0,
        segments=(),
        turns=(*calls, last),
        status=status,
        score=None if status == "failed" else Score(is_right=right),
    )
    return Attempt(task=task, trajectory=trajectory)


PLAYED = [
    attempt(1, HIT, right=True),
    attempt(2, HALF, MISS, right=False),
    attempt(3, WHOLE, right=True),
    attempt(4, MISS, MISS, right=True),
    attempt(5, right=False),
    attempt(6, [1, 1, 1, 1], right=True, tool="python"),
    attempt(7, HIT, right=True, status="failed"),
    attempt(8, HIT, right=True, targets=()),
]


def used() -> EvidenceUse:
    use = evidence_use(PLAYED)
    assert use is not None
    return use


def test_six_have_regions_and_did_not_fail_one_of_which_cannot_be_traced() -> None:
    assert (used().trajectories, used().untraced) == (5, 1)


def test_recall_is_a_mean_over_those_with_a_call_and_over_all() -> None:
    # 1, a half, 1 by the whole picture, and 0; the fifth made no call.
    assert used().recall == pytest.approx(2.5 / 4)
    assert used().recall_of_all == pytest.approx(2.5 / 5)
    # 400 of 400 pixels, 200 of 600, 400 of 10,000, 0 of 400.
    assert used().precision == pytest.approx((1 + 1 / 3 + 0.04 + 0) / 4)


def test_shares_state_what_they_are_shares_of() -> None:
    use = used()
    shares = (
        use.faithful,
        use.faithful_of_all,
        use.faithful_calls,
        use.right_without_evidence,
        use.wrong_with_evidence,
    )
    # Of the six calls one repeats another; the right answers are the first, the third and the fourth.
    assert [(round(one.mean * one.n), one.n) for one in shares if one.mean is not None] == [
        (2, 4),
        (2, 5),
        (2, 5),
        (2, 3),
        (1, 2),
    ]


def test_intervals_are_over_questions() -> None:
    again = evidence_use([attempt(1, HIT, right=True), attempt(1, MISS, right=True)] * 20)
    assert again is not None
    assert (again.faithful.n, again.faithful.clusters) == (40, 1)


def test_the_line_says_it() -> None:
    assert used().describe().replace("\N{NO-BREAK SPACE}", " ") == (
        "recall 62.5 %, precision 34.3 %, faithful 50 % (15 % to 85 %) of 4 with a call; of all 5 recall 50 %, "
        "faithful 40 %; 40 % of 5 calls faithful; right without evidence 66.7 % of 3; wrong with it 50 % of 2; "
        "1 left out, of which a call cannot be traced"
    )


def test_what_would_be_said_twice_is_said_once() -> None:
    use = evidence_use([attempt(1, HIT, right=True)])
    assert use is not None
    assert use.describe().replace("\N{NO-BREAK SPACE}", " ") == (
        "recall 100 %, precision 100 %, faithful 100 % (20.7 % to 100 %) of 1 with a call; "
        "right without evidence 0 % of 1; wrong with it – of 0"
    )


def test_without_a_call_and_without_regions_nothing_is_said() -> None:
    assert evidence_use([]) is None
    assert evidence_use([attempt(5, right=False)]) is None
    assert evidence_use([attempt(8, HIT, right=True, targets=())]) is None


def test_where_no_call_can_be_traced_that_is_said() -> None:
    use = evidence_use([attempt(6, [1, 1, 1, 1], right=True, tool="python")])
    assert use is not None
    assert use.describe() == "nothing measured; 1 left out, of which a call cannot be traced"


def test_it_is_a_figure_of_every_evaluation_that_its_report_gives_back() -> None:
    measured = measure_figures(PLAYED)["evidence"]
    values = json.loads(json.dumps(measured.values))
    assert values["faithful"]["n"] == 4
    assert recorded_lines({"evidence": values})["evidence"] == measured.line


def test_each_call_is_told_in_words() -> None:
    one = attempt(1, MISS, WHOLE, HIT, HIT, right=True)
    evidence = evidence_of(one.task, one.trajectory)
    assert evidence is not None
    assert [text.replace("\N{NO-BREAK SPACE}", " ") for text in call_texts(evidence).values()] == [
        "recall 0 %, precision 0 %: not faithful",
        "recall 100 %, precision 4 %: not faithful, since it returned too much",
        "recall 100 %, precision 100 %: faithful",
        "recall 100 %, precision 100 %: repeats a call before it",
    ]
