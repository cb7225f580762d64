"""The model of layouts, on numbers worked out by hand, and what its command says."""

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from saccade.cli.plan_fleet import plan_fleet
from saccade.errors import UserError
from saccade.train.fleet_plan import CalibrationRun, LearningRates, Rates, calibrated_rates, play_s, simulate_steps
from saccade.train.fleet_record import Layout, Step
from saccade.train.published_layouts import VERL

WHOLE = LearningRates(fixed_s=1.0, token_s=0.001)
RATES = Rates(tick_s=0.1, row_s=0.01, whole=WHOLE, sharded=WHOLE, sync_s=0.0, exponent=1.0, rows=2)
STEP = Step(groups=((10, 10), (20, 10)), forwarded_tokens=1000.0, played_s=0.0, learned_s=0.0, step_s=0.0)


def test_playing_takes_the_ticks_of_the_longest_queue_and_every_token() -> None:
    # Two rows: 10, 10, then 20 and 10 in their places: 30 ticks, 50 tokens.
    assert play_s([10, 10, 20, 10], RATES) == pytest.approx(30 * 0.1 + 50 * 0.01)
    assert play_s([], RATES) == 0.0


def test_in_turn_a_step_is_the_sum_and_beside_the_slower_part() -> None:
    in_turn = simulate_steps([STEP], RATES, Layout(learners=1, rollouts=1))
    assert in_turn.step_s == pytest.approx(3.5 + 2.0)
    assert in_turn.learners_idle == pytest.approx(3.5 / 5.5)
    beside = simulate_steps([STEP], RATES, Layout(learners=1, rollouts=1, staleness=1, overlaps=True), count=1000)
    assert beside.step_s == pytest.approx(3.5, rel=0.01)
    assert beside.rollouts_idle == pytest.approx(0.0, abs=0.01)
    assert (beside.staleness_mean, beside.staleness_max) == (pytest.approx(0.999), 1)


def test_workers_share_questions_and_learners_tokens() -> None:
    # The second worker has the longer share: 20 ticks and 30 tokens; two learners halve what tokens take.
    one = simulate_steps([STEP], RATES, Layout(learners=2, rollouts=2))
    assert one.step_s == pytest.approx(20 * 0.1 + 30 * 0.01 + 1.0 + 0.5)


def test_what_a_batch_takes_before_its_first_token_and_for_what_it_is_shown_counts() -> None:
    rates = replace(RATES, batch_s=2.0, prefill_s=0.001)
    assert play_s([10], rates, shown=500.0) == pytest.approx(2.0 + 10 * 0.1 + 10 * 0.01 + 0.5)
    assert play_s([], rates, shown=500.0) == 0.0
    # Both questions are shown 1000 tokens; each worker is shown those of its own.
    step = replace(STEP, shown=(400.0, 600.0))
    assert simulate_steps([step], rates, Layout(learners=1, rollouts=2)).step_s == pytest.approx(
        2.0 + 20 * 0.1 + 30 * 0.01 + 0.6 + 2.0
    )


def step_of(lengths: tuple[int, ...], shown: float, tokens: float, learned_s: float, rates: Rates) -> Step:
    played_s = play_s(lengths, rates, shown=shown)
    return Step(
        groups=(lengths,),
        shown=(shown,),
        forwarded_tokens=tokens,
        played_s=played_s,
        learned_s=learned_s,
        step_s=played_s + learned_s,
    )


MADE_OF = (
    ((10, 5), 100.0, 100.0),
    ((20, 5), 300.0, 150.0),
    ((15, 9), 250.0, 400.0),
    ((40, 5), 120.0, 50.0),
    ((33, 30), 90.0, 300.0),
)


def test_calibration_finds_the_constants_again() -> None:
    rates = replace(RATES, batch_s=0.5, prefill_s=0.002)
    steps = [step_of(*one, 1.0 + 0.001 * one[2], rates) for one in MADE_OF]
    run = CalibrationRun(steps=tuple(steps), layout=Layout(learners=1, rollouts=0))
    found = calibrated_rates([run], weights_bytes=10**9, rows=2, exponent=1.0)
    assert (found.tick_s, found.row_s) == (pytest.approx(0.1), pytest.approx(0.01))
    assert (found.batch_s, found.prefill_s) == (pytest.approx(0.5), pytest.approx(0.002))
    assert found.whole == LearningRates(fixed_s=pytest.approx(1.0), token_s=pytest.approx(0.001))
    assert (found.sync_s, found.is_sync_measured) == (pytest.approx(1.02), False)


def test_shards_have_constants_of_their_own_run_and_without_one_a_layout_is_said_to_be_unknown() -> None:
    alone = CalibrationRun(
        steps=tuple(step_of(*one, 0.2 + 0.001 * one[2], RATES) for one in MADE_OF),
        layout=Layout(learners=1, rollouts=0),
    )
    # Two ranks take longer than one: they wait for each other, and each token costs more.
    shards = CalibrationRun(
        steps=tuple(replace(step_of(*one, 0.9 + 0.002 * one[2] / 2, RATES), handed_s=0.03) for one in MADE_OF),
        layout=Layout(learners=2, rollouts=1),
    )
    both = calibrated_rates([alone, shards], weights_bytes=0, rows=2, exponent=1.0)
    assert both.learning(1) == LearningRates(fixed_s=pytest.approx(0.2), token_s=pytest.approx(0.001))
    assert (
        both.learning(2) == both.learning(4) == LearningRates(fixed_s=pytest.approx(0.9), token_s=pytest.approx(0.002))
    )
    assert (both.sync_s, both.is_sync_measured) == (0.03, True)
    assert both.knows(1)
    assert both.knows(2)
    one = calibrated_rates([alone], weights_bytes=0, rows=2, exponent=1.0)
    assert not one.knows(2)
    assert one.learning(2) == one.learning(1)


def test_shards_take_time_for_each_micro_batch_of_a_rank_and_another_number_of_ranks_has_others() -> None:
    # Two ranks and 3, 4, 4, 6, 6 micro-batches of each; tokens alone would not tell what they take.
    passes = (3, 4, 4, 6, 6)
    steps = tuple(
        replace(
            step_of(*one, 0.9 + 0.2 * each + 0.002 * one[2] / 2, RATES),
            micro_batches=2.0 * each,
        )
        for one, each in zip(MADE_OF, passes)
    )
    found = calibrated_rates(
        [CalibrationRun(steps=steps, layout=Layout(learners=2, rollouts=1))], weights_bytes=0, rows=2, exponent=1.0
    )
    expected = LearningRates(fixed_s=pytest.approx(0.9), pass_s=pytest.approx(0.2), token_s=pytest.approx(0.002))
    assert found.sharded == expected
    # Four ranks: 6 micro-batches are 2 of each, the last of them half empty.
    assert found.learning(4).took_s(steps[0], 4, 1.0) == pytest.approx(0.9 + 0.2 * 2 + 0.002 * 100 / 4)


def test_a_constant_that_would_be_negative_is_none_and_the_others_fit_alone() -> None:
    steps = [step_of(*one, 5.0 - 0.001 * one[2], RATES) for one in MADE_OF]
    run = CalibrationRun(steps=tuple(steps), layout=Layout(learners=1, rollouts=0))
    found = calibrated_rates([run], weights_bytes=0, rows=2, exponent=1.0)
    assert found.whole is not None
    assert found.whole.token_s == 0.0
    assert found.whole.fixed_s == pytest.approx(5.0 - 0.001 * 200)


def test_the_closed_form_on_what_verl_has_published() -> None:
    errors = [round(row.predicted_s / row.step_s - 1, 2) for row in VERL]
    assert errors == [-0.04, 0.09, 1.13, 0.89, 0.0]


def test_mistakes_are_said_before_any_work(tmp_path: Path) -> None:
    done = CliRunner().invoke(plan_fleet, [str(tmp_path)])
    assert isinstance(done.exception, UserError)
    assert "holds no run" in str(done.exception)
    done = CliRunner().invoke(plan_fleet, [str(tmp_path), "--layout", "0+2"])
    assert "write LEARNERS+ROLLOUTS" in str(done.exception)
