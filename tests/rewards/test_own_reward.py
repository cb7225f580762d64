"""Rewards of the user's own, named on the command line."""

import re
from pathlib import Path

import pytest

from saccade.errors import UserError
from saccade.rewards import GroupReward
from saccade.rewards.reward import own_reward

MINE = """
from saccade.rewards import GroupScores, OutcomeReward

plain = OutcomeReward(format_weight=0.5)
number = 3

def one(task): ...

async def judged(task, trajectory): ...

class Group:
    def score_groups(self, task, groups, memory):
        return GroupScores(scores={})

group = Group()
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_functions_and_objects_of_either_shape_are_rewards(mine: Path) -> None:
    assert callable(own_reward("mine.py:plain"))
    assert callable(own_reward("mine.py:judged"))
    assert isinstance(own_reward("mine.py:group"), GroupReward)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("accuracy", "'accuracy' names no reward; write FILE.py:NAME"),
        ("mine.py", "'mine.py' names no reward; write FILE.py:NAME"),
        ("absent.py:plain", "there is no reward file absent.py"),
        ("mine.py:judge", "has no function 'judge'. Did you mean judged?"),
        ("mine.py:number", "mine.py:number is int; a reward is a function"),
        ("mine.py:one", "mine.py:one cannot be called (too many positional arguments); a reward is a function"),
        ("mine.py:Group", "mine.py:Group is a class; make an object of it in the file"),
    ],
)
def test_what_is_no_reward_is_explained(mine: Path, name: str, message: str) -> None:
    with pytest.raises(UserError, match=re.escape(message)):
        own_reward(name)
