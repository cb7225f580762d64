"""``saccade verifier``: known hacks against a reward of the user's own."""

from pathlib import Path

import pytest

from saccade.cli import run_command

BAD = '''
from saccade.rewards import Score, Term, is_correct

def bad(task, trajectory):
    """Pays right answers for the number of their points."""
    points = sum(len(turn.points) for turn in trajectory.turns)
    return Score(terms=(Term("points", min(points, 64) * is_correct(task, trajectory)),))
'''


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    status = run_command(["verifier", *map(str, arguments)])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_argos_reward_is_closed_and_a_bad_one_open(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, out, _ = said(capsys, "hacks", "-n", 4)
    assert (status, out.splitlines()[-1]) == (0, "0 of 17 hacks pay on 4 tasks")
    (tmp_path / "bad.py").write_text(BAD)
    status, out, _ = said(capsys, "hacks", f"{tmp_path / 'bad.py'}:bad", "-n", 4)
    paying = [line.split("  ")[0] for line in out.splitlines() if "PAYS" in line]
    assert status == 1
    assert {"repeated", "jittered", "a hundred points", "elsewhere"} <= set(paying)
    assert "silence" not in paying
    status, _, err = said(capsys, "hacks", "bad.py")
    assert status == 2
    assert "names no reward" in err
