"""Totals of every reward on trajectories made by hand, to the last bit: terms are added up in the order of the papers.

A total is what advantages are made of, so another order of the same sum would change every weight of a run.
"""

from collections.abc import Sequence
from dataclasses import replace

import pytest
from ivgr_samples import HALF_RED, RED, TASK, FixedJudge, grounded, tag, textual
from reward_samples import DRAWS, FAILS, IDLE, REFUSED, RUNS, played
from reward_samples import TASK as PLAIN

from saccade.geometry import Box
from saccade.rewards.grounding import GroundingReward
from saccade.rewards.groups import score_question
from saccade.rewards.ivgr import IvgrReward
from saccade.rewards.judges.consistency import ATTACK, Verdict
from saccade.rewards.reward import AnyReward, OutcomeReward
from saccade.rewards.tool_use import CodeDanceReward, DeepEyesReward
from saccade.rewards.vista import DifficultyAdaptiveReward, VistaReward
from saccade.types import Group, Task, Trajectory

_SAID = played(RUNS, answer="red")
CALLS = [
    played(RUNS, answer="red"),
    played(DRAWS, FAILS, answer="red"),
    played(RUNS, FAILS, REFUSED, answer="blue"),
    played(IDLE, RUNS, FAILS, RUNS, answer="blue"),
    played("malformed", answer="red"),
    played(answer="blue"),
    played(FAILS),
    replace(_SAID, turns=(replace(_SAID.turns[0], text="wait " * 20), _SAID.turns[1])),
]
BOXED = [
    grounded(f"red {tag(RED)} white", sample=0),
    grounded(f"red {tag(HALF_RED)} white", sample=1),
    grounded(f"red {tag(Box(9, 7, 51, 58), Box(3, 3, 40, 41))} pink", "pink", sample=2),
    grounded("red white", sample=3),
    grounded(f"red {tag(Box(40, 30, 20, 10), HALF_RED)} black", "black", sample=4),
]
SAID = [textual(word, sample=index) for index, word in enumerate(("a", "b", "c", "d", "lost"))]
JUDGE = FixedJudge(
    {"a": Verdict(value=1.0), "b": Verdict(value=0.7), "c": Verdict(value=(0.3 + 0.7 + 0.3) / 3), "d": ATTACK}
)

REWARDS: dict[str, tuple[AnyReward, Task, Sequence[Sequence[Trajectory]], list[str]]] = {
    "outcome": (
        OutcomeReward(accuracy_weight=0.7, format_weight=0.1),
        PLAIN,
        [CALLS],
        [
            "0x1.9999999999999p-1",
            "0x1.9999999999999p-1",
            "0x1.999999999999ap-4",
            "0x1.999999999999ap-4",
            "0x1.6666666666666p-1",
            "0x1.999999999999ap-4",
            "0x0.0p+0",
            "0x1.9999999999999p-1",
        ],
    ),
    "codedance": (
        CodeDanceReward(),
        PLAIN,
        [CALLS],
        [
            "0x1.a666666666666p+0",
            "0x1.6ccccccccccccp+0",
            "0x1.0000000000000p-2",
            "0x1.3333333333333p-2",
            "0x1.0000000000000p+0",
            "0x1.999999999999ap-3",
            "0x0.0p+0",
            "0x1.a666666666666p+0",
        ],
    ),
    "codedance, mathematics": (
        CodeDanceReward(outcome=OutcomeReward(accuracy_weight=1.2, format_weight=0.4), base_weight=1.0, form="code"),
        PLAIN,
        [CALLS],
        [
            "0x1.199999999999ap+1",
            "0x1.e666666666667p+0",
            "0x1.0000000000000p-1",
            "0x1.3333333333333p-1",
            "0x1.3333333333333p+0",
            "0x1.999999999999ap-2",
            "0x0.0p+0",
            "0x1.199999999999ap+1",
        ],
    ),
    "deepeyes": (
        DeepEyesReward(),
        PLAIN,
        [CALLS],
        [
            "0x1.0000000000000p+0",
            "0x1.199999999999ap+1",
            "0x1.999999999999ap-3",
            "0x1.999999999999ap-3",
            "0x1.999999999999ap-1",
            "0x1.999999999999ap-3",
            "0x0.0p+0",
            "0x1.0000000000000p+0",
        ],
    ),
    "vista": (
        VistaReward(),
        PLAIN,
        [CALLS],
        [
            "0x1.0000000000000p+1",
            "0x1.0000000000000p+1",
            "0x1.0000000000000p+0",
            "0x1.0000000000000p+0",
            "-0x1.0000000000000p+0",
            "0x1.0000000000000p+0",
            "-0x1.0000000000000p+0",
            "-0x1.0000000000000p+1",
        ],
    ),
    "vista, dense": (
        VistaReward(form="dense"),
        PLAIN,
        [CALLS],
        [
            "0x1.0000000000000p+0",
            "0x1.0000000000000p+0",
            "-0x1.0000000000000p-1",
            "-0x1.0000000000000p-1",
            "-0x1.8000000000000p+0",
            "-0x1.0000000000000p-1",
            "-0x1.8000000000000p+0",
            "-0x1.0000000000000p+1",
        ],
    ),
    "vista, sparse": (
        VistaReward(form="sparse"),
        PLAIN,
        [CALLS],
        [
            "0x1.0000000000000p+0",
            "0x1.0000000000000p+0",
            "0x0.0p+0",
            "0x0.0p+0",
            "-0x0.0p+0",
            "0x0.0p+0",
            "-0x0.0p+0",
            "-0x1.0000000000000p+1",
        ],
    ),
    "vista, adaptive": (
        DifficultyAdaptiveReward(),
        PLAIN,
        [CALLS[:3]],
        ["0x1.5555555555555p+0", "0x1.5555555555555p+0", "0x1.5555555555555p-1"],
    ),
    "vista, dense and adaptive": (
        DifficultyAdaptiveReward(base=VistaReward(form="dense")),
        PLAIN,
        [CALLS[:3]],
        ["0x1.0000000000000p+0", "0x1.0000000000000p+0", "-0x1.0000000000000p-1"],
    ),
    "grounding": (
        GroundingReward(format_weight=0.1, accuracy_weight=0.7, box_weight=1.3),
        TASK,
        [BOXED],
        [
            "0x1.0cccccccccccdp+1",
            "0x1.7333333333333p+0",
            "0x1.b0981aae7305bp-1",
            "0x1.9999999999999p-1",
            "0x1.2cccccccccccdp-1",
        ],
    ),
    "grounding, as the public code": (
        GroundingReward(box_rule="code", validity_weight=1.0),
        TASK,
        [BOXED],
        [
            "0x1.0000000000000p+2",
            "0x1.c000000000000p+1",
            "0x1.5c607e12aed10p+1",
            "0x1.0000000000000p+1",
            "0x1.0000000000000p+1",
        ],
    ),
    "ivgr": (
        IvgrReward(consistency=JUDGE),
        TASK,
        [BOXED, SAID],
        [
            "0x1.8000000000000p+1",
            "0x1.4000000000000p+1",
            "0x1.92b0a7ccf1299p+0",
            "0x1.0000000000000p+1",
            "0x1.6000000000000p+0",
            "0x1.8000000000000p+1",
            "0x1.599999999999ap+1",
            "0x1.3777777777778p+1",
            "0x1.0000000000000p+1",
            "0x1.0000000000000p+1",
        ],
    ),
    "ivgr, weighted": (
        IvgrReward(consistency=JUDGE, format_weight=0.1, accuracy_weight=0.7, consistency_weight=1.3),
        TASK,
        [BOXED, SAID],
        [
            "0x1.8000000000000p+1",
            "0x1.4000000000000p+1",
            "0x1.92b0a7ccf1299p+0",
            "0x1.0000000000000p+1",
            "0x1.6000000000000p+0",
            "0x1.0cccccccccccdp+1",
            "0x1.b5c28f5c28f5cp+0",
            "0x1.5d0369d0369d0p+0",
            "0x1.9999999999999p-1",
            "0x1.9999999999999p-1",
        ],
    ),
    "ivgr, without a judge": (
        IvgrReward(consistency=None),
        TASK,
        [BOXED, SAID],
        [
            "0x1.8000000000000p+1",
            "0x1.4000000000000p+1",
            "0x1.92b0a7ccf1299p+0",
            "0x1.0000000000000p+1",
            "0x1.6000000000000p+0",
            "0x1.0000000000000p+1",
            "0x1.0000000000000p+1",
            "0x1.0000000000000p+1",
            "0x1.0000000000000p+1",
            "0x1.0000000000000p+1",
        ],
    ),
}


@pytest.mark.parametrize("name", REWARDS)
def test_totals_are_what_they_were_to_the_last_bit(name: str) -> None:
    reward, task, streams, totals = REWARDS[name]
    groups = [Group(task=task, stream=one[0].stream, trajectories=tuple(one)) for one in streams]
    scored, _ = score_question(groups, reward)
    found = [one.score and one.score.total for group in scored for one in group.trajectories]
    assert found == [float.fromhex(total) for total in totals]
