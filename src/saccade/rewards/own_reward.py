"""A reward of the user's own, named ``FILE.py:NAME`` on the command line."""

import inspect
from pathlib import Path

from saccade.errors import UserError
from saccade.own_code import module_of_file, named_in
from saccade.rewards.reward import AnyReward, GroupReward, Reward

SHAPE = (
    "a reward is a function def reward(task: Task, trajectory: Trajectory) -> Score, async or not, or an object with "
    "score_groups(task, groups, memory)"
)


def own_reward(name: str) -> AnyReward:
    """The reward that ``FILE.py:NAME`` names; the file is run. ``UserError`` says what to do."""
    module = module_of_file(reward_file(name), what="reward")
    found = named_in(module, name.rpartition(":")[2], name, what="reward", parameters=2)
    if isinstance(found, type):
        raise UserError(
            f"{name} is a class; make an object of it in the file, my_reward = {found.__name__}(...), and name that"
        )
    if isinstance(found, GroupReward):
        return found
    if not callable(found):
        raise UserError(f"{name} is {type(found).__name__}; {SHAPE}")
    try:
        inspect.signature(found).bind(None, None)
    except TypeError as error:
        raise UserError(f"{name} cannot be called ({error}); {SHAPE}") from None
    reward: Reward = found
    return reward


def reward_file(name: str) -> Path:
    """The file of ``FILE.py:NAME``; UserError for any other text."""
    place, _, called = name.rpartition(":")
    if not place.endswith(".py") or not called:
        raise UserError(f"{name!r} names no reward; write FILE.py:NAME; {SHAPE}")
    return Path(place)
