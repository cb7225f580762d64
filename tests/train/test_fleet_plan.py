"""The model of layouts, on numbers worked out by hand, and what its command says."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from saccade.cli.plan_fleet import plan_fleet
from saccade.errors import UserError
from saccade.train.fleet_plan import Layout, Rates, Step, calibrated, modelled, play_s
from saccade.train.published_layouts import VERL

RATES = Rates(tick_s=0.1, row_s=0.01, fixed_s=1.0, token_s=0.001, sync_s=0.0, exponent=1.0, rows=2)
STEP = Step(groups=((10, 10), (20, 10)), forwarded_tokens=1000.0, played_s=0.0, learned_s=0.0, step_s=0.0)


def test_playing_takes_the_ticks_of_the_longest_queue_and_every_token() -> None:
    # Two rows: 10, 10, then 20 and 10 in their places: 30 ticks, 50 tokens.
    assert play_s([10, 10, 20, 10], RATES) == pytest.approx(30 * 0.1 + 50 * 0.01)
    assert play_s([], RATES) == 0.0


def test_in_turn_a_step_is_the_sum_and_beside_the_slower_part() -> None:
    in_turn = modelled([STEP], RATES, Layout(learners=1, rollouts=1))
    assert in_turn.step_s == pytest.approx(3.5 + 2.0)
    assert in_turn.learners_idle == pytest.approx(3.5 / 5.5)
    beside = modelled([STEP], RATES, Layout(learners=1, rollouts=1, staleness=1, overlaps=True), count=1000)
    assert beside.step_s == pytest.approx(3.5, rel=0.01)
    assert beside.rollouts_idle == pytest.approx(0.0, abs=0.01)
    assert (beside.staleness_mean, beside.staleness_max) == (pytest.approx(0.999), 1)


def test_workers_share_questions_and_learners_tokens() -> None:
    # The second worker has the longer share: 20 ticks and 30 tokens; two learners halve what tokens take.
    one = modelled([STEP], RATES, Layout(learners=2, rollouts=2))
    assert one.step_s == pytest.approx(20 * 0.1 + 30 * 0.01 + 1.0 + 0.5)


def test_calibration_finds_the_constants_again() -> None:
    steps = []
    for longest, tokens in ((10, 100.0), (20, 150.0), (15, 400.0), (40, 50.0)):
        played_s, learned_s = play_s([longest, 5], RATES), RATES.fixed_s + RATES.token_s * tokens
        steps.append(
            Step(
                groups=((longest, 5),),
                forwarded_tokens=tokens,
                played_s=played_s,
                learned_s=learned_s,
                step_s=played_s + learned_s,
            )
        )
    found = calibrated(steps, Layout(learners=1, rollouts=0), weights_bytes=10**9, rows=2, exponent=1.0)
    assert (found.tick_s, found.row_s) == (pytest.approx(0.1), pytest.approx(0.01))
    assert (found.fixed_s, found.token_s) == (pytest.approx(1.0), pytest.approx(0.001))
    assert found.sync_s == pytest.approx(1.02)


def test_the_closed_form_on_what_verl_has_published() -> None:
    errors = [round(row.predicted_s / row.step_s - 1, 2) for row in VERL]
    assert errors == [-0.04, 0.09, 1.13, 0.89, 0.0]


def test_mistakes_are_said_before_any_work(tmp_path: Path) -> None:
    done = CliRunner().invoke(plan_fleet, [str(tmp_path)])
    assert isinstance(done.exception, UserError)
    assert "holds no run" in str(done.exception)
    done = CliRunner().invoke(plan_fleet, [str(tmp_path), "--layout", "0+2"])
    assert "write LEARNERS+ROLLOUTS" in str(done.exception)
