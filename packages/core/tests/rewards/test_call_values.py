"""What calls are worth as evidence, and what a policy may try to be paid without the work."""

from collections.abc import Sequence

import pytest

from saccade.geometry import Box
from saccade.rewards.call_values import EvidenceForm, call_values
from saccade.types import (
    GAIN,
    SEEN,
    WORK,
    Answer,
    ImageRef,
    Json,
    Page,
    Target,
    Task,
    ToolCall,
    ToolResult,
    Trajectory,
    Turn,
)

CUP, DOG = Box(0, 0, 10, 10), Box(80, 80, 90, 90)


def task_of(*boxes: Box, gold: tuple[Page, ...] | None = None) -> Task:
    return Task(
        id="t", family="f", question="?", answer="a", answer_kind="exact",
        images=(ImageRef(hash="a", width=100, height=100),),
        targets=tuple(Target(label="cup", box=box, point=box.center) for box in boxes), gold_pages=gold,
    )  # fmt: skip


def turn(name: str, arguments: dict[str, Json], data: dict[str, Json] | None = None, *, is_ok: bool = True) -> Turn:
    result = ToolResult(data=data or {}, is_ok=is_ok)
    return Turn(
        index=0, text="", thought="", action=ToolCall(name=name, arguments=arguments), is_well_formed=True,
        result=result,
    )  # fmt: skip


def crop(*box: float, is_ok: bool = True) -> Turn:
    return turn("crop", {"bbox_2d": list(box), "image": 1}, is_ok=is_ok)


def code(gain: float | None, **data: Json) -> Turn:
    return turn("execute_python_code", {"code": "x"}, {**data, **({} if gain is None else {GAIN: gain})})


ANSWER = Turn(index=0, text="", thought="", action=Answer(text="a"), is_well_formed=True)


def values(task: Task, turns: Sequence[Turn], form: EvidenceForm) -> list[float]:
    played = Trajectory(
        task_id="t", family="f", stream="main", sample=0, seed=0, policy_version=0, segments=(),
        turns=(*turns, ANSWER), status="answered",
    )  # fmt: skip
    return call_values(task, played, form)


def test_a_look_at_the_region_is_worth_the_share_that_it_holds() -> None:
    assert values(task_of(CUP), [crop(0, 0, 10, 10)], "found") == [1.0, 0.0]
    assert values(task_of(CUP), [crop(0, 0, 8, 10)], "found") == pytest.approx([0.8, 0.0])
    assert values(task_of(CUP, DOG), [crop(0, 0, 10, 10), crop(80, 80, 90, 90)], "found") == [0.5, 0.5, 0.0]


def test_what_was_returned_beside_it_costs() -> None:
    """A crop of 20 x 20 around a target of 10 x 10 returns 3 % of the picture beside it."""
    assert values(task_of(CUP), [crop(0, 0, 20, 20)], "found") == pytest.approx([1 - 0.03 / 0.5, 0.0])
    missed = [crop(50, 0, 80, 50), crop(0, 0, 10, 10)]
    assert values(task_of(CUP), missed, "found") == pytest.approx([0.0, 1 - 0.15 / 0.5, 0.0])


@pytest.mark.parametrize(
    ("turns", "paid"),
    [
        pytest.param([crop(0, 0, 100, 100)], 0.0, id="everything"),
        pytest.param([crop(0, 0, 90, 90)], 0.0, id="nearly everything"),
        pytest.param([crop(x, y, x + 25, y + 25) for x in (0, 25, 50, 75) for y in (0, 25, 50, 75)], 0.0, id="tiles"),
        pytest.param([crop(x, 0, x + 1, 1) for x in range(20)], 0.0, id="slivers"),
        pytest.param([crop(0, 0, 10, 10), crop(0, 0, 10, 10)], 0.5, id="the same again"),
        pytest.param([crop(0, 0, 10, 10), crop(0, 0, 14, 14), crop(0, 0, 18, 18)], 0.4776, id="nearly the same again"),
        pytest.param([crop(0, 0, 10, 10, is_ok=False)], 0.0, id="a failed call"),
        pytest.param([turn("execute_python_code", {"code": "print('cup')"})], 0.0, id="code that nobody asked"),
        pytest.param([turn("unheard_of", {"image": 2})], 0.0, id="a tool that nothing is known of"),
        pytest.param([], 0.0, id="no call"),
    ],
)
def test_who_did_not_aim_is_not_paid_and_nobody_twice(turns: list[Turn], paid: float) -> None:
    assert sum(values(task_of(CUP, DOG), turns, "found")) == pytest.approx(paid)


def test_code_is_paid_for_the_cells_that_its_output_needs() -> None:
    cells = ["1000000000", *["0000000000"] * 9]
    seen: dict[str, Json] = {SEEN: [{"image": 0, "cells": cells}]}
    assert values(task_of(CUP), [turn("execute_python_code", {"code": "x"}, seen)], "found") == [1.0, 0.0]
    everything: dict[str, Json] = {SEEN: [{"image": 0, "cells": ["1"]}]}
    assert values(task_of(CUP), [turn("execute_python_code", {"code": "x"}, everything)], "found") == [0.0, 0.0]


def test_pages_are_regions_of_a_document() -> None:
    gold = (Page(document="a.pdf", number=3),)
    found = turn("search_pages", {"query": "q"}, {"pages": ["a.pdf#3", "a.pdf#4"]})
    assert sum(values(task_of(gold=gold), [found], "found")) in (0.0, 1.0)


def test_the_difference_is_the_gain_and_their_sum_stays_within_one() -> None:
    assert values(task_of(), [code(0.4), code(-0.1), code(None)], "difference") == pytest.approx([0.4, -0.1, 0.0, 0.0])
    assert values(task_of(), [code(0.7), code(0.7), code(0.7)], "difference") == pytest.approx([0.7, 0.3, 0.0, 0.0])
    assert sum(values(task_of(), [code(-0.7), code(-0.7)], "difference")) == -1.0


def test_a_guess_that_code_prints_is_not_paid_where_the_tool_says_what_it_depends_on() -> None:
    assert values(task_of(), [code(0.9, **{SEEN: []})], "difference") == [0.0, 0.0]
    assert values(task_of(), [code(-0.9, **{SEEN: []})], "difference") == [-0.9, 0.0]
    assert values(task_of(), [code(0.9, **{WORK: "idle"})], "difference") == [0.0, 0.0]
    assert values(task_of(), [code(0.9, **{WORK: "looks"})], "difference") == [0.9, 0.0]
