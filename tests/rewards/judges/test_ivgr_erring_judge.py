"""A judge that errs at known rates, and one that knows no ground truth."""

import asyncio
from collections import Counter

import pytest
from ivgr_samples import BLUE, RED, TASK, tag

from saccade.errors import UserError
from saccade.miniature.judges import PLACE, PLACES, ErringJudge, ExactJudge, JudgeErrors
from saccade.rewards.judges.archive import Reference
from saccade.rewards.judges.consistency import ATTACK, NO_VERDICT, RUBRIC, Verdict
from saccade.types import Task

REFERENCE = Reference(text=f"red {tag(RED)} white", boxes=(RED,), box_reward=1.0)


def always(verdict: Verdict):  # type: ignore[no-untyped-def]
    async def judge(task: Task, reference: Reference, target: str, /) -> Verdict:
        return verdict

    return judge


def verdicts(given: Verdict, count: int = 1000, seed: int = 0, **errors: float) -> list[Verdict]:
    judge = ErringJudge(judge=always(given), errors=JudgeErrors(**errors), seed=seed)

    async def asked() -> list[Verdict]:
        return [await judge(TASK, REFERENCE, f"text {number}") for number in range(count)]

    return asyncio.run(asked())


def test_wrong_verdicts_are_the_other_values_of_the_rubric_each_as_often() -> None:
    counts = Counter(verdict.value for verdict in verdicts(Verdict(value=1.0), wrong_share=0.3))
    assert 640 < counts.pop(1.0) < 760
    assert set(counts) == {0.0, 0.3, 0.7}
    assert all(70 < count < 130 for count in counts.values())


def test_some_questions_have_no_verdict() -> None:
    given = verdicts(Verdict(value=0.7), no_verdict_share=0.2)
    assert 160 < given.count(NO_VERDICT) < 240
    assert given.count(NO_VERDICT) + given.count(Verdict(value=0.7)) == 1000


@pytest.mark.parametrize(
    ("bias", "leads"),
    [(1.0, {0.0: 0.3, 0.3: 0.7, 0.7: 1.0, 1.0: 1.0}), (-1.0, {0.0: 0.0, 0.3: 0.0, 0.7: 0.3, 1.0: 0.7})],
)
def test_a_biased_judge_is_one_value_of_the_rubric_too_kind_or_too_strict(
    bias: float, leads: dict[float, float]
) -> None:
    assert {value: verdicts(Verdict(value=value), 1, bias=bias)[0].value for value in RUBRIC} == leads
    half = verdicts(Verdict(value=0.3), bias=bias / 2)
    assert 430 < half.count(Verdict(value=0.3)) < 570


def test_the_mean_of_several_judges_leans_from_the_nearest_value() -> None:
    assert verdicts(Verdict(value=0.65), 1, bias=1.0) == [Verdict(value=1.0)]
    assert verdicts(Verdict(value=0.65), 1) == [Verdict(value=0.65)]


def test_the_same_is_asked_and_the_same_is_said_whatever_was_asked_before() -> None:
    errors = {"wrong_share": 0.4, "no_verdict_share": 0.1, "bias": 0.3}
    given = verdicts(Verdict(value=1.0), 50, **errors)
    assert verdicts(Verdict(value=1.0), 20, **errors) == given[:20]
    assert verdicts(Verdict(value=1.0), 50, seed=1, **errors) != given


def test_an_attack_stays_one_and_what_the_machine_fails_stays_failed() -> None:
    assert set(verdicts(ATTACK, 50, wrong_share=1.0, bias=1.0)) == {ATTACK}
    assert set(verdicts(NO_VERDICT, 50, wrong_share=1.0, bias=1.0)) == {NO_VERDICT}


def test_rates_are_rates() -> None:
    JudgeErrors(wrong_share=1.0, no_verdict_share=1.0, bias=-1.0).check()
    for errors in (JudgeErrors(wrong_share=1.1), JudgeErrors(no_verdict_share=-0.1), JudgeErrors(bias=-1.1)):
        with pytest.raises(UserError, match="is a share and must lie between"):
            errors.check()


def blind(text: str, reference: Reference) -> float | None:
    judge = ExactJudge(values={PLACE: PLACES, "mark": ("white", "black", "cyan", "pink")}, knows_truth=False)
    return asyncio.run(judge(TASK, reference, text)).value


def test_without_ground_truth_the_reference_is_the_truth() -> None:
    wrong = Reference(text=f"red {tag(BLUE)} black", boxes=(BLUE,), box_reward=0.4)
    assert blind("red bottom rightmost black", wrong) == 1.0
    assert blind("red top leftmost white", wrong) == 0.0
    assert blind("red bottom rightmost white", wrong) == 0.0
    assert blind("red black", wrong) == 0.7
    # Nobody knows what the reference does not speak of: it is only more than that.
    assert blind("red bottom rightmost black blue pink", wrong) == 0.7
    assert blind("blue cyan", wrong) == 0.3
    assert blind("", wrong) == 0.3
