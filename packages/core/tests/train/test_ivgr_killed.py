"""A run of two streams that is killed in the middle of its second epoch ends with the bytes of one left alone."""

import json
import signal
import sys
from pathlib import Path

import ivgr_runs
import pytest
from ivgr_runs import PAIRS, archive, metric, of_stream, outcome, run, steps

from saccade.errors import UserError
from warm import run_warm

QUESTIONS_PER_STEP = ivgr_runs.PAIRS + ivgr_runs.GENERAL
KILLED_IN = 5
"""Epochs are three steps long, and every second step has a checkpoint: one step of the second epoch is done again."""


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("undisturbed") / "run"
    run(out)
    return out


def test_the_archive_grows_in_the_first_epoch_and_is_used_in_the_second(undisturbed: Path) -> None:
    """Otherwise there would be nothing that a kill can lose."""
    asked = [{one.task.id for one in of_stream(step, "grounded")} for step in steps(undisturbed)]
    assert asked[0] | asked[1] | asked[2] == asked[3] | asked[4] | asked[5]
    assert all(len(of_one_step) == PAIRS for of_one_step in asked)
    assert any(metric(undisturbed, "textual/noted/from_archive")[-4:])
    assert len(archive(undisturbed, 6)) >= 2


def test_kill_nine_in_the_middle_of_epoch_two_changes_no_byte(undisturbed: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    # While the second question of the step is scored, after what the first one's archive was told.
    dies_at = (KILLED_IN - 1) * QUESTIONS_PER_STEP + 2
    process = run_warm([sys.executable, ivgr_runs.__file__, str(out), str(dies_at)])
    assert process.returncode == -signal.SIGKILL
    assert len(steps(out)) == KILLED_IN - 1
    assert json.loads((out / "run.json").read_text())["status"] == "running"
    before = archive(out, KILLED_IN - 1)
    assert before

    run(out, resume=True)
    assert outcome(out) == outcome(undisturbed)
    assert archive(out, 6) == archive(undisturbed, 6)
    assert before.keys() <= archive(out, 6).keys()
    rewards = [
        [remembered[key]["box_reward"] for key in before] for remembered in (before, archive(out, 6), archive(out, 7))
    ]
    assert all(first <= second <= third for first, second, third in zip(*rewards))


def test_without_the_archive_nothing_is_remembered_across_steps(tmp_path: Path) -> None:
    run(tmp_path / "run", "reward.use_archive=false", "rl.steps=4")
    assert archive(tmp_path / "run", 4) == {}
    assert any(metric(tmp_path / "run", "textual/noted/reference"))
    assert not any(metric(tmp_path / "run", "textual/noted/from_archive"))


def test_a_run_is_not_resumed_with_another_judge(undisturbed: Path) -> None:
    with pytest.raises(UserError, match=r"judge\.kind: exact -> none"):
        run(undisturbed, "judge.kind=none", resume=True)
